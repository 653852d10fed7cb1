"""From a gRPC status to an error of the client's tree."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import grpc
import pytest
from google.rpc.status_pb2 import Status
from scripted_server import Fail

import transcript
from transcript import FieldViolation, TranscriptError, errors
from transcript.v1.error_reason_pb2 import ErrorReason

if TYPE_CHECKING:
    from scripted_server import ScriptedServer

    from transcript import Client

REASONS = [value for value in ErrorReason.values() if value]


async def error_of(caller: Client, scripted: ScriptedServer, fail: Fail) -> TranscriptError:
    scripted.script("GetSession", [fail])
    with pytest.raises(TranscriptError) as caught:
        await caller.get_session("s")
    return caught.value


@pytest.mark.parametrize("value", REASONS, ids=ErrorReason.Name)
def test_every_reason_has_an_error_of_its_name(value: ErrorReason.ValueType) -> None:
    name = ErrorReason.Name(value).removeprefix("ERROR_REASON_").title().replace("_", "")

    assert errors.BY_REASON[value] is getattr(transcript, name)


@pytest.mark.parametrize("value", REASONS, ids=ErrorReason.Name)
def test_a_reason_stands_below_its_code(value: ErrorReason.ValueType) -> None:
    """The comment of a reason begins with its code: catching the code's error catches the reason's."""
    codes = [code for code, kind in errors.BY_CODE.items() if issubclass(errors.BY_REASON[value], kind)]

    assert len(codes) == 1


@pytest.mark.parametrize("value", REASONS, ids=ErrorReason.Name)
async def test_every_reason_comes_back_as_its_error(
    caller: Client, scripted: ScriptedServer, value: ErrorReason.ValueType
) -> None:
    kind = errors.BY_REASON[value]
    code = next(code for code, branch in errors.BY_CODE.items() if issubclass(kind, branch))

    error = await error_of(caller, scripted, Fail(code, errors.name_of(value), "why", {"key": "value"}))

    assert type(error) is kind
    assert error.reason == value
    assert error.reason_name == errors.name_of(value)
    assert error.message == "why"
    assert error.metadata == {"key": "value"}
    assert error.code is code


async def test_field_violations_are_told_one_by_one(caller: Client, scripted: ScriptedServer) -> None:
    wrong = [("events[0].section_marker.label", "at most 120 code points"), ("events[1].id", "at most 128 bytes")]

    error = await error_of(
        caller,
        scripted,
        Fail(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", "two fields are wrong", violations=wrong),
    )

    assert error.violations == tuple(FieldViolation(name, text) for name, text in wrong)
    assert str(error) == (
        "INVALID_FIELD: two fields are wrong; events[0].section_marker.label: at most 120 code points; "
        "events[1].id: at most 128 bytes"
    )


async def test_a_reason_of_a_newer_server_is_the_error_of_its_code(caller: Client, scripted: ScriptedServer) -> None:
    error = await error_of(
        caller, scripted, Fail(grpc.StatusCode.FAILED_PRECONDITION, "JOURNAL_SEALED", "sealed", {"session_id": "s"})
    )

    assert type(error) is transcript.FailedPrecondition
    assert error.reason == ErrorReason.ERROR_REASON_UNSPECIFIED
    assert error.reason_name == "JOURNAL_SEALED"
    assert error.metadata == {"session_id": "s"}
    assert str(error) == "JOURNAL_SEALED: sealed"


async def test_a_reason_of_another_domain_is_none_of_ours(caller: Client, scripted: ScriptedServer) -> None:
    error = await error_of(
        caller, scripted, Fail(grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", domain="proxy.example")
    )

    assert type(error) is transcript.NotFound
    assert error.reason_name == ""


@pytest.mark.parametrize(
    "details",
    [
        b"",
        b"\xff\xff\xff\xff",
        Status(code=5, message="another text").SerializeToString(),
        Status(code=7, message="scripted").SerializeToString(),
        b"\x08\x05\x12\x08scripted\x1a\x32\x0a\x28type.googleapis.com/google.rpc.ErrorInfo\x12\x06\xff\xff\xff\xff\xff\xff",
    ],
    ids=["empty", "no message", "another text", "another code", "no ErrorInfo"],
)
async def test_garbage_in_the_details_leaves_the_code(caller: Client, scripted: ScriptedServer, details: bytes) -> None:
    error = await error_of(caller, scripted, Fail(grpc.StatusCode.NOT_FOUND, raw_details=details))

    assert type(error) is transcript.NotFound
    assert error.reason_name == ""
    assert error.violations == ()


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
async def test_an_error_without_details_goes_by_its_code_and_names_the_server(
    caller: Client, scripted: ScriptedServer, code: grpc.StatusCode
) -> None:
    error = await error_of(caller, scripted, Fail(code))

    assert type(error) is errors.BY_CODE.get(code, TranscriptError)
    assert error.code is code
    assert str(error) == f"{code.name}: scripted (server {scripted.address})"


def test_an_error_can_be_pickled() -> None:
    error = transcript.InvalidField(
        ErrorReason.ERROR_REASON_INVALID_FIELD,
        "wrong",
        {"key": "value"},
        (FieldViolation("title", "too long"),),
        grpc.StatusCode.INVALID_ARGUMENT,
    )

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301

    assert type(copy) is transcript.InvalidField
    assert vars(copy) == vars(error)
