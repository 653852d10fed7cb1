"""The surface as an importer knows it while it reads a log."""

from __future__ import annotations

from transcript.v1.event_pb2 import CompactionCheckpoint, Event, Status, ToolCall, ToolResult, UserMessage
from transcript_importers.surface import LiveSurface, surfaces


def prompt(row_id: str) -> Event:
    return Event(id=row_id, user_message=UserMessage(text="Go."))


def result(row_id: str, call_id: str) -> Event:
    return Event(id=row_id, tool_result=ToolResult(call_id=call_id, text="done", is_error=True))


def test_which_kinds_stand_on_the_surface_is_read_off_the_contract() -> None:
    """No list of kinds here."""
    events = (prompt("a:0"), result("b:0", "t1"), Event(status=Status()), Event())

    assert [surfaces(event) for event in events] == [True, True, False, False]


def test_a_checkpoint_stands_in_place_of_its_range_and_before_what_stays() -> None:
    """The next one takes it off with the rest."""
    surface = LiveSurface()
    assert surface.all_before("") is None
    for row_id in ("a:0", "b:0", "c:0"):
        surface.append(prompt(row_id))
    surface.append(Event(id="d:0", status=Status(text="…")))
    taken = surface.all_before("c")
    assert taken == ("a:0", "b:0")
    surface.replace(Event(id="e:checkpoint", compaction_checkpoint=CompactionCheckpoint()), *taken)

    assert surface.all_before("") == ("e:checkpoint", "c:0")


def test_a_result_is_found_by_its_call_until_it_is_replaced() -> None:
    """The row in its place answers the same call, and keeps its call when rows are cut off."""
    surface = LiveSurface()
    surface.append(prompt("a:0"))
    surface.append(Event(id="b:0", tool_call=ToolCall(call_id="t1")))
    surface.append(result("c:0", "t1"))
    found = surface.result_of("t1")
    assert found is not None
    assert (found.id, found.is_error) == ("c:0", True)
    surface.replace(result("d:0", "t1"), "c:0", "c:0")

    assert (surface.result_of("t1"), surface.result_of("t2"), surface.result_of("")) == (None, None, None)
    assert surface.all_before("d") == ("a:0", "a:0")
