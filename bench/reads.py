"""Reads: opening a session, and reading it whole."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from grpc_health.v1 import health_pb2, health_pb2_grpc

from bench.rounds import Rounds, median_of, rounds_until, timed
from bench.world import LONG_TURN, MANY, TEN_THOUSAND, THOUSAND, World, say
from transcript.v1.journal_service_pb2 import ReadEventsRequest
from transcript.v1.transcript_service_pb2 import EventBatch, View

ROUNDS = 15
CALLS = 40
PAGE_ROWS = 100
STREAMS = 4
MESSAGE_ROWS = 250
"""Rows of the usual size in a message of a stream."""

Call = Callable[[], Awaitable[object]]


class Reads:
    """The calls that are measured, on one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._client = world.client
        self._health = health_pb2_grpc.HealthStub(world.channel)
        self._nothing: Any = world.bare_channel.unary_unary("/bare/Empty")
        self._message: Any = world.bare_channel.unary_stream("/bare/Page")
        self._stream: Any = world.channel.unary_stream(
            "/transcript.v1.JournalService/ReadEvents", ReadEventsRequest.SerializeToString
        )
        self.page_bytes = 0

    async def empty(self) -> None:
        """An empty call of the same server, on the same channel: it passes all that every call passes."""
        await self._health.Check(health_pb2.HealthCheckRequest())

    async def bare_empty(self) -> None:
        await self._nothing(b"")

    async def bare_message(self) -> None:
        async for _ in self._message(str(self.page_bytes).encode()):
            pass

    async def open_full(self, session: str) -> list[str]:
        """The newest hundred rows, decoded; their ids."""
        page = await self._client.read_page(session, view=View.VIEW_FULL, page_size=PAGE_ROWS)
        assert len(page.events) == PAGE_ROWS
        return [event.id for event in page.events]

    async def open_compact(self, session: str) -> list[str]:
        """What a viewer opens with, decoded; the rows' ids."""
        page = await self._client.read_page(session)
        return [event.id for event in page.events]

    async def open_sqlite(self) -> None:
        assert self._world.sqlite is not None
        assert len(self._world.sqlite.open_chat(TEN_THOUSAND, PAGE_ROWS)) == PAGE_ROWS

    async def read_whole(self) -> None:
        rows = 0
        async for _ in self._client.read_events(TEN_THOUSAND):
            rows += 1
        assert rows == 10_000

    async def read_whole_sqlite(self) -> None:
        assert self._world.sqlite is not None
        assert len(self._world.sqlite.read_all(TEN_THOUSAND)) == 10_000

    async def stream(self) -> None:
        """The whole session as bytes: what the client makes of them is not the server's time."""
        async for _ in self._stream(ReadEventsRequest(session_id=TEN_THOUSAND)):
            pass

    async def check_pages(self) -> None:
        """Makes sure that what is held against each other is the same."""
        assert await self.open_full(MANY) == await self.open_full(THOUSAND)
        assert await self.open_compact(LONG_TURN) == await self.open_compact(THOUSAND)
        page = await self._client.read_page(TEN_THOUSAND, view=View.VIEW_FULL, page_size=PAGE_ROWS)
        self.page_bytes = EventBatch(events=page.events).ByteSize()


async def measure_reads(world: World, deadline: float) -> Rounds:
    """Takes turns until a time of `time.monotonic`; seconds by name."""
    reads = Reads(world)
    await reads.check_pages()
    recode = await _recoding(world)
    calls: dict[str, Call] = {
        "empty": reads.empty,
        "open": lambda: reads.open_full(TEN_THOUSAND),
        "open many": lambda: reads.open_full(MANY),
        "open thousand": lambda: reads.open_full(THOUSAND),
        "open long turn": lambda: reads.open_compact(LONG_TURN),
        "open ordinary": lambda: reads.open_compact(THOUSAND),
        "bare empty": reads.bare_empty,
        "bare message": reads.bare_message,
    }
    once: dict[str, Call] = {"read": reads.read_whole}
    if world.sqlite is not None:
        calls["open sqlite"] = reads.open_sqlite
        once["read sqlite"] = reads.read_whole_sqlite
    rounds = Rounds()
    await _round(calls, once, Rounds())
    for number in rounds_until(deadline, ROUNDS):
        say(f"reads, round {number + 1}")
        await _round(calls, once, rounds)
        before = world.server.processor_seconds()
        await timed(STREAMS, reads.stream)
        spent = (world.server.processor_seconds() - before) / STREAMS
        rounds.add("stream cpu", spent)
        rounds.add("recoded stream cpu", spent + recode())
    return rounds


async def _round(calls: dict[str, Call], once: dict[str, Call], rounds: Rounds) -> None:
    for name, call in calls.items():
        rounds.add(name, await median_of(CALLS, call))
    for name, call in once.items():
        (seconds,) = await timed(1, call)
        rounds.add(name, seconds)


async def _recoding(world: World) -> Callable[[], float]:
    """What decoding and encoding a whole session's rows costs beyond joining their bytes, in processor seconds."""
    bodies = [event.SerializeToString() async for event in world.client.read_events(TEN_THOUSAND)]
    messages = [bodies[begin : begin + MESSAGE_ROWS] for begin in range(0, len(bodies), MESSAGE_ROWS)]

    def cost() -> float:
        begun = time.process_time()
        for message in messages:
            batch = EventBatch()
            for body in message:
                batch.events.add().ParseFromString(body)
            batch.SerializeToString()
        recoded = time.process_time()
        for message in messages:
            b"".join([part for body in message for part in (b"\n" + len(body).to_bytes(2), body)])
        return (recoded - begun) - (time.process_time() - recoded)

    return cost
