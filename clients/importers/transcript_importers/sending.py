"""Sends one session's rows, in order, and counts those that its journal did not have.

A row that replaces others names the range that it takes the place of by sequences, which only the server gives: so the
rows before it are sent first, and their sequences, the same each time, are filled in. Replacements that follow each
other are sent together, for the server judges an append as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript import BadSurfaceRange, EventIdReused, SequenceMismatch, SessionExists, SessionNotFound
from transcript.v1.session_pb2 import Session
from transcript_importers.fitting import ROW_LIMIT
from transcript_importers.ranges import as_can_land, as_recorded
from transcript_importers.surface import surfaces

if TYPE_CHECKING:
    from collections.abc import Callable

    from transcript import Client
    from transcript.v1.event_pb2 import Event
    from transcript.v1.journal_service_pb2 import AppendEventsResponse
    from transcript_importers.rows import Row, SessionInfo

ROWS_PER_APPEND = 1000
_TRIES = 8
"""How often a batch is sent while others write to the same session."""


class SessionSender:
    """Brings the rows of one session to a server.

    Attributes:
        added: Rows that the journal did not have before.
    """

    def __init__(self, client: Client, info: Callable[[], SessionInfo]) -> None:
        """
        Args:
            client: The server.
            info: What the session is, as far as is known when called.
        """
        self._client = client
        self._info = info
        self._id = info().id
        self._stored: Session | None = None
        self._tip = 0
        self._waiting: list[Row] = []
        """Either all replace others, or none does."""
        self._waiting_bytes = 0
        self._sequences: dict[str, int] = {}
        """Of the rows that may stand on the surface, by id."""
        self.added = 0

    async def begin(self) -> None:
        """Makes the session if there is none, whether or not it will have rows."""
        await self._session()

    async def add(self, row: Row) -> None:
        """Takes the next row; it is sent with those after it, or by `finish`."""
        size = row.event.ByteSize()
        full = len(self._waiting) == ROWS_PER_APPEND or self._waiting_bytes + size > ROW_LIMIT
        if self._waiting and (full or bool(row.replaces) != bool(self._waiting[-1].replaces)):
            await self._flush()
        self._waiting.append(row)
        self._waiting_bytes += size

    async def finish(self) -> None:
        """Sends what is left, and brings title and labels up to date."""
        if self._waiting:
            await self._flush()
        info, stored = self._info(), await self._session()
        if not self.added and stored.title:
            return  # The log tells nothing new, and somebody may have named the session otherwise.
        # What others labelled stays; a title is only replaced by one that the log knows.
        labels = {**stored.labels, **info.labels}
        title = info.title or stored.title
        if title != stored.title or labels != dict(stored.labels):
            changed = Session(id=self._id, title=title, labels=labels)
            self._stored = await self._client.update_session(changed, ["title", "labels"])

    async def _flush(self) -> None:
        rows, self._waiting, self._waiting_bytes = self._waiting, [], 0
        events = [row.event for row in rows]
        for row in rows:
            if row.replaces:
                self._name_range(row.event, *row.replaces)
        try:
            await self._send(events)
        # Somebody else wrote to this session too, so that a range was, or has to be, another one.
        except EventIdReused:
            if not rows[0].replaces:
                raise
            await self._send(await as_recorded(self._client, self._id, events))
        except BadSurfaceRange:
            await self._send(await as_can_land(self._client, self._id, events))

    def _name_range(self, event: Event, first: str, last: str) -> None:
        named = event.surface.replace
        named.start_sequence, named.end_sequence = self._sequences[first], self._sequences[last]
        # Until it has landed, and if it cannot, what it replaces stands for it.
        self._sequences[event.id] = named.start_sequence

    async def _send(self, events: list[Event]) -> None:
        if not events:
            return
        response = await self._append(events)
        for event, sequence in zip(events, response.sequences, strict=True):
            if surfaces(event):
                self._sequences[event.id] = sequence

    async def _append(self, events: list[Event]) -> AppendEventsResponse:
        """Appends and counts. Nobody writes in between: the journal has to end where it is known to."""
        await self._session()
        for tries_left in reversed(range(_TRIES)):
            try:
                response = await self._client.append(
                    self._id, events, expected_latest_sequence=self._tip, as_recorded=True
                )
            except SequenceMismatch:
                if not tries_left:
                    raise
                self._tip = (await self._client.get_session(self._id)).latest_sequence
            else:
                break
        self.added += len({sequence for sequence in response.sequences if sequence > self._tip})
        self._tip = response.latest_sequence
        return response

    async def _session(self) -> Session:
        """The session as the server has it; made if it has none."""
        if self._stored is None:
            self._stored = await self._found() or await self._made()
            self._tip = self._stored.latest_sequence
        return self._stored

    async def _found(self) -> Session | None:
        try:
            return await self._client.get_session(self._id)
        except SessionNotFound:
            return None

    async def _made(self) -> Session:
        info = self._info()
        try:
            return await self._client.create_session(
                id=info.id,
                title=info.title,
                labels=info.labels,
                kind=info.kind,
                parent_session_id=info.parent_session_id,
            )
        except SessionExists:
            return await self._client.get_session(self._id)  # Another import was faster.
