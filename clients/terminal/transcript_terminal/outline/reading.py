"""A row → a block, for every kind that needs no other row to be understood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any

from transcript.v1 import event_pb2
from transcript_terminal.outline.blocks import (
    Aside,
    Block,
    Carried,
    Failure,
    ForeignRun,
    Line,
    Message,
    Request,
    Response,
    Rule,
    Speaker,
)
from transcript_terminal.outline.facts import kind_of

Event = event_pb2.Event

_ORIGINS = {
    event_pb2.UserMessage.ORIGIN_STEERING: Speaker.STEERING,
    event_pb2.UserMessage.ORIGIN_NUDGE: Speaker.NUDGE,
    event_pb2.UserMessage.ORIGIN_AUTOMATION: Speaker.AUTOMATION,
}


def place(event: Event) -> dict[str, Any]:
    """Where and when: what every block is made with."""
    stamp = event.time if event.HasField("time") else event.recorded_at
    known = event.HasField("time") or event.HasField("recorded_at")
    return {"sequence": event.sequence, "time": stamp.ToDatetime(UTC) if known else None}


def carried(attachments: Sequence[event_pb2.Attachment]) -> tuple[Carried, ...]:
    return tuple(Carried(one.media_type, one.name, one.uri, len(one.data), one.data) for one in attachments)


def read(event: Event) -> Block | None:
    """The row's block; none if the kind shows nothing to a reader. A kind without an entry shows its fallback."""
    reader = _READERS.get(kind_of(event), _fallback)
    return reader(event)


def read_raw(event: Event) -> Block:
    """The same for the journal view, where a row that otherwise shows nothing is a line too."""
    return read(event) or _fallback(event)


def _fallback(event: Event) -> Line:
    return Line(**place(event), text=event.fallback or kind_of(event).replace("_", " ") or "a row of an unknown kind")


def _nothing(_: Event) -> None:
    return None


def _user_message(event: Event) -> Message:
    said = event.user_message
    speaker = _ORIGINS.get(said.origin, Speaker.USER)
    return Message(
        **place(event),
        speaker=speaker,
        text=said.text,
        carried=carried(said.attachments),
        elided_bytes=event.elided_bytes,
    )


def _assistant_message(event: Event) -> Message:
    said = event.assistant_message
    return Message(
        **place(event),
        speaker=Speaker.AGENT,
        text=said.text,
        carried=carried(said.attachments),
        elided_bytes=event.elided_bytes,
    )


def _note(event: Event) -> Message:
    note = event.note
    return Message(
        **place(event), speaker=Speaker.NOTE, text=note.text, by=note.source, elided_bytes=event.elided_bytes
    )


def _subagent_completed(event: Event) -> Message:
    done = event.subagent_completed
    return Message(
        **place(event),
        speaker=Speaker.SUBAGENT,
        text=done.text,
        by=done.subagent_id,
        elided_bytes=event.elided_bytes,
    )


def _thinking(event: Event) -> Aside:
    return Aside(**place(event), heading="thinking", text=event.thinking.text, elided_bytes=event.elided_bytes)


def _summary(event: Event) -> Aside:
    text = event.compaction_summary.text
    return Aside(**place(event), heading="summary", text=text, is_folded=True, elided_bytes=event.elided_bytes)


def _system_message(event: Event) -> Aside:
    text = event.system_message.text
    return Aside(**place(event), heading="instructions", text=text, elided_bytes=event.elided_bytes)


def _section_marker(event: Event) -> Rule:
    return Rule(**place(event), label=event.section_marker.label)


def _turn_ended(event: Event) -> Line | None:
    lines = {
        event_pb2.TurnEnded.OUTCOME_INTERRUPTED: "the turn was interrupted",
        event_pb2.TurnEnded.OUTCOME_FAILED: "the turn failed",
    }
    text = lines.get(event.turn_ended.outcome)
    return Line(**place(event), text=text, is_warning=True) if text else None


