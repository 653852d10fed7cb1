"""What comes in which message of a watch, where it does not all fit into one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc.aio
import pytest

from transcript import Client
from transcript.v1 import transcript_service_pb2 as pb
from transcript.v1.event_pb2 import AssistantMessage, Event, UserMessage
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.transcript_service_pb2_grpc import TranscriptServiceStub

SOON = 5.0
"""Seconds; a third of the heartbeat that would bring it anyway."""


@pytest.fixture
def transcripts(channel: grpc.aio.Channel) -> TranscriptServiceStub:
    """The service, without the client's care."""
    return TranscriptServiceStub(channel)


async def fill(client: Client, rows: int, size: int) -> None:
    """A session of one turn."""
    await client.create_session(id="s", labels={str(number): "x" * 250 for number in range(60)})
    told = Event(user_message=UserMessage(text="go"))
    said = [Event(assistant_message=AssistantMessage(text="x" * size)) for _ in range(rows)]
    await client.append("s", [told, *said])


async def until_caught_up(
    call: grpc.aio.UnaryStreamCall[pb.WatchRequest, pb.WatchResponse],
) -> AsyncIterator[pb.WatchResponse]:
    """The messages up to the first CaughtUp."""
    async for response in call:
        yield response
        if response.HasField("caught_up"):
            return


async def read_on(messages: AsyncIterator[pb.WatchResponse]) -> pb.WatchResponse:
    """Reads until the session is gone; the last message before."""
    last = pb.WatchResponse()
    try:
        async for message in messages:
            last = message
    except grpc.aio.AioRpcError as error:
        if error.code() != grpc.StatusCode.NOT_FOUND:
            raise
        return last
    raise AssertionError("the watch ended without an error")


async def test_rule_28_a_page_of_several_messages_is_followed_by_caught_up(
    client: Client, transcripts: TranscriptServiceStub
) -> None:
    """At once, and not with the next heartbeat."""
    await fill(client, 20, 6000)
    call = transcripts.Watch(pb.WatchRequest(session_id="s"))
    async with asyncio.timeout(SOON):
        responses = [response async for response in until_caught_up(call)]
    call.cancel()

    assert len(responses) > 2
    assert responses[0].HasField("page")
    assert [session.id for session in responses[0].sessions] == ["s"]
    assert [event.sequence for response in responses for event in response.events.events] == [*range(1, 22)]
    assert responses[-1].caught_up.latest_sequence == 21


async def test_rule_28_the_state_comes_with_the_first_message_of_a_resumed_watch(
    client: Client, transcripts: TranscriptServiceStub
) -> None:
    """Also where the rows alone fill it."""
    await fill(client, 3, 45_000)
    call = transcripts.Watch(pb.WatchRequest(session_id="s", after_sequence=1))
    async with asyncio.timeout(SOON):
        responses = [response async for response in until_caught_up(call)]
    call.cancel()

    assert [session.id for session in responses[0].sessions] == ["s"]
    assert [event.sequence for response in responses for event in response.events.events] == [2, 3, 4]
    assert all(response.ByteSize() < 256 * 1024 for response in responses)


async def test_rule_28_a_session_deleted_while_its_page_is_sent_is_said_to_be(
    client: Client, transcripts: TranscriptServiceStub
) -> None:
    """`deleted` first, and then NOT_FOUND."""
    await fill(client, 150, 50_000)
    call = transcripts.Watch(pb.WatchRequest(session_id="s", view=pb.VIEW_JOURNAL, page_size=1000))
    messages = aiter(call)
    async with asyncio.timeout(2 * SOON):
        await anext(messages)
        await client.delete_session("s")
        last = await read_on(messages)

    assert [(session.id, session.deleted) for session in last.sessions] == [("s", True)]


async def test_rule_30_live_text_of_the_largest_size_is_shown(
    client: Client, transcripts: TranscriptServiceStub
) -> None:
    """Between small pieces."""
    await fill(client, 1, 10)
    call = transcripts.Watch(pb.WatchRequest(session_id="s"))
    async with asyncio.timeout(SOON):
        async for _ in until_caught_up(call):
            pass

        async def pieces() -> AsyncIterator[LiveUpdate]:
            yield LiveUpdate(event_id="e", text_delta="x" * 65536)

        await client.publish_live("s", pieces())
        response = await anext(aiter(call))
    call.cancel()

    assert len(response.live.text_delta) == 65536
