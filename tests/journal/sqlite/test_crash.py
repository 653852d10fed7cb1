"""What a killed process leaves of its files, opened again: everything that was answered, and nothing half done.

The files are copied while the store is open, which is what a kill leaves: the log is not brought in, and no
lock outlives its process.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from semantics.rows import ask, begin, end, marker, note, reply, status, user

from journal.callers import Caller
from journal.stores import Clock, SqliteStore
from journal.waiting import gone
from transcript.v1.session_pb2 import Session
from transcript_server.journal.sqlite import copying, removal

MANY = 1600


@asynccontextmanager
async def killed(store: SqliteStore, folder: Path, clock: Clock) -> AsyncIterator[tuple[SqliteStore, Caller]]:
    """The store as it would be found after a kill at this moment."""
    shutil.copytree(store.folder, folder)
    left = SqliteStore(folder)
    yield left, Caller(await left.open(clock))
    await left.close()


async def test_what_was_answered_is_there_and_is_written_on(store: SqliteStore, tmp_path: Path, clock: Clock) -> None:
    """After each answer: rows, what is held, what waits; nothing of it was brought into the database file yet."""
    caller = Caller(await store.open(clock))
    await caller.create()
    for number, event in enumerate([user(id="a"), begin(), marker("held"), ask(), reply(), end(), note()]):
        await caller.append("s", event)
        everything = await caller.everything()
        async with killed(store, tmp_path / f"{number}", clock) as (_, found):
            assert await found.everything() == everything
            assert [*(await found.append("s", user(id="a"))).sequences] == [1]
            await found.append("s", status())
    await store.close()


async def test_a_log_that_was_cut_gives_a_beginning_of_what_was_written(
    store: SqliteStore, tmp_path: Path, clock: Clock
) -> None:
    """Wherever it was cut: whole appends, from the first on."""
    caller = Caller(await store.open(clock))
    await caller.create()
    states = [await caller.everything()]
    for number in range(8):
        await caller.append("s", user(f"{number}"), reply("x" * 3000))
        states.append(await caller.everything())
    shutil.copytree(store.folder, tmp_path / "whole")
    await store.close()
    log = (tmp_path / "whole" / "transcript.sqlite3-wal").read_bytes()

    found = set()
    for part in range(6, 13):
        folder = tmp_path / f"cut{part}"
        shutil.copytree(tmp_path / "whole", folder)
        (folder / "transcript.sqlite3-shm").unlink()
        (folder / "transcript.sqlite3-wal").write_bytes(log[: len(log) * part // 12])
        left = SqliteStore(folder)
        again = Caller(await left.open(clock))
        if await again.listed():
            found.add(states.index(await again.everything()))
            await again.append("s", status())
        await left.close()
    assert max(found) == 8
    assert len(found) > 2


def pausing(
    step: Callable[..., object], after: int, reached: asyncio.Event, not_yet: Callable[..., object]
) -> Callable[..., object]:
    """A step of the writer that says when it was taken so often, and is slow to be taken again."""
    loop = asyncio.get_running_loop()
    taken = 0

    def paused(*arguments: object) -> object:
        nonlocal taken
        taken += 1
        if taken == after:
            loop.call_soon_threadsafe(reached.set)
        return step(*arguments) if taken <= after else not_yet(*arguments)

    return paused


@pytest.mark.parametrize("after", [1, 3, 5])
async def test_rule_31_of_a_fork_that_was_killed_midway_nothing_is_left(
    store: SqliteStore, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """It is not seen, its rows are taken away, and it may be made again."""
    caller = Caller(await store.open(clock))
    await caller.create()
    await caller.fill("s", status(), MANY)
    number = (await caller.place()).number + 1
    reached = asyncio.Event()
    with monkeypatch.context() as patched:
        patched.setattr(copying, "step", pausing(copying.step, after, reached, lambda _, copy: copy))
        fork = asyncio.ensure_future(caller.journal.fork_session(caller.who, "s", 0, Session(id="copy")))
        await reached.wait()
        await caller.append("s", user())
        assert (await store.left_of(number)).get("event", 0) > 0
        async with killed(store, tmp_path / "killed", clock) as (left, found):
            assert await found.listed() == ["s"]
            await gone(left, number)
            patched.undo()
            made = await found.journal.fork_session(found.who, "s", 0, Session(id="copy"))
            assert len(await found.rows("copy")) == made.latest_sequence
    await fork
    await store.close()


async def test_rule_31_a_deletion_that_was_killed_midway_goes_on(
    store: SqliteStore, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is not seen, and the rest of its rows is taken away."""
    caller = Caller(await store.open(clock))
    await caller.create()
    await caller.create("other")
    await caller.fill("s", status(), MANY)
    number = (await caller.place()).number
    reached = asyncio.Event()
    with monkeypatch.context() as patched:
        patched.setattr(removal, "step", pausing(removal.step, 2, reached, lambda *_: False))
        await caller.journal.delete_session(caller.who, "s")
        await reached.wait()
        await caller.append("other", user())
        assert 0 < (await store.left_of(number))["event"] < MANY
        patched.undo()
        async with killed(store, tmp_path / "killed", clock) as (left, found):
            assert await found.listed() == ["other"]
            await gone(left, number)
    await store.close()
