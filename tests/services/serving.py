"""A server of a test's own services, behind the interceptor that every call passes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
from semantics.wire import Failure, failure_of

from transcript.v1 import journal_service_pb2 as journals
from transcript.v1 import session_service_pb2 as sessions
from transcript.v1 import transcript_service_pb2 as transcripts
from transcript_server.services.calls import Call, handlers
from transcript_server.services.interceptor import Interceptor

ARITIES = {
    "unary_unary": (sessions, "SessionService", "GetSession"),
    "unary_stream": (transcripts, "TranscriptService", "ReadPage"),
    "stream_unary": (journals, "JournalService", "PublishLive"),
    "stream_stream": (journals, "JournalService", "StreamAppendEvents"),
}
"""An RPC of each arity: its module, its service, its name."""

Behaviour = Callable[[Call], Any]


class Service:
    """Serves the four RPCs by doing what the test says; streams send one answer first."""

    def __init__(self, behave: Behaviour) -> None:
        self._behave = behave

    async def GetSession(self, _: sessions.GetSessionRequest, call: Call) -> sessions.GetSessionResponse:  # noqa: N802
        await self._behave(call)
        return sessions.GetSessionResponse()

    async def ReadPage(self, _: transcripts.ReadPageRequest, call: Call) -> None:  # noqa: N802
        await call.send(transcripts.ReadPageResponse(page=transcripts.PageInfo(latest_sequence=1)))
        await self._behave(call)

    async def PublishLive(self, requests: AsyncIterator[Any], call: Call) -> journals.PublishLiveResponse:  # noqa: N802
        async for _ in requests:
            await self._behave(call)
        return journals.PublishLiveResponse()

    async def StreamAppendEvents(self, requests: AsyncIterator[Any], call: Call) -> None:  # noqa: N802
        async for _ in requests:
            await call.send(journals.StreamAppendEventsResponse())
            await self._behave(call)


class Served:
    """A channel to a server of one behaviour."""

    def __init__(self, channel: grpc.aio.Channel, interceptor: Interceptor) -> None:
        self.channel = channel
        self.interceptor = interceptor

    def start(self, arity: str, request: bytes = b"", **options: Any) -> grpc.aio.Call:
        """Starts the call of an arity, with one empty request unless another is given."""
        module, service, name = ARITIES[arity]
        path = f"/{module.DESCRIPTOR.package}.{service}/{name}"
        sent = iter([request]) if arity.startswith("stream") else request
        return getattr(self.channel, arity)(path)(sent, **options)

    async def call(self, arity: str, request: bytes = b"", **options: Any) -> bytes:
        """Calls, and reads all answers."""
        started = self.start(arity, request, **options)
        if arity.endswith("_unary"):
            return await started
        return b"".join([message async for message in started])

    async def failure(self, arity: str, request: bytes = b"", **options: Any) -> Failure:
        """How the call fails; it must."""
        return await failure_of(self.call(arity, request, **options))


@asynccontextmanager
async def served(behave: Behaviour) -> AsyncIterator[Served]:
    """Runs a server whose RPCs behave so."""
    interceptor = Interceptor()
    server = grpc.aio.server(interceptors=[interceptor])
    service = Service(behave)
    for module, name in dict.fromkeys((module, name) for module, name, _ in ARITIES.values()):
        server.add_generic_rpc_handlers([handlers(service, module.DESCRIPTOR.services_by_name[name])])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Served(channel, interceptor)
    finally:
        await server.stop(0)
        await interceptor.finished()


async def nothing(_: Call) -> None:
    """Does nothing."""


def raising(error: BaseException) -> Behaviour:
    """Fails."""

    async def fail(_: Call) -> None:
        raise error

    return fail


def waiting(begun: asyncio.Event) -> Behaviour:
    """Says that it has begun, and waits until it is cancelled."""

    async def wait(_: Call) -> None:
        begun.set()
        await asyncio.Event().wait()

    return wait
