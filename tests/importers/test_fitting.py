"""Rows that are larger than a journal takes."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from transcript.v1.event_pb2 import Attachment, Event, ForeignRecord, ToolCall, ToolResult, UserMessage
from transcript_importers.fitting import ATTACHMENT_LIMIT, LINE_LIMIT, ROW_LIMIT, fit

from .logs import events, gave, read, typed

MIB = 1 << 20


def test_what_fits_is_left_alone() -> None:
    """To the byte."""
    event = Event(user_message=UserMessage(text="x" * (ROW_LIMIT - 100)))
    before = event.SerializeToString()

    assert (fit(event), event.SerializeToString() == before) == ("", True)


def test_a_text_loses_its_end() -> None:
    """At a character, with a word in its place."""
    event = Event(tool_result=ToolResult(call_id="t1", text="ü" * (5 * MIB)))
    told = fit(event)

    assert event.ByteSize() <= ROW_LIMIT
    assert event.tool_result.text.endswith(f"ü\n[… cut by the import, {10 * MIB} bytes in all]")
    assert "the end of text" in told


def test_attachments_lose_their_bytes_before_a_text_loses_its_end() -> None:
    """The largest first, and only as many as it takes."""
    attachments = [Attachment(media_type="image/png", name=name, data=bytes(size * MIB)) for name, size in
                   (("small", 1), ("large", 6), ("middle", 3))]  # fmt: skip
    event = Event(tool_result=ToolResult(text="what it says", attachments=attachments))
    fit(event)

    assert [one.name for one in event.tool_result.attachments] == [
        "small",
        f"large ({6 * MIB} bytes left out)",
        "middle",
    ]
    assert event.tool_result.text == "what it says"
    assert event.ByteSize() <= ROW_LIMIT


def test_json_stays_json() -> None:
    """Readers parse it."""
    whole = json.dumps({"a": '"\\' * (5 * MIB)})
    call = Event(tool_call=ToolCall(call_id="t1", name="Write", arguments_json=whole))
    record = Event(foreign_record=ForeignRecord(format="claude-code", type="progress", json=whole))
    for event, text in ((call, "call.arguments_json"), (record, "record.json")):
        told = fit(event)

        assert told, text
        assert event.ByteSize() <= ROW_LIMIT
    assert json.loads(call.tool_call.arguments_json)["bytes"] == len(whole)
    assert whole.startswith(json.loads(record.foreign_record.json)["begins"])


def test_lines_and_lists_keep_to_their_own_limits() -> None:
    """A name is no place for a novel."""
    event = Event(
        tool_result=ToolResult(
            call_id="ü" * LINE_LIMIT, attachments=[Attachment(uri="x" * (LINE_LIMIT + 1))] * (ATTACHMENT_LIMIT + 2)
        )
    )
    told = fit(event)

    assert len(event.tool_result.call_id.encode()) <= LINE_LIMIT
    assert len(event.tool_result.attachments) == ATTACHMENT_LIMIT
    assert all(len(one.uri.encode()) <= LINE_LIMIT for one in event.tool_result.attachments)
    assert "2 attachments" in told


def test_a_log_with_a_row_too_large_tells_its_line(tmp_path: Path) -> None:
    """And reads on."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png"}}
    data = base64.b64encode(bytes(9 * MIB)).decode()
    log = [typed("Go."), gave("t1", [{**image, "source": {**image["source"], "data": data}}]), typed("On.")]
    contents = read(tmp_path, *log)

    assert len(events(contents)) == 3
    assert [problem.partition(":")[0] for problem in contents.problems] == ["line 2"]
