"""A server that goes away tells everybody, cuts nobody and exits clean (section 8)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from transcript.v1.event_pb2 import AssistantMessage, Event
from transcript.v1.transcript_service_pb2 import WatchRequest

from .process import Caller, Process, calling

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def reason(error: grpc.aio.AioRpcError) -> str:
    """The error's ErrorInfo reason."""
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    return info.reason
    return ""


async def watched(caller: Caller, opened: asyncio.Event) -> grpc.aio.AioRpcError:
    """How a watch ends."""
    try:
        async for message in caller.transcript.Watch(WatchRequest(session_id="a")):
            if message.HasField("caught_up"):
                opened.set()
    except grpc.aio.AioRpcError as error:
        return error
    message = "the watch ended without a word"
    raise AssertionError(message)


async def test_sigterm_drains(tmp_path: Path):
    """Health says NOT_SERVING, watchers are told to resume, calls in flight finish, the exit status is 0."""
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        await caller.create("a")
        health = health_pb2_grpc.HealthStub(caller.channel).Watch(health_pb2.HealthCheckRequest())
        assert (await health.read()).status == SERVING
        opened = [asyncio.Event() for _ in range(20)]
        watches = [asyncio.ensure_future(watched(caller, event)) for event in opened]
        await asyncio.gather(*(event.wait() for event in opened))
        large = [Event(id=f"{n}", assistant_message=AssistantMessage(text="x" * 200_000)) for n in range(30)]
        appends = [asyncio.ensure_future(caller.append("a", event)) for event in large]
        await asyncio.wait(appends, return_when=asyncio.FIRST_COMPLETED)
        server.terminate()
        outcomes = await asyncio.gather(*appends, return_exceptions=True)
        assert (await health.read()).status == NOT_SERVING
        health.cancel()
        ends = await asyncio.gather(*watches)
        assert {(end.code(), reason(end)) for end in ends} == {(grpc.StatusCode.UNAVAILABLE, "DRAINING")}
        assert await server.gone() == 0
    answered = [n for n, outcome in enumerate(outcomes) if not isinstance(outcome, BaseException)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert answered
    assert {error.code() for error in failed} <= {grpc.StatusCode.UNAVAILABLE}, [repr(error) for error in failed]
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        assert {f"{n}" for n in answered} <= {row.id for row in await caller.rows("a")}


async def test_a_watcher_resumes_on_the_next_server_without_gap_or_repetition(tmp_path: Path):
    """With the last sequence that it knows and the journal that it received."""
    seen: list[int] = []
    journal_id = ""
    for round_number in range(3):
        async with Process(tmp_path / "data") as server, calling(server.address) as caller:
            await caller.create("a")
            for part in range(5):
                await caller.append("a", Event(assistant_message=AssistantMessage(text=f"{round_number} {part}")))
            resume = {"after_sequence": seen[-1], "journal_id": journal_id} if seen else {}
            stream = caller.transcript.Watch(WatchRequest(session_id="a", **resume))
            async for message in stream:
                seen += [row.sequence for row in message.events.events]
                journal_id = message.page.journal_id or journal_id
                if message.HasField("caught_up"):
                    assert message.caught_up.latest_sequence == seen[-1]
                    break
            server.terminate()
            stream.cancel()
            assert await server.gone() == 0
    assert seen == list(range(1, 16))
