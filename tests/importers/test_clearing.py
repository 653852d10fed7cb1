"""Microcompactions: results that leave the model's view, and stay in that of people."""

from __future__ import annotations

from pathlib import Path

import pytest

from transcript import Client
from transcript.v1.event_pb2 import Event, ToolResult
from transcript_importers import FileReport, import_claude_code

from .logs import SESSION, calls, events, gave, kinds, read, reply, row, rows, said, typed, write

CLEARED = "[Old tool result content cleared]"
COMPACTION = [row("system", subtype="compact_boundary"), typed("Summary.", isCompactSummary=True)]


def boundary(*call_ids: object, **fields: object) -> dict:
    """The row that says which results are cleared."""
    metadata = {"trigger": "auto", "preTokens": 50_000, "tokensSaved": 20_000, "compactedToolIds": list(call_ids)}
    return row("system", subtype="microcompact_boundary", microcompactMetadata=metadata, **fields)


def ran(*call_ids: str) -> list[dict]:
    """Calls, each with its result."""
    return [one for call_id in call_ids for one in (reply(calls(call_id)), gave(call_id, f"output of {call_id}"))]


def cleared(folder: Path, *log: dict) -> list[tuple[str, str]]:
    """What is replaced, by the line that it stands on, and the call of the result in its place."""
    lines = {one.get("uuid"): number for number, one in enumerate(log, 1)}
    return [
        (f"line {lines[one.replaces[0].partition(':')[0]]}", one.event.tool_result.call_id)
        for one in rows(read(folder, *log))
        if one.replaces and one.event.HasField("tool_result")
    ]


async def bring(client: Client, path: Path) -> FileReport:
    """An import."""
    (report,) = [report async for report in import_claude_code(client, [path])]
    return report


async def model(client: Client) -> list[Event]:
    """What the model is sent."""
    return (await client.read_context(SESSION)).events


def test_each_named_result_is_replaced_by_a_word(tmp_path: Path) -> None:
    """Whether the tool failed is still said."""
    log = [typed("Go."), *ran("t1"), reply(calls("t2")), gave("t2", "no such file", is_error=True), *ran("t3")]
    log.append(boundary("t2", "t1", content="Context microcompacted"))
    found = rows(read(tmp_path, *log))[-4:]

    assert kinds([one.event for one in found]) == ["foreign_record", "status", "tool_result", "tool_result"]
    assert found[1].event.status.text == "Context microcompacted"
    assert [one.event.tool_result for one in found[2:]] == [
        ToolResult(call_id="t2", text=CLEARED, is_error=True),
        ToolResult(call_id="t1", text=CLEARED),
    ]
    assert [one.replaces for one in found[2:]] == [(f"{log[at]['uuid']}:0",) * 2 for at in (4, 2)]


def test_a_result_is_cleared_once(tmp_path: Path) -> None:
    """However often it is named."""
    log = [typed("Go."), *ran("t1", "t2"), boundary("t1", "t1"), boundary("t1", "t2")]

    assert cleared(tmp_path, *log) == [("line 3", "t1"), ("line 5", "t2")]


def test_what_is_not_in_the_context_is_not_cleared(tmp_path: Path) -> None:
    """A result that was compacted away, a call without one, an unknown one, and what is no id."""
    log = [typed("Go."), *ran("t1"), *COMPACTION, reply(calls("t2")), boundary("t1", "t2", "t3", "", None, 4)]

    assert cleared(tmp_path, *log) == []
    assert kinds(events(read(tmp_path, *log)))[-1] == "foreign_record"


@pytest.mark.parametrize("metadata", [None, "none", {}, {"compactedToolIds": "t1"}])
def test_a_boundary_that_names_nothing_is_a_record(tmp_path: Path, metadata: object) -> None:
    """Kept as it is."""
    log = [typed("Go."), *ran("t1"), row("system", subtype="microcompact_boundary", microcompactMetadata=metadata)]

    assert kinds(events(read(tmp_path, *log)))[3:] == ["foreign_record"]


def test_rows_kept_by_a_compaction_keep_a_cleared_result_with_its_call(tmp_path: Path) -> None:
    """The row in its place counts as the result."""
    log = [typed("Old."), *ran("t1"), typed("New."), boundary("t1")]
    kept = {"preservedSegment": {"headUuid": log[3]["uuid"]}}
    log += [row("system", subtype="compact_boundary", compactMetadata=kept), typed("Summary.", isCompactSummary=True)]
    (checkpoint,) = [one for one in rows(read(tmp_path, *log)) if one.event.HasField("compaction_checkpoint")]

    assert checkpoint.replaces is not None
    assert checkpoint.replaces[0] == f"{log[0]['uuid']}:0"
    assert checkpoint.replaces[1].endswith(":cleared.0")


async def test_a_cleared_result_stands_where_it_stood(client: Client, tmp_path: Path) -> None:
    """Nothing else changes; importing again adds nothing, and the next compaction takes it off with the rest."""
    log = [typed("Go."), *ran("t1", "t2"), boundary("t1", "t2"), reply(said("Done."))]
    first = await bring(client, write(tmp_path, *log))
    had = await model(client)
    log += [*COMPACTION, reply(calls("t1")), gave("t1", "other output"), boundary("t1")]
    more = await bring(client, write(tmp_path, *log))
    again = await bring(client, write(tmp_path, *log))

    assert [(one.error, one.added) for one in (first, more, again)] == [("", 9), ("", 8), ("", 0)]
    assert kinds(had) == ["user_message", *["tool_call", "tool_result"] * 2, "assistant_message"]
    assert [event.tool_result.text for event in had if event.HasField("tool_result")] == [CLEARED] * 2
    assert kinds(await model(client)) == ["compaction_checkpoint", "tool_call", "tool_result"]


async def test_a_result_that_somebody_else_took_off_the_context_is_passed_over(client: Client, tmp_path: Path) -> None:
    """The others are cleared, and compactions after it land."""
    log = [typed("Go."), *ran("t1")]
    await bring(client, write(tmp_path, *log))
    await client.reset_context(SESSION, "a fresh start")
    log += [*ran("t2"), boundary("t2", "t1")]
    cleared_one = await bring(client, write(tmp_path, *log))
    had = await model(client)
    log += [*COMPACTION, typed("Go on.")]
    compacted = await bring(client, write(tmp_path, *log))
    again = await bring(client, write(tmp_path, *log))

    assert [(one.error, one.added) for one in (cleared_one, compacted, again)] == [("", 4), ("", 5), ("", 0)]
    assert [event.tool_result.text for event in had if event.HasField("tool_result")] == [CLEARED]
    assert kinds(await model(client)) == ["compaction_checkpoint", "user_message"]


async def test_a_compaction_lands_whose_range_ends_at_a_result_that_could_not_be_cleared(
    client: Client, tmp_path: Path
) -> None:
    """It takes the place of what stands."""
    log = [typed("Go."), *ran("t1")]
    await bring(client, write(tmp_path, *log))
    await client.reset_context(SESSION, "a fresh start")
    await client.add_note(SESSION, "Mind the gap.")
    log += [boundary("t1"), *COMPACTION]
    grown = await bring(client, write(tmp_path, *log))
    again = await bring(client, write(tmp_path, *log))

    assert [(one.error, one.added) for one in (grown, again)] == [("", 5), ("", 0)]
    assert kinds(await model(client)) == ["compaction_checkpoint"]
