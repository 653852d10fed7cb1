"""Reads: each of one moment, by connections that cannot write and that hold nothing back."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from typing import Any

import apsw
import pytest
from semantics.rows import user

from journal.callers import BUDGET, Caller
from journal.stores import Clock, SqliteStore
from transcript_server.journal.journal import Face, Tail
from transcript_server.journal.sqlite import SqliteJournal, reading
from transcript_server.journal.sqlite.readers import THREADS

COUNT = "SELECT count(*) FROM event"
PATIENCE = 20


@pytest.fixture
async def journal(store: SqliteStore, clock: Clock):
    """An open store with a session of one row."""
    journal = await store.open(clock)
    caller = Caller(journal)
    await caller.create()
    await caller.append("s", user())
    yield journal
    await store.close()


def counted(connection: apsw.Connection) -> int:
    """How many rows there are."""
    (count,) = connection.execute(COUNT).fetchone() or (0,)
    return int(count)


async def test_a_read_sees_one_moment_whatever_is_written_meanwhile(journal: SqliteJournal) -> None:
    """What it asks twice is answered alike."""
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def read(connection: apsw.Connection) -> tuple[int, int]:
        first = counted(connection)
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(PATIENCE)
        return first, counted(connection)

    reading = asyncio.ensure_future(journal._readers.do(read))
    await begun.wait()
    await Caller(journal).append("s", user())
    assert await journal._readers.do(counted) == 2
    go_on.set()
    assert await reading == (1, 1)


async def test_a_read_cannot_write(journal: SqliteJournal) -> None:
    """Not by mistake either."""
    with pytest.raises(apsw.ReadOnlyError):
        await journal._readers.do(lambda connection: connection.execute("DELETE FROM event"))
    assert await journal._readers.do(counted) == 1


async def test_reads_go_on_while_the_writer_is_busy(journal: SqliteJournal) -> None:
    """As many at once as there are threads, and more in turn."""
    gate = threading.Event()
    busy = asyncio.ensure_future(journal._writer.do(lambda _, __: gate.wait(PATIENCE)))
    counts = await asyncio.gather(*[journal._readers.do(counted) for _ in range(5 * THREADS)])
    gate.set()

    assert counts == [1] * 5 * THREADS
    assert await busy


async def test_a_read_that_fails_or_stops_early_holds_nothing_back(journal: SqliteJournal) -> None:
    """The log can be brought in and begun anew: no snapshot outlives its read."""

    def fail(connection: apsw.Connection) -> None:
        next(iter(connection.execute("SELECT key FROM event")))
        raise LookupError("of its own")

    for _ in range(3 * THREADS):
        with pytest.raises(LookupError, match="of its own"):
            await journal._readers.do(fail)
        await journal._readers.do(lambda connection: next(iter(connection.execute("SELECT key FROM event"))))
    await Caller(journal).append("s", user())

    def bring_in() -> tuple[int, int]:
        with closing(apsw.Connection(journal._writer._connection.filename)) as connection:
            assert counted(connection) == 2
            return connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    assert await asyncio.to_thread(bring_in) == (0, 0)
    assert await journal._readers.do(counted) == 2


async def test_a_read_whose_asker_left_troubles_nobody(journal: SqliteJournal) -> None:
    """Its thread goes on to the next one."""
    left = [asyncio.ensure_future(journal._readers.do(counted)) for _ in range(3 * THREADS)]
    await asyncio.sleep(0)
    for read in left:
        read.cancel()

    assert await journal._readers.do(counted) == 1
    assert all(isinstance(gone, asyncio.CancelledError) for gone in await asyncio.gather(*left, return_exceptions=True))


async def test_rule_29_a_read_that_began_before_a_commit_is_not_shared_with_who_asks_after_it(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watchers that wake together share one read; who wakes for a later row would miss it in an earlier one."""
    caller = Caller(journal)
    place = await caller.place()
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    tail = reading.tail

    def slow(*arguments: Any) -> Tail:
        found = tail(*arguments)
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(PATIENCE)
        return found

    def asked() -> asyncio.Future[Tail]:
        return asyncio.ensure_future(journal.tail(caller.who, place, Face.JOURNAL, 0, BUDGET))

    with journal.hub.watch(place.number, None):
        monkeypatch.setattr(reading, "tail", slow)
        early = [asked(), asked()]
        await begun.wait()
        monkeypatch.undo()
        await caller.append("s", user())
        late = await asked()
        go_on.set()
        shared = await asyncio.gather(*early)

    assert (late.tip, late.rows.count) == (2, 2)
    assert [found.tip for found in shared] == [1, 1]
    assert shared[0] is shared[1]


async def test_closing_ends_every_thread(store: SqliteStore, clock: Clock) -> None:
    """And opens nothing again."""
    before = {*threading.enumerate()}
    journal = await store.open(clock)
    await Caller(journal).create()
    during = {thread.name for thread in {*threading.enumerate()} - before if thread.name.startswith("transcript")}
    await store.close()

    assert len(during) == THREADS + 1
    assert not [thread for thread in {*threading.enumerate()} - before if thread.name.startswith("transcript")]
