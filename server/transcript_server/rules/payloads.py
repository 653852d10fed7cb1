"""What each kind of row demands of its own fields, beyond what holds of every message (`shape`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from transcript.v1.event_pb2 import Event
from transcript_server.rules import limits, text
from transcript_server.rules.errors import Violation
from transcript_server.rules.facts import Kind

Fault = tuple[str, str | None]
"""A field of the payload (or, after a dot, of the row), and what is wrong with it; none if nothing is."""


def normalise(event: Event) -> None:
    """Brings a row's lines for display to their normal form."""
    if event.HasField("section_marker"):
        event.section_marker.label = text.normalised(event.section_marker.label)
        event.section_marker.source = text.normalised(event.section_marker.source)
    elif event.HasField("note"):
        event.note.source = text.normalised(event.note.source)


def violations(event: Event, kind: Kind, path: str) -> Iterator[Violation]:
    """What is wrong with a row's payload."""
    check = _CHECKS.get(kind.name)
    for field, fault in check(event) if check is not None else ():
        if fault is not None:
            yield Violation(f"{path}{field}" if field.startswith(".") else f"{path}.{kind.name}.{field}", fault)


def _section_marker(event: Event) -> Iterator[Fault]:
    if event.HasField("surface"):
        yield ".surface", "does not belong on a marker, which never enters the model's context"
    if event.source_sequences:
        yield ".source_sequences", "do not belong on a marker"
    marker = event.section_marker
    yield "label", text.line_fault(marker.label, limits.LABEL_CODE_POINTS)
    yield "source", text.line_fault(marker.source, limits.SOURCE_CODE_POINTS)


def _note(event: Event) -> Iterator[Fault]:
    yield "source", text.line_fault(event.note.source, limits.SOURCE_CODE_POINTS)


def _turn_started(event: Event) -> Iterator[Fault]:
    timeout = event.turn_started.idle_timeout
    if timeout.seconds + bool(timeout.nanos) > limits.IDLE_TIMEOUT_SECONDS_MAX:
        yield "idle_timeout", f"is over {limits.IDLE_TIMEOUT_SECONDS_MAX} s"


def _human_request(event: Event) -> Iterator[Fault]:
    if not event.human_request.request_id:
        yield "request_id", "is required: a response names it"
    if len(event.human_request.options) > limits.REQUEST_OPTIONS:
        yield "options", f"has more than {limits.REQUEST_OPTIONS} entries"


def _human_response(event: Event) -> Iterator[Fault]:
    if not event.human_response.request_id:
        yield "request_id", "is required: the request that it ends"


def _input_receipt(event: Event) -> Iterator[Fault]:
    yield "event_id", text.id_fault(event.input_receipt.event_id, limits.EVENT_ID_BYTES)


def _subagent_started(event: Event) -> Iterator[Fault]:
    if event.subagent_started.session_id:
        yield "session_id", text.session_id_fault(event.subagent_started.session_id, limits.SESSION_ID_BYTES)


def _session_forked(event: Event) -> Iterator[Fault]:
    if event.session_forked.session_id:
        yield "session_id", text.session_id_fault(event.session_forked.session_id, limits.SESSION_ID_BYTES)


def _compaction_checkpoint(event: Event) -> Iterator[Fault]:
    if event.compaction_checkpoint.summary_sequence:
        yield "summary_sequence", "is assigned by the server; leave it unset"


_CHECKS: Final[Mapping[str, Callable[[Event], Iterator[Fault]]]] = {
    "section_marker": _section_marker,
    "note": _note,
    "turn_started": _turn_started,
    "human_request": _human_request,
    "human_response": _human_response,
    "input_receipt": _input_receipt,
    "subagent_started": _subagent_started,
    "session_forked": _session_forked,
    "compaction_checkpoint": _compaction_checkpoint,
}
