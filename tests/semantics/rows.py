"""Rows in a word, for tests that spell a history out."""

from __future__ import annotations

from typing import Any

from transcript.v1.event_pb2 import (
    AppendOp,
    AssistantMessage,
    CompactionCheckpoint,
    CompactionSummary,
    ContextReset,
    Event,
    HumanRequest,
    HumanResponse,
    LogOnlyOp,
    Note,
    ReplaceOp,
    Rewind,
    SectionMarker,
    Status,
    Surface,
    ToolCall,
    ToolResult,
    TurnEnded,
    TurnStarted,
    UserMessage,
)

APPEND = Surface(append=AppendOp())
LOG_ONLY = Surface(log_only=LogOnlyOp())


def user(text: str = "a prompt", origin: int = UserMessage.ORIGIN_UNSPECIFIED, **row: Any) -> Event:
    return Event(user_message=UserMessage(text=text, origin=origin), **row)


def steering(text: str = "rather so", **row: Any) -> Event:
    return user(text, UserMessage.ORIGIN_STEERING, **row)


def nudge(text: str = "go on", **row: Any) -> Event:
    return user(text, UserMessage.ORIGIN_NUDGE, **row)


def reply(text: str = "a reply", **row: Any) -> Event:
    return Event(assistant_message=AssistantMessage(text=text), **row)


def call(call_id: str = "c1", **row: Any) -> Event:
    return Event(tool_call=ToolCall(call_id=call_id, name="run", arguments_json="{}"), **row)


def result(call_id: str = "c1", text: str = "output", **row: Any) -> Event:
    return Event(tool_result=ToolResult(call_id=call_id, text=text), **row)


def begin(idle: float | None = None, **row: Any) -> Event:
    started = TurnStarted()
    if idle is not None:
        started.idle_timeout.FromNanoseconds(round(idle * 1e9))
    return Event(turn_started=started, **row)


def end(outcome: int = TurnEnded.OUTCOME_COMPLETED, **row: Any) -> Event:
    return Event(turn_ended=TurnEnded(outcome=outcome), **row)


def marker(label: str = "", collapse: bool | None = None, source: str = "", **row: Any) -> Event:
    return Event(section_marker=SectionMarker(label=label, source=source, collapse_earlier=collapse), **row)


def note(text: str = "a note", **row: Any) -> Event:
    return Event(note=Note(text=text), **row)


def reset(**row: Any) -> Event:
    return Event(context_reset=ContextReset(reason="start afresh"), **row)


def ask(request_id: str = "q1", **row: Any) -> Event:
    return Event(human_request=HumanRequest(request_id=request_id, prompt="May I?"), **row)


def respond(request_id: str = "q1", **row: Any) -> Event:
    return Event(human_response=HumanResponse(request_id=request_id, outcome=HumanResponse.OUTCOME_ANSWERED), **row)


def status(text: str = "busy", **row: Any) -> Event:
    return Event(status=Status(text=text), **row)


def summary(compaction_id: str, **row: Any) -> Event:
    return Event(compaction_summary=CompactionSummary(compaction_id=compaction_id, text="what was said"), **row)


def checkpoint(first: int, last: int, compaction_id: str = "", **row: Any) -> Event:
    body = CompactionCheckpoint(compaction_id=compaction_id, text="for the model")
    return Event(compaction_checkpoint=body, surface=replacing(first, last), **row)


def rewind(after: int, **row: Any) -> Event:
    return Event(rewind=Rewind(after_sequence=after), **row)


def replacing(first: int, last: int) -> Surface:
    return Surface(replace=ReplaceOp(start_sequence=first, end_sequence=last))
