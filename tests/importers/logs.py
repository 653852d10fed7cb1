"""Small Claude Code logs, written by hand for one behaviour each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

from transcript.v1.event_pb2 import Event
from transcript_importers.claude_code import LogContents, read_log
from transcript_importers.rows import Row

SESSION = "11111111-2222-4333-8444-555555555555"
_numbers = count(1)

Json = dict[str, Any]


def row(kind: str, **fields: Any) -> Json:
    """A row of the log, in the order of the calls."""
    number = next(_numbers)
    return {
        "type": kind,
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "parentUuid": None,
        "sessionId": SESSION,
        "timestamp": f"2026-01-02T03:{number // 1000 % 60:02d}:{number // 60 % 60:02d}.{number % 1000:03d}Z",
        "isSidechain": False,
        "cwd": "/home/dev/project",
        "gitBranch": "main",
        "version": "2.1.40",
        **fields,
    }


def typed(content: Any, **fields: Any) -> Json:
    """A user row."""
    return row("user", **{"message": {"role": "user", "content": content}, **fields})


def reply(*blocks: Json, message_id: str = "", usage: Json | None = None, **fields: Any) -> Json:
    """An assistant row."""
    message = {
        "id": message_id or f"msg_{next(_numbers)}",
        "role": "assistant",
        "type": "message",
        "model": "claude-test-1",
        "content": list(blocks),
        "usage": usage or {},
    }
    return row("assistant", **{"message": message, "requestId": "req_1", **fields})


def said(text: str) -> Json:
    """A text block."""
    return {"type": "text", "text": text}


def calls(call_id: str, name: str = "Bash", **arguments: Any) -> Json:
    """A tool_use block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def gave(call_id: str, content: Any = "done", *, record: Any = None, is_error: bool = False, **fields: Any) -> Json:
    """A user row with a tool's result."""
    block = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
        **({"is_error": True} if is_error else {}),
    }
    return typed([block], **({"toolUseResult": record} if record is not None else {}), **fields)


def queue(operation: str, content: str | None = None, **fields: Any) -> Json:
    """A row of the prompt queue, which has no uuid."""
    made = row("queue-operation", operation=operation, **fields)
    del made["uuid"], made["parentUuid"]
    return made if content is None else {**made, "content": content}


def text_of(lines: Iterable[Json | str]) -> str:
    """The log's text."""
    return "".join(f"{line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def write(folder: Path, *lines: Json | str, name: str = f"{SESSION}.jsonl") -> Path:
    """A log file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(lines))
    return path


def read(folder: Path, *lines: Json | str, name: str = f"{SESSION}.jsonl") -> LogContents:
    """A log as it is read."""
    return read_log(write(folder, *lines, name=name))


def events(contents: LogContents) -> list[Event]:
    """The rows of the file's own session."""
    return [one.event for one in contents.sessions[0].rows]


def rows(contents: LogContents) -> list[Row]:
    """The same with the ranges that they replace."""
    return list(contents.sessions[0].rows)


def kinds(found: Iterable[Event]) -> list[str]:
    """What each row is."""
    return [event.WhichOneof("payload") or "" for event in found]


def of_kind(found: Iterable[Event], kind: str) -> list[Any]:
    """The payloads of one kind."""
    return [getattr(event, kind) for event in found if event.HasField(kind)]
