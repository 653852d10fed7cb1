"""Logs brought to a real server, once, again, and grown."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from pathlib import Path

import pytest

from transcript import Client, TranscriptError, connect
from transcript.v1.event_pb2 import Event
from transcript.v1.session_pb2 import SESSION_KIND_INTERACTIVE, SESSION_KIND_SUBAGENT, Session
from transcript_importers import FileReport, Progress, import_claude_code
from transcript_importers.claude_code import read_log
from transcript_importers.surface import surfaces

from .logs import SESSION, calls, gave, kinds, reply, row, said, typed, write

BOUNDARY = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "manual", "preTokens": 1000}}


async def bring(client: Client, *paths: Path) -> list[FileReport]:
    """The reports of an import."""
    return [report async for report in import_claude_code(client, paths)]


async def journal(client: Client, session_id: str) -> list[Event]:
    """A session's rows as they are stored."""
    return [event async for event in client.read_events(session_id)]


async def surface(client: Client, session_id: str) -> list[str]:
    """The ids of the rows that the model is sent."""
    return [event.id for event in (await client.read_context(session_id)).events]


def compacted(number: int) -> list[dict]:
    """A compaction."""
    return [row("system", **BOUNDARY), typed(f"Summary {number}.", isCompactSummary=True)]


async def test_every_log_is_imported_once(client: Client, shared_data: Path) -> None:
    """All rows the first time, none the second time, and no error at all."""
    first = await bring(client, shared_data / "claude")
    second = await bring(client, shared_data / "claude")

    assert [report.error for report in first + second] == [""] * len(first) * 2
    assert [report.added for report in first] == [report.rows for report in first]
    assert [report.added for report in second] == [0] * len(second)
    assert len(first) == len(list((shared_data / "claude").rglob("*.jsonl")))
    for report in first:
        contents = read_log(Path(report.file))
        assert (report.lines, report.unreadable, report.problems) == (
            contents.lines,
            contents.unreadable,
            contents.problems,
        )
        assert report.rows == sum(len(session.rows) for session in contents.sessions)
        assert report.foreign == sum(
            one.event.HasField("foreign_record") for session in contents.sessions for one in session.rows
        )


async def test_the_journal_has_the_rows_of_the_log_in_its_order(client: Client, shared_data: Path) -> None:
    """And the model's surface is what was said since the last compaction, after its checkpoint."""
    path = shared_data / "claude" / "entire-2compact-interrupts.jsonl"
    (report,) = await bring(client, path)
    (session,) = read_log(path).sessions
    stored = await journal(client, report.session_id)
    expected = [one.event.id for one in session.rows]

    assert [event.id for event in stored] == expected
    checkpoints = [event for event in stored if event.HasField("compaction_checkpoint")]
    assert [stored[one.compaction_checkpoint.summary_sequence - 1].id[:8] for one in checkpoints] == [
        "be855b43",
        "d2168b14",
    ]
    last = max(at for at, one in enumerate(session.rows) if one.replaces)
    after = [one.event.id for one in session.rows[last:] if surfaces(one.event)]
    assert await surface(client, report.session_id) == after


@pytest.mark.parametrize(
    ("name", "turns"),
    [("entire-2compact-interrupts", 26), ("entire-subagents-progress", 30), ("moredip-general-tool-calls", 9)],
)
async def test_turns_begin_with_prompts(client: Client, shared_data: Path, name: str, turns: int) -> None:
    """With every one that does not steer, a slash command for the model included."""
    (report,) = await bring(client, shared_data / "claude" / f"{name}.jsonl")
    session = await client.get_session(report.session_id)

    assert (session.latest_turn, session.running) == (turns, False)


