"""A stream of appends: answered in order, resumed when it breaks, nothing recorded twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import pytest
from scripted_server import HANG, UNAVAILABLE, Fail, until

from transcript import Draining, InvalidField, SessionNotFound, Unavailable, connect
from transcript.appending import WINDOW
from transcript.v1.event_pb2 import Event, UserMessage
from transcript.v1.journal_service_pb2 import (
    AppendEventsRequest,
    AppendEventsResponse,
    PublishLiveRequest,
    PublishLiveResponse,
    StreamAppendEventsRequest,
    StreamAppendEventsResponse,
)
from transcript.v1.live_pb2 import LiveUpdate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scripted_server import ScriptedServer, Step

    from transcript import Client


class Journal:
    """Takes batches as a server does: a row whose id it has is answered with its first sequence."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}

    def __call__(self, request: StreamAppendEventsRequest) -> StreamAppendEventsResponse:
        ids = [event.id for event in request.append.events]
        sequences = [self.rows.setdefault(event_id, len(self.rows) + 1) for event_id in ids]
        append = AppendEventsResponse(sequences=sequences, event_ids=ids, latest_sequence=len(self.rows))
        return StreamAppendEventsResponse(append=append)

    def takes(self, count: int) -> list[Step]:
        return [self] * count


def batch(*texts: str) -> AppendEventsRequest:
    return AppendEventsRequest(session_id="s", events=[Event(user_message=UserMessage(text=text)) for text in texts])


async def test_batches_are_answered_in_order(caller: Client, scripted: ScriptedServer) -> None:
    journal = Journal()
    scripted.script("StreamAppendEvents", journal.takes(100))

    answers = [answer async for answer in caller.stream_append(batch(str(n)) for n in range(50))]

    assert [list(answer.sequences) for answer in answers] == [[n] for n in range(1, 51)]


