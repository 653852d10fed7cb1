"""A stream of appends: many under way, answered in order, and ended by the first that fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from transcript.v1.event_pb2 import Event, UserMessage
from transcript.v1.journal_service_pb2 import (
    AppendEventsRequest,
    AppendEventsResponse,
    StreamAppendEventsRequest,
    StreamAppendEventsResponse,
)
from transcript_server.services.appending import WINDOW, WINDOW_BYTES, AppendStream


def batch(number: int, size: int = 0) -> StreamAppendEventsRequest:
    """A batch that is known by its number, of at least so many bytes."""
    row = Event(user_message=UserMessage(text="x" * size))
    return StreamAppendEventsRequest(append=AppendEventsRequest(session_id=f"{number}", events=[row]))


class Stream:
    """A stream whose batches are answered when the test says."""

    def __init__(self, *batches: StreamAppendEventsRequest, end: BaseException | None = None) -> None:
        self.waiting: dict[int, asyncio.Future[None]] = {}
        self.tasks: dict[int, asyncio.Task[AppendEventsResponse]] = {}
        self.sent: list[int] = []
        self._batches = batches
        self._end = end
        self.ended = asyncio.Event()
        self.task = asyncio.ensure_future(AppendStream(self._ask, self._send).serve(self._requests()))

    async def _requests(self) -> AsyncIterator[StreamAppendEventsRequest]:
        for request in self._batches:
            yield request
        self.ended.set()
        if self._end is not None:
            raise self._end

    async def _ask(self, request: StreamAppendEventsRequest) -> asyncio.Task[AppendEventsResponse]:
        number = int(request.append.session_id)
        self.waiting[number] = asyncio.get_running_loop().create_future()

        async def answer() -> AppendEventsResponse:
            await self.waiting[number]
            return AppendEventsResponse(latest_sequence=number)

        self.tasks[number] = asyncio.create_task(answer())
        return self.tasks[number]

    async def _send(self, response: StreamAppendEventsResponse) -> None:
        self.sent.append(response.append.latest_sequence)

    async def settle(self) -> None:
        """Lets everything run that can."""
        for _ in range(6 * WINDOW):
            await asyncio.sleep(0)

    def answer(self, *numbers: int) -> None:
        """Answers these batches."""
        for number in numbers:
            self.waiting[number].set_result(None)

    def fail(self, number: int, error: Exception) -> None:
        """Fails this batch."""
        self.waiting[number].set_exception(error)


async def test_batches_are_under_way_together_and_answered_in_order() -> None:
    """Whichever is done first."""
    stream = Stream(*map(batch, range(5)))
    await stream.settle()
    assert [*stream.waiting] == [*range(5)]
    stream.answer(4, 1, 2)
    await stream.settle()
    assert stream.sent == []

    stream.answer(0)
    await stream.settle()
    assert stream.sent == [0, 1, 2]
    stream.answer(3)
    await stream.task
    assert stream.sent == [*range(5)]


async def test_no_more_batches_are_read_than_a_window_holds() -> None:
    """One more for each that is answered."""
    stream = Stream(*map(batch, range(WINDOW + 10)))
    await stream.settle()
    assert len(stream.waiting) == WINDOW
    stream.answer(*range(1, 4))
    await stream.settle()
    assert len(stream.waiting) == WINDOW, "what was not sent yet still counts"
    stream.answer(0)
    await stream.settle()
    assert len(stream.waiting) == WINDOW + 4
    for number in range(4, WINDOW + 10):
        await stream.settle()
        stream.answer(number)
    await stream.task
    assert stream.sent == [*range(WINDOW + 10)]


async def test_no_more_bytes_are_under_way_than_a_window_and_one_batch() -> None:
    """A batch larger than the window is taken by itself."""
    size = WINDOW_BYTES // 3
    stream = Stream(*[batch(number, size) for number in range(6)], batch(6, 2 * WINDOW_BYTES), batch(7))
    await stream.settle()
    assert [*stream.waiting] == [0, 1, 2]
    for number in range(6):
        stream.answer(number)
        await stream.settle()
    assert [*stream.waiting] == [*range(7)]
    stream.answer(6)
    await stream.settle()
    stream.answer(7)
    await stream.task
    assert stream.sent == [*range(8)]


async def test_a_batch_that_fails_ends_the_stream_after_those_before_it() -> None:
    """Its error is the stream's; nothing after it is answered, or waited for."""
    stream = Stream(*map(batch, range(5)))
    await stream.settle()
    stream.fail(2, ValueError("of its own"))
    stream.answer(4)
    await stream.settle()
    assert not stream.task.done()
    stream.answer(0, 1)
    with pytest.raises(ValueError, match="of its own"):
        await stream.task

    assert stream.sent == [0, 1]
    assert stream.tasks[3].cancelled()
    assert all(task.done() for task in stream.tasks.values())


async def test_what_was_asked_for_is_answered_though_a_later_request_is_refused() -> None:
    """Or the server goes away: the error comes last."""
    stream = Stream(*map(batch, range(3)), end=ValueError("a broken request"))
    await stream.ended.wait()
    await stream.settle()
    assert not stream.task.done()
    stream.answer(0, 1, 2)
    with pytest.raises(ValueError, match="a broken request"):
        await stream.task

    assert stream.sent == [0, 1, 2]


async def test_of_two_errors_the_first_batchs_is_told() -> None:
    """It came first in the stream."""
    stream = Stream(*map(batch, range(2)), end=ValueError("a broken request"))
    await stream.ended.wait()
    await stream.settle()
    stream.answer(0)
    stream.fail(1, LookupError("of its own"))
    with pytest.raises(LookupError, match="of its own"):
        await stream.task


async def test_a_stream_without_batches_ends() -> None:
    """With no answer."""
    stream = Stream()
    await stream.task
    assert stream.sent == []


async def test_a_stream_that_its_client_left_leaves_nothing_running() -> None:
    """Whatever was under way is let go."""
    stream = Stream(*map(batch, range(2 * WINDOW)))
    await stream.settle()
    stream.task.cancel()
    await asyncio.gather(stream.task, return_exceptions=True)

    assert stream.task.cancelled()
    assert all(task.done() for task in stream.tasks.values())
    assert asyncio.all_tasks() == {asyncio.current_task()}
