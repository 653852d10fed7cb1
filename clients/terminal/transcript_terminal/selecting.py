"""Which rows `show` reads: the newest page, one before a row, one around it, a turn, or all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transcript.v1.transcript_service_pb2 import PageInfo, View
from transcript_terminal.complaints import Misuse
from transcript_terminal.resolving import check_row

if TYPE_CHECKING:
    from transcript import Client, Page
    from transcript.v1.event_pb2 import Event
    from transcript.v1.session_pb2 import Session


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the rows, and what lies around them. The first part says what lies before them all."""

    info: PageInfo
    events: Sequence[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one session in one view: the journal that *session* had when it was found, and no other.

    Any part may raise JournalChanged.
    """

    client: Client
    session: Session
    view: View.ValueType
    page_size: int = 0
    expand: bool = False

    async def newest(self, before: int = 0) -> AsyncIterator[Part]:
        """The newest page; of the rows before *before*, if given."""
        page = await self._page(page_size=self.page_size, before_sequence=before, expand_sections=self.expand)
        yield Part(page.info, page.events)

    async def all(self, *, after: int = 0, as_of: int = 0) -> AsyncIterator[Part]:
        """Every row after *after*, oldest first, page by page, as the journal is at the first page."""
        has_newer = True
        while has_newer:
            page = await self._page(
                page_size=self.page_size, after_sequence=after, as_of_sequence=as_of, expand_sections=True
            )
            yield Part(page.info, page.events)
            after, as_of = page.info.newest_sequence, page.info.latest_sequence
            has_newer = page.info.has_newer and bool(page.events)

    async def around(self, sequence: int) -> AsyncIterator[Part]:
        """A page with the row in the middle."""
        check_row(self.session, sequence)
        half = max(1, (self.page_size or (40 if self.view == View.VIEW_COMPACT else 100)) // 2)
        before = await self._page(page_size=half, before_sequence=sequence, expand_sections=self.expand)
        after = await self._page(
            page_size=half, after_sequence=sequence - 1, as_of_sequence=before.info.latest_sequence
        )
        yield Part(_joined(before.info, after.info), [*before.events, *after.events])

    async def turn(self, turn: int) -> AsyncIterator[Part]:
        """The rows of one turn."""
        first = await self._first_of_turn(turn)
        async for part in self.all(after=first - 1):
            yield Part(part.info, [event for event in part.events if event.turn == turn])
            if not part.events or part.events[-1].turn > turn:
                return

    async def _first_of_turn(self, turn: int) -> int:
        """Halve the journal until the turn's first row is found: rows carry their turn, and it never goes down."""
        latest = self.session.latest_turn
        if turn > latest:
            has = f"it has turns 1 to {latest}" if latest else "it has none yet"
            raise Misuse(f"no turn {turn} in {self.session.id}: {has}", do="name one of them")
        low, high = 1, max(self.session.latest_sequence, 1)
        while low < high:
            middle = (low + high) // 2
            page = await self._page(view=View.VIEW_JOURNAL, page_size=1, before_sequence=middle + 1)
            low, high = (low, middle) if page.events[-1].turn >= turn else (middle + 1, high)
        return low

    async def _page(
        self,
        *,
        page_size: int,
        view: View.ValueType | None = None,
        before_sequence: int = 0,
        after_sequence: int | None = None,
        as_of_sequence: int = 0,
        expand_sections: bool = False,
    ) -> Page:
        return await self.client.read_page(
            self.session.id,
            view=self.view if view is None else view,
            page_size=page_size,
            before_sequence=before_sequence,
            after_sequence=after_sequence,
            as_of_sequence=as_of_sequence,
            expand_sections=expand_sections,
            journal_id=self.session.journal_id,
        )


def _joined(before: PageInfo, after: PageInfo) -> PageInfo:
    """What two pages, one right after the other, are together."""
    info = PageInfo()
    info.CopyFrom(before if before.oldest_sequence else after)
    info.newest_sequence = after.newest_sequence or before.newest_sequence
    info.has_newer = after.has_newer
    info.latest_sequence = before.latest_sequence
    return info
