"""The views of a session: which rows a page holds, and what lies around it. All in the caller's snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

import apsw

from transcript.v1.transcript_service_pb2 import HiddenSections, PageInfo, View
from transcript_server.journal.journal import Face, Page, Span
from transcript_server.journal.sqlite import requests, rows
from transcript_server.journal.sqlite.heads import Head
from transcript_server.journal.sqlite.markers import bar
from transcript_server.journal.sqlite.queries import each, first, only
from transcript_server.journal.sqlite.schema import BOUNDARY, HUMAN, KEPT
from transcript_server.rules.pages import IndexedRow, PageRequest, whole_turns
from transcript_server.rules.turns import Flag

TURN_START: Final = f"""
SELECT key FROM event INDEXED BY boundary WHERE {BOUNDARY} AND flags & {Flag.OPENS:d} AND key > ? AND key <= ?
ORDER BY key DESC LIMIT 1"""
_INDEXED: Final = (
    "SELECT key - :base, turn, flags & {message:d} <> 0, size FROM event INDEXED BY {index} "
    "WHERE {covered} AND key >= :first AND key <= :last"
)
_KEPT: Final = _INDEXED.format(message=Flag.MESSAGE, index="kept", covered=KEPT)
_HUMAN: Final = _INDEXED.format(message=Flag.MESSAGE, index="human", covered=HUMAN)
KEPT_FORWARDS: Final = f"{_KEPT} ORDER BY key"
KEPT_BACKWARDS: Final = f"{_KEPT} ORDER BY key DESC"
HUMAN_FORWARDS: Final = f"{_HUMAN} ORDER BY key"
HUMAN_BACKWARDS: Final = f"{_HUMAN} ORDER BY key DESC"

_ENDS: Final = (
    "SELECT min(sequence), max(sequence) FROM (SELECT key - :base AS sequence FROM event INDEXED BY human "
    f"WHERE {HUMAN} AND key >= :first AND key <= :last ORDER BY key {{order}} LIMIT :size)"
)
FIRST_ROWS: Final = _ENDS.format(order="")
LAST_ROWS: Final = _ENDS.format(order="DESC")


class Viewed:
    """One view of a session, as of one row.

    Args:
        connection: In the snapshot to read.
        head: The session.
        view: Compact, full or journal.
        horizon: The last row that is seen.
    """

    def __init__(self, connection: apsw.Connection, head: Head, view: View.ValueType, horizon: int) -> None:
        self._connection = connection
        self._base = head.base
        self.horizon = horizon
        self.turn_start = turn_start(connection, head.base, horizon)
        self._compact = view == View.VIEW_COMPACT
        self._journal = view == View.VIEW_JOURNAL

    def page(self, first: int, last: int, size: int, *, forwards: bool) -> tuple[int, int] | None:
        """The ends of a page that lies at one end of the rows `first` to `last`; none if the view has none there.

        Args:
            size: Messages (compact) or rows (full, journal) wanted.
            forwards: Whether it is the oldest page, and not the newest.
        """
        if first > last:
            return None
        if self._journal:
            return (first, min(last, first + size - 1)) if forwards else (max(first, last - size + 1), last)
        if self._compact:
            page = whole_turns(self._forwards(first, last) if forwards else self._backwards(first, last), size)
            return (min(page[0], page[-1]), max(page[0], page[-1])) if page else None
        bounds = {"base": self._base, "first": self._base + first, "last": self._base + last, "size": size}
        oldest, newest = only(self._connection, FIRST_ROWS if forwards else LAST_ROWS, bounds)
        return None if oldest is None else (oldest, newest)

    def holds(self, first: int, last: int) -> bool:
        """Whether the view has a row from `first` to `last`."""
        if self._journal:
            return first <= last
        return next(self._backwards(first, last), None) is not None

    def _backwards(self, first: int, last: int) -> Iterator[IndexedRow]:
        """The view's rows `first` to `last`, newest first, read as they are asked for."""
        latest, older = self._parts(first, last)
        return chain(self._rows(HUMAN_BACKWARDS, *latest), self._rows(KEPT_BACKWARDS, *older))

    def _forwards(self, first: int, last: int) -> Iterator[IndexedRow]:
        """The view's rows `first` to `last`, oldest first, read as they are asked for."""
        latest, older = self._parts(first, last)
        return chain(self._rows(KEPT_FORWARDS, *older), self._rows(HUMAN_FORWARDS, *latest))

    def spans(self, first: int, last: int) -> Iterator[Span]:
        """The view's rows `first` to `last` as spans, oldest first."""
        if self._journal:
            yield Span(Face.JOURNAL, first, last)
            return
        (latest_first, latest_last), (older_first, older_last) = self._parts(first, last)
        if older_first <= older_last:
            yield Span(Face.KEPT, older_first, older_last)
        if latest_first <= latest_last:
            yield Span(Face.HUMAN, latest_first, latest_last)

    def _parts(self, first: int, last: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where every human row is seen (the compact view: the latest turn), and where only the kept ones are."""
        border = self.turn_start if self._compact else 0
        return (max(first, border), last), (first, min(last, border - 1))

    def _rows(self, query: str, first: int, last: int) -> Iterator[IndexedRow]:
        if first > last:
            return iter(())
        bounds = {"base": self._base, "first": self._base + first, "last": self._base + last}
        return map(IndexedRow._make, each(self._connection, query, bounds))


def cut_page(connection: apsw.Connection, head: Head, request: PageRequest, budget: int) -> Page:
    """Cuts a page and reads its first rows.

    Raises:
        Refusal: SEQUENCE_AHEAD.
    """
    horizon = request.horizon(head.tip)
    viewed = Viewed(connection, head, request.view, horizon)
    hidden: HiddenSections | None = None
    if request.after is not None:
        first, last = request.after + 1, horizon
        page = viewed.page(first, last, request.size, forwards=True)
    else:
        first, last = 1, min(request.before or horizon + 1, horizon + 1) - 1
        if not request.expanded:
            hidden = bar(connection, head.base, viewed.turn_start)
            if hidden is not None and hidden.marker_sequence > last:
                hidden = None
        if hidden is not None:
            first = hidden.marker_sequence
        page = viewed.page(first, last, request.size, forwards=False)
    # An empty page lies where it was asked for: behind `last`, or behind `after`.
    nowhere = (last + 1, last) if request.after is None else (first, first - 1)
    oldest, newest = page or nowhere
    info = PageInfo(
        oldest_sequence=oldest if page else 0,
        newest_sequence=newest if page else 0,
        has_more=viewed.holds(1, oldest - 1),
        has_newer=viewed.holds(newest + 1, horizon),
        latest_sequence=horizon,
        hidden_sections=hidden,
        open_request_sequences=requests.open_as_of(connection, head.base, horizon),
        journal_id=head.journal_id,
    )
    spans = [*viewed.spans(oldest, newest)] if page else []
    return Page(head.place, info, rows.read(connection, head.base, spans, budget - info.ByteSize()))


def turn_start(connection: apsw.Connection, base: int, horizon: int) -> int:
    """The first row of the latest turn as of a row; 0 before the first turn."""
    row = first(connection, TURN_START, (base, base + horizon))
    return 0 if row is None else row[0] - base
