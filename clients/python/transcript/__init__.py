"""The Python client of the transcript service.

    async with connect("127.0.0.1:50051") as client:
        await client.append(session_id, [Event(user_message=UserMessage(text="Hello"))])

The messages are those of transcript.v1, generated from the contract. A name below is loaded when it is
first used, so that the messages alone can be had without gRPC.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transcript.client import Client, connect
    from transcript.context import Context
    from transcript.errors import (
        Aborted,
        AlreadyExists,
        BadSurfaceOp,
        BadSurfaceRange,
        Cancelled,
        ClientClosed,
        DeadlineExceeded,
        Draining,
        EventIdReused,
        EventNotFound,
        FailedPrecondition,
        FieldViolation,
        HeldRowsFull,
        Internal,
        InvalidArgument,
        InvalidField,
        JournalChanged,
        NotFound,
        OutOfRange,
        PermissionDenied,
        RequestNotOpen,
        ResourceExhausted,
        RowTooLarge,
        SequenceAhead,
        SequenceMismatch,
        SessionExists,
        SessionNotFound,
        StoreFull,
        TranscriptError,
        Unauthenticated,
        Unavailable,
        Unimplemented,
        UnknownField,
        UnknownKind,
    )
    from transcript.ids import new_id
    from transcript.paging import Page

__all__ = [
    "Aborted",
    "AlreadyExists",
    "BadSurfaceOp",
    "BadSurfaceRange",
    "Cancelled",
    "Client",
    "ClientClosed",
    "Context",
    "DeadlineExceeded",
    "Draining",
    "EventIdReused",
    "EventNotFound",
    "FailedPrecondition",
    "FieldViolation",
    "HeldRowsFull",
    "Internal",
    "InvalidArgument",
    "InvalidField",
    "JournalChanged",
    "NotFound",
    "OutOfRange",
    "Page",
    "PermissionDenied",
    "RequestNotOpen",
    "ResourceExhausted",
    "RowTooLarge",
    "SequenceAhead",
    "SequenceMismatch",
    "SessionExists",
    "SessionNotFound",
    "StoreFull",
    "TranscriptError",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UnknownField",
    "UnknownKind",
    "connect",
    "new_id",
]

_HOMES = {"Client": "client", "connect": "client", "Context": "context", "Page": "paging", "new_id": "ids"}


if not TYPE_CHECKING:  # else every name would be one, for a type checker

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
