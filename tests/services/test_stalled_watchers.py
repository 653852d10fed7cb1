"""Rule 29: a watcher that reads nothing costs the server a cursor and little more, whatever is written meanwhile."""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from journal.callers import Caller
from journal.stores import Clock, SqliteStore
from semantics.polling import eventually
from semantics.rows import begin, reply, status, user

from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.transcript_service_pb2 import VIEW_FULL, VIEW_JOURNAL, WatchRequest, WatchResponse
from transcript_server.journal.sqlite import SqliteJournal
from transcript_server.journal.sqlite.readers import THREADS
from transcript_server.rules.limits import MESSAGE_BYTES
from transcript_server.services.calls import Call
from transcript_server.services.watching import Watching

STALLED = 4
HELD_AT_MOST = 256 * 1024
ROWS = 1200
PATIENCE = 20.0


class Client:
    """A client's end of a watch: takes so many messages, and then no more until it is let."""

    def __init__(self, takes: int, keeps: bool) -> None:
        self.takes = takes
        self.sizes: list[int] = []
        self.messages: list[WatchResponse] = []
        self.stalled = asyncio.Event()
        self.going = asyncio.Event()
        self._keeps = keeps

    async def write(self, message: bytes) -> None:
        """What gRPC does with a message: waits while the client is behind."""
        if len(self.sizes) >= self.takes and not self.going.is_set():
            self.stalled.set()
            await self.going.wait()
        self.sizes.append(len(message))
        if self._keeps:
            self.messages.append(WatchResponse.FromString(message))


class Watch:
    """One watch of a journal, and its client."""

    def __init__(self, caller: Caller, takes: int, keeps: bool = False, **request: Any) -> None:
        self.client = Client(takes, keeps)
        call = Call(self.client, "id")
        call.principal = caller.who
        watching = Watching(caller.journal, call, heartbeat_seconds=15)
        self.task = asyncio.ensure_future(watching.serve(WatchRequest(session_id="s", **request)))

    async def end(self) -> None:
        """Ends it."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def rows(self) -> list[int]:
        """The sequences that were received."""
        return [row.sequence for message in self.client.messages for row in message.events.events]


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncIterator[Caller]:
    """A session with rows of 1 KiB, more than a page of them."""
    store = SqliteStore(tmp_path / "data")
    caller = Caller(await store.open(Clock()))
    await caller.create()
    await caller.append("s", user(), begin())
    await caller.fill("s", reply("x" * 1024), ROWS)
    yield caller
    await store.close()


@pytest.fixture
def traced() -> Iterator[None]:
    """Has every allocation of Python's counted."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


async def held(caller: Caller) -> int:
    """Bytes that Python holds, once the store's threads have let go of what they did last."""
    journal = caller.journal
    assert isinstance(journal, SqliteJournal)
    everyone = threading.Barrier(THREADS)
    await asyncio.gather(*[journal._readers.do(lambda _: everyone.wait(PATIENCE)) for _ in range(THREADS)])
    await journal._writer.do(lambda _, __: None)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


SCENES: dict[str, tuple[int, dict[str, Any]]] = {
    "at the first message of a large page": (0, {"view": VIEW_JOURNAL, "page_size": 1000}),
    "in the midst of a large page": (2, {"view": VIEW_JOURNAL, "page_size": 1000}),
    "at the first message after a row": (0, {"view": VIEW_FULL, "after_sequence": 0}),
    "in the midst of catching up": (3, {"view": VIEW_FULL, "after_sequence": 0}),
    "at the tip": (1, {"view": VIEW_FULL, "page_size": 1}),
}


@pytest.mark.parametrize("scene", SCENES)
async def test_rule_29_a_stalled_watcher_holds_at_most_256_kib(caller: Caller, traced: None, scene: str) -> None:
    """Wherever it stalls, with rows landing and live text coming; gRPC's own buffers are not counted."""
    # The second time, what is made once is there already.
    _, grown = [await growth(caller, scene) for _ in range(2)]

    assert grown < HELD_AT_MOST, f"{grown / 1024:.0f} KiB"


async def growth(caller: Caller, scene: str) -> int:
    """Bytes that Python holds more while one watcher is stalled."""
    takes, request = SCENES[scene]
    place = await caller.place()
    before = await held(caller)
    watch = Watch(caller, takes, **request)
    await landing(caller, place.number, watch)
    grown = await held(caller) - before
    await watch.end()
    assert max(watch.client.sizes, default=0) < MESSAGE_BYTES
    return grown


async def until(holds: Callable[[], bool]) -> None:
    """Waits until it holds."""

    async def held() -> bool:
        return holds()

    await eventually(held, PATIENCE)


async def landing(caller: Caller, number: int, watch: Watch) -> None:
    """Has a watcher stall while rows land and live text is published."""
    if watch.client.takes == 1:
        # At the tip: the next row is what it stalls at.
        await until(lambda: bool(watch.client.sizes))
        await caller.append("s", status())
    async with asyncio.timeout(PATIENCE):
        await watch.client.stalled.wait()
    for _ in range(5):
        await caller.append("s", *[reply("y" * 1024)] * 100)
        for _ in range(40):
            live = LiveUpdate(event_id="e", text_delta="z" * 4096)
            caller.journal.hub.publish(number, live.SerializeToString())


async def test_rule_29_a_watcher_that_stalled_gets_every_row_once_it_goes_on(caller: Caller) -> None:
    """In order, none twice, none missing; those that landed while it slept too."""
    place = await caller.place()
    watch = Watch(caller, 2, keeps=True, view=VIEW_FULL, after_sequence=5)
    await landing(caller, place.number, watch)
    tip = (await caller.session()).latest_sequence
    watch.client.going.set()
    await until(lambda: watch.rows()[-1:] == [tip])
    await watch.end()

    assert watch.rows() == [*range(6, tip + 1)]


async def test_rule_29_a_stalled_watcher_slows_no_other(caller: Caller) -> None:
    """Whether it watches the same session or another."""
    stalled = [Watch(caller, 0, view=VIEW_FULL, after_sequence=0) for _ in range(STALLED)]
    await asyncio.gather(*[watch.client.stalled.wait() for watch in stalled])
    tip = (await caller.session()).latest_sequence
    healthy = Watch(caller, 1 << 30, keeps=True, view=VIEW_FULL, after_sequence=tip)
    for number in range(1, 20):
        await caller.append("s", reply())
        await until(lambda last=tip + number: healthy.rows()[-1:] == [last])
    for watch in [*stalled, healthy]:
        await watch.end()

    assert all(watch.client.sizes == [] for watch in stalled)


async def test_a_stalled_watcher_of_all_sessions_holds_at_most_256_kib(caller: Caller, traced: None) -> None:
    """Though each of them has all the labels that it may have."""
    labels = {f"{number:02}" + "k" * 200: "v" * 200 for number in range(64)}
    for number in range(60):
        await caller.create(f"s{number}", labels=labels)
    before = await held(caller)
    watch = Watch(caller, 1, view=VIEW_FULL, page_size=1, include_sessions=True)
    async with asyncio.timeout(PATIENCE):
        await watch.client.stalled.wait()
    grown = await held(caller) - before
    await watch.end()

    assert grown < HELD_AT_MOST, f"{grown / 1024:.0f} KiB"
