"""The tokens of replies, each counted once.

A reply is written as several rows that repeat its usage, the first of them often before the provider had counted to the
end. And most replies of a working agent have no text, hence no message that could report what they cost. So a message
reports what its session has spent since the last message that did: a session's sum is then right up to its latest
message, and no row depends on what comes after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import TokenUsage
from transcript_importers.claude_code.fields import count, mapping, string

if TYPE_CHECKING:
    from transcript_importers.claude_code.entry import Entry

_Tokens = tuple[int, int, int]
_NONE: _Tokens = (0, 0, 0)


class TokenAccount:
    """What one session's replies have cost, and how much of it messages have reported."""

    def __init__(self) -> None:
        self._replies: dict[str, _Tokens] = {}
        self._unreported: _Tokens = _NONE

    def note(self, entry: Entry) -> None:
        """Takes in the usage that a row of a reply repeats, or corrects."""
        usage = mapping(entry.message, "usage")
        if not usage:
            return
        cached = count(usage, "cache_read_input_tokens")
        read = count(usage, "input_tokens") + count(usage, "cache_creation_input_tokens") + cached
        reply = string(entry.message, "id") or entry.uuid
        before = self._replies.get(reply, _NONE)
        now = _pairwise_max(before, (read, count(usage, "output_tokens"), cached))
        self._replies[reply] = now
        self._unreported = _sum(self._unreported, now, before)

    def take(self) -> TokenUsage | None:
        """What no message has reported yet; it counts as reported then."""
        taken, self._unreported = self._unreported, _NONE
        if not any(taken):
            return None
        return TokenUsage(input_tokens=taken[0], output_tokens=taken[1], cached_input_tokens=taken[2])


def _pairwise_max(one: _Tokens, other: _Tokens) -> _Tokens:
    return max(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2])


def _sum(total: _Tokens, plus: _Tokens, minus: _Tokens) -> _Tokens:
    return total[0] + plus[0] - minus[0], total[1] + plus[1] - minus[1], total[2] + plus[2] - minus[2]