async def test_a_grown_log_adds_only_what_is_new(client: Client, shared_data: Path, tmp_path: Path) -> None:
    """Wherever it ended before: in the middle of a turn, of a line, of a compaction."""
    source = (shared_data / "claude" / "entire-compact-small.jsonl").read_bytes()
    lines = source.splitlines(keepends=True)
    part = tmp_path / f"{SESSION}.jsonl"
    compaction = next(at for at, line in enumerate(lines) if b"compact_boundary" in line)
    places = [len(b"".join(lines[:at])) for at in (4, 12, compaction, compaction + 1, compaction + 2)]
    added = []
    for end in (*places[:2], places[1] + 500, *places[2:], len(source)):
        part.write_bytes(source[:end])
        (report,) = await bring(client, part)
        assert report.error == ""
        added.append(report.added)

    assert sum(added) == report.rows == (await client.get_session(SESSION)).latest_sequence
    assert [event.id for event in await journal(client, SESSION)] == [
        one.event.id for one in read_log(part).sessions[0].rows
    ]


async def test_agents_sessions_stand_under_the_one_that_started_them(client: Client, shared_data: Path) -> None:
    """Those with a file of their own and those inside an old log."""
    reports = await bring(
        client, shared_data / "claude" / "moredip-0ccf", shared_data / "claude" / "happy-task-sidechain.jsonl"
    )
    parent, old = reports[0].session_id, reports[1].session_id
    own = [session async for session in client.sessions(parent_session_id=parent)]
    inside = [session async for session in client.sessions(parent_session_id=old)]

    assert reports[0].file.endswith(f"{parent}.jsonl")
    assert {session.id for session in own} == {report.session_id for report in reports[2:]}
    assert {session.kind for session in own + inside} == {SESSION_KIND_SUBAGENT}
    assert [session.title[:40] for session in inside] == ["Search the web for information about Typ"]
    assert (await client.get_session(parent)).kind == SESSION_KIND_INTERACTIVE


async def test_an_agents_log_is_imported_without_that_of_its_parent(client: Client, shared_data: Path) -> None:
    """And the parent's log may come later."""
    folder = shared_data / "claude" / "moredip-0ccf"
    agent = next(folder.rglob("agent-*.jsonl"))
    (alone,) = await bring(client, agent)
    later = await bring(client, folder)

    assert (alone.error, alone.added) == ("", alone.rows)
    assert [report.error for report in later] == [""] * 6
    assert [report.added for report in later if report.file == str(agent)] == [0]


async def test_title_and_labels_follow_a_growing_log(client: Client, tmp_path: Path) -> None:
    """What others labelled stays."""
    log = [typed("Please fix the parser.")]
    await bring(client, write(tmp_path, *log))
    begun = await client.get_session(SESSION)
    await client.update_session(Session(id=SESSION, labels={**begun.labels, "team": "blue"}))
    log += [reply(said("Done."), gitBranch="fix"), row("ai-title", aiTitle="Fixing a parser")]
    await bring(client, write(tmp_path, *log))
    grown = await client.get_session(SESSION)

    assert (begun.title, dict(begun.labels)) == (
        "Please fix the parser.",
        {"agent": "claude-code", "folder": "/home/dev/project", "branch": "main"},
    )
    assert (grown.title, dict(grown.labels)) == (
        "Fixing a parser",
        {**begun.labels, "branch": "main", "model": "claude-test-1", "team": "blue"},
    )


async def test_a_session_that_was_renamed_keeps_its_name_while_its_log_tells_nothing_new(
    client: Client, tmp_path: Path
) -> None:
    """Importing a folder again must not undo what people did."""
    path = write(tmp_path, typed("Please fix the parser."))
    await bring(client, path)
    await client.update_session(Session(id=SESSION, title="Mine"), ["title"])
    await bring(client, path)

    assert (await client.get_session(SESSION)).title == "Mine"


async def test_rows_of_others_in_the_same_session_do_no_harm(client: Client, tmp_path: Path) -> None:
    """A note counts as compacted with the rest, and the next import finds the range as it was."""
    log = [typed("Go."), reply(said("Done."))]
    await bring(client, write(tmp_path, *log))
    await client.add_note(SESSION, "Mind the gap.")
    await client.add_section_marker(SESSION, "Second part")
    log += [typed("Go on."), *compacted(1), typed("And on."), *compacted(2)]
    path = write(tmp_path, *log)
    (grown,) = await bring(client, path)
    (again,) = await bring(client, path)

    assert (grown.error, grown.added) == ("", 10)
    assert (again.error, again.added) == ("", 0)
    assert [one.rpartition(":")[2] for one in await surface(client, SESSION)] == ["checkpoint"]


