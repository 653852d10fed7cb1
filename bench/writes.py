"""Writes: durable appends, one by one, by many callers, and streamed; and what watchers get of them."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from itertools import count

from bench.peers import Record, Sqlite
from bench.reads import Reads
from bench.rounds import Rounds, percentile, rounds_until, timed
from bench.rows import event_of
from bench.world import TEN_THOUSAND, World, say
from transcript.v1.event_pb2 import Event
from transcript.v1.journal_service_pb2 import AppendEventsRequest
from transcript.v1.transcript_service_pb2 import View

ROUNDS = 5
CALLERS = 16
STREAMED = 400
"""Rows of each stream, one in a batch."""
UNARY = 50
"""Rows of each unary caller, one in a call."""
GROUPED = 100
"""Rows of each thread that writes to SQLite with group commit."""
SINGLE = 40
"""Rows of one caller alone."""
READERS = 2
WATCHERS = 100
WATCHED = 50
"""Rows that a hundred watchers watch in a round."""
EMPTY_CALLS = 300


class Writes:
    """The appends that are measured, on one world; each round writes to sessions of its own."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._client = world.client
        # Without ids, which the client then gives, as it does for anybody.
        self._records = [[*world.records(STREAMED, seed=100 + caller)] for caller in range(CALLERS)]
        self._events = [[event_of(record, named=False) for record in records] for records in self._records]
        self._made = count()

    async def new_sessions(self, number: int) -> list[str]:
        names = [f"written-{next(self._made)}" for _ in range(number)]
        for name in names:
            await self._client.create_session(name)
        return names

    async def append_one_by_one(self, rows: int) -> list[float]:
        """The seconds of one caller's appends."""
        (session,) = await self.new_sessions(1)
        events = iter(self._events[0] * (1 + rows // STREAMED))
        return await timed(rows, lambda: self._client.append(session, [next(events)]))

    async def append_unary(self) -> float:
        """Rows a second of sixteen callers, each of which waits for its answer."""

        async def caller(session: str, events: list[Event]) -> None:
            for event in events:
                await self._client.append(session, [event])

        sessions = await self.new_sessions(CALLERS)
        begun = time.perf_counter()
        await asyncio.gather(*map(caller, sessions, [events[:UNARY] for events in self._events]))
        return CALLERS * UNARY / (time.perf_counter() - begun)

    async def append_streamed(self) -> float:
        """Rows a second of sixteen streams, each as far ahead of its answers as the client lets it be."""

        async def stream(session: str, events: list[Event]) -> None:
            batches = (AppendEventsRequest(session_id=session, events=[event]) for event in events)
            answers = [answer.latest_sequence async for answer in self._client.stream_append(batches)]
            assert answers == [*range(1, len(events) + 1)]

        sessions = await self.new_sessions(CALLERS)
        begun = time.perf_counter()
        await asyncio.gather(*map(stream, sessions, self._events))
        return CALLERS * STREAMED / (time.perf_counter() - begun)

    def sqlite_one_by_one(self, sqlite: Sqlite) -> list[float]:
        """The seconds of SQLite's appends, each with a commit of its own."""
        session = f"written-{next(self._made)}"
        times = []
        for record in self._records[0][:SINGLE]:
            begun = time.perf_counter()
            sqlite.append(session, record)
            times.append(time.perf_counter() - begun)
        return times

    async def sqlite_grouped(self, sqlite: Sqlite) -> float:
        """Rows a second of sixteen threads that share SQLite's commits."""

        def thread(session: str, records: list[Record]) -> None:
            for record in records[:GROUPED]:
                sqlite.append(session, record)

        sessions = [f"written-{next(self._made)}" for _ in range(CALLERS)]
        begun = time.perf_counter()
        await asyncio.gather(*map(asyncio.to_thread, [thread] * CALLERS, sessions, self._records))
        return CALLERS * GROUPED / (time.perf_counter() - begun)

    async def append_watched(self, watchers: int, rows: int) -> tuple[list[float], list[float], float, float]:
        """One caller's appends while others watch.

        Returns:
            The appends' seconds; for each row and watcher the seconds from the call to the watcher; the seconds
            until all had all; the server's processor seconds.
        """
        (session,) = await self.new_sessions(1)
        begun: dict[int, float] = {}
        seen: list[float] = []
        appended = []
        async with self._watching(session, watchers, rows, lambda row: seen.append(time.perf_counter() - begun[row])):
            cpu, start = self._world.server.processor_seconds(), time.perf_counter()
            for sequence, event in enumerate(self._events[1][:rows], start=1):
                begun[sequence] = time.perf_counter()
                await self._client.append(session, [event])
                appended.append(time.perf_counter() - begun[sequence])
        assert len(seen) == watchers * rows
        return appended, seen, time.perf_counter() - start, self._world.server.processor_seconds() - cpu

    @asynccontextmanager
    async def _watching(
        self, session: str, watchers: int, rows: int, seen: Callable[[int], None]
    ) -> AsyncIterator[None]:
        """Watchers who are there at the beginning; at the end they have all rows."""
        ready = asyncio.Semaphore(0)

        async def watch() -> None:
            newest = 0
            async with aclosing(self._client.watch(session, view=View.VIEW_FULL)) as messages:
                async for message in messages:
                    for event in message.events.events:
                        seen(event.sequence)
                        newest = event.sequence
                    if message.HasField("caught_up"):
                        ready.release()
                    if newest == rows:
                        return

        async with asyncio.TaskGroup() as group:
            for _ in range(watchers):
                group.create_task(watch())
            for _ in range(watchers):
                await ready.acquire()
            yield

    async def append_while_read(self, rows: int) -> list[float]:
        """The seconds of one caller's appends while others open a session again and again."""
        reads = Reads(self._world)

        async def read() -> None:
            while True:
                await reads.open_full(TEN_THOUSAND)

        readers = [asyncio.create_task(read()) for _ in range(READERS)]
        try:
            return await self.append_one_by_one(rows)
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.wait(readers)


async def measure_writes(world: World, deadline: float) -> Rounds:
    """Takes turns until a time of `time.monotonic`; seconds, and rows a second, by name."""
    writes = Writes(world)
    reads = Reads(world)
    rounds = Rounds()
    for number in rounds_until(deadline, ROUNDS):
        say(f"writes, round {number + 1}")
        await _one_by_one(writes, reads, rounds, world.sqlite)
        rounds.add("unary", await writes.append_unary())
        rounds.add("streamed", await writes.append_streamed())
        if world.grouping_sqlite is not None:
            rounds.add("grouped sqlite", await writes.sqlite_grouped(world.grouping_sqlite))
        busy = await writes.append_while_read(150)
        rounds.add("append p99 while read", percentile(busy, 0.99))
        rounds.add("append p50 while read", statistics.median(busy))
        await _watched(writes, reads, rounds, world)
    return rounds


async def _one_by_one(writes: Writes, reads: Reads, rounds: Rounds, sqlite: Sqlite | None) -> None:
    rounds.add("append", statistics.median(await writes.append_one_by_one(SINGLE)))
    empty = statistics.median(await timed(SINGLE, reads.empty))
    if sqlite is not None:
        rounds.add("empty and commit", empty + statistics.median(writes.sqlite_one_by_one(sqlite)))


async def _watched(writes: Writes, reads: Reads, rounds: Rounds, world: World) -> None:
    appended, seen, _, _ = await writes.append_watched(1, SINGLE)
    rounds.add("watched append", statistics.median(appended))
    rounds.add("append to watcher", statistics.median(seen))
    _, seen, seconds, cpu = await writes.append_watched(WATCHERS, WATCHED)
    rounds.add("deliveries", len(seen) / seconds)
    rounds.add("delivery cpu", cpu / len(seen))
    before = world.server.processor_seconds()
    await timed(EMPTY_CALLS, reads.empty)
    rounds.add("empty cpu", (world.server.processor_seconds() - before) / EMPTY_CALLS)
