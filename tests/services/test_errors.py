"""How a failed call looks to its client: a code, one ErrorInfo, and nothing from inside."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Awaitable
from typing import Any

import apsw
import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import EnumValueDescriptor
from google.rpc import error_details_pb2, status_pb2
from semantics.wire import Failure, failure_of

from transcript.v1 import error_reason_pb2
from transcript.v1.error_reason_pb2 import ErrorReason
from transcript_server.rules.errors import CODES, Refusal, Violation
from transcript_server.services.interceptor import MESSAGE_BYTES, METADATA_BYTES, VIOLATION_BYTES, VIOLATIONS

from .serving import ARITIES, nothing, raising, served

REASONS = [value for value in ErrorReason.DESCRIPTOR.values if value.number]
INVALID = error_reason_pb2.ERROR_REASON_INVALID_FIELD
INSIDE = "/home/somebody/data: SELECT body FROM event WHERE text = 'sesame'"
FAULTS = [
    ValueError(INSIDE),
    KeyError(INSIDE),
    OSError(13, INSIDE),
    apsw.SQLError(INSIDE),
    ExceptionGroup(INSIDE, [ValueError(INSIDE)]),
    AssertionError(INSIDE),
    TimeoutError(INSIDE),
    StopAsyncIteration(INSIDE),
    grpc.RpcError(INSIDE),
]


def status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    """The error's rich status."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            return status_pb2.Status.FromString(value)
    raise AssertionError("no details")


async def error_of(call: Awaitable[Any]) -> grpc.aio.AioRpcError:
    """The error that a call ends with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


async def all_of(call: AsyncIterable[bytes]) -> list[bytes]:
    """All of a stream's answers."""
    return [message async for message in call]


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.name)
async def test_a_refusal_is_its_reasons_code_with_one_error_info(reason: EnumValueDescriptor) -> None:
    """Domain, reason without its prefix, and what varies as metadata."""
    refusal = Refusal(reason.number, "why, and what to do", {"sequence": 7, "limit": "8"})
    async with served(raising(refusal)) as server:
        failure = await server.failure("unary_unary")

    assert failure == Failure(
        code=grpc.StatusCode[CODES[reason.number]],
        reason=reason.name.removeprefix("ERROR_REASON_"),
        domain="transcript.v1",
        metadata={"sequence": "7", "limit": "8"},
        details="why, and what to do",
        infos=1,
    )


@pytest.mark.parametrize("arity", ARITIES)
async def test_a_refusal_is_told_in_calls_of_every_arity(arity: str) -> None:
    """Also after a stream has answered; the rich status agrees with the plain one."""
    async with served(raising(Refusal(INVALID, "why", violations=[Violation("a.b", "is wrong")]))) as server:
        error = await error_of(server.call(arity))
    status = status_of(error)
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()

    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (status.code, status.message) == (3, "why")
    assert len(status.details) == 2
    assert status.details[0].Unpack(info)
    assert info.reason == "INVALID_FIELD"
    assert status.details[1].Unpack(bad)
    assert [(wrong.field, wrong.description) for wrong in bad.field_violations] == [("a.b", "is wrong")]


@pytest.mark.parametrize("arity", ARITIES)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_an_unforeseen_fault_says_nothing_but_a_request_id(
    arity: str, fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """No text of it reaches the client, in no form; the log has its traceback under that id."""
    with caplog.at_level(logging.INFO, "transcript.rpc"):
        async with served(raising(fault)) as server:
            call = server.start(arity, metadata=[("x-request-id", "the-id")])
            error = await error_of(call if arity.endswith("_unary") else all_of(call))
            initial = await call.initial_metadata()

    assert error.code() is grpc.StatusCode.INTERNAL
    assert error.details() == "unforeseen failure; the server's log has it under request the-id"
    everything = f"{error.details()} {error.debug_error_string()} {[*error.trailing_metadata()]} {[*initial]}"
    assert not [word for word in ("sesame", "SELECT", "somebody", type(fault).__name__) if word in everything]
    info = error_details_pb2.ErrorInfo()
    (detail,) = status_of(error).details
    assert detail.Unpack(info)
    assert (info.reason, dict(info.metadata)) == ("INTERNAL", {"request_id": "the-id"})
    (traced,) = [record for record in caplog.records if record.exc_info]
    assert traced.call["request_id"] == "the-id"


async def test_long_texts_are_cut_so_that_the_client_still_learns_why() -> None:
    """A status travels in headers: of many violations the first are told, of a long value its beginning."""
    long = "x" * 5000
    violations = [Violation(f"{number}{long}", long) for number in range(40)]
    async with served(raising(Refusal(INVALID, long, {"key": long}, violations))) as server:
        failure = await server.failure("unary_unary")

    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert failure.details == long[:MESSAGE_BYTES]
    assert failure.metadata == {"key": long[:METADATA_BYTES]}
    assert failure.violations == [f"{number}{long}"[:VIOLATION_BYTES] for number in range(VIOLATIONS)]


@pytest.mark.parametrize("character", ["é", "汉", "😀"])
async def test_long_texts_of_any_writing_reach_the_client(character: str) -> None:
    """A character takes up to four bytes, and in a header's text three times that."""
    long = character * 5000
    violations = [Violation(f"{number}{long}", long) for number in range(40)]
    async with served(raising(Refusal(INVALID, long, {"key": long}, violations))) as server:
        failure = await server.failure("unary_unary")

    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert failure.details
    assert long.startswith(failure.details)
    assert failure.violations


@pytest.mark.parametrize("arity", ARITIES)
async def test_a_method_that_does_not_exist_is_unimplemented_and_not_remembered(arity: str) -> None:
    """Its name is the client's: a server that kept each would grow without bound."""
    async with served(nothing) as server:
        await server.call("unary_unary")
        for number in range(5):
            call = getattr(server.channel, arity)(f"/transcript.v1.SessionService/Nothing{number}")(
                iter([b""]) if arity.startswith("stream") else b""
            )
            if arity.endswith("_stream"):
                call = call.read()
            assert (await failure_of(call)).code is grpc.StatusCode.UNIMPLEMENTED

        assert [*server.interceptor._wrapped] == ["/transcript.v1.SessionService/GetSession"]


@pytest.mark.parametrize("arity", ARITIES)
async def test_bytes_that_are_no_message_are_refused_in_our_words(arity: str) -> None:
    """Not by gRPC's, which tell of exceptions."""
    async with served(nothing) as server:
        failure = await server.failure(arity, b"\xff\xff\xff\xff")

    assert (failure.code, failure.reason, failure.infos) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", 1)
    assert "cannot be read" in failure.details
