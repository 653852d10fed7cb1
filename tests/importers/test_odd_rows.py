"""Whatever stands in a log's fields, reading goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from transcript_importers.claude_code import NotALog, read_log

from .logs import SESSION, calls, gave, queue, reply, row, said, text_of, typed

TEXTS = ["", "text", "image", "tool_use", "tool_result", "\ud800", "\0", "9999-12-31T23:59:59Z", "x" * 20_000]
KEYS = st.sampled_from(["type", "text", "content", "source", "data", "usage", "agentId"])
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(TEXTS),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(KEYS, inside, max_size=3),
    max_leaves=8,
)

ROWS = [
    typed([said("Go."), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]),
    reply(said("Done."), {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, usage={"output_tokens": 3}),
    reply(calls("t1", "Task", prompt="Count.")),
    gave("t1", [said("Seven.")], record={"agentId": "a1", "status": "completed", "durationMs": 3}),
    typed("Count.", isSidechain=True, agentId="a1"),
    row("progress", data={"type": "agent_progress", "agentId": "a1"}, parentToolUseID="t1"),
    row(
        "system",
        subtype="compact_boundary",
        compactMetadata={"trigger": "auto", "preTokens": 5, "preservedSegment": {}},
    ),
    typed("Summary.", isCompactSummary=True),
    row("system", subtype="api_error", error={"status": 500, "cause": {"code": "X"}}, retryInMs=5, retryAttempt=1),
    row("attachment", attachment={"type": "queued_command", "prompt": [said("stop")]}),
    queue("remove", "stop", reason="absorbed_mid_turn"),
    row("summary", summary="A talk", leafUuid="x"),
    {"type": "file-history-snapshot", "snapshot": {"a": 1}},
]


def places(value: object, path: tuple = ()) -> Iterator[tuple]:
    """Where something stands in a row, at any depth."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*path, key)
        yield from places(one, (*path, key))


PLACES = [(at, place) for at, one in enumerate(ROWS) for place in places(one)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), ODD), max_size=6))
def test_anything_in_any_place_is_read(changes: list[tuple[tuple[int, tuple], object]]) -> None:
    """Every row that has still a shape to be known by is there, and no id twice."""
    rows = json.loads(json.dumps(ROWS))
    for (at, place), odd in changes:
        inside = rows[at]
        for key in place[:-1]:
            inside = inside[key] if isinstance(inside, list | dict) and _has(inside, key) else {}
        if isinstance(inside, list | dict) and _has(inside, place[-1]):
            inside[place[-1]] = odd
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{SESSION}.jsonl"
        path.write_text(text_of(json.dumps(one) for one in rows))
        try:
            contents = read_log(path)
        except NotALog:
            return
    for session in contents.sessions:
        ids = [one.event.id for one in session.rows]
        assert len(ids) == len(set(ids))
        assert all(len(one.encode()) <= 128 for one in ids)
        assert all(one.event.SerializeToString() for one in session.rows)


def _has(inside: list | dict, key: object) -> bool:
    return key in inside if isinstance(inside, dict) else isinstance(key, int) and key < len(inside)
