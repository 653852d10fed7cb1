"""A watcher that keeps what it is sent, as a viewer would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from transcript.v1.event_pb2 import Event
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import HiddenSections, PageInfo, WatchRequest, WatchResponse

from .wire import TRANSCRIPT, Wire, checked

PATIENCE = 20.0


@dataclass
class Watcher:
    """One Watch; `async with` ends it."""

    wire: Wire
    request: WatchRequest
    bar: HiddenSections | None = None
    page: PageInfo | None = None
    pages: int = 0
    rows: list[Event] = field(default_factory=list)
    caught_up: list[tuple[int, int]] = field(default_factory=list)
    bars_sent: int = 0
    sessions: list[Session] = field(default_factory=list)
    live: list[LiveUpdate] = field(default_factory=list)
    messages: list[WatchResponse] = field(default_factory=list)

    async def __aenter__(self) -> Watcher:
        method = self.wire.channel.unary_stream(
            TRANSCRIPT + "Watch", request_serializer=WatchRequest.SerializeToString, response_deserializer=None
        )
        self.stream = method(self.request)
        self.incoming = aiter(self.stream)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.cancel()

    async def resume(self, wire: Wire) -> None:
        """Goes on where it stood, after its stream broke, as the contract's client action says."""
        self.stream.cancel()
        assert self.page is not None
        self.wire = wire
        self.request.after_sequence = self.caught_up[-1][0]
        self.request.journal_id = self.page.journal_id
        await self.__aenter__()

    async def next(self) -> WatchResponse:
        """The next message, taken in."""
        message = checked(WatchResponse, await anext(self.incoming))
        self.messages.append(message)
        if message.HasField("page"):
            self.page, self.rows = message.page, []
            self.pages += 1
            self.bar = message.page.hidden_sections if message.page.HasField("hidden_sections") else None
        self.rows += message.events.events
        if message.HasField("hidden_sections"):
            self.bar = message.hidden_sections if message.hidden_sections.count else None
            self.bars_sent += 1
        if message.HasField("live"):
            self.live.append(message.live)
        self.sessions += message.sessions
        if message.HasField("caught_up"):
            self.caught_up.append((message.caught_up.latest_sequence, len(self.rows)))
        return message

    async def until(self, holds: Callable[[], Any], patience: float = PATIENCE) -> None:
        """Takes messages in until it holds."""
        async with asyncio.timeout(patience):
            while not holds():
                await self.next()

    async def reaches(self, sequence: int) -> None:
        """Until everything up to this row has been sent."""
        await self.until(lambda: bool(self.caught_up) and self.caught_up[-1][0] >= sequence)

    @property
    def numbers(self) -> list[int]:
        """The rows' sequences."""
        return [row.sequence for row in self.rows]


def watch(wire: Wire, session_id: str, bar: HiddenSections | None = None, **fields: Any) -> Watcher:
    """Watches a session."""
    return Watcher(wire, WatchRequest(session_id=session_id, **fields), bar)
