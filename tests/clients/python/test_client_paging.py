"""Gathering pages from their streams, and laying pages end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest
from scripted_server import UNAVAILABLE, Fail, row

from transcript import Internal, JournalChanged, Page, SequenceAhead, Unavailable
from transcript.v1.transcript_service_pb2 import EventBatch, PageInfo, ReadPageRequest, ReadPageResponse, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripted_server import ScriptedServer

    from transcript import Client


AHEAD = Fail(grpc.StatusCode.OUT_OF_RANGE, "SEQUENCE_AHEAD")


def batch(*sequences: int) -> EventBatch:
    return EventBatch(events=[row(sequence) for sequence in sequences])


def journal_of(*sequences: int, size: int = 2) -> Callable[[ReadPageRequest], ReadPageResponse]:
    """A session with these rows in the view, its pages of *size* rows."""

    def answer(request: ReadPageRequest) -> ReadPageResponse:
        end = request.before_sequence or 1 << 60
        before = [sequence for sequence in sequences if sequence < end]
        shown = before[-size:]
        info = PageInfo(
            oldest_sequence=shown[0] if shown else 0,
            newest_sequence=shown[-1] if shown else 0,
            has_more=len(before) > len(shown),
            latest_sequence=request.as_of_sequence or (sequences[-1] if sequences else 0),
            journal_id="j1",
        )
        return ReadPageResponse(page=info, events=batch(*shown))

    return answer


async def test_a_page_in_many_parts_is_one_page(caller: Client, scripted: ScriptedServer) -> None:
    info = PageInfo(oldest_sequence=1, newest_sequence=5, latest_sequence=5, journal_id="j1")
    scripted.script(
        "ReadPage",
        [ReadPageResponse(page=info), ReadPageResponse(events=batch(1, 2)), ReadPageResponse(events=batch(3, 4, 5))],
    )

    found = await caller.read_page("s")

    assert found == Page(info, [row(n) for n in range(1, 6)])


async def test_a_page_that_is_cut_is_an_error_and_never_a_shorter_page(
    caller: Client, scripted: ScriptedServer
) -> None:
    scripted.script("ReadPage", [ReadPageResponse(page=PageInfo(latest_sequence=5), events=batch(1, 2)), UNAVAILABLE])

    with pytest.raises(Unavailable):
        await caller.read_page("s")


async def test_a_page_without_a_head_is_an_error(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadPage", [ReadPageResponse(events=batch(1))])

    with pytest.raises(Internal, match="no head"):
        await caller.read_page("s")


async def test_a_page_is_asked_for_as_the_caller_said(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadPage", [journal_of(1)])

    await caller.read_page("s", view=View.VIEW_FULL, page_size=7, before_sequence=9, as_of_sequence=12)
    await caller.read_page("s", after_sequence=0, expand_sections=True)

    assert scripted.requests["ReadPage"] == [
        ReadPageRequest(session_id="s", view=View.VIEW_FULL, page_size=7, before_sequence=9, as_of_sequence=12),
        ReadPageRequest(session_id="s", view=View.VIEW_COMPACT, after_sequence=0, expand_sections=True),
    ]


async def test_pages_go_back_to_the_first_row_as_of_the_first_page(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadPage", [journal_of(1, 2, 4, 7, 8)])

    found = [page async for page in caller.pages("s", page_size=2, expand_sections=True)]

    assert [[event.sequence for event in page.events] for page in found] == [[7, 8], [2, 4], [1]]
    requests = scripted.requests["ReadPage"]
    assert [(request.before_sequence, request.as_of_sequence) for request in requests] == [(0, 0), (7, 8), (2, 8)]
    assert all(request.page_size == 2 and request.expand_sections for request in requests)


async def test_an_empty_session_has_one_empty_page(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadPage", [journal_of()])

    found = [page async for page in caller.pages("s")]

    assert [page.events for page in found] == [[]]


async def test_pages_that_promise_more_and_give_nothing_come_to_an_end(
    caller: Client, scripted: ScriptedServer
) -> None:
    scripted.script("ReadPage", [ReadPageResponse(page=PageInfo(has_more=True))])

    assert len([page async for page in caller.pages("s")]) == 1


async def test_pages_of_two_journals_are_never_laid_together(caller: Client, scripted: ScriptedServer) -> None:
    other = ReadPageResponse(page=PageInfo(oldest_sequence=1, journal_id="j2"), events=batch(1))
    scripted.script("ReadPage", [journal_of(1, 2, 3)], [other])
    pages = caller.pages("s")

    await anext(pages)
    with pytest.raises(JournalChanged) as caught:
        await anext(pages)
    assert caught.value.metadata == {"journal_id": "j2"}


async def test_a_shorter_journal_in_the_place_of_the_first_pages_is_another_journal(
    caller: Client, scripted: ScriptedServer
) -> None:
    """It does not reach as far as the first page did, which a journal that stays always does."""
    scripted.script("ReadPage", [journal_of(1, 2, 3)], [AHEAD])
    pages = caller.pages("s")

    await anext(pages)
    with pytest.raises(JournalChanged):
        await anext(pages)


async def test_a_page_may_be_asked_of_one_journal(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadPage", [journal_of(1)], [journal_of(1)], [AHEAD], [AHEAD])

    assert (await caller.read_page("s", journal_id="j1")).info.journal_id == "j1"
    with pytest.raises(JournalChanged):
        await caller.read_page("s", journal_id="j0")
    with pytest.raises(JournalChanged):
        await caller.read_page("s", after_sequence=9, journal_id="j1")
    with pytest.raises(SequenceAhead):
        await caller.read_page("s", after_sequence=9)


async def test_a_burst_of_unavailable_does_not_show_in_a_page(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("ReadPage", [UNAVAILABLE], [Fail(grpc.StatusCode.UNAVAILABLE, "DRAINING")], [journal_of(1)])

    assert [event.sequence for event in (await caller.read_page("s")).events] == [1]
