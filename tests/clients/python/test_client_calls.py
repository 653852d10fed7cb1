"""Deadlines, repetition and cleaning up: what the client does around each call."""

from __future__ import annotations

import asyncio
import json
import socket
import time
import uuid
from contextlib import aclosing
from typing import TYPE_CHECKING

import grpc
import pytest
from scripted_server import FILES, HANG, UNAVAILABLE, Fail, until

from transcript import ClientClosed, DeadlineExceeded, Draining, Internal, SessionNotFound, Unavailable, connect
from transcript.backoff import Backoff
from transcript.channel import OPTIONS, SAFE_TO_REPEAT
from transcript.ids import new_id
from transcript.status import by_code
from transcript.v1.event_pb2 import Event, UserMessage
from transcript.v1.journal_service_pb2 import (
    AddNoteResponse,
    AppendEventsResponse,
    PublishLiveResponse,
    ReadEventsResponse,
)
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.session_pb2 import Session
from transcript.v1.session_service_pb2 import CreateSessionResponse, GetSessionResponse, ListSessionsResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scripted_server import Proxy, ScriptedServer

    from transcript import Client

DRAINING = Fail(grpc.StatusCode.UNAVAILABLE, "DRAINING")
FOUND = GetSessionResponse(session=Session(id="s"))
APPENDED = AppendEventsResponse(sequences=[1], latest_sequence=1)


def message(text: str, id: str = "") -> Event:  # noqa: A002
    return Event(id=id, user_message=UserMessage(text=text))


@pytest.fixture
def nowhere() -> str:
    """An address that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


async def test_a_burst_of_unavailable_does_not_show_in_a_read(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("GetSession", [UNAVAILABLE], [DRAINING], [FOUND])

    assert (await caller.get_session("s")).id == "s"
    assert len(scripted.requests["GetSession"]) == 3


async def test_a_read_of_a_server_that_stays_unavailable_fails_within_seconds(
    caller: Client, scripted: ScriptedServer
) -> None:
    scripted.script("GetSession", [DRAINING])
    began = time.monotonic()

    with pytest.raises(Draining):
        await caller.get_session("s")

    assert time.monotonic() - began < 5
    assert 1 < len(scripted.requests["GetSession"]) <= 5


async def test_a_call_that_may_have_been_done_is_not_repeated(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("DeleteSession", [UNAVAILABLE])
    scripted.script("UpdateSession", [UNAVAILABLE])

    with pytest.raises(Unavailable):
        await caller.delete_session("s")
    with pytest.raises(Unavailable):
        await caller.update_session(Session(id="s", title="t"))

    assert len(scripted.requests["DeleteSession"]) == 1
    assert len(scripted.requests["UpdateSession"]) == 1


async def test_no_server_is_unavailable_and_names_the_target(nowhere: str) -> None:
    async with connect(nowhere) as client:
        with pytest.raises(Unavailable, match=nowhere):
            await client.get_session("s")


async def test_an_append_is_repeated_with_the_same_ids_until_it_is_taken(
    caller: Client, scripted: ScriptedServer
) -> None:
    """More often than gRPC's own policy repeats."""
    scripted.script("AppendEvents", *[[UNAVAILABLE]] * 4, *[[DRAINING]] * 3, [APPENDED])

    response = await caller.append("s", [message("one"), message("two", "mine"), message("three")])

    requests = scripted.requests["AppendEvents"]
    assert response == APPENDED
    assert len(requests) == 8
    assert all(request == requests[0] for request in requests)
    ids = [event.id for event in requests[0].events]
    assert ids[1] == "mine"
    assert len(set(ids)) == 3
    assert all(ids)


async def test_an_append_is_repeated_after_a_cut_connection(proxy: Proxy, scripted: ScriptedServer) -> None:
    scripted.script("AppendEvents", [HANG], [APPENDED])
    async with connect(proxy.address) as client:
        appending = asyncio.create_task(client.append("s", [message("one")]))
        await until(lambda: scripted.requests["AppendEvents"])
        proxy.cut()

        assert await appending == APPENDED
    assert scripted.requests["AppendEvents"][0] == scripted.requests["AppendEvents"][1]


