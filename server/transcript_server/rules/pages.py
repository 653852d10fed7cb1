"""Where a page of a view begins and ends (rules 15 to 19).

Works on what an index says of rows, newest or oldest first, and reads no more of it than the page needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from transcript.v1 import transcript_service_pb2
from transcript.v1.transcript_service_pb2 import View
from transcript_server.rules import limits
from transcript_server.rules.errors import invalid_field, sequence_ahead


class IndexedRow(NamedTuple):
    """A row of a view as the index knows it."""

    sequence: int
    turn: int
    message: bool
    """Whether it counts toward a compact page."""
    size: int
    """Its bytes as served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """What page is asked for, with defaults applied.

    Attributes:
        view: Compact, full or journal; never unspecified.
        size: Messages (compact) or rows (full, journal).
        before: The newest page of the rows before this one; none for the tip.
        after: Instead: the oldest page of the rows after this one.
        as_of: As if the journal ended with this row; none for now.
        expanded: Whether the page may reach past the collapsing marker.
    """

    view: View.ValueType
    size: int
    before: int | None = None
    after: int | None = None
    as_of: int | None = None
    expanded: bool = False

    def horizon(self, tip: int) -> int:
        """The last row that this request sees.

        Raises:
            Refusal: SEQUENCE_AHEAD if it asks for rows that the journal, or its `as_of`, does not reach.
        """
        if self.as_of is not None and self.as_of > tip:
            raise sequence_ahead("as_of_sequence", self.as_of, tip)
        horizon = tip if self.as_of is None else self.as_of
        if self.after is not None and self.after > horizon:
            raise sequence_ahead("after_sequence", self.after, horizon)
        return horizon


def page_request(
    *,
    view: View.ValueType,
    page_size: int = 0,
    before_sequence: int = 0,
    after_sequence: int | None = None,
    as_of_sequence: int = 0,
    expand_sections: bool = False,
) -> PageRequest:
    """A page as a client asks for it; the arguments are the fields of `ReadPageRequest`.

    Raises:
        Refusal: INVALID_FIELD for two places at once.
    """
    if after_sequence is not None and before_sequence:
        raise invalid_field("after_sequence", "excludes before_sequence; send one of them")
    view = view or transcript_service_pb2.VIEW_COMPACT
    default = limits.PAGE_MESSAGES if view == transcript_service_pb2.VIEW_COMPACT else limits.PAGE_ROWS
    return PageRequest(
        view=view,
        size=min(page_size, limits.PAGE_SIZE_MAX) or default,
        before=before_sequence or None,
        after=after_sequence,
        as_of=as_of_sequence or None,
        expanded=expand_sections or view == transcript_service_pb2.VIEW_JOURNAL or after_sequence is not None,
    )


def whole_turns(rows: Iterable[IndexedRow], messages: int) -> list[int]:
    """The sequences of a compact page's rows, in the order given.

    Takes whole turns until there are `messages` messages. Stops before a turn that would bring the page past
    its limits of rows and bytes; only the first turn, if alone too big, is cut at its far end (rule 15).

    Args:
        rows: The view's rows from where the page starts: newest first to page back, oldest first to page on.
        messages: Messages wanted; at least 1.
    """
    page: list[int] = []
    page_bytes = page_messages = 0
    for _, turn in groupby(rows, attrgetter("turn")):
        taken: list[int] = []
        for row in turn:
            page_bytes += row.size
            if len(page) + len(taken) == limits.COMPACT_PAGE_ROWS or page_bytes > limits.COMPACT_PAGE_BYTES:
                # A page is never empty for its bounds' sake: one row goes out however large.
                return page or taken or [row.sequence]
            taken.append(row.sequence)
            page_messages += row.message
        page += taken
        if page_messages >= messages:
            break
    return page
