"""What may go wrong with one file, and does not keep the others back."""

from __future__ import annotations

from transcript import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    TranscriptError,
)

OF_ONE_FILE = (InvalidArgument, AlreadyExists, FailedPrecondition, Aborted, NotFound, OutOfRange, Internal)
"""What the server may have against one file. With any other error the next file would fail just the same."""


def told(failure: OSError | TranscriptError) -> str:
    """Why a file could not be imported, or no further.

    Raises:
        TranscriptError: No other file would fare better.
    """
    if isinstance(failure, OSError):
        return f"cannot be read: {failure.strerror or failure}"
    if not isinstance(failure, OF_ONE_FILE):
        raise failure
    return str(failure)