async def test_an_append_never_changes_the_callers_events(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("AppendEvents", [APPENDED])
    event = message("one")

    await caller.append("s", [event], expected_latest_sequence=0)
    await caller.append("s", [event])

    assert event == message("one")
    first, second = scripted.requests["AppendEvents"]
    assert first.events[0].id != second.events[0].id
    assert first.HasField("expected_latest_sequence")
    assert not second.HasField("expected_latest_sequence")


async def test_an_append_gives_up_at_the_deadline(scripted: ScriptedServer) -> None:
    scripted.script("AppendEvents", [UNAVAILABLE])
    async with connect(scripted.address, timeout=1.0) as client:
        began = time.monotonic()
        with pytest.raises(Unavailable):
            await client.append("s", [message("one")])

    assert time.monotonic() - began < 2


async def test_an_error_that_stays_is_not_repeated(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("AppendEvents", [Fail(grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")])

    with pytest.raises(SessionNotFound):
        await caller.append("s", [message("one")])

    assert len(scripted.requests["AppendEvents"]) == 1


async def test_what_looks_like_a_cut_is_repeated_a_few_times_only(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("AddNote", [Fail(grpc.StatusCode.INTERNAL)])

    with pytest.raises(Internal):
        await caller.add_note("s", "text")

    assert len(scripted.requests["AddNote"]) == 6
    assert len({request.event_id for request in scripted.requests["AddNote"]}) == 1


async def test_an_error_that_the_server_vouches_for_is_not_a_cut(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("AddNote", [Fail(grpc.StatusCode.INTERNAL, "INTERNAL", metadata={"request_id": "r"})])

    with pytest.raises(Internal):
        await caller.add_note("s", "text")

    assert len(scripted.requests["AddNote"]) == 1


async def test_every_row_that_is_written_carries_an_id(caller: Client, scripted: ScriptedServer) -> None:
    for method in ("AddSectionMarker", "AddNote", "ResetContext", "CreateSession", "ForkSession"):
        scripted.script(method, [b""])

    await caller.add_section_marker("s", "label")
    await caller.add_note("s", "text")
    await caller.reset_context("s")
    await caller.create_session()
    await caller.fork_session("s")

    assert len(scripted.requests["AddSectionMarker"][0].event_id) == 36
    assert len(scripted.requests["AddNote"][0].event_id) == 36
    assert len(scripted.requests["ResetContext"][0].event_id) == 36
    assert len(scripted.requests["CreateSession"][0].session.id) == 36
    assert len(scripted.requests["ForkSession"][0].session.id) == 36


async def test_an_id_that_the_caller_gives_stays(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("AddNote", [AddNoteResponse()])
    scripted.script("CreateSession", [CreateSessionResponse()])

    await caller.add_note("s", "text", event_id="mine")
    await caller.create_session("mine")

    assert scripted.requests["AddNote"][0].event_id == "mine"
    assert scripted.requests["CreateSession"][0].session.id == "mine"


async def test_a_marker_says_nothing_of_collapsing_unless_asked(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("AddSectionMarker", [b""])

    await caller.add_section_marker("s")
    await caller.add_section_marker("s", collapse_earlier=False)

    silent, said = scripted.requests["AddSectionMarker"]
    assert not silent.HasField("collapse_earlier")
    assert said.HasField("collapse_earlier")
    assert not said.collapse_earlier


async def test_a_call_has_a_deadline(scripted: ScriptedServer) -> None:
    scripted.script("GetSession", [HANG])
    async with connect(scripted.address, timeout=0.2) as client:
        with pytest.raises(DeadlineExceeded, match=scripted.address):
            await client.get_session("s")


async def test_a_page_has_a_deadline(scripted: ScriptedServer) -> None:
    scripted.script("ReadPage", [HANG])
    async with connect(scripted.address, timeout=0.2) as client:
        with pytest.raises(DeadlineExceeded):
            await client.read_page("s")


async def test_a_long_read_may_take_long_but_not_be_silent(scripted: ScriptedServer) -> None:
    part = ReadEventsResponse(events=[message("one")])
    gates = [asyncio.Event(), asyncio.Event()]
    scripted.script("ReadEvents", [gates[0], part, gates[1], part, HANG])
    loop = asyncio.get_running_loop()
    async with connect(scripted.address, timeout=0.6) as client, aclosing(client.read_events("s")) as reading:
        for gate in gates:
            loop.call_later(0.35, gate.set)
            await anext(reading)
        with pytest.raises(Unavailable, match=r"no message for 0\.6 s"):
            await anext(reading)


async def test_an_answer_that_cannot_be_read_is_an_internal_error(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("GetSession", [b"\xff\xff\xff"])
    scripted.script("ReadEvents", [b"\xff\xff\xff"])

    with pytest.raises(Internal, match="cannot be read"):
        await caller.get_session("s")
    with pytest.raises(Internal, match="cannot be read"):
        await anext(caller.read_events("s"))


async def test_a_token_goes_with_every_call(scripted: ScriptedServer) -> None:
    scripted.script("GetSession", [FOUND])
    scripted.script("ReadEvents", [])
    scripted.script("PublishLive", [PublishLiveResponse()])

    async def updates() -> AsyncIterator[LiveUpdate]:
        yield LiveUpdate()

    async with connect(scripted.address, token="secret") as client:  # noqa: S106
        await client.get_session("s")
        assert [event async for event in client.read_events("s")] == []
        await client.publish_live("s", updates())

    assert [metadata["authorization"] for metadata in scripted.metadata] == ["Bearer secret"] * 3


async def test_rows_of_8_mib_are_received(caller: Client, scripted: ScriptedServer) -> None:
    row = message("x" * (8 << 20))
    scripted.script("ReadEvents", [ReadEventsResponse(events=[row])])

    assert [event async for event in caller.read_events("s")] == [row]


async def test_a_reader_that_is_slow_loses_nothing(caller: Client, scripted: ScriptedServer) -> None:
    """Also when the server has long ended the stream."""
    parts = [ReadEventsResponse(events=[message(f"{n:04}" + "x" * 1000)]) for n in range(300)]
    scripted.script("ReadEvents", parts)

    reading = caller.read_events("s")
    events = [await anext(reading)]
    await until(lambda: scripted.ended)
    events += [event async for event in reading]

    assert [event.user_message.text[:4] for event in events] == [f"{n:04}" for n in range(300)]


async def test_lists_go_on_to_their_last_page(caller: Client, scripted: ScriptedServer) -> None:
    """An empty page before the last one is none."""
    scripted.script(
        "ListSessions",
        [ListSessionsResponse(sessions=[Session(id="a")], next_page_token="1")],  # noqa: S106
        [ListSessionsResponse(next_page_token="2")],  # noqa: S106
        [ListSessionsResponse(sessions=[Session(id="b")])],
    )

    found = [session.id async for session in caller.sessions(title_contains="t", labels={"k": "v"}, page_size=1)]

    assert found == ["a", "b"]
    requests = scripted.requests["ListSessions"]
    assert [request.page_token for request in requests] == ["", "1", "2"]
    assert {(request.title_contains, request.labels["k"], request.page_size) for request in requests} == {("t", "v", 1)}


async def test_a_closed_client_says_so(scripted: ScriptedServer) -> None:
    client = connect(scripted.address)
    await client.close()
    await client.close()

    with pytest.raises(ClientClosed):
        await client.get_session("s")
    with pytest.raises(ClientClosed):
        await anext(client.watch("s"))
    with pytest.raises(ClientClosed):
        await anext(client.stream_append([]))


async def test_closing_the_client_ends_what_still_runs(scripted: ScriptedServer) -> None:
    """Its callers get an error of the client, not the cancellation of a task that nobody cancelled."""
    for method in ("GetSession", "Watch", "ReadEvents", "StreamAppendEvents", "PublishLive"):
        scripted.script(method, [HANG])

    async def updates() -> AsyncIterator[LiveUpdate]:
        while True:
            yield LiveUpdate()
            await asyncio.sleep(0.01)

    client = connect(scripted.address)
    running = [
        asyncio.create_task(client.get_session("s")),
        asyncio.create_task(anext(client.watch("s"))),
        asyncio.create_task(anext(client.read_events("s"))),
        asyncio.create_task(anext(client.stream_append([]))),
        asyncio.create_task(client.publish_live("s", updates())),
    ]
    await until(lambda: sum(len(times) for times in scripted.times.values()) == 5)
    await client.close()

    for result in await asyncio.gather(*running, return_exceptions=True):
        assert isinstance(result, ClientClosed)


async def test_cancelling_the_caller_cancels_the_call(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("GetSession", [HANG])
    scripted.script("Watch", [HANG])
    running = [asyncio.create_task(caller.get_session("s")), asyncio.create_task(anext(caller.watch("s")))]
    await until(lambda: scripted.requests["GetSession"] and scripted.requests["Watch"])

    for task in running:
        task.cancel()
    results = await asyncio.gather(*running, return_exceptions=True)

    assert [type(result) for result in results] == [asyncio.CancelledError] * 2
    await until(lambda: scripted.ended == 2)


async def test_a_callers_own_timeout_is_a_timeout(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [HANG])

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await anext(caller.watch("s"))


async def test_iterators_left_early_leave_nothing_behind(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [HANG])
    scripted.script("ReadEvents", [ReadEventsResponse(events=[message("one")]), HANG])
    before = len(asyncio.all_tasks())

    for _ in range(100):
        reading = caller.read_events("s")
        await anext(reading)
        await reading.aclose()
        watching = caller.watch("s")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await anext(watching)

    await until(lambda: scripted.ended == len(scripted.times["Watch"]) + len(scripted.times["ReadEvents"]))
    await until(lambda: len(asyncio.all_tasks()) <= before)


async def test_a_frozen_server_is_noticed_by_its_missing_pings(proxy: Proxy, scripted: ScriptedServer) -> None:
    """Without ping_timeout_ms, set in the client's own options, it would take 61 s."""
    quick = {"grpc.keepalive_time_ms": 500, "grpc.keepalive_timeout_ms": 500, "grpc.http2.ping_timeout_ms": 500}
    assert set(quick) <= set(OPTIONS)
    scripted.script("GetSession", [HANG])
    async with connect(proxy.address, options=quick) as client:
        waiting = asyncio.create_task(client.get_session("s"))
        await until(lambda: scripted.requests["GetSession"])
        proxy.freeze()
        began = time.monotonic()
        scripted.script("GetSession", [FOUND])

        assert (await waiting).id == "s"
    assert time.monotonic() - began < 10


def test_the_retry_policy_names_calls_that_exist() -> None:
    methods = {
        (service.name, method.name)
        for file in FILES
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    named = {(service, method) for service, names in SAFE_TO_REPEAT.items() for method in names}

    assert named < methods
    assert {method for _, method in methods - named} == {
        "UpdateSession", "DeleteSession", "StreamAppendEvents", "PublishLive", "Watch",
    }  # fmt: skip
    configured = json.loads(str(OPTIONS["grpc.service_config"]))["methodConfig"][0]["name"]
    assert {(name["service"], name["method"]) for name in configured} == {
        (f"transcript.v1.{service}", method) for service, method in named
    }


def test_delays_are_drawn_below_a_bound_that_doubles_up_to_a_cap() -> None:
    error = by_code(grpc.StatusCode.UNAVAILABLE, "gone")
    draws: list[list[float]] = [[] for _ in range(6)]
    for _ in range(400):
        backoff = Backoff(first=1, cap=8)
        for drawn in draws:
            delay = backoff.after(error)
            assert delay is not None
            drawn.append(delay)

    for drawn, bound in zip(draws, [1, 2, 4, 8, 8, 8], strict=True):
        assert 0 <= min(drawn) < bound / 4
        assert bound * 3 / 4 < max(drawn) <= bound


def test_cuts_are_counted_apart_from_an_unavailable_server() -> None:
    backoff = Backoff(cuts=2)
    for _ in range(50):
        assert backoff.after(by_code(grpc.StatusCode.UNAVAILABLE, "gone")) is not None
    cut = by_code(grpc.StatusCode.CANCELLED, "cut")

    assert backoff.after(cut) is not None
    assert backoff.after(cut) is not None
    assert backoff.after(cut) is None
    backoff.reset()
    assert backoff.after(cut) is not None


def test_minted_ids_are_version_7_and_sort_by_time() -> None:
    before = time.time_ns() // 1_000_000
    ids = [new_id() for _ in range(1000)]
    after = time.time_ns() // 1_000_000

    assert len(set(ids)) == 1000
    for text in ids:
        found = uuid.UUID(text)
        assert (found.version, found.variant) == (7, uuid.RFC_4122)
        assert before <= found.int >> 80 <= after
    assert [text[:13] for text in ids] == sorted(text[:13] for text in ids)
