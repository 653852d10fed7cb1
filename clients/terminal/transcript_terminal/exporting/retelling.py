"""The human transcript, block by block, with every row whole: what the exports for people are made of."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transcript.v1.transcript_service_pb2 import View
from transcript_terminal.outline import Outline
from transcript_terminal.outline.blocks import Aside, Outcome, ToolCard
from transcript_terminal.outline.facts import kind_of
from transcript_terminal.outline.reading import read
from transcript_terminal.selecting import Reader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from transcript import Client
    from transcript.v1.event_pb2 import Event
    from transcript.v1.session_pb2 import Session
    from transcript_terminal.outline import Block

_PAGE_ROWS = 200


@dataclass(frozen=True, slots=True)
class Item:
    """A block, and what belongs to it."""

    block: Block
    also: tuple[int, ...] = ()
    """Other rows that are found here: a call's result, and rows before the block that show nothing themselves."""
    summary: Aside | None = None
    """What a checkpoint cites."""


class Retelling:
    """Reads a session's full view up to a row. Holds a page of rows, and what waits for a tool's result."""

    def __init__(
        self, client: Client, session: Session, at: int, progress: Callable[[int], None] | None = None
    ) -> None:
        """*at*: the last row; *progress* is told how far it has come."""
        self._client = client
        self._session = session
        self._at = at
        self._progress = progress
        self._outline = Outline()
        self._running = False
        self._unplaced: deque[int] = deque()  # rows that no item has yet
        self._with_call: set[int] = set()  # of them, those that an item has: the results of calls
        self._results: dict[str, list[int]] = {}  # of calls whose card is yet to come
        self._cited: dict[int, int] = {}  # the summaries of checkpoints, by the checkpoint's row
        self._held: Item | None = None  # a summary that the next block may cite

    async def items(self) -> AsyncIterator[Item]:
        """The blocks, in the journal's order."""
        if not self._at:
            return
        reader = Reader(client=self._client, session=self._session, view=View.VIEW_FULL, page_size=_PAGE_ROWS)
        is_first = True
        async for part in reader.all(as_of=self._at):
            if is_first:
                self._outline.open(part.info, with_control=False)
                is_first = False
            for event in part.events:
                self._take(await self._whole(event))
                async for item in self._items(self._outline.settled()):
                    yield item
            if self._progress and part.events:
                self._progress(part.events[-1].sequence)
        async for item in self._items(self._outline.finish(running=self._running)):
            yield item
        if self._held:
            yield self._held

    async def _whole(self, event: Event) -> Event:
        return await self._client.get_event(self._session.id, event.sequence) if event.elided_bytes else event

    def _take(self, event: Event) -> None:
        self._unplaced.append(event.sequence)
        match kind_of(event):
            case "turn_started":
                self._running = True
            case "turn_ended":
                self._running = False
            case "tool_result":
                self._results.setdefault(event.tool_result.call_id, []).append(event.sequence)
            case "compaction_checkpoint":
                self._cited[event.sequence] = event.compaction_checkpoint.summary_sequence
        self._outline.add(event)

    async def _items(self, blocks: Iterable[Block]) -> AsyncIterator[Item]:
        for block in blocks:
            held, self._held = self._held, None
            cited = self._cited.pop(block.sequence, 0)
            if held and held.block.sequence == cited and isinstance(held.block, Aside):
                yield Item(block, (*held.also, cited, *self._also(block)), held.block)
                continue
            if held:
                yield held
            item = Item(block, self._also(block), await self._summary(cited))
            if isinstance(block, Aside) and block.is_folded:
                self._held = item
            else:
                yield item

    async def _summary(self, sequence: int) -> Aside | None:
        block = read(await self._client.get_event(self._session.id, sequence)) if sequence else None
        return block if isinstance(block, Aside) else None

    def _also(self, block: Block) -> tuple[int, ...]:
        """The rows that are found with the block. Blocks come in order: what was read before one is placed with it."""
        found = []
        while self._unplaced and self._unplaced[0] <= block.sequence:
            sequence = self._unplaced.popleft()
            if sequence in self._with_call:
                self._with_call.remove(sequence)
            elif sequence != block.sequence:
                found.append(sequence)
        if isinstance(block, ToolCard):
            results = self._result_of(block)
            self._with_call.update(results)
            found += results
        return tuple(found)

    def _result_of(self, card: ToolCard) -> list[int]:
        results = self._results.pop(card.call_id, [])
        later = [sequence for sequence in results if sequence > card.sequence]
        if card.outcome in (Outcome.OK, Outcome.FAILED) and card.sequence not in results:
            later, rest = later[:1], later[1:]
        else:
            later, rest = [], later
        if rest:
            self._results[card.call_id] = rest
        return later
