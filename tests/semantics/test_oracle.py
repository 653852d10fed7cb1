"""The model itself, on examples worked out by hand from the rules."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given

from transcript.v1.event_pb2 import (
    AppendOp,
    AssistantMessage,
    Event,
    HumanRequest,
    HumanResponse,
    ReplaceOp,
    SectionMarker,
    Surface,
    ToolCall,
    ToolResult,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from transcript.v1.transcript_service_pb2 import VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL

from . import surface, turns, views
from .concrete import Maker
from .facts import kind
from .histories import histories
from .oracle import Journal
from .play import as_events
from .refused import Refused
from .world import examples

USER = Event(user_message=UserMessage(text="u"))
STEER = Event(user_message=UserMessage(text="s", origin=UserMessage.ORIGIN_STEERING))
REPLY = Event(assistant_message=AssistantMessage(text="a"))
CALL = Event(tool_call=ToolCall(call_id="c"))
RESULT = Event(tool_result=ToolResult(call_id="c", text="r"))
BEGIN = Event(turn_started=TurnStarted())
END = Event(turn_ended=TurnEnded(outcome=TurnEnded.OUTCOME_COMPLETED))
MARK = Event(section_marker=SectionMarker(label="m"))


def journal(*events: Event) -> Journal:
    """A session that these rows were appended to, one by one."""
    made = Journal()
    for event in events:
        made.append([event])
    return made


def ordinals(made: Journal) -> list[int]:
    """Each row's turn."""
    return [event.turn for event in made.events()]


def kinds(made: Journal) -> list[str]:
    """Each row's kind."""
    return [kind(event) for event in made.events()]


def test_the_model_counts_turns_as_rule_7_says():
    """Prompts start turns; steering, after a tool or by origin, does not; a start declares a fresh prompt's turn."""
    assert ordinals(journal(USER, REPLY, USER)) == [1, 1, 2]
    assert ordinals(journal(USER, CALL, USER)) == [1, 1, 1]
    assert ordinals(journal(USER, CALL, END, USER)) == [1, 1, 1, 2]
    assert ordinals(journal(STEER, STEER, END, STEER)) == [1, 1, 1, 2]
    assert ordinals(journal(USER, BEGIN, USER, END)) == [1, 1, 1, 1]
    assert ordinals(journal(USER, REPLY, BEGIN)) == [1, 1, 2]
    assert ordinals(journal(REPLY, BEGIN, USER)) == [0, 1, 1]
    assert ordinals(journal(BEGIN, CALL, END, MARK, BEGIN)) == [1, 1, 1, 1, 2]


def test_the_model_interrupts_as_rule_8_says():
    """By the next start, and by a prompt that comes with one; not by a prompt alone."""
    made = journal(USER, BEGIN)
    made.append([USER])
    assert kinds(made) == ["user_message", "turn_started", "user_message"]
    made.append([USER, BEGIN])
    assert kinds(made)[3:] == ["turn_ended", "user_message", "turn_started"]
    assert ordinals(made) == [1, 1, 1, 1, 2, 2]
    made.append([MARK])
    made.append([STEER, BEGIN])
    assert kinds(made)[6:] == ["user_message", "turn_ended", "section_marker", "turn_started"]
    assert ordinals(made)[6:] == [2, 2, 2, 3]


def test_the_model_holds_as_rule_9_says():
    """Ten rows, let go by the turn's end; the eleventh takes its batch with it."""
    made = journal(USER, BEGIN, *[MARK] * 10)
    with pytest.raises(Refused, match="HELD_ROWS_FULL"):
        made.append([REPLY, MARK])
    assert (made.tip, len(made.held)) == (2, 10)
    assert made.append([MARK, REPLY], as_recorded=True).sequences == [3, 4]
    answer = made.append([END])
    assert (answer.sequences, answer.latest_sequence, made.held) == ([5], 15, [])


