"""Writing to a call that may end meanwhile, and what its end then looks like."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
import grpc.aio

from transcript.errors import Internal, TranscriptError
from transcript.status import by_code
from transcript.v1.journal_service_pb2 import PublishLiveRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

    from transcript.calls import Calls
    from transcript.v1.journal_service_pb2 import PublishLiveResponse
    from transcript.v1.live_pb2 import LiveUpdate

Request = TypeVar("Request")
Response = TypeVar("Response")


async def written(
    call: grpc.aio.StreamStreamCall[Request, Response] | grpc.aio.StreamUnaryCall[Request, Response], request: Request
) -> bool:
    """Whether *call* took *request*; not if it is over."""
    try:
        await call.write(request)
    except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
        return False
    return True


async def close_writing(call: grpc.aio.StreamStreamCall[Any, Any] | grpc.aio.StreamUnaryCall[Any, Any]) -> None:
    """Say that nothing more will be written to *call*, if it is not over."""
    with suppress(grpc.aio.InternalError):
        await call.done_writing()


def named(error: TranscriptError, *, write_failed: bool) -> TranscriptError:
    """*error*, or what it stands for.

    When a write fails because the server has ended the call, grpc.aio puts INTERNAL in the place of the
    server's status, and why the server ended it is lost (seen in 1.85). What is left is that it did.
    """
    if write_failed and isinstance(error, Internal) and not error.reason_name:
        return by_code(grpc.StatusCode.UNAVAILABLE, f"the call ended while it was written to: {error.message}")
    return error


async def publish_live(calls: Calls, session_id: str, updates: AsyncIterable[LiveUpdate]) -> None:
    """See Client.publish_live."""
    calls.check_open()
    call: grpc.aio.StreamUnaryCall[PublishLiveRequest, PublishLiveResponse] | None = None
    try:
        async for update in updates:
            request = PublishLiveRequest(session_id=session_id, live=update)
            if call is None:
                call = calls.journal.PublishLive(metadata=calls.metadata)
            with calls.failures():
                taken = await written(call, request)
            if not taken:
                call.cancel()
                call = None
                await _publish_alone(calls, request)
        if call is not None:
            with calls.failures():
                await close_writing(call)
                await call
    finally:
        if call is not None:
            call.cancel()


async def _publish_alone(calls: Calls, request: PublishLiveRequest) -> None:
    """Publish *request* over a call of its own: with nothing else to write, the reason of a refusal comes through."""
    calls.check_open()
    call = calls.journal.PublishLive(metadata=calls.metadata)
    taken = False
    try:
        with calls.failures():
            taken = await written(call, request)
            if taken:
                await close_writing(call)
            await call
    except TranscriptError as error:
        raise named(error, write_failed=not taken) from error.__cause__
    finally:
        call.cancel()
