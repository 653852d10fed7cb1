"""The log: one line for each call, of what it was and never of what was said."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Iterator
from typing import Any

import grpc.aio
import pytest
from rules.specimens import SPECIMENS, specimen
from semantics.rows import begin, end
from semantics.wire import Wire, failure_of

from transcript.v1.event_pb2 import Event, Note
from transcript.v1.journal_service_pb2 import (
    AddNoteRequest,
    AddSectionMarkerRequest,
    PublishLiveRequest,
    ResetContextRequest,
)
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.session_pb2 import Session
from transcript.v1.session_service_pb2 import (
    DeleteSessionRequest,
    ForkSessionRequest,
    ListSessionsRequest,
    UpdateSessionRequest,
)
from transcript.v1.transcript_service_pb2 import GetEventRequest, WatchRequest
from transcript_server.rules.errors import invalid_field
from transcript_server.services.interceptor import JsonLines

from .serving import ARITIES, nothing, raising, served, waiting

SENTINEL = "sesame"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What is logged, from the most talkative level on."""
    with caplog.at_level(logging.DEBUG):
        yield caplog


def calls(log: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The lines of calls."""
    return [record.call for record in log.records if record.name == "transcript.rpc" and record.message == "call"]


@pytest.mark.parametrize("arity", ARITIES)
async def test_a_call_is_one_line(log: pytest.LogCaptureFixture, arity: str) -> None:
    """What it was, how it ended, how long it took, how much went each way, and under which id."""
    async with served(nothing) as server:
        answer = await server.call(arity, metadata=[("x-request-id", "the-id")])
    (line,) = calls(log)

    assert line["method"].endswith(f"/{ARITIES[arity][2]}")
    assert (line["code"], line["reason"], line["request_id"]) == ("OK", "", "the-id")
    assert line["ms"] >= 0
    assert (line["received_bytes"], line["sent_bytes"]) == (0, len(answer))


async def test_a_calls_line_tells_how_it_failed(log: pytest.LogCaptureFixture) -> None:
    """By code and reason; of an unforeseen fault there is a traceback beside it."""
    for error in (invalid_field("a", "is wrong"), ValueError("of its own")):
        async with served(raising(error)) as server:
            await server.failure("unary_unary")

    assert [(line["code"], line["reason"]) for line in calls(log)] == [
        ("INVALID_ARGUMENT", "INVALID_FIELD"),
        ("INTERNAL", "INTERNAL"),
    ]
    (traced,) = [record for record in log.records if record.exc_info]
    assert traced.call == {"method": calls(log)[1]["method"], "request_id": calls(log)[1]["request_id"]}


@pytest.mark.parametrize("arity", ARITIES)
async def test_a_call_that_its_client_left_is_logged_as_cancelled(log: pytest.LogCaptureFixture, arity: str) -> None:
    """And is under way no longer."""
    begun = asyncio.Event()
    async with served(waiting(begun)) as server:
        call = server.start(arity)
        if arity.endswith("_stream"):
            reading = asyncio.ensure_future(anext(aiter(call)))
        await asyncio.wait_for(begun.wait(), 20)
        call.cancel()
        await asyncio.wait_for(server.interceptor.finished(), 20)
        if arity.endswith("_stream"):
            await asyncio.gather(reading, return_exceptions=True)

    assert [line["code"] for line in calls(log)] == ["CANCELLED"]


@pytest.mark.parametrize(
    ("sent", "is_taken"), [("abc-123", True), ("x" * 128, True), ("x" * 129, False), ("", False)], ids=str
)
async def test_a_clients_own_request_id_is_taken_if_it_is_short(
    log: pytest.LogCaptureFixture, sent: str, is_taken: bool
) -> None:
    """Else, and where there is none, one is made."""
    async with served(nothing) as server:
        await server.call("unary_unary", metadata=[("x-request-id", sent)])
        await server.call("unary_unary")
    named, unnamed = calls(log)

    assert (named["request_id"] == sent) is is_taken
    assert len(unnamed["request_id"]) == 32


def test_a_record_is_one_line_of_json_whatever_it_holds() -> None:
    """Breaks and quotes in it are escaped, a traceback too."""
    record = logging.LogRecord("transcript.rpc", logging.INFO, "", 0, 'a "quote"\nand a break', (), None)
    record.call = {"method": "/a/b", "session_id": "x\ny"}
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    (line,) = JsonLines().format(record).splitlines()
    read = json.loads(line)

    assert read["message"] == 'a "quote"\nand a break'
    assert (read["level"], read["method"], read["session_id"]) == ("info", "/a/b", "x\ny")
    assert read["traceback"].startswith("Traceback")
    assert read["traceback"].endswith("two\nlines")


def spoken(kind: str) -> Event:
    """A row of a kind that says the sentinel in each of its texts, and in no id."""
    row = specimen(kind)
    payload = getattr(row, kind)

    def say(message: Any) -> None:
        for field, value in message.ListFields():
            if isinstance(value, str) and not field.name.endswith("_id"):
                setattr(message, field.name, SENTINEL)
            elif isinstance(value, bytes):
                setattr(message, field.name, SENTINEL.encode())
            elif field.message_type is not None and field.message_type.full_name.startswith("transcript."):
                for part in value if field.is_repeated else [value]:
                    say(part)

    say(payload)
    row.id = f"row-{kind}"
    return row


async def test_no_row_text_is_ever_logged(wire: Wire, log: pytest.LogCaptureFixture) -> None:
    """Every kind of row by every call that takes or serves rows, taken or refused; nor titles, labels or live text."""
    labels = {SENTINEL: SENTINEL}
    await wire.create("s", title=SENTINEL, labels=labels)
    await wire.append("s", begin())
    for kind in SPECIMENS:
        row = spoken(kind)
        if kind == "human_response":
            row.human_response.request_id = "nobody"
        await outcome_of(wire.append("s", row))
        await outcome_of(wire.append("s", row, row, expected_latest_sequence=999))
        row.sequence = 5
        await wire.refused("s", row)
    await wire.append("s", end())
    for request in [
        AddSectionMarkerRequest(session_id="s", label=SENTINEL, source=SENTINEL),
        AddSectionMarkerRequest(session_id="s", label=SENTINEL * 99),
    ]:
        await outcome_of(wire.journal.AddSectionMarker(request))
    await wire.journal.AddNote(AddNoteRequest(session_id="s", note=Note(text=SENTINEL, source=SENTINEL)))
    await wire.journal.ResetContext(ResetContextRequest(session_id="s", reason=SENTINEL))
    live = LiveUpdate(event_id="e", text_delta=SENTINEL)
    await wire.journal.PublishLive(iter([PublishLiveRequest(session_id="s", live=live)]))
    await wire.sessions.UpdateSession(UpdateSessionRequest(session=Session(id="s", title=SENTINEL, labels=labels)))
    await wire.sessions.ListSessions(ListSessionsRequest(title_contains=SENTINEL, labels=labels))
    await wire.sessions.ForkSession(ForkSessionRequest(source_session_id="s", session=Session(id="t", title=SENTINEL)))
    assert SENTINEL in str(await wire.rows("s"))
    assert SENTINEL in str((await wire.page("s", expand_sections=True)).rows)
    await wire.transcript.GetEvent(GetEventRequest(session_id="s", sequence=2))
    stream = wire.transcript.Watch(WatchRequest(session_id="s", include_sessions=True))
    assert SENTINEL in str(await stream.read())
    stream.cancel()
    await failure_of(wire.append(SENTINEL + "/", Event()))
    await wire.sessions.DeleteSession(DeleteSessionRequest(session_id="s"))

    assert len(calls(log)) > 3 * len(SPECIMENS)
    ours = [record for record in log.records if record.name.startswith("transcript")]
    lines = [JsonLines().format(record) for record in ours]
    assert [line for line in lines if SENTINEL in line] == []


async def outcome_of(call: Awaitable[Any]) -> None:
    """Calls; whether it works does not matter."""
    with contextlib.suppress(grpc.aio.AioRpcError):
        await call


async def test_rule_32_markers_notes_and_resets_are_logged_with_what_became_of_them(
    wire: Wire, log: pytest.LogCaptureFixture
) -> None:
    """Landed, held or refused, whichever call brought them; forks and deletions too."""
    await wire.create("s")
    await wire.append("s", begin())
    await wire.journal.AddSectionMarker(AddSectionMarkerRequest(session_id="s", event_id="m"))
    await wire.append("s", spoken("note"), spoken("context_reset"))
    await wire.append("s", end())
    await wire.journal.ResetContext(ResetContextRequest(session_id="s", event_id="r"))
    await failure_of(wire.journal.AddSectionMarker(AddSectionMarkerRequest(session_id="s", event_id="r")))
    await wire.sessions.ForkSession(ForkSessionRequest(source_session_id="s", session=Session(id="t")))
    await wire.sessions.DeleteSession(DeleteSessionRequest(session_id="t"))

    rows = [record.call for record in log.records if record.name == "transcript.audit"]
    audited = [(row["kind"], row["event_id"], row["outcome"]) for row in rows]
    assert audited == [
        ("section_marker", "m", "held"),
        ("note", "row-note", "held"),
        ("context_reset", "row-context_reset", "held"),
        ("context_reset", "r", "row 6"),
        ("section_marker", "r", "refused"),
    ]
    named = [line for line in calls(log) if line["method"].endswith(("/ForkSession", "/DeleteSession"))]
    assert [(line["session_id"], line.get("source_session_id"), line["code"]) for line in named] == [
        ("t", "s", "OK"),
        ("t", None, "OK"),
    ]