async def test_an_async_iterable_will_do(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("StreamAppendEvents", Journal().takes(10))

    async def batches() -> AsyncIterator[AppendEventsRequest]:
        for n in range(3):
            await asyncio.sleep(0)
            yield batch(str(n), "again")

    answers = [answer async for answer in caller.stream_append(batches())]

    assert [list(answer.sequences) for answer in answers] == [[1, 2], [3, 4], [5, 6]]


async def test_no_batches_have_no_answers(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("StreamAppendEvents", Journal().takes(1))

    assert [answer async for answer in caller.stream_append([])] == []


async def test_ids_are_minted_on_a_copy(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("StreamAppendEvents", Journal().takes(10))
    mine = batch("one", "two")
    mine.events[0].id = "mine"
    before = AppendEventsRequest()
    before.CopyFrom(mine)

    (answer,) = [answer async for answer in caller.stream_append([mine])]

    assert mine == before
    assert answer.event_ids[0] == "mine"
    assert len(answer.event_ids[1]) == 36


@pytest.mark.parametrize("end", [UNAVAILABLE, Fail(grpc.StatusCode.UNAVAILABLE, "DRAINING"), None])
async def test_what_is_unanswered_is_sent_again(caller: Client, scripted: ScriptedServer, end: Fail | None) -> None:
    """The third batch was recorded, and its answer lost: it is answered as it was then."""
    journal = Journal()
    scripted.script(
        "StreamAppendEvents",
        [*journal.takes(2), lost_after(journal), *([end] if end else [])],
        [end or UNAVAILABLE],
        journal.takes(100),
    )

    answers = [answer async for answer in caller.stream_append(batch(str(n)) for n in range(40))]

    assert [list(answer.sequences) for answer in answers] == [[n] for n in range(1, 41)]
    assert len(journal.rows) == 40


def lost_after(journal: Journal) -> Callable[[StreamAppendEventsRequest], Fail]:
    """Takes a batch, and breaks off instead of answering."""

    def take(request: StreamAppendEventsRequest) -> Fail:
        journal(request)
        return UNAVAILABLE

    return take


async def test_the_batch_that_failed_is_the_first_without_an_answer(caller: Client, scripted: ScriptedServer) -> None:
    """It ends the stream, though others were on their way when the server refused it, and grpc.aio may hide why."""
    for _ in range(10):
        journal = Journal()

        def picky(request: StreamAppendEventsRequest, journal: Journal = journal) -> StreamAppendEventsResponse | Fail:
            wrong = request.append.events[0].user_message.text == "5"
            return Fail(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") if wrong else journal(request)

        scripted.script("StreamAppendEvents", [picky] * 100)
        stream = caller.stream_append(batch(str(n)) for n in range(60))

        assert [list((await anext(stream)).sequences) for _ in range(5)] == [[1], [2], [3], [4], [5]]
        with pytest.raises(InvalidField):
            await anext(stream)


async def test_no_more_than_a_window_is_read_ahead(caller: Client, scripted: ScriptedServer) -> None:
    gate = asyncio.Event()
    scripted.script("StreamAppendEvents", [gate, *Journal().takes(1000)])
    read = 0

    def batches() -> Iterator[AppendEventsRequest]:
        nonlocal read
        for n in range(200):
            read += 1
            yield batch(str(n))

    stream = caller.stream_append(batches())
    first = asyncio.create_task(anext(stream))
    await until(lambda: read > WINDOW)
    for _ in range(50):
        await asyncio.sleep(0)
    assert read == WINDOW + 1
    gate.set()
    await first

    assert len([answer async for answer in stream]) == 199


async def test_what_the_callers_iterable_raises_is_raised_once_all_before_it_is_answered(
    caller: Client, scripted: ScriptedServer
) -> None:
    scripted.script("StreamAppendEvents", Journal().takes(10))

    def batches() -> Iterator[AppendEventsRequest]:
        yield batch("one")
        yield batch("two")
        raise LookupError("the log ends in the middle of a line")

    stream = caller.stream_append(batches())

    assert [list((await anext(stream)).sequences) for _ in range(2)] == [[1], [2]]
    with pytest.raises(LookupError, match="middle of a line"):
        await anext(stream)


async def test_a_callers_iterable_outlives_the_connections(caller: Client, scripted: ScriptedServer) -> None:
    """A break while the caller has nothing to send must not end the caller's generator."""
    journal = Journal()
    gate = asyncio.Event()
    scripted.script("StreamAppendEvents", [journal, gate, UNAVAILABLE], journal.takes(10))
    more = asyncio.Event()

    async def batches() -> AsyncIterator[AppendEventsRequest]:
        yield batch("one")
        await more.wait()
        yield batch("two")

    stream = caller.stream_append(batches())
    await anext(stream)
    second = asyncio.create_task(anext(stream))
    gate.set()
    await until(lambda: len(scripted.times["StreamAppendEvents"]) == 2)
    more.set()

    assert list((await second).sequences) == [2]


async def test_a_server_that_stays_away_is_raised(scripted: ScriptedServer) -> None:
    scripted.script("StreamAppendEvents", [UNAVAILABLE])
    async with connect(scripted.address, timeout=0.5) as client:
        with pytest.raises(Unavailable):
            await anext(client.stream_append([batch("one")]))


async def test_a_stream_left_early_ends_the_call_and_leaves_nothing_behind(
    caller: Client, scripted: ScriptedServer
) -> None:
    scripted.script("StreamAppendEvents", [Journal(), HANG])
    before = len(asyncio.all_tasks())
    stream = caller.stream_append(batch(str(n)) for n in range(100))
    await anext(stream)

    await stream.aclose()

    await until(lambda: scripted.ended == 1)
    await until(lambda: len(asyncio.all_tasks()) <= before)


def updates(*texts: str) -> list[LiveUpdate]:
    return [LiveUpdate(event_id="e", text_delta=text) for text in texts]


async def streamed(items: list[LiveUpdate]) -> AsyncIterator[LiveUpdate]:
    for item in items:
        yield item


async def test_live_text_is_sent_as_it_comes(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("PublishLive", [lambda _: None, lambda _: None, PublishLiveResponse()])

    await caller.publish_live("s", streamed(updates("a", "b")))

    assert scripted.requests["PublishLive"] == [
        PublishLiveRequest(session_id="s", live=update) for update in updates("a", "b")
    ]


async def test_no_live_text_is_no_call(caller: Client, scripted: ScriptedServer) -> None:
    await caller.publish_live("s", streamed([]))

    assert not scripted.times


@pytest.mark.parametrize(
    ("fail", "kind"),
    [
        (Fail(grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND"), SessionNotFound),
        (Fail(grpc.StatusCode.UNAVAILABLE, "DRAINING"), Draining),
    ],
)
async def test_live_text_that_is_refused_is_an_error(
    caller: Client, scripted: ScriptedServer, fail: Fail, kind: type[Exception]
) -> None:
    """With its reason, though more was on its way."""
    scripted.script("PublishLive", [lambda _: fail])

    async def endless() -> AsyncIterator[LiveUpdate]:
        while True:
            yield LiveUpdate(event_id="e")
            await asyncio.sleep(0)

    for _ in range(10):
        with pytest.raises(kind):
            await caller.publish_live("s", endless())


async def test_live_text_goes_on_after_a_break(caller: Client, scripted: ScriptedServer) -> None:
    takes = [lambda _: None] * 20
    scripted.script("PublishLive", [*takes[:3], UNAVAILABLE], [*takes, PublishLiveResponse()])
    texts = [str(n) for n in range(20)]

    async def spaced() -> AsyncIterator[LiveUpdate]:
        for update in updates(*texts):
            yield update
            await asyncio.sleep(0.005)

    await caller.publish_live("s", spaced())

    sent = [request.live.text_delta for request in scripted.requests["PublishLive"]]
    assert sent[:3] == texts[:3]
    assert sent[-1] == texts[-1]
    assert len(scripted.times["PublishLive"]) > 1


async def test_what_the_callers_live_text_raises_is_raised(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("PublishLive", [HANG])

    async def broken() -> AsyncIterator[LiveUpdate]:
        yield LiveUpdate(event_id="e")
        raise LookupError("the model broke off")

    with pytest.raises(LookupError, match="broke off"):
        await caller.publish_live("s", broken())

    await until(lambda: scripted.ended == 1)
