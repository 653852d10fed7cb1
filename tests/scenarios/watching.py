"""A watcher that is there from a session's first row on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from transcript import Client
from transcript.v1.event_pb2 import Event
from transcript.v1.transcript_service_pb2 import HiddenSections, View, WatchResponse

PATIENCE = 20.0  # seconds


class Watcher:
    """Keeps what it is sent: rows, and the bar above them."""

    def __init__(self, stream: AsyncGenerator[WatchResponse, None]) -> None:
        self._stream = stream
        self._caught_up = -1
        self.events: list[Event] = []
        self.bar = HiddenSections()  # count 0: none

    async def reach(self, tip: int) -> None:
        """Take messages in until all rows up to the tip have been sent."""
        async with asyncio.timeout(PATIENCE):
            while self._caught_up < tip:
                message = await anext(self._stream)
                self.events += message.events.events
                if message.HasField("hidden_sections"):
                    self.bar = message.hidden_sections
                if message.HasField("caught_up"):
                    self._caught_up = message.caught_up.latest_sequence


@asynccontextmanager
async def watching(client: Client, session_id: str) -> AsyncIterator[Watcher]:
    """A watcher of the full view, after row 0: it is sent every row of the human transcript."""
    async with aclosing(client.watch(session_id, view=View.VIEW_FULL, after_sequence=0)) as stream:
        watcher = Watcher(stream)
        await watcher.reach(0)
        yield watcher
