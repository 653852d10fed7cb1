"""Calls between grpc.aio and the services: bytes in, bytes out.

A service is a class whose methods are named as its RPCs. Requests reach it parsed and checked for what holds
of every message; answers may be messages or bytes, because pages are made of stored bytes and are not parsed
on the way out.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

import grpc
import grpc.aio
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from transcript.v1 import error_reason_pb2
from transcript_server.journal.journal import Principal
from transcript_server.rules import shape
from transcript_server.rules.errors import Refusal, Violation
from transcript_server.rules.intake import refuse_invalid, refuse_unknown
from transcript_server.rules.wire import fault

LOCAL: Final = Principal("local")
"""Who calls, until callers have tokens; the server binds to loopback alone as long as that is so."""

Request = TypeVar("Request", bound=Message)


class Call:
    """One call of one client.

    Attributes:
        principal: Who calls.
        request_id: Names the call in the log.
        facts: What the log line says of this call beside what it says of every call; never row text.
    """

    def __init__(self, context: grpc.aio.ServicerContext[Any, Any], request_id: str) -> None:
        self.principal = LOCAL
        self.request_id = request_id
        self.facts: dict[str, object] = {}
        self.received_bytes = self.sent_bytes = 0
        self._context = context

    async def send(self, response: Message | bytes) -> None:
        """Sends one message of a streamed answer; waits while the client is behind."""
        data = response if isinstance(response, bytes) else response.SerializeToString()
        self.sent_bytes += len(data)
        await self._context.write(data)


current_call: ContextVar[Call] = ContextVar("current_call")


def handlers(service: object, descriptor: ServiceDescriptor) -> grpc.GenericRpcHandler:
    """The handlers of a service's methods. An RPC for which it has no method is answered UNIMPLEMENTED."""
    return grpc.method_handlers_generic_handler(
        descriptor.full_name,
        {
            method.name: _handler(getattr(service, method.name), method)
            for method in descriptor.methods
            if hasattr(service, method.name)
        },
    )


def _handler(serve: Callable[..., Awaitable[Any]], method: MethodDescriptor) -> grpc.RpcMethodHandler[Any, Any]:
    request_type = GetMessageClass(method.input_type)

    async def unary_unary(data: bytes, _: object) -> bytes:
        call = current_call.get()
        call.received_bytes += len(data)
        response = await serve(_parsed(request_type, data), call)
        sent: bytes = response if isinstance(response, bytes) else response.SerializeToString()
        call.sent_bytes += len(sent)
        return sent

    async def unary_stream(data: bytes, _: object) -> None:
        call = current_call.get()
        call.received_bytes += len(data)
        await serve(_parsed(request_type, data), call)

    async def stream_unary(requests: AsyncIterable[bytes], _: object) -> bytes:
        call = current_call.get()
        response = await serve(_all_parsed(request_type, requests, call), call)
        return bytes(response.SerializeToString())

    async def stream_stream(requests: AsyncIterable[bytes], _: object) -> None:
        call = current_call.get()
        await serve(_all_parsed(request_type, requests, call), call)

    # Without (de)serializers grpc hands bytes through: broken ones are ours to refuse in our words.
    if method.client_streaming:
        if method.server_streaming:
            return grpc.stream_stream_rpc_method_handler(stream_stream)
        return grpc.stream_unary_rpc_method_handler(stream_unary)
    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(unary_stream)
    return grpc.unary_unary_rpc_method_handler(unary_unary)


async def _all_parsed(
    request_type: type[Request], requests: AsyncIterable[bytes], call: Call
) -> AsyncIterator[Request]:
    async for data in requests:
        call.received_bytes += len(data)
        yield _parsed(request_type, data)


def _parsed(request_type: type[Request], data: bytes) -> Request:
    """A request, checked for what holds of every message.

    Raises:
        Refusal: INVALID_FIELD, UNKNOWN_FIELD or UNKNOWN_KIND.
    """
    try:
        request = request_type.FromString(data)
    except DecodeError:
        field = fault(request_type, data) or request_type.DESCRIPTOR.name
        raise Refusal(
            error_reason_pb2.ERROR_REASON_INVALID_FIELD,
            f"{field} cannot be read: broken bytes, or text that is not UTF-8",
            violations=[Violation(field, "cannot be read")],
        ) from None
    # Bounds how much there is of anything, before all of it is looked through.
    refuse_invalid(shape.violations(request))
    refuse_unknown(request)
    return request
