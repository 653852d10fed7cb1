"""Reading what the model is sent: gathered from its stream, whole, in the surface's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest
from scripted_server import UNAVAILABLE, Fail, row

from transcript import Context, Internal, SequenceAhead, Unavailable
from transcript.v1.context_service_pb2 import ContextScope, ReadContextRequest, ReadContextResponse
from transcript.v1.event_pb2 import AssistantMessage, Event, Note, ReplaceOp, Surface, UserMessage

if TYPE_CHECKING:
    from scripted_server import ScriptedServer

    from transcript import Client


async def test_a_context_in_many_parts_is_one_context(caller: Client, scripted: ScriptedServer) -> None:
    head = ReadContextResponse(latest_sequence=9, journal_id="j1", events=[row(1)])
    scripted.script("ReadContext", [head, ReadContextResponse(events=[row(9), row(3)])])

    found = await caller.read_context("s")

    assert found == Context([row(1), row(9), row(3)], 9, "j1")


async def test_an_empty_context_says_when_it_was_empty(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadContext", [ReadContextResponse(latest_sequence=4, journal_id="j1")])

    assert await caller.read_context("s") == Context([], 4, "j1")


async def test_a_context_that_is_cut_is_an_error_and_never_a_shorter_one(
    caller: Client, scripted: ScriptedServer
) -> None:
    scripted.script(
        "ReadContext", [ReadContextResponse(latest_sequence=9, journal_id="j1", events=[row(1)]), UNAVAILABLE]
    )

    with pytest.raises(Unavailable):
        await caller.read_context("s")


async def test_a_context_without_a_head_is_an_error(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadContext", [])

    with pytest.raises(Internal, match="no head"):
        await caller.read_context("s")


async def test_a_context_is_asked_for_as_the_caller_said(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadContext", [ReadContextResponse(journal_id="j1")])

    await caller.read_context(
        "s", scope=ContextScope.CONTEXT_SCOPE_CONVERSATION, exclude_running_prompt=True, as_of_sequence=7
    )

    assert scripted.requests["ReadContext"] == [
        ReadContextRequest(session_id="s", scope=2, exclude_running_prompt=True, as_of_sequence=7)
    ]


async def test_a_row_that_is_not_there_yet_is_sequence_ahead(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadContext", [Fail(grpc.StatusCode.OUT_OF_RANGE, "SEQUENCE_AHEAD")])

    with pytest.raises(SequenceAhead):
        await caller.read_context("s", as_of_sequence=7)


async def test_what_the_model_was_sent_is_read_from_a_server(client: Client) -> None:
    """Over the wire: a reply is regenerated, and both times are still known; large rows come whole."""
    await client.create_session("s")
    large = Event(user_message=UserMessage(text="x" * 300_000))
    await client.append("s", [large, Event(assistant_message=AssistantMessage(text="first"))])
    again = Event(
        assistant_message=AssistantMessage(text="second"),
        surface=Surface(replace=ReplaceOp(start_sequence=2, end_sequence=2)),
    )
    await client.append("s", [again, Event(note=Note(text="n"))])

    now, then = await client.read_context("s"), await client.read_context("s", as_of_sequence=2)

    assert [event.sequence for event in now.events] == [1, 3, 4]
    assert [event.sequence for event in then.events] == [1, 2]
    assert len(now.events[0].user_message.text) == 300_000
    assert (now.latest_sequence, then.latest_sequence) == (4, 2)
    assert now.journal_id == then.journal_id == (await client.get_session("s")).journal_id