def test_the_model_knows_ids_as_rule_3_says():
    """The same again is answered; other content, and another time, is refused."""
    named = Event(id="x")
    named.note.text = "n"
    made = journal(USER, BEGIN)
    assert made.append([named]).sequences == [0]
    assert made.append([named], expected=99).sequences == [0]
    made.append([END])
    assert made.append([named, REPLY, named]).sequences == [4, 5, 4]
    timed = Event(id="x", time=Timestamp(seconds=1))
    timed.note.text = "n"
    with pytest.raises(Refused, match="EVENT_ID_REUSED"):
        made.append([timed])
    written_out = Event(id="x", surface=Surface(append=AppendOp()))
    written_out.note.text = "n"
    with pytest.raises(Refused, match="EVENT_ID_REUSED"):
        made.append([written_out])
    with pytest.raises(Refused, match="SEQUENCE_MISMATCH"):
        made.append([USER], expected=4)


def test_the_model_keeps_requests_as_rule_10_says():
    """Open until answered or until a later turn's prompt; a second answer is refused."""
    ask = Event(human_request=HumanRequest(request_id="q"))
    answer = Event(human_response=HumanResponse(request_id="q"))
    made = journal(USER, ask, REPLY)
    assert turns.waiting(made.events()) == [2]
    made.append([ask])
    assert turns.waiting(made.events()) == [4]
    made.append([MARK])
    made.append([BEGIN])
    assert turns.waiting(made.events()) == [4]
    made.append([USER])
    assert turns.waiting(made.events()) == []
    made.append([answer])
    with pytest.raises(Refused, match="REQUEST_NOT_OPEN"):
        made.append([answer])


def test_the_model_folds_the_surface_as_rules_24_and_26_say():
    """A range runs in the surface's order; a pair is not parted; a reset and a rewind take rows off."""
    made = journal(USER, CALL, RESULT, REPLY)

    def replacing(row: Event, first: int, last: int) -> Event:
        copy = Event()
        copy.CopyFrom(row)
        copy.surface.replace.CopyFrom(ReplaceOp(start_sequence=first, end_sequence=last))
        return copy

    with pytest.raises(Refused, match="BAD_SURFACE_RANGE"):
        made.append([replacing(REPLY, 1, 2)])
    made.append([replacing(RESULT, 3, 3)])
    assert [row.sequence for row in surface.fold(made.events())] == [1, 2, 5, 4]
    with pytest.raises(Refused, match="BAD_SURFACE_RANGE"):
        made.append([replacing(REPLY, 4, 5)])
    made.append([replacing(REPLY, 5, 4), replacing(USER, 1, 2)])
    assert [row.sequence for row in surface.fold(made.events())] == [7, 6]
    rewind = Event()
    rewind.rewind.after_sequence = 7
    made.append([rewind])
    assert [row.sequence for row in surface.fold(made.events())] == [7]


def test_the_model_cuts_pages_as_rules_13_to_17_say():
    """A section folds once the next turn begins; a page takes whole turns."""
    made = journal(USER, CALL, RESULT, REPLY, END, MARK)
    assert views.hidden_sections(made.events()) is None
    made.append([USER])
    made.append([REPLY])
    events = made.events()
    page = views.read_page(events, VIEW_COMPACT)
    assert [row.sequence for row in page.rows] == [6, 7, 8]
    assert (page.info.has_more, page.info.hidden_sections.count) == (True, 1)
    assert list(page.info.hidden_sections.labels) == [""]
    page = views.read_page(events, VIEW_COMPACT, before=6)
    assert [row.sequence for row in page.rows] == [1, 4]
    assert not page.info.HasField("hidden_sections")
    assert [row.sequence for row in views.read_page(events, VIEW_FULL, expand=True, page_size=3).rows] == [6, 7, 8]
    assert [row.sequence for row in views.read_page(events, VIEW_JOURNAL).rows] == [1, 2, 3, 4, 5, 6, 7, 8]
    forward = views.read_page(events, VIEW_COMPACT, after=0, page_size=1)
    assert [row.sequence for row in forward.rows] == [1, 4, 6]


@examples(30)
@given(steps=histories(most=30))
def test_the_model_plays_any_history(steps):
    """It neither breaks nor loses a row, and a refusal changes nothing."""
    made, maker = Journal(), Maker("s")
    for step in steps:
        before = (made.tip, len(made.held))
        try:
            made.append(as_events(maker.request(step, made)))
        except Refused:
            assert (made.tip, len(made.held)) == before
    assert [event.sequence for event in made.events()] == list(range(1, made.tip + 1))
