"""What a call may raise: one tree, its branches the gRPC codes, its leaves the server's reasons.

    TranscriptError
    ├── InvalidArgument
    │   ├── InvalidField
    │   ├── UnknownField
    │   ├── UnknownKind
    │   ├── BadSurfaceOp
    │   └── RowTooLarge
    ├── NotFound
    │   ├── SessionNotFound
    │   └── EventNotFound
    ├── AlreadyExists
    │   ├── SessionExists
    │   └── EventIdReused
    ├── Aborted
    │   └── SequenceMismatch
    ├── OutOfRange
    │   └── SequenceAhead
    ├── FailedPrecondition
    │   ├── BadSurfaceRange
    │   ├── RequestNotOpen
    │   └── JournalChanged
    ├── ResourceExhausted
    │   ├── HeldRowsFull
    │   └── StoreFull
    ├── Unavailable
    │   └── Draining
    ├── Internal
    ├── DeadlineExceeded
    ├── Cancelled
    ├── PermissionDenied
    ├── Unauthenticated
    ├── Unimplemented
    └── ClientClosed

A leaf is named as its value of ErrorReason. An error without a reason that this client knows, of a
proxy or of a newer server, is the branch of its code. Nothing is ever told by its text.
"""

# ruff: noqa: N818 - a leaf bears the name of its reason

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grpc import StatusCode

from transcript.v1.error_reason_pb2 import ErrorReason


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One field of a request that is wrong."""

    field: str
    """Its path in the request, e.g. `events[2].section_marker.label`."""
    description: str
    """What is wrong with it."""


class TranscriptError(Exception):
    """A call failed.

    Attributes:
        reason: The value of ErrorReason; ERROR_REASON_UNSPECIFIED for an error without a reason, or
            with one that this client does not know.
        reason_name: The reason as the server named it, e.g. "SESSION_NOT_FOUND", a newer server's
            included; "" for an error without one.
        message: For people, one line.
        metadata: What the reason's comment in error_reason.proto says, e.g. `session_id`.
        violations: Of InvalidField, each field that is wrong.
        code: The gRPC status code.
    """

    def __init__(
        self,
        reason: ErrorReason.ValueType,
        message: str,
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[FieldViolation] = (),
        code: StatusCode = StatusCode.UNKNOWN,
        reason_name: str = "",
    ) -> None:
        # Every argument is handed on, so that the error can be pickled.
        super().__init__(reason, message, metadata, violations, code, reason_name)
        self.reason = reason
        self.reason_name = reason_name or (name_of(reason) if reason else "")
        self.message = message
        self.metadata: Mapping[str, str] = dict(metadata or {})
        self.violations = tuple(violations)
        self.code = code

    def __str__(self) -> str:
        lines = [f"{self.reason_name or self.code.name}: {self.message}"]
        lines += [f"{violation.field}: {violation.description}" for violation in self.violations]
        return "; ".join(lines)


class InvalidArgument(TranscriptError):
    """The request is wrong, whatever the state of the journal."""


class InvalidField(InvalidArgument):
    """A field is wrong; `violations` names each. Mend the request."""


class UnknownField(InvalidArgument):
    """The request has a field that this server does not know. Upgrade the server."""


class UnknownKind(InvalidArgument):
    """A row has no payload, or one of a kind that this server does not know. Set one, or upgrade the server."""


class BadSurfaceOp(InvalidArgument):
    """A row's kind may not do to the surface what the row says. Mend the request."""


class RowTooLarge(InvalidArgument):
    """A row is larger than 8 MiB. Metadata: size, limit, in bytes."""


class NotFound(TranscriptError):
    """What was asked for does not exist for this caller."""


class SessionNotFound(NotFound):
    """The caller has no such session: never made, deleted, or another owner's. Metadata: session_id."""


class EventNotFound(NotFound):
    """No such row. Metadata: sequence."""


class AlreadyExists(TranscriptError):
    """What was to be made is there, and differs."""


class SessionExists(AlreadyExists):
    """The session exists with other fields. Metadata: session_id."""


class EventIdReused(AlreadyExists):
    """The row's id was used for other content: nothing was written. Metadata: event_id."""


class Aborted(TranscriptError):
    """Another writer was faster."""


class SequenceMismatch(Aborted):
    """The journal does not end where expected. Metadata: expected_latest_sequence, latest_sequence."""


class OutOfRange(TranscriptError):
    """A place beyond the end."""


class SequenceAhead(OutOfRange):
    """The journal does not reach that far. Metadata: sequence, latest_sequence."""


class FailedPrecondition(TranscriptError):
    """The journal's state does not allow it; the same call again will not either."""