def _human_request(event: Event) -> Request:
    asked = event.human_request
    names = {asked.KIND_APPROVAL: "approval", asked.KIND_FEEDBACK: "feedback"}
    return Request(
        **place(event),
        request_id=asked.request_id,
        asks_for=names.get(asked.kind, "question"),
        prompt=asked.prompt,
        options=tuple(asked.options),
        elided_bytes=event.elided_bytes,
    )


def _human_response(event: Event) -> Response:
    given = event.human_response
    names = {
        given.OUTCOME_APPROVED: "approved",
        given.OUTCOME_DENIED: "denied",
        given.OUTCOME_CANCELLED: "cancelled",
    }
    return Response(
        **place(event),
        request_id=given.request_id,
        outcome=names.get(given.outcome, "answered"),
        answer=given.answer,
        elided_bytes=event.elided_bytes,
    )


def _error_report(event: Event) -> Failure:
    return Failure(**place(event), reason=event.error_report.reason, message=event.error_report.message)


def _status(event: Event) -> Line | None:
    return Line(**place(event), text=event.status.text) if event.status.text.strip() else None


def _subagent_started(event: Event) -> Line:
    began = event.subagent_started
    where = f" (session {began.session_id})" if began.session_id else ""
    return Line(**place(event), text=f"background agent {began.name or began.subagent_id} began{where}")


def _subagent_terminated(event: Event) -> Line:
    gone = event.subagent_terminated
    why = f": {gone.reason}" if gone.reason else ""
    return Line(**place(event), text=f"background agent {gone.subagent_id} was stopped{why}", is_warning=True)


def _compaction_checkpoint(event: Event) -> Line:
    summary = event.compaction_checkpoint.summary_sequence
    where = f" (summary: #{summary})" if summary else ""
    return Line(**place(event), text=f"earlier context was compacted{where}", cites=summary)


def _compaction_ended(event: Event) -> Line | None:
    ended = event.compaction_ended
    if not ended.landed:
        return Line(**place(event), text="a compaction ended without effect", is_warning=True)
    if ended.tokens_before and ended.tokens_after:
        return Line(
            **place(event),
            text=f"the context went from {ended.tokens_before:,} to {ended.tokens_after:,} tokens",
        )
    return None


def _context_reset(event: Event) -> Line:
    why = f": {event.context_reset.reason}" if event.context_reset.reason else ""
    return Line(**place(event), text=f"the model's context was emptied{why}")


def _rewind(event: Event) -> Line:
    to = event.rewind.after_sequence
    why = f": {event.rewind.reason}" if event.rewind.reason else ""
    back = f"to #{to}; what came after it" if to else "to the start; what came before this"
    text = f"the conversation went back {back} no longer counts{why}"
    return Line(**place(event), text=text, is_warning=True, cites=to)


def _session_forked(event: Event) -> Line:
    forked = event.session_forked
    return Line(**place(event), text=f"up to here a copy of {forked.session_id}, rows 1 to {forked.sequence}")


def _foreign_record(event: Event) -> ForeignRun:
    record = event.foreign_record
    return ForeignRun(**place(event), format=record.format, types={record.type: 1})


_READERS: dict[str, Callable[[Event], Block | None]] = {
    "user_message": _user_message,
    "assistant_message": _assistant_message,
    "thinking": _thinking,
    "section_marker": _section_marker,
    "turn_started": _nothing,
    "turn_ended": _turn_ended,
    "note": _note,
    "human_request": _human_request,
    "human_response": _human_response,
    "error_report": _error_report,
    "status": _status,
    "subagent_started": _subagent_started,
    "subagent_completed": _subagent_completed,
    "subagent_terminated": _subagent_terminated,
    "compaction_started": _nothing,
    "compaction_summary": _summary,
    "compaction_checkpoint": _compaction_checkpoint,
    "compaction_ended": _compaction_ended,
    "context_reset": _context_reset,
    "rewind": _rewind,
    "system_message": _system_message,
    "input_receipt": _nothing,
    "session_forked": _session_forked,
    "foreign_record": _foreign_record,
}
