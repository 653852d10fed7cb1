"""Blocks of messages → what rows carry: attachments, tool calls, tool results, reasoning."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import Attachment, Thinking, ToolCall, ToolResult
from transcript_importers.claude_code.entry import blocks_of
from transcript_importers.claude_code.fields import dumps, dumps_in_order, flag, mapping, number, string

if TYPE_CHECKING:
    from transcript_importers.claude_code.fields import JsonObject

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (-?\d{1,9})\b")
_DURATIONS = {"durationMs": 1, "totalDurationMs": 1, "durationSeconds": 1000}
"""Where the tools' own records say how long they ran, and how many milliseconds their unit has."""
_LONGEST_RUN = 315_576_000_000_000
"""Milliseconds that a Duration can say."""


def attachment(block: JsonObject) -> Attachment | None:
    """An image or document block's attachment; None for any other block, and for one without readable bytes."""
    kind = string(block, "type")
    if kind not in {"image", "document"}:
        return None
    source = mapping(block, "source")
    made = Attachment(media_type=string(source, "media_type"), name=string(block, "title"))
    match string(source, "type"):
        case "base64":
            try:
                made.data = base64.b64decode(string(source, "data"), validate=True)
            except (binascii.Error, ValueError):
                return None
        case "text":
            made.data = string(source, "data").encode()
        case "url":
            made.uri = string(source, "url")
        case "file":
            made.uri = string(source, "file_id")
        case _:
            return None
    return made


def thinking(block: JsonObject) -> Thinking | None:
    """A reasoning block; None for any other."""
    match string(block, "type"):
        case "thinking":
            return Thinking(text=string(block, "thinking"), signature=string(block, "signature").encode())
        case "redacted_thinking":
            return Thinking(signature=string(block, "data").encode())
        case _:
            return None


def tool_call(block: JsonObject) -> ToolCall | None:
    """A block that asks for a tool, the provider's own tools included; None for any other."""
    if not string(block, "type").endswith("tool_use"):
        return None
    arguments = block.get("input")
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"input": arguments}
    return ToolCall(call_id=string(block, "id"), name=string(block, "name"), arguments_json=dumps_in_order(arguments))


def tool_result(block: JsonObject, record: object) -> ToolResult | None:
    """A block with what a tool gave back; None for any other.

    Args:
        block: The block.
        record: The row's toolUseResult, which the tool itself wrote: an object, a text or a list.
    """
    if not string(block, "type").endswith("tool_result"):
        return None
    result = ToolResult(call_id=string(block, "tool_use_id"), is_error=flag(block, "is_error"))
    texts: list[str] = []
    content = block.get("content")
    for part in blocks_of([content] if isinstance(content, dict) else content):
        if (attached := attachment(part)) is not None:
            result.attachments.append(attached)
        elif string(part, "type") == "text":
            texts.append(string(part, "text"))
        else:
            texts.append(dumps(part))
    result.text = "\n".join(texts)
    if (exit_code := _exit_code(result, record)) is not None:
        result.exit_code = exit_code
    if (milliseconds := _ran(record)) is not None:
        result.duration.FromMilliseconds(milliseconds)
    return result


def _ran(record: object) -> int | None:
    for key, milliseconds in _DURATIONS.items():
        ran = number(record, key)
        if ran is not None and ran * milliseconds < _LONGEST_RUN:
            return round(ran * milliseconds)
    return None


def _exit_code(result: ToolResult, record: object) -> int | None:
    stated = number(record, "exitCode")
    if stated is not None and stated < 1 << 31:
        return int(stated)
    found = _EXIT_CODE.match(result.text) if result.is_error else None
    return int(found[1]) if found else None
