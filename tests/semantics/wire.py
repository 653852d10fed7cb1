"""The service as a stranger sees it: generated stubs, raw bytes, and errors taken apart."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from transcript.v1 import (
    context_service_pb2_grpc,
    journal_service_pb2_grpc,
    session_service_pb2_grpc,
    transcript_service_pb2_grpc,
)
from transcript.v1.context_service_pb2 import ReadContextRequest, ReadContextResponse
from transcript.v1.event_pb2 import Event
from transcript.v1.journal_service_pb2 import (
    AppendEventsRequest,
    AppendEventsResponse,
    ReadEventsRequest,
    ReadEventsResponse,
)
from transcript.v1.session_pb2 import Session
from transcript.v1.session_service_pb2 import CreateSessionRequest, GetSessionRequest
from transcript.v1.transcript_service_pb2 import PageInfo, ReadPageRequest, ReadPageResponse

from .served import MESSAGE_LIMIT

OPTIONS = [("grpc.max_receive_message_length", 16 << 20), ("grpc.max_send_message_length", 16 << 20)]
TRANSCRIPT = "/transcript.v1.TranscriptService/"
CONTEXT = "/transcript.v1.ContextService/"
JOURNAL = "/transcript.v1.JournalService/"
DOMAIN = "transcript.v1"


@dataclass
class Failure:
    """How a call failed."""

    code: grpc.StatusCode
    reason: str = ""
    domain: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    details: str = ""
    infos: int = 0


def taken_apart(error: grpc.aio.AioRpcError) -> Failure:
    """The error's code, its one ErrorInfo and the fields it names."""
    failure = Failure(error.code(), details=error.details() or "")
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        for detail in status_pb2.Status.FromString(value).details:
            info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            if detail.Unpack(info):
                failure.reason, failure.domain, failure.metadata = info.reason, info.domain, dict(info.metadata)
                failure.infos += 1
            elif detail.Unpack(bad):
                failure.violations += [violation.field for violation in bad.field_violations]
    return failure


async def failure_of(call: Awaitable[Any]) -> Failure:
    """How the call fails; it must."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return taken_apart(error)
    message = f"the call went through: {answer}"
    raise AssertionError(message)


@dataclass
class Served:
    """A page as it came."""

    info: PageInfo
    rows: list[Event]
    messages: list[bytes]


class Wire:
    """One channel to one server."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.known: dict[str, bool] = {}
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self.journal = journal_service_pb2_grpc.JournalServiceStub(channel)
        self.transcript = transcript_service_pb2_grpc.TranscriptServiceStub(channel)
        self.context = context_service_pb2_grpc.ContextServiceStub(channel)

    async def create(self, session_id: str = "", **fields: Any) -> Session:
        """A new session."""
        request = CreateSessionRequest(session=Session(id=session_id, **fields))
        return (await self.sessions.CreateSession(request)).session

    async def session(self, session_id: str) -> Session:
        """The session as it is now."""
        return (await self.sessions.GetSession(GetSessionRequest(session_id=session_id))).session

    async def append(self, session_id: str, *events: Event, **fields: Any) -> AppendEventsResponse:
        """Appends rows."""
        return await self.journal.AppendEvents(AppendEventsRequest(session_id=session_id, events=events, **fields))

    async def refused(self, session_id: str, *events: Event, **fields: Any) -> Failure:
        """How an append of these rows fails."""
        return await failure_of(self.append(session_id, *events, **fields))

    async def raw_stream(self, path: str, request: Message) -> list[bytes]:
        """Every message of a server stream, as bytes."""
        method = self.channel.unary_stream(
            path, request_serializer=type(request).SerializeToString, response_deserializer=None
        )
        return [message async for message in method(request)]

    async def serves(self, path: str) -> bool:
        """Whether the server has this RPC yet."""
        if path not in self.known:
            method = self.channel.unary_stream(path, request_serializer=None, response_deserializer=None)
            try:
                async for _ in method(b"\x0b"):
                    break
            except grpc.aio.AioRpcError as error:
                self.known[path] = error.code() != grpc.StatusCode.UNIMPLEMENTED
        return self.known[path]

    async def rows(self, session_id: str, after: int = 0, through: int = 0) -> list[Event]:
        """ReadEvents: the journal as it lies."""
        request = ReadEventsRequest(session_id=session_id, after_sequence=after, through_sequence=through)
        messages = await self.raw_stream(JOURNAL + "ReadEvents", request)
        return [row for message in messages for row in checked(ReadEventsResponse, message).events]

    async def raw_unary(self, path: str, request: Message) -> bytes:
        """The answer, as bytes."""
        method = self.channel.unary_unary(
            path, request_serializer=type(request).SerializeToString, response_deserializer=None
        )
        return await method(request)

    async def page(self, session_id: str, **fields: Any) -> Served:
        """ReadPage, with its messages checked for form."""
        messages = await self.raw_stream(TRANSCRIPT + "ReadPage", ReadPageRequest(session_id=session_id, **fields))
        parts = [checked(ReadPageResponse, message) for message in messages]
        assert [part.HasField("page") for part in parts] == [True] + [False] * (len(parts) - 1)
        return Served(parts[0].page, [row for part in parts for row in part.events.events], messages)

    async def expect_surface(self, session_id: str, sequences: list[int]) -> None:
        """These rows stand on the surface."""
        assert [row.sequence for row in await self.surface(session_id)] == sequences

    async def surface(self, session_id: str, **fields: Any) -> list[Event]:
        """ReadContext."""
        messages = await self.raw_stream(CONTEXT + "ReadContext", ReadContextRequest(session_id=session_id, **fields))
        assert messages
        return [row for message in messages for row in checked(ReadContextResponse, message).events]


def rows_in(message: Message) -> int:
    """How many rows a response holds."""
    events = getattr(message, "events", ())
    return len(getattr(events, "events", events))


def checked(kind: type[Any], raw: bytes) -> Any:
    """Rule 20 on every message that these tests receive; and its bytes are those of its parsed message."""
    message = kind.FromString(raw)
    again = message.SerializeToString()
    # The entries of a map have no order, not even between two writings of one message.
    unordered = any(len(session.labels) > 1 for session in getattr(message, "sessions", ()))
    assert len(again) == len(raw) if unordered else again == raw
    assert len(raw) < MESSAGE_LIMIT or rows_in(message) == 1
    return message


def bytes_of(rows: Iterable[Message]) -> list[bytes]:
    """To compare rows exactly."""
    return [row.SerializeToString(deterministic=True) for row in rows]
