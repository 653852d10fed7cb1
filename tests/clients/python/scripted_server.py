"""A real gRPC server whose answers a test writes, call by call: for what a good server never does."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from transcript.v1 import context_service_pb2, journal_service_pb2, session_service_pb2, transcript_service_pb2
from transcript.v1.event_pb2 import Event
from transcript.v1.event_pb2 import Status as StatusRow
from transcript.v1.transcript_service_pb2 import CaughtUp, EventBatch, PageInfo, WatchResponse

FILES = (context_service_pb2, journal_service_pb2, session_service_pb2, transcript_service_pb2)


class Hang:
    """Say nothing more, and do not end."""


HANG = Hang()


@dataclass(frozen=True)
class Fail:
    """End the call with an error."""

    code: grpc.StatusCode
    reason: str = ""
    message: str = "scripted"
    metadata: Mapping[str, str] = field(default_factory=dict)
    violations: Sequence[tuple[str, str]] = ()
    domain: str = "transcript.v1"
    raw_details: bytes | None = None

    async def raised(self, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        if self.raw_details is not None:
            trailer = (("grpc-status-details-bin", self.raw_details),)
            await context.abort(self.code, self.message, trailer)
        details = []
        if self.reason:
            info = ErrorInfo(reason=self.reason, domain=self.domain, metadata=self.metadata)
            details.append(packed(info))
        if self.violations:
            fields = [BadRequest.FieldViolation(field=name, description=text) for name, text in self.violations]
            details.append(packed(BadRequest(field_violations=fields)))
        status = Status(code=self.code.value[0], message=self.message, details=details)
        await context.abort_with_status(rpc_status.to_status(status))


def packed(message: Message) -> AnyMessage:
    any_message = AnyMessage()
    any_message.Pack(message)
    return any_message


UNAVAILABLE = Fail(grpc.StatusCode.UNAVAILABLE)

Step = Message | bytes | Fail | Hang | asyncio.Event | Callable[[Any], Message | Fail | None]


class ScriptedServer:
    """Answers the n-th call of a method by the n-th script; the last script goes for all later calls.

    A step of a script is a message to send, or a function of the request that makes one, or none; bytes to send as they
    are; Fail; HANG; or an event to wait for. A script that is over ends the call with OK. In a call whose
    requests are a stream, a function takes the next request, and is passed over when there is none.
    """

    def __init__(self) -> None:
        self.requests: defaultdict[str, list[Any]] = defaultdict(list)
        self.metadata: list[Mapping[str, Any]] = []
        self.times: defaultdict[str, list[float]] = defaultdict(list)
        self.ended = 0
        self._scripts: dict[str, tuple[Sequence[Step], ...]] = {}
        self._server: grpc.aio.Server | None = None
        self.port = 0

    def script(self, method: str, *scripts: Sequence[Step]) -> None:
        self._scripts[method] = scripts

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        for file in FILES:
            for service in file.DESCRIPTOR.services_by_name.values():
                handlers = {method.name: self._handler(method) for method in service.methods}
                handler = grpc.method_handlers_generic_handler(service.full_name, handlers)
                self._server.add_generic_rpc_handlers((handler,))
        self.port = self._server.add_insecure_port(self.address)
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    def _handler(self, method: Any) -> grpc.RpcMethodHandler[Any, Any]:
        async def play(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
            count = len(self.times[method.name])
            self.times[method.name].append(time.monotonic())
            self.metadata.append(dict(tuple(context.invocation_metadata() or ())))
            if not method.client_streaming:
                self.requests[method.name].append(request)
            scripts = self._scripts[method.name]
            try:
                for step in scripts[min(count, len(scripts) - 1)]:
                    said = await self._said(step, request, method)
                    if isinstance(said, Fail):
                        await said.raised(context)
                    elif said is not None:
                        yield said
            finally:
                self.ended += 1

        async def last(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            answers = [message async for message in play(request, context)]
            return answers[-1]

        make: Any = getattr(
            grpc,
            f"{'stream' if method.client_streaming else 'unary'}"
            f"_{'stream' if method.server_streaming else 'unary'}_rpc_method_handler",
        )
        handler: grpc.RpcMethodHandler[Any, Any] = make(
            play if method.server_streaming else last,
            request_deserializer=GetMessageClass(method.input_type).FromString,
            response_serializer=lambda message: message if isinstance(message, bytes) else message.SerializeToString(),
        )
        return handler

    async def _said(self, step: Step, request: Any, method: Any) -> Message | bytes | Fail | None:
        if isinstance(step, Hang):
            await asyncio.Event().wait()
        elif isinstance(step, asyncio.Event):
            await step.wait()
        elif not callable(step):
            return step
        elif not method.client_streaming:
            return step(request)
        elif (taken := await anext(request, None)) is not None:
            self.requests[method.name].append(taken)
            return step(taken)
        return None


class Proxy:
    """A TCP proxy that can cut its connections, or swallow what passes."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._writers: list[asyncio.StreamWriter] = []
        self._frozen: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in self._writers:
                writer.transport.abort()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def cut(self) -> None:
        """Break every connection, as a lost network does."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def freeze(self) -> None:
        """Swallow what is sent over the connections of now; new ones pass."""
        self._frozen.update(self._writers)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, here = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers += [writer, here]
        for source, sink in ((reader, here), (there, writer)):
            task = asyncio.create_task(self._pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 16):
                if sink not in self._frozen:
                    sink.write(data)
                    await sink.drain()
        sink.transport.abort()


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until *condition* holds; fail if it does not within *seconds*."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        await asyncio.sleep(0.005)


def row(sequence: int) -> Event:
    return Event(sequence=sequence, id=f"e{sequence}", status=StatusRow(text=str(sequence)))


def rows(*sequences: int) -> WatchResponse:
    return WatchResponse(events=EventBatch(events=[row(sequence) for sequence in sequences]))


def caught_up(sequence: int) -> WatchResponse:
    return WatchResponse(caught_up=CaughtUp(latest_sequence=sequence))


def page(*sequences: int, latest: int | None = None, journal_id: str = "j1", whole: bool = True) -> WatchResponse:
    """A page; *whole*: with caught_up in the same message."""
    info = PageInfo(
        oldest_sequence=sequences[0] if sequences else 0,
        newest_sequence=sequences[-1] if sequences else 0,
        latest_sequence=latest if latest is not None else (sequences[-1] if sequences else 0),
        journal_id=journal_id,
    )
    message = WatchResponse(page=info, events=rows(*sequences).events)
    if whole:
        message.caught_up.CopyFrom(CaughtUp(latest_sequence=info.latest_sequence))
    return message


def sequences_of(messages: Sequence[WatchResponse]) -> list[int]:
    return [event.sequence for message in messages for event in message.events.events]