async def test_a_compaction_after_somebody_emptied_the_context_lands(client: Client, tmp_path: Path) -> None:
    """The rows that the log means are off the surface: the checkpoint takes the place of those that are on it."""
    log = [typed("Go."), reply(said("Done."))]
    await bring(client, write(tmp_path, *log))
    await client.reset_context(SESSION, "a fresh start")
    log += [typed("Go on."), *compacted(1)]
    path = write(tmp_path, *log)
    (grown,) = await bring(client, path)
    log += [reply(said("Yes.")), *compacted(2), typed("And on.")]
    path = write(tmp_path, *log)
    (more,) = await bring(client, path)
    (again,) = await bring(client, path)

    assert [(one.error, one.added) for one in (grown, more, again)] == [("", 5), ("", 6), ("", 0)]
    assert (
        kinds(event for event in await journal(client, SESSION) if event.HasField("compaction_checkpoint"))
        == ["compaction_checkpoint"] * 2
    )
    assert [one.rpartition(":")[2] for one in await surface(client, SESSION)] == ["checkpoint", "0"]


async def test_two_imports_of_one_log_at_once_add_every_row_once(client: Client, shared_data: Path) -> None:
    """Whichever is faster."""
    path = shared_data / "claude" / "entire-compact-small.jsonl"
    reports = await asyncio.gather(*(bring(client, path) for _ in range(3)))
    (report,) = reports[0]

    assert [one.error for (one,) in reports] == [""] * 3
    assert (await client.get_session(report.session_id)).latest_sequence == report.rows
    assert await journal(client, report.session_id) != []


async def test_what_is_no_log_does_not_keep_the_others_back(client: Client, shared_data: Path, tmp_path: Path) -> None:
    """Each file is reported with the reason."""
    good = write(tmp_path, typed("Go."))
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    folder = tmp_path / "nothing here"
    folder.mkdir()
    codex = next((shared_data / "codex").glob("*.jsonl"))
    pi = next((shared_data / "pi").glob("*.jsonl"))
    missing = tmp_path / "missing.jsonl"
    reports = {report.file: report for report in await bring(client, codex, empty, folder, missing, pi, good)}

    assert reports[str(good)].added == 1
    assert reports[str(empty)].error == "not a Claude Code log: the file is empty"
    assert reports[str(folder)].error == "not a Claude Code log: the folder holds no .jsonl file"
    assert reports[str(missing)].error == "cannot be read: No such file or directory"
    for other in (codex, pi):
        assert reports[str(other)].error.startswith("not a Claude Code log: no row of Claude Code")
        assert (reports[str(other)].rows, reports[str(other)].session_id) == (0, "")
    assert [session.id async for session in client.sessions()] == [SESSION]


@pytest.mark.parametrize("depth", [300, 985, 5_000])
async def test_a_row_nested_too_deeply_keeps_nothing_else_back(client: Client, tmp_path: Path, depth: int) -> None:
    """The rows around it are imported, and the files after it."""
    deep = json.dumps(reply(calls("t1", deep="HERE"))).replace('"HERE"', '{"a":' * depth + "1" + "}" * depth)
    first = write(tmp_path, typed("Go."), deep, reply(said("Done.")))
    other = "22222222-3333-4444-8555-666666666666"
    second = write(tmp_path, typed("Go on.", sessionId=other), name=f"{other}.jsonl")
    reports = await bring(client, first, second)

    assert [(report.error, report.added, report.unreadable) for report in reports] == [("", 2, 1), ("", 1, 0)]
    assert [report.problems for report in reports] == [("line 2: nested too deeply",), ()]
    assert kinds(await journal(client, SESSION)) == ["user_message", "assistant_message"]


