"""From a gRPC status to an error of the tree in errors.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from grpc_status import rpc_status

from transcript.errors import BY_CODE, BY_REASON, PREFIX, FieldViolation, TranscriptError
from transcript.v1.error_reason_pb2 import ErrorReason

if TYPE_CHECKING:
    from grpc import StatusCode
    from grpc.aio import AioRpcError

DOMAIN = "transcript.v1"


def error_of(call: AioRpcError, target: str) -> TranscriptError:
    """The error that *call* ended with: by its reason, else by its code.

    One that does not come from the service itself names *target*, so that a wrong address shows.
    """
    info, violations = _details(call)
    if info is None:
        return by_code(call.code(), f"{call.details() or 'no details'} (server {target})")
    key = PREFIX + info.reason
    # A reason of a newer server: its code says what kind of error it is.
    reason = ErrorReason.Value(key) if key in ErrorReason.keys() else ErrorReason.ERROR_REASON_UNSPECIFIED  # noqa: SIM118
    kind = BY_REASON.get(reason) or BY_CODE.get(call.code(), TranscriptError)
    return kind(reason, call.details() or "", dict(info.metadata), violations, call.code(), info.reason)


def by_code(code: StatusCode, message: str) -> TranscriptError:
    """An error without a reason."""
    kind = BY_CODE.get(code, TranscriptError)
    return kind(ErrorReason.ERROR_REASON_UNSPECIFIED, message, code=code)


def _details(call: AioRpcError) -> tuple[ErrorInfo | None, list[FieldViolation]]:
    """What the status carries beside code and text; nothing if it is absent, garbage or another service's."""
    info = None
    violations = []
    try:
        status = rpc_status.from_call(call)
        for detail in status.details if status else ():
            if detail.Is(ErrorInfo.DESCRIPTOR):
                found = ErrorInfo.FromString(detail.value)
                info = found if found.domain == DOMAIN else info
            elif detail.Is(BadRequest.DESCRIPTOR):
                violations += [
                    FieldViolation(field=violation.field, description=violation.description)
                    for violation in BadRequest.FromString(detail.value).field_violations
                ]
    except (DecodeError, ValueError):
        return None, []
    return info, violations
