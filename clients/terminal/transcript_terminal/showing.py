"""A session drawn once, from top to bottom: what `show` and the demo put on the screen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from transcript.v1.transcript_service_pb2 import View
from transcript_terminal import left_out
from transcript_terminal.outline import Outline, Wording
from transcript_terminal.outline.blocks import Request
from transcript_terminal.outline.reading import read

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from transcript import Client
    from transcript.v1.event_pb2 import Event
    from transcript.v1.session_pb2 import Session
    from transcript_terminal.outline import Block
    from transcript_terminal.output import Output
    from transcript_terminal.selecting import Part


class Showing:
    """Draws parts of one session as they are read, and says what it leaves out."""

    def __init__(
        self,
        client: Client,
        output: Output,
        session: Session,
        view: View.ValueType,
        *,
        whole: bool = False,
        as_json: bool = False,
    ) -> None:
        self._client = client
        self._output = output
        self._session = session
        self._view = view
        self._whole = whole
        self._as_json = as_json
        self._outline = Outline(journal=view == View.VIEW_JOURNAL)
        self._wording = Wording(whole=whole, numbered=view == View.VIEW_JOURNAL)
        self._coverage = left_out.Coverage()

    async def show(self, parts: AsyncIterator[Part], *, with_surroundings: bool = True, look_for: int = 0) -> None:
        """Draw the parts.

        *with_surroundings*: what lies before and after them is of interest; *look_for*: the row that
        somebody came for.
        """
        async for part in parts:
            events = await self._whole_rows(part.events)
            is_first = self._coverage.first is None
            self._coverage.add(part.info, len(events))
            if any(event.sequence == look_for for event in events):
                look_for = 0
            if self._as_json:
                for event in events:
                    self._output.json(event)
                continue
            if is_first:
                self._output.draw([self._wording.heading(self._session)])
                self._outline.open(part.info, with_control=with_surroundings)
            for event in events:
                self._outline.add(event)
            self._draw(self._outline.settled())
        if not self._as_json:
            await self._close()
        self._say(with_surroundings=with_surroundings)
        if look_for:
            self._output.note(f"row {look_for} is not in this view; --view journal shows it")

    async def _close(self) -> None:
        last = self._coverage.last
        has_newer = bool(last and last.has_newer)
        self._draw(self._outline.finish(running=self._session.running, has_newer=has_newer))
        self._draw([request async for request in self._requests_elsewhere()])

    async def _requests_elsewhere(self) -> AsyncIterator[Block]:
        """The open requests that are not among the rows that were read."""
        first, last = self._coverage.first, self._coverage.last
        if first is None or last is None:
            return
        for sequence in first.open_request_sequences:
            if first.oldest_sequence <= sequence <= last.newest_sequence:
                continue
            request = read(await self._client.get_event(self._session.id, sequence))
            if isinstance(request, Request):
                yield replace(request, is_open=True)

    async def _whole_rows(self, events: Sequence[Event]) -> Sequence[Event]:
        if not self._whole:
            return events
        return [
            await self._client.get_event(self._session.id, event.sequence) if event.elided_bytes else event
            for event in events
        ]

    def _draw(self, blocks: Iterable[Block]) -> None:
        self._output.draw(passage for block in blocks for passage in self._wording.passages(block))

    def _say(self, *, with_surroundings: bool) -> None:
        notes = left_out.around(self._coverage) if with_surroundings else []
        notes += left_out.between(self._coverage, self._view) if with_surroundings else []
        notes += left_out.shortened(self._wording)
        if self._session.held_row_count:
            notes.append(left_out.held(self._session.held_row_count))
        if self._session.running:
            notes.append(f"a turn is running; transcript tail {self._session.id} follows it")
        for note in notes:
            self._output.note(note)
