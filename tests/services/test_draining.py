"""A server that goes away: everybody is told, no work is cut short, and the store is closed in the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from journal.callers import Caller, refusal_of
from semantics.polling import eventually
from semantics.rows import begin, reply, user
from semantics.wire import OPTIONS, Failure, Wire, failure_of

from transcript.v1.journal_service_pb2 import (
    AppendEventsRequest,
    PublishLiveRequest,
    StreamAppendEventsRequest,
)
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.transcript_service_pb2 import VIEW_JOURNAL, WatchRequest
from transcript_server.app import Config, Serving, serving
from transcript_server.journal.hub import Hub
from transcript_server.journal.journal import Principal
from transcript_server.journal.sqlite import SqliteJournal
from transcript_server.services.draining import until_draining

PATIENCE = 20.0
LONG = 120.0
"""A time to drain that no test waits for."""


@pytest.fixture
def config(config: Config) -> Config:
    """A server that would wait long for calls to finish."""
    return Config(data=config.data, grpc=config.grpc, drain_seconds=LONG)


def is_draining(failure: Failure) -> bool:
    """Whether a call was told that the server is going away."""
    return (failure.code, failure.reason, failure.infos) == (grpc.StatusCode.UNAVAILABLE, "DRAINING", 1)


class Busy:
    """A server whose writer is kept busy until the test says."""

    def __init__(self, server: Serving) -> None:
        self._gate = threading.Event()
        self._begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        journal = server._journal
        assert isinstance(journal, SqliteJournal)

        def wait(_: object, __: object) -> None:
            loop.call_soon_threadsafe(self._begun.set)
            assert self._gate.wait(PATIENCE)

        self._job = asyncio.ensure_future(journal._writer.do(wait))

    async def __aenter__(self) -> Busy:
        await self._begun.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._gate.set()
        await self._job

    def release(self) -> None:
        """Lets the writer go on."""
        self._gate.set()


async def rows_kept(config: Config) -> list[str]:
    """The ids of the rows that another server finds in the store."""
    async with serving(config) as running, grpc.aio.insecure_channel(running.address) as channel:
        return [row.id for row in await Wire(channel).rows("s")]


async def not_serving(wire: Wire) -> None:
    """Waits until health says that the server is going away."""
    watching = health_pb2_grpc.HealthStub(wire.channel).Watch(health_pb2.HealthCheckRequest())
    while (await watching.read()).status != health_pb2.HealthCheckResponse.NOT_SERVING:
        pass
    watching.cancel()


async def test_an_append_under_way_is_answered_and_kept(server: Serving, wire: Wire, config: Config) -> None:
    """The server waits for it, however long it has to."""
    await wire.create("s")
    async with Busy(server) as busy:
        appending = asyncio.ensure_future(wire.append("s", user(id="a")))
        await asked_for(server, 1)
        stopping = asyncio.ensure_future(server.stop())
        await not_serving(wire)
        assert not appending.done()
        assert not stopping.done()
        busy.release()
        assert [*(await appending).sequences] == [1]
    await asyncio.wait_for(stopping, PATIENCE)

    assert await rows_kept(config) == ["a"]


async def asked_for(server: Serving, jobs: int) -> None:
    """Waits until so many jobs wait for the writer."""
    journal = server._journal
    assert isinstance(journal, SqliteJournal)

    async def wait_there() -> bool:
        return journal._writer._asked.qsize() >= jobs

    await eventually(wait_there)


async def test_a_call_that_comes_while_the_server_goes_is_told_so(server: Serving, wire: Wire) -> None:
    """In its own words, not cut; the append that was under way is answered."""
    await wire.create("s")
    async with Busy(server) as busy:
        appending = asyncio.ensure_future(wire.append("s", user()))
        await asked_for(server, 1)
        stopping = asyncio.ensure_future(server.stop())
        await not_serving(wire)
        for call in (wire.session("s"), wire.append("s", user()), wire.rows("s"), wire.page("s")):
            assert is_draining(await failure_of(call))
        busy.release()
        assert [*(await appending).sequences] == [1]
    await asyncio.wait_for(stopping, PATIENCE)


async def test_watchers_are_told_at_once(server: Serving, wire: Wire) -> None:
    """Idle ones, those of a session and those of the list; the server does not wait for its time to be over."""
    await wire.create("s")
    requests = [WatchRequest(session_id="s"), WatchRequest(include_sessions=True)]
    watching = [wire.transcript.Watch(request) for request in requests * 10]
    for watch in watching:
        await watch.read()
    stopping = asyncio.ensure_future(server.stop())

    async def to_the_end(watch: grpc.aio.UnaryStreamCall) -> None:
        while await watch.read() is not grpc.aio.EOF:
            pass

    async with asyncio.timeout(PATIENCE):
        failures = await asyncio.gather(*[failure_of(to_the_end(watch)) for watch in watching])
        await stopping
    assert all(map(is_draining, failures))


async def test_streams_that_wait_for_their_client_are_told(server: Serving, wire: Wire, config: Config) -> None:
    """Of appends and of live text; what they sent before was answered and is kept."""
    await wire.create("s")
    await wire.append("s", begin(id="begin"))
    appends, live = wire.journal.StreamAppendEvents(), wire.journal.PublishLive()
    request = AppendEventsRequest(session_id="s", events=[reply(id="a")])
    await appends.write(StreamAppendEventsRequest(append=request))
    assert [*(await appends.read()).append.sequences] == [2]
    await live.write(PublishLiveRequest(session_id="s", live=LiveUpdate(event_id="e", text_delta="x")))
    async with asyncio.timeout(PATIENCE):
        stopping = asyncio.ensure_future(server.stop())
        assert is_draining(await failure_of(appends.read()))
        assert is_draining(await failure_of(live))
        await stopping

    assert await rows_kept(config) == ["begin", "a"]


async def test_batches_of_a_stream_under_way_are_answered_before_it_is_told(
    server: Serving, wire: Wire, config: Config
) -> None:
    """Nothing that was taken is left open."""
    await wire.create("s")
    async with Busy(server) as busy:
        appends = wire.journal.StreamAppendEvents()
        for number in range(3):
            row = reply(id=f"{number}")
            await appends.write(StreamAppendEventsRequest(append={"session_id": "s", "events": [row]}))
        await asked_for(server, 3)
        stopping = asyncio.ensure_future(server.stop())
        await not_serving(wire)
        busy.release()
        answers = [(await appends.read()).append.latest_sequence for _ in range(3)]
        assert is_draining(await failure_of(appends.read()))
    await asyncio.wait_for(stopping, PATIENCE)

    assert answers == [1, 2, 3]
    assert await rows_kept(config) == ["0", "1", "2"]


async def test_a_tool_that_watches_health_does_not_hold_the_server_up(server: Serving, wire: Wire) -> None:
    """Its call is no work: it is told, and cut in the end."""
    watching = health_pb2_grpc.HealthStub(wire.channel).Watch(health_pb2.HealthCheckRequest())
    await watching.read()
    stopping = asyncio.ensure_future(server.stop())
    try:
        await asyncio.wait_for(asyncio.shield(stopping), PATIENCE / 4)
    finally:
        watching.cancel()
        await stopping


async def test_a_client_that_reads_nothing_is_cut_when_the_time_is_over(tmp_path, config: Config) -> None:
    """It cannot be told: its stream is full."""
    impatient = Config(data=tmp_path / "other", grpc=config.grpc, drain_seconds=0.3)
    async with serving(impatient) as running, grpc.aio.insecure_channel(running.address, options=OPTIONS) as channel:
        wire = Wire(channel)
        await wire.create("s")
        for _ in range(4):
            await wire.append("s", *[reply("x" * 100_000)] * 20)
        stalled = wire.transcript.Watch(WatchRequest(session_id="s", view=VIEW_JOURNAL, after_sequence=0))
        await stalled.read()
        await asyncio.wait_for(running.stop(), PATIENCE)
        stalled.cancel()
    async with serving(Config(data=impatient.data, grpc=config.grpc)):
        pass


async def test_a_server_is_stopped_once(server: Serving, config: Config) -> None:
    """A second time does nothing, and the folder is free."""
    await server.stop()
    await server.stop()
    async with serving(config) as another:
        assert another.address != ""


async def test_a_server_that_is_left_by_an_error_lets_its_store_go(config: Config) -> None:
    """As `async with` promises."""
    with pytest.raises(LookupError):
        async with serving(config):
            raise LookupError
    journal = await SqliteJournal.open(config.data, idle_timeout_seconds=1)
    await Caller(journal, Principal("local")).create()
    await journal.close()


async def numbers(count: int, then: asyncio.Event) -> AsyncIterator[int]:
    """Some numbers, and then nothing until the event."""
    for number in range(count):
        yield number
    await then.wait()


async def test_requests_come_as_they_are_until_the_server_drains() -> None:
    """Then their stream ends with DRAINING, though no request comes any more."""
    hub = Hub()
    requests = until_draining(numbers(3, asyncio.Event()), hub)
    assert [await anext(requests) for _ in range(3)] == [0, 1, 2]
    asyncio.get_running_loop().call_soon(hub.drain)

    assert (await refusal_of(anext(requests))).reason_name == "DRAINING"
    assert hub._on_drain == set()
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling(), "what it does next is not cut short either"


async def test_what_is_done_with_a_request_is_not_cut_short() -> None:
    """The server may begin to drain in the midst of it."""
    hub = Hub()
    requests = until_draining(numbers(5, asyncio.Event()), hub)
    assert await anext(requests) == 0
    hub.drain()
    await asyncio.sleep(0)

    assert (await refusal_of(anext(requests))).reason_name == "DRAINING"


async def test_requests_that_end_end_without_a_word() -> None:
    """And a task that is cancelled for other reasons is cancelled."""
    hub, over = Hub(), asyncio.Event()
    over.set()
    assert [number async for number in until_draining(numbers(3, over), hub)] == [0, 1, 2]

    async def read() -> list[int]:
        return [number async for number in until_draining(numbers(1, asyncio.Event()), hub)]

    reading = asyncio.ensure_future(read())
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert reading.cancelled()
    assert hub._on_drain == set()