class BadSurfaceRange(FailedPrecondition):
    """The range is not on the surface, or parts a tool call from its result.

    Metadata: start_sequence, end_sequence; of a rewind, after_sequence.
    """


class RequestNotOpen(FailedPrecondition):
    """The human request was answered already, or never made. Metadata: request_id."""


class JournalChanged(FailedPrecondition):
    """The session has another journal now: drop what is held, open anew. Metadata: journal_id."""


class ResourceExhausted(TranscriptError):
    """No room: a limit was passed, of the service or of a message's size."""


class HeldRowsFull(ResourceExhausted):
    """Ten rows are held already: nothing was stored. Wait for the turn's end. Metadata: limit."""


class StoreFull(ResourceExhausted):
    """The store has no room: nothing was written, reads go on. Retry once there is room."""


class Unavailable(TranscriptError):
    """The server cannot be reached, or broke off. What was sent may have been recorded or not."""


class Draining(Unavailable):
    """The server is going away. Call again."""


class Internal(TranscriptError):
    """Unforeseen. With a reason, the server's log has it under the metadata's request_id."""


class DeadlineExceeded(TranscriptError):
    """No answer in time. What was sent may have been recorded or not."""


class Cancelled(TranscriptError):
    """The call was cancelled, by the server or by something between."""


class PermissionDenied(TranscriptError):
    """The caller may not do this."""


class Unauthenticated(TranscriptError):
    """The server does not know the caller: a token is missing, or wrong."""


class Unimplemented(TranscriptError):
    """The server does not have this call: it is older, or not a transcript server."""


class ClientClosed(TranscriptError):
    """The client was closed, before the call or while it ran."""


BY_REASON: Mapping[ErrorReason.ValueType, type[TranscriptError]] = {
    ErrorReason.ERROR_REASON_INVALID_FIELD: InvalidField,
    ErrorReason.ERROR_REASON_UNKNOWN_FIELD: UnknownField,
    ErrorReason.ERROR_REASON_UNKNOWN_KIND: UnknownKind,
    ErrorReason.ERROR_REASON_BAD_SURFACE_OP: BadSurfaceOp,
    ErrorReason.ERROR_REASON_ROW_TOO_LARGE: RowTooLarge,
    ErrorReason.ERROR_REASON_SESSION_NOT_FOUND: SessionNotFound,
    ErrorReason.ERROR_REASON_EVENT_NOT_FOUND: EventNotFound,
    ErrorReason.ERROR_REASON_SESSION_EXISTS: SessionExists,
    ErrorReason.ERROR_REASON_EVENT_ID_REUSED: EventIdReused,
    ErrorReason.ERROR_REASON_SEQUENCE_MISMATCH: SequenceMismatch,
    ErrorReason.ERROR_REASON_SEQUENCE_AHEAD: SequenceAhead,
    ErrorReason.ERROR_REASON_BAD_SURFACE_RANGE: BadSurfaceRange,
    ErrorReason.ERROR_REASON_REQUEST_NOT_OPEN: RequestNotOpen,
    ErrorReason.ERROR_REASON_JOURNAL_CHANGED: JournalChanged,
    ErrorReason.ERROR_REASON_HELD_ROWS_FULL: HeldRowsFull,
    ErrorReason.ERROR_REASON_STORE_FULL: StoreFull,
    ErrorReason.ERROR_REASON_DRAINING: Draining,
    ErrorReason.ERROR_REASON_INTERNAL: Internal,
}

BY_CODE: Mapping[StatusCode, type[TranscriptError]] = {
    StatusCode.INVALID_ARGUMENT: InvalidArgument,
    StatusCode.NOT_FOUND: NotFound,
    StatusCode.ALREADY_EXISTS: AlreadyExists,
    StatusCode.ABORTED: Aborted,
    StatusCode.OUT_OF_RANGE: OutOfRange,
    StatusCode.FAILED_PRECONDITION: FailedPrecondition,
    StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    StatusCode.UNAVAILABLE: Unavailable,
    StatusCode.INTERNAL: Internal,
    StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    StatusCode.CANCELLED: Cancelled,
    StatusCode.PERMISSION_DENIED: PermissionDenied,
    StatusCode.UNAUTHENTICATED: Unauthenticated,
    StatusCode.UNIMPLEMENTED: Unimplemented,
}

PREFIX = "ERROR_REASON_"


def name_of(reason: ErrorReason.ValueType) -> str:
    """The reason as it stands in ErrorInfo, e.g. "SESSION_NOT_FOUND"."""
    return ErrorReason.Name(reason).removeprefix(PREFIX)
