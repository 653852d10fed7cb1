"""A log that has grown is read again: what was read of it before must come out the same.

The server refuses a row under an id that has other content, and a journal's rows are never changed. So a row must not
depend on anything that comes after it in the file, wherever the file ended when it was first read.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transcript_importers.claude_code import LogContents, NotALog, read_log
from transcript_importers.rows import Row

from .logs import SESSION, calls, gave, queue, reply, row, said, text_of, typed

FILES = [
    "claude/agentcmd-two-images-plan.jsonl",
    "claude/ccl-edge-cases.jsonl",
    "claude/entire-2compact-interrupts.jsonl",
    "claude/entire-compact-small.jsonl",
    "claude/entire-microcompact.jsonl",
    "claude/entire-subagents-progress.jsonl",
    "claude/kimuson-fe5e-sidechain-in-file.jsonl",
    "claude/moredip-0ccf/0ccf1a04-1b4c-43b6-8aa5-79e41db43a68.jsonl",
    "claude/moredip-general-tool-calls.jsonl",
    "claude/spotter-258c/258c7280-ae70-4798-800f-63464d01a85d.jsonl",
    "derived/claude-bom-crlf-cut-in-utf8.jsonl",
    "derived/claude-steering-queued-command.jsonl",
]
PLACES = [3, pytest.param(60, marks=pytest.mark.thorough)]
"""Cuts of each file between lines, and as many in the middle of one."""

NOTICE = "<task-notification><task-id>a1</task-id><status>completed</status><result>x</result></task-notification>"


def rows_of(contents: LogContents) -> dict[str, list[Row]]:
    """The rows of each session."""
    return {session.info.id: list(session.rows) for session in contents.sessions}


def assert_begins_as(part: Path, whole: dict[str, list[Row]]) -> None:
    """Every session of a part has the first rows of the whole one, and no other."""
    try:
        found = rows_of(read_log(part))
    except NotALog:
        return  # So little of it does not show what it is.
    for session_id, rows in found.items():
        assert rows == whole.get(session_id, [])[: len(rows)]


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("name", FILES)
def test_a_real_log_cut_anywhere_yields_the_rows_of_its_beginning(
    shared_data: Path, tmp_path: Path, name: str, places: int
) -> None:
    """Between two lines, and in the middle of one."""
    source = (shared_data / name).read_bytes()
    whole = rows_of(read_log(shared_data / name))
    ends = [at + 1 for at, byte in enumerate(source) if byte == 0x0A]
    chance = random.Random(name)
    part = tmp_path / Path(name).name
    for cut in [*chance.sample(ends, min(places, len(ends))), *chance.choices(range(len(source)), k=places)]:
        part.write_bytes(source[:cut])
        assert_begins_as(part, whole)


def palette() -> list[list[dict | str]]:
    """Pieces that logs are made of, and that reach back to earlier ones."""
    prompt, first, hello = typed("Go."), typed("Count.", isSidechain=True), reply(said("Hello."), message_id="m1")
    pretty = json.dumps(typed("Spread over lines."), indent=2)
    usage = {"input_tokens": 10, "output_tokens": 5}
    task = calls("t1", "Task", prompt="Count.", description="Count")
    return [
        [prompt],
        [{**prompt, "uuid": "copied"}],
        [hello],
        [{**hello, "uuid": "copied too"}],
        [{**hello, "parentUuid": "elsewhere"}],
        [{**hello, "message": {**hello["message"], "content": [said("Bye.")]}}],
        [reply(calls("t2"), message_id="m2", usage=usage), gave("t2")],
        [reply(said("Done."), message_id="m2", usage={**usage, "output_tokens": 50})],
        [reply(task)],
        [first],
        [reply(said("Seven."), isSidechain=True, parentUuid=first["uuid"])],
        [row("progress", data={"type": "agent_progress", "agentId": "a1"}, parentToolUseID="t1")],
        [gave("t1", "Seven.", record={"agentId": "a1", "status": "completed"})],
        [queue("enqueue", "stop")],
        [queue("enqueue", NOTICE)],
        [queue("remove")],
        [queue("dequeue")],
        [row("attachment", attachment={"type": "queued_command", "prompt": "stop"})],
        [typed("stop")],
        [typed(NOTICE)],
        [typed("[Request interrupted by user]")],
        [row("system", subtype="turn_duration")],
        [row("system", subtype="compact_boundary", compactMetadata={"preservedSegment": {"headUuid": hello["uuid"]}})],
        [row("system", subtype="compact_boundary")],
        [row("system", subtype="microcompact_boundary", microcompactMetadata={"compactedToolIds": ["t1", "t2", "t2"]})],
        [typed("Summary.", isCompactSummary=True)],
        [typed("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)],
        [typed("<command-name>/model</command-name>")],
        [{"type": "file-history-snapshot", "snapshot": {"a": 1}}],
        [{"type": "summary", "summary": "A talk", "leafUuid": prompt["uuid"]}],
        [typed("Go on.", sessionId="99999999-aaaa-4bbb-8ccc-dddddddddddd")],
        [pretty],
        ['{"type":"user","message":{"role":"us'],
        ["// a comment"],
        [""],
    ]


PALETTE = palette()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PALETTE), min_size=1, max_size=25), st.floats(0, 1))
def test_any_log_cut_anywhere_yields_the_rows_of_its_beginning(pieces: list[list[dict | str]], where: float) -> None:
    """Whatever its pieces, in whatever order; and ids are never given twice."""
    source = text_of(line for piece in pieces for line in piece).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{SESSION}.jsonl"
        path.write_bytes(source)
        try:
            whole = rows_of(read_log(path))
        except NotALog:
            whole = {}
        for rows in whole.values():
            ids = [row.event.id for row in rows]
            assert len(ids) == len(set(ids))
        path.write_bytes(source[: int(len(source) * where)])
        assert_begins_as(path, whole)