async def test_a_row_as_deep_as_may_be_is_imported_whole(client: Client, tmp_path: Path) -> None:
    """As a call's arguments, a tool's result and a block that no kind can say: all are written as JSON again."""
    levels: object = 1
    for _ in range(245):
        levels = {"a": levels}
    path = write(
        tmp_path,
        typed("Go."),
        reply(calls("t1", deep=levels)),
        gave("t1", [{"type": "odd", "deep": levels}]),
        reply(said("Done."), {"type": "odd", "deep": levels}),
    )
    (report,) = await bring(client, path)
    stored = await journal(client, SESSION)

    assert (report.error, report.unreadable, report.problems, report.added) == ("", 0, (), len(stored))
    (call,) = [event.tool_call for event in stored if event.HasField("tool_call")]
    assert json.loads(call.arguments_json) == {"deep": levels}


async def test_a_log_that_was_rewritten_is_refused(client: Client, tmp_path: Path) -> None:
    """A row never changes; the other files are imported."""
    first = typed("Go.")
    path = write(tmp_path, first)
    await bring(client, path)
    write(tmp_path, {**first, "message": {"role": "user", "content": "Stop."}})
    other = write(tmp_path, typed("Hello."), name="99999999-aaaa-4bbb-8ccc-dddddddddddd.jsonl")
    refused, good = await bring(client, path, other)

    assert refused.error.startswith("EVENT_ID_REUSED")
    assert (refused.added, good.error, good.added) == (0, "", 1)


async def test_long_logs_and_large_rows_are_sent_in_several_appends(client: Client, tmp_path: Path) -> None:
    """More than 1000 rows, more than 8 MiB, and a row that is too large by itself."""
    data = base64.b64encode(bytes(3 << 20)).decode()
    huge = base64.b64encode(bytes(9 << 20)).decode()

    def image(bytes_: str) -> dict:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": bytes_}}

    log = [typed(f"Prompt {number}.") for number in range(2100)]
    log += [gave(f"t{number}", [image(data)]) for number in range(6)]
    log += [gave("huge", [image(huge)]), *compacted(1)]
    (report,) = await bring(client, write(tmp_path, *log))

    assert (report.error, report.added) == ("", 2100 + 7 + 4)
    assert [problem.partition(":")[0] for problem in report.problems] == ["line 2107"]


async def test_the_import_tells_how_far_it_is(client: Client, tmp_path: Path) -> None:
    """Never backwards, and at the end all of it."""
    path = write(tmp_path, *(typed(f"Prompt {number}.") for number in range(1000)))
    told: list[Progress] = []
    [report async for report in import_claude_code(client, [path], progress=told.append)]
    size = path.stat().st_size

    assert len(told) > 2
    assert [one.done_bytes for one in told] == sorted(one.done_bytes for one in told)
    assert told[-1] == Progress(str(path), size, size)
    assert {(one.file, one.total_bytes) for one in told} == {(str(path), size)}


async def test_a_server_that_is_not_there_ends_the_import(tmp_path: Path) -> None:
    """The next file would fail just the same."""
    async with connect("127.0.0.1:1", timeout=0.2) as nowhere:
        with pytest.raises(TranscriptError):
            await bring(nowhere, write(tmp_path, typed("Go.")))


async def test_usage_of_a_session_is_that_of_its_replies(client: Client, shared_data: Path) -> None:
    """Added up by the server from what the messages report."""
    (report,) = await bring(client, shared_data / "claude" / "pomodoro-claude.jsonl")
    usage = (await client.get_session(report.session_id)).usage

    assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens) == (1_351_174, 12_700, 1_295_467)


async def test_a_call_that_waits_for_its_result_does_not_keep_a_compaction_back(client: Client, tmp_path: Path) -> None:
    """In the middle of a turn, between a call and its result."""
    log = [typed("Go."), reply(calls("t1")), *compacted(1), gave("t1"), reply(said("Done.")), *compacted(2)]
    (report,) = await bring(client, write(tmp_path, *log))

    assert (report.error, report.added) == ("", report.rows)
    assert Counter(kinds(await journal(client, SESSION)))["compaction_checkpoint"] == 2
