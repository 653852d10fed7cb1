"""When to call again, and whether to."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from grpc import StatusCode

from transcript.errors import ClientClosed, Unavailable

if TYPE_CHECKING:
    from transcript.errors import TranscriptError

_RANDOM = random.SystemRandom()

# What a cut connection looks like, besides UNAVAILABLE. The service itself gives a reason with these.
_CUT = frozenset({StatusCode.UNKNOWN, StatusCode.INTERNAL, StatusCode.CANCELLED, StatusCode.DEADLINE_EXCEEDED})


class Backoff:
    """Delays with full jitter: each is drawn evenly between 0 and a bound that doubles, up to a cap."""

    def __init__(self, first: float = 0.1, cap: float = 5.0, cuts: int = 5) -> None:
        """*first* and *cap*: the first and the greatest bound, in seconds. *cuts*: see after()."""
        self._first = first
        self._cap = cap
        self._cuts = cuts
        self.reset()

    def reset(self) -> None:
        """Begin again: there was progress."""
        self._bound = self._first
        self._cuts_left = self._cuts

    def after(self, error: TranscriptError) -> float | None:
        """Seconds to wait before sending the call that failed with *error* again; None if that cannot help.

        An unavailable server may come back at any time. What only looks like a cut connection may be an
        answer that never changes: without progress it is tried again *cuts* times.
        """
        if isinstance(error, ClientClosed):
            return None
        if not isinstance(error, Unavailable):
            if error.reason_name or error.code not in _CUT or not self._cuts_left:
                return None
            self._cuts_left -= 1
        bound = self._bound
        self._bound = min(self._cap, 2 * bound)
        return _RANDOM.uniform(0, bound)
