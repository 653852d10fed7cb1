"""What is seen of a session, in lines: a page's outline as the viewers draw it, and the model's surface."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from transcript import Client, Page
from transcript.v1.context_service_pb2 import ContextScope
from transcript.v1.event_pb2 import Event
from transcript.v1.transcript_service_pb2 import HiddenSections, View
from transcript_terminal.outline import Block, Outline
from transcript_terminal.outline.blocks import Earlier, Request
from transcript_terminal.outline.headlines import headline
from transcript_terminal.outline.reading import read

_VIEWS = {
    "compact": View.VIEW_COMPACT,
    "full": View.VIEW_FULL,
    "journal": View.VIEW_JOURNAL,
    "expanded": View.VIEW_COMPACT,
    "everything": View.VIEW_FULL,
}
_WHOLE = ("expanded", "everything")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reader was given."""

    way: str  # one of scenario.VIEWS
    pages: list[Page]  # oldest first, laid end to end: the opening page, or all there are
    requests_elsewhere: list[Event]  # that wait, and stand on none of the pages

    def lines(self, *, running: bool) -> list[str]:
        """The outline: the bar first, requests that wait elsewhere last; *running*: a turn runs."""
        first, last = self.pages[0].info, self.pages[-1].info
        outline = Outline(journal=self.way == "journal")
        outline.open(first)
        blocks = _blocks(outline, (event for page in self.pages for event in page.events), running, last.has_newer)
        for event in self.requests_elsewhere:
            request = read(event)
            blocks += [replace(request, is_open=True)] if isinstance(request, Request) else []
        return [headline(block) for block in blocks]

    @property
    def bar(self) -> HiddenSections:
        """What the opening page says is hidden; count 0: nothing."""
        return self.pages[-1].info.hidden_sections


async def see(client: Client, session_id: str, way: str, *, as_of: int = 0) -> Seen:
    """Read a session in one of the ways of scenario.VIEWS, as of a row; now if 0."""
    whole = way in _WHOLE
    page = await client.read_page(session_id, view=_VIEWS[way], expand_sections=whole, as_of_sequence=as_of)
    pages = [page]
    while whole and page.info.has_more:
        page = await client.read_page(
            session_id,
            view=_VIEWS[way],
            expand_sections=True,
            before_sequence=page.info.oldest_sequence,
            as_of_sequence=pages[-1].info.latest_sequence,
        )
        pages.insert(0, page)
    oldest, newest = pages[0].info.oldest_sequence, pages[-1].info.newest_sequence
    elsewhere = [
        await client.get_event(session_id, sequence)
        for sequence in pages[-1].info.open_request_sequences
        if not oldest <= sequence <= newest
    ]
    return Seen(way, pages, elsewhere)


def live_lines(events: Iterable[Event], *, running: bool) -> list[str]:
    """The outline of rows that were watched from the first on."""
    return [headline(block) for block in _blocks(Outline(), events, running)]


def bar_lines(hidden: HiddenSections) -> list[str]:
    """The bar, and the row that it stands above; none if nothing is hidden."""
    bar = Earlier(sections=hidden.count, labels=tuple(hidden.labels))
    return [f"{headline(bar)}, above #{hidden.marker_sequence}"] if hidden.count else []


async def recall(client: Client, session_id: str, way: str, *, as_of: int = 0) -> list[Event]:
    """What the model is sent, in one of the ways of scenario.CONTEXTS."""
    context = await client.read_context(
        session_id,
        scope=ContextScope.CONTEXT_SCOPE_CONVERSATION if way == "conversation" else ContextScope.CONTEXT_SCOPE_SURFACE,
        exclude_running_prompt=way == "without running prompt",
        as_of_sequence=as_of,
    )
    return context.events


def context_lines(events: Iterable[Event]) -> list[str]:
    """The surface, a line for each row."""
    return [headline(block) for block in _blocks(Outline(journal=True), events, running=False)]


def _blocks(outline: Outline, events: Iterable[Event], running: bool, has_newer: bool = False) -> list[Block]:
    for event in events:
        outline.add(event)
    return outline.settled() + outline.finish(running=running, has_newer=has_newer)
