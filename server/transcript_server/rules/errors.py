"""The one exception by which a call is refused, and the gRPC code of each reason.

Rules and stores raise `Refusal`; the services' interceptor turns it into a status with ErrorInfo.
Whatever else is raised is unforeseen: it reaches the client as INTERNAL with a fixed text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from transcript.v1 import error_reason_pb2
from transcript.v1.error_reason_pb2 import ErrorReason

DOMAIN: Final = "transcript.v1"
VIOLATIONS: Final = 6
"""Wrong fields that a refusal names at most: a hostile request may have millions, and a status travels in headers."""

# The canonical codes, by their names: the rules do not import grpc.
CODES: Final[Mapping[ErrorReason.ValueType, str]] = {
    error_reason_pb2.ERROR_REASON_INVALID_FIELD: "INVALID_ARGUMENT",
    error_reason_pb2.ERROR_REASON_UNKNOWN_FIELD: "INVALID_ARGUMENT",
    error_reason_pb2.ERROR_REASON_UNKNOWN_KIND: "INVALID_ARGUMENT",
    error_reason_pb2.ERROR_REASON_BAD_SURFACE_OP: "INVALID_ARGUMENT",
    error_reason_pb2.ERROR_REASON_ROW_TOO_LARGE: "INVALID_ARGUMENT",
    error_reason_pb2.ERROR_REASON_SESSION_NOT_FOUND: "NOT_FOUND",
    error_reason_pb2.ERROR_REASON_EVENT_NOT_FOUND: "NOT_FOUND",
    error_reason_pb2.ERROR_REASON_SESSION_EXISTS: "ALREADY_EXISTS",
    error_reason_pb2.ERROR_REASON_EVENT_ID_REUSED: "ALREADY_EXISTS",
    error_reason_pb2.ERROR_REASON_SEQUENCE_MISMATCH: "ABORTED",
    error_reason_pb2.ERROR_REASON_SEQUENCE_AHEAD: "OUT_OF_RANGE",
    error_reason_pb2.ERROR_REASON_BAD_SURFACE_RANGE: "FAILED_PRECONDITION",
    error_reason_pb2.ERROR_REASON_REQUEST_NOT_OPEN: "FAILED_PRECONDITION",
    error_reason_pb2.ERROR_REASON_JOURNAL_CHANGED: "FAILED_PRECONDITION",
    error_reason_pb2.ERROR_REASON_HELD_ROWS_FULL: "RESOURCE_EXHAUSTED",
    error_reason_pb2.ERROR_REASON_STORE_FULL: "RESOURCE_EXHAUSTED",
    error_reason_pb2.ERROR_REASON_DRAINING: "UNAVAILABLE",
    error_reason_pb2.ERROR_REASON_INTERNAL: "INTERNAL",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """One wrong field of a request.

    Attributes:
        field: Its path in the request, e.g. `events[3].user_message.origin`.
        description: What is wrong with it, and what would be right.
    """

    field: str
    description: str


class Refusal(Exception):  # noqa: N818 - an answer, not a fault of the service
    """A call is refused; nothing was written.

    Attributes:
        reason: The machine-readable reason.
        message: For people: what, where, and what to do.
        metadata: What varies in the message, by the keys that the reason's comment in `error_reason.proto` names.
        violations: The wrong fields, for INVALID_FIELD and its kin.
    """

    def __init__(
        self,
        reason: ErrorReason.ValueType,
        message: str,
        metadata: Mapping[str, object] | None = None,
        violations: Iterable[Violation] = (),
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata = {key: str(value) for key, value in (metadata or {}).items()}
        self.violations = tuple(violations)

    @property
    def reason_name(self) -> str:
        """The reason as ErrorInfo carries it: without the enum's prefix."""
        return ErrorReason.Name(self.reason).removeprefix("ERROR_REASON_")

    @property
    def code(self) -> str:
        """The canonical gRPC code's name."""
        return CODES[self.reason]


def invalid_field(field: str, description: str) -> Refusal:
    """A field of the request is wrong."""
    return Refusal(
        error_reason_pb2.ERROR_REASON_INVALID_FIELD,
        f"{field}: {description}",
        violations=[Violation(field, description)],
    )


def session_not_found(session_id: str) -> Refusal:
    """There is no such session for this caller; one of another owner is missing in the same words."""
    return Refusal(
        error_reason_pb2.ERROR_REASON_SESSION_NOT_FOUND,
        f"session {session_id} not found",
        {"session_id": session_id},
    )


def sequence_ahead(field: str, sequence: int, latest: int) -> Refusal:
    """A row is asked for that the journal does not reach."""
    return Refusal(
        error_reason_pb2.ERROR_REASON_SEQUENCE_AHEAD,
        f"{field} is {sequence}, and the journal ends at {latest}",
        {"sequence": sequence, "latest_sequence": latest},
    )


def journal_changed(session_id: str, journal_id: str) -> Refusal:
    """The session has another journal than the one that the client knows."""
    return Refusal(
        error_reason_pb2.ERROR_REASON_JOURNAL_CHANGED,
        f"session {session_id} has another journal now; drop what is held and open anew",
        {"journal_id": journal_id},
    )


def bad_surface_range(message: str, **metadata: int) -> Refusal:
    """A replacement or a rewind names rows that are not on the surface, or parts a tool call from its result."""
    return Refusal(error_reason_pb2.ERROR_REASON_BAD_SURFACE_RANGE, message, metadata)
