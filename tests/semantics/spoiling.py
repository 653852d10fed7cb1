"""Requests with one thing spoiled in each, sent as they are, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from transcript.v1.session_service_pb2 import ListSessionsRequest

from .specimens import METHODS, places, specimens
from .wire import Failure, Wire, failure_of

INVALID = grpc.StatusCode.INVALID_ARGUMENT


def path_of(method: str) -> str:
    """The RPC's path."""
    return f"/{METHODS[method].containing_service.full_name}/{method}"


async def send(wire: Wire, method: str, raw: bytes) -> None:
    """Sends bytes as they are, and waits for the first answer."""
    descriptor = METHODS[method]
    path = path_of(method)
    arity = ("stream" if descriptor.client_streaming else "unary") + (
        "_stream" if descriptor.server_streaming else "_unary"
    )
    call = getattr(wire.channel, arity)(path, request_serializer=None, response_deserializer=None)
    answers = call(iter([raw]) if descriptor.client_streaming else raw)
    if not descriptor.server_streaming:
        await answers
        return
    async for _ in answers:
        break
    answers.cancel()


async def failing(wire: Wire, method: str, raw: bytes) -> Failure:
    """How the server refuses these bytes; it must, with one reason."""
    failure = await failure_of(send(wire, method, raw))
    assert failure.infos == 1, (method, failure)
    return failure


async def is_untouched(wire: Wire) -> None:
    """Nothing was written, and the server still serves."""
    session = await wire.session("s")
    assert (session.latest_sequence, session.held_row_count, session.title) == (3, 0, "")
    assert len((await wire.sessions.ListSessions(ListSessionsRequest())).sessions) == 1


def spoiled(method: str, change: Callable[[Message, FieldDescriptor], bool]) -> Iterator[tuple[str, Message]]:
    """Copies of the specimens, one field spoiled in each, with its path; `change` says whether it could."""
    for specimen in specimens(method):
        for place in places(specimen):
            for field in place.within(specimen).DESCRIPTOR.fields:
                request = copied(specimen)
                if change(place.within(request), field):
                    yield place.field(field.name), request


def copied(message: Message) -> Message:
    """A copy."""
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def set_value(message: Message, field: FieldDescriptor, value: object) -> bool:
    """Puts the value into the field, as its only one."""
    if field.is_repeated:
        del getattr(message, field.name)[:]
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)
    return True


def scalar(field: FieldDescriptor) -> bool:
    """Whether the field holds plain values and is no map."""
    return field.message_type is None
