"""The one writing thread: jobs share commits, and nothing else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from journal.callers import outcome_of
from transcript_server.journal.lane import Lane, LaneClosed
from transcript_server.journal.sqlite.writer import GROUP_JOBS, Changes, Writer
from transcript_server.rules.errors import Refusal, invalid_field

PATIENCE = 20


class Desk:
    """A writer of a small table, and what it told of its commits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commits = 0
        self.told: list[str] = []
        connection = apsw.Connection(str(path))
        connection.pragma("journal_mode", "wal")
        connection.execute("CREATE TABLE t(x INTEGER)")
        connection.set_wal_hook(self._committed)
        self.connection = connection
        self.writer = Writer(connection, lambda _, __, session_id: self.told.append(session_id))

    def _committed(self, *_: object) -> int:
        self.commits += 1
        return apsw.SQLITE_OK

    async def put(self, value: int, *, error: Exception | None = None, name: str = "") -> int:
        """A job that writes a number, and fails after that if it is to."""

        def job(connection: apsw.Connection, changes: Changes) -> int:
            connection.execute("INSERT INTO t VALUES (?)", (value,))
            changes.add("me", 1, name or f"{value}")
            if error is not None:
                raise error
            return value

        return await self.writer.do(job)

    def block(self) -> threading.Event:
        """A job that keeps the writer busy until the event is set; what is asked for then waits together."""
        gate = threading.Event()
        blocking = asyncio.ensure_future(self.writer.do(lambda _, __: gate.wait(PATIENCE)))
        # Its own outcome is nobody's concern: it may share its commit with jobs that fail.
        blocking.add_done_callback(lambda done: done.exception())
        return gate

    def stored(self) -> list[int]:
        """What another connection sees."""
        with closing(apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            return [value for (value,) in connection.execute("SELECT x FROM t ORDER BY rowid")]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A writer at work."""
    desk = Desk(tmp_path / "t.sqlite3")
    yield desk
    await desk.writer.close()


async def asked(desk: Desk, count: int, failing: dict[int, Exception] | None = None) -> list[int | BaseException]:
    """So many jobs that wait together."""
    gate = desk.block()
    jobs = [asyncio.ensure_future(desk.put(number, error=(failing or {}).get(number))) for number in range(count)]
    await asyncio.sleep(0)
    gate.set()
    return await asyncio.gather(*jobs, return_exceptions=True)


async def test_jobs_that_wait_together_share_a_commit(desk: Desk) -> None:
    """At most so many; each has its own answer, in the order of asking."""
    assert await asked(desk, 2 * GROUP_JOBS) == [*range(2 * GROUP_JOBS)]
    assert desk.stored() == [*range(2 * GROUP_JOBS)]
    assert 2 <= desk.commits <= 4


async def test_a_job_is_answered_once_its_rows_are_committed(desk: Desk) -> None:
    """Whoever reads then sees them."""
    for number in range(20):
        await desk.put(number)
        assert desk.stored() == [*range(number + 1)]


@pytest.mark.parametrize("error", [ValueError("of its own"), invalid_field("a", "is wrong")], ids=["fault", "refusal"])
@pytest.mark.parametrize("wrong", [0, 3, 6])
async def test_a_job_that_fails_takes_nothing_of_the_others_with_it(desk: Desk, error: Exception, wrong: int) -> None:
    """Wherever it stands in the group: its own rows are gone, and it is told its own error."""
    outcomes = await asked(desk, 7, {wrong: error})
    others = [number for number in range(7) if number != wrong]

    assert outcomes[wrong] is error
    assert [outcomes[number] for number in others] == others
    assert desk.stored() == others
    assert desk.told == [f"{number}" for number in others]


async def test_a_statement_that_fails_is_its_jobs_own_affair(desk: Desk) -> None:
    """Also one that SQLite refuses half way through."""
    await desk.writer.do(lambda connection, _: connection.execute("CREATE UNIQUE INDEX u ON t(x)"))

    def job(connection: apsw.Connection, _: Changes) -> None:
        connection.execute("INSERT INTO t VALUES (7), (8), (7)")

    with pytest.raises(apsw.ConstraintError):
        await desk.writer.do(job)
    await desk.put(8)
    assert desk.stored() == [8]


async def test_a_commit_that_fails_fails_for_all_and_leaves_nothing(desk: Desk) -> None:
    """And the next one is made as if nothing had been."""
    await desk.put(100)
    refuse = [True]
    desk.connection.set_commit_hook(lambda: refuse[0])
    outcomes = await asked(desk, 5, {2: ValueError("of its own")})
    refuse[0] = False

    assert [type(outcome) for outcome in outcomes] == [apsw.ConstraintError] * 2 + [ValueError] + [
        apsw.ConstraintError
    ] * 2
    assert desk.stored() == [100]
    assert desk.told == ["100"]
    assert await desk.put(101) == 101
    assert desk.stored() == [100, 101]


async def test_a_store_without_room_refuses_with_store_full(desk: Desk) -> None:
    """Whoever is refused has nothing there, whoever is answered has; and it works again once there is room."""

    async def put(number: int, size: int = 2000) -> bool:
        def job(connection: apsw.Connection, _: Changes) -> None:
            connection.execute("INSERT INTO t VALUES (?)", (number,))
            connection.execute("INSERT INTO large VALUES (zeroblob(?))", (size,))

        outcome = await outcome_of(desk.writer.do(job))
        if isinstance(outcome, Refusal):
            assert outcome.reason_name == "STORE_FULL"
        return not isinstance(outcome, Refusal)

    await desk.writer.do(lambda connection, _: connection.execute("CREATE TABLE large(x BLOB)"))
    await desk.writer.do(lambda connection, _: connection.pragma("max_page_count", connection.pragma("page_count") + 9))
    one_by_one = [await put(number) for number in range(50)]
    assert any(one_by_one)
    assert not all(one_by_one)
    assert not any(await asyncio.gather(*[put(number) for number in range(50, 60)]))
    assert desk.stored() == [number for number, answered in enumerate(one_by_one) if answered]

    await desk.writer.do(lambda connection, _: connection.pragma("max_page_count", 1 << 30))
    assert await put(99)
    assert desk.stored()[-1] == 99


async def test_a_store_that_fills_up_within_a_group_answers_none_whose_rows_are_gone(desk: Desk) -> None:
    """However the room ran out: what was answered is there, and what was refused is not."""
    await desk.writer.do(lambda connection, _: connection.execute("CREATE TABLE large(x BLOB)"))
    await desk.writer.do(lambda connection, _: connection.pragma("max_page_count", connection.pragma("page_count") + 5))

    async def put(number: int, size: int) -> int:
        def job(connection: apsw.Connection, _: Changes) -> int:
            connection.execute("INSERT INTO t VALUES (?)", (number,))
            connection.execute("INSERT INTO large VALUES (zeroblob(?))", (size,))
            return number

        return await desk.writer.do(job)

    gate = desk.block()
    jobs = [asyncio.ensure_future(put(number, 100_000 if number == 3 else 10)) for number in range(6)]
    await asyncio.sleep(0)
    gate.set()
    outcomes = await asyncio.gather(*jobs, return_exceptions=True)

    assert isinstance(outcomes[3], Refusal)
    assert desk.stored() == [outcome for outcome in outcomes if isinstance(outcome, int)]


async def test_a_job_whose_asker_left_is_done_all_the_same(desk: Desk) -> None:
    """It was asked for; nobody is told, and nobody else is troubled."""
    gate = desk.block()
    left = [asyncio.ensure_future(desk.put(1)), asyncio.ensure_future(desk.put(2, error=ValueError("unseen")))]
    stayed = asyncio.ensure_future(desk.put(3))
    await asyncio.sleep(0)
    for job in left:
        job.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    gate.set()

    assert await stayed == 3
    assert desk.stored() == [1, 3]
    assert desk.told == ["1", "3"]


async def test_what_changed_is_told_once_for_a_commit_and_after_it(desk: Desk) -> None:
    """In the order in which it changed; of a job that failed nothing."""
    seen: list[list[int]] = []
    told = desk.told
    desk.writer._committed = lambda _, __, name: (told.append(name), seen.append(desk.stored()))
    gate = desk.block()
    names = ["b", "a", "b", "c", "a"]
    jobs = [
        asyncio.ensure_future(desk.put(number, name=name, error=ValueError() if name == "c" else None))
        for number, name in enumerate(names)
    ]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*jobs, return_exceptions=True)

    assert told == ["b", "a"]
    assert seen == [[0, 1, 2, 4]] * 2


async def test_of_a_lane_nothing_is_taken_after_one_that_failed(desk: Desk) -> None:
    """Those before it stand, and other lanes go on."""
    lane, other = Lane(), Lane()

    async def put(value: int, lane: Lane, error: Exception | None = None) -> int:
        def job(connection: apsw.Connection, _: Changes) -> int:
            connection.execute("INSERT INTO t VALUES (?)", (value,))
            if error is not None:
                raise error
            return value

        return await desk.writer.do(job, lane)

    gate = desk.block()
    jobs = [
        asyncio.ensure_future(put(number, lane if number < 10 else other, ValueError() if number == 2 else None))
        for number in [0, 10, 1, 2, 11, 3, 4, 12]
    ]
    await asyncio.sleep(0)
    gate.set()
    outcomes = await asyncio.gather(*jobs, return_exceptions=True)

    assert [outcome if isinstance(outcome, int) else type(outcome) for outcome in outcomes] == [
        0, 10, 1, ValueError, 11, LaneClosed, LaneClosed, 12,
    ]  # fmt: skip
    assert desk.stored() == [0, 10, 1, 11, 12]
    with pytest.raises(LaneClosed):
        await put(5, lane)


async def test_a_lane_whose_commit_failed_is_closed(desk: Desk) -> None:
    """What was asked for after it must not land without it."""
    lane = Lane()
    refuse = [True]
    desk.connection.set_commit_hook(lambda: refuse[0])
    with pytest.raises(apsw.ConstraintError):
        await desk.writer.do(lambda connection, _: connection.execute("INSERT INTO t VALUES (1)"), lane)
    refuse[0] = False

    with pytest.raises(LaneClosed):
        await desk.writer.do(lambda connection, _: connection.execute("INSERT INTO t VALUES (2)"), lane)
    assert desk.stored() == []


async def test_closing_finishes_what_was_asked_for_and_ends_thread_and_connection(tmp_path: Path) -> None:
    """Nothing that was taken on is dropped."""
    desk = Desk(tmp_path / "t.sqlite3")
    gate = desk.block()
    jobs = [asyncio.ensure_future(desk.put(number)) for number in range(5)]
    await asyncio.sleep(0)
    closing_ = asyncio.ensure_future(desk.writer.close())
    await asyncio.sleep(0)
    gate.set()
    await closing_

    assert await asyncio.gather(*jobs) == [*range(5)]
    assert desk.stored() == [*range(5)]
    assert not desk.writer._thread.is_alive()
    with pytest.raises(apsw.ConnectionClosedError):
        desk.connection.execute("SELECT 1")
