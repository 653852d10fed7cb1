"""Pages of a transcript, each gathered from its stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc

from transcript.errors import JournalChanged, SequenceAhead
from transcript.status import by_code
from transcript.v1.error_reason_pb2 import ErrorReason
from transcript.v1.transcript_service_pb2 import PageInfo, ReadPageRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from transcript.calls import Calls
    from transcript.v1.event_pb2 import Event


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a session's transcript."""

    info: PageInfo
    """What it is, and what lies around it."""
    events: list[Event]
    """Its rows, oldest first. A row over 64 KiB has its long texts cut, and `elided_bytes` set, except in the
    journal view: `Client.get_event` has it whole."""


async def read_page(calls: Calls, request: ReadPageRequest, journal_id: str = "") -> Page:
    """See Client.read_page."""
    try:
        page = await _read_page(calls, request)
    except SequenceAhead as error:
        if journal_id:
            # A journal never gets shorter: it is another one that does not reach that far.
            raise _journal_changed() from error
        raise
    if journal_id and page.info.journal_id != journal_id:
        raise _journal_changed(page.info.journal_id)
    return page


async def _read_page(calls: Calls, request: ReadPageRequest) -> Page:
    info: PageInfo | None = None
    events: list[Event] = []
    async for part in calls.stream(calls.transcript.ReadPage, request, timeout=calls.timeout):
        if part.HasField("page"):
            info = part.page
        events.extend(part.events.events)
    if info is None:
        raise by_code(grpc.StatusCode.INTERNAL, f"the page has no head (server {calls.target})")
    return Page(info, events)


async def pages(calls: Calls, request: ReadPageRequest) -> AsyncGenerator[Page, None]:
    """See Client.pages."""
    page = first = await read_page(calls, request)
    yield page
    while page.info.has_more and page.info.oldest_sequence:
        request.before_sequence = page.info.oldest_sequence
        request.as_of_sequence = first.info.latest_sequence
        page = await read_page(calls, request, first.info.journal_id)
        yield page


def _journal_changed(journal_id: str = "") -> JournalChanged:
    """*journal_id*: of the journal that is there now, where it is known."""
    return JournalChanged(
        ErrorReason.ERROR_REASON_JOURNAL_CHANGED,
        "the session has another journal now",
        {"journal_id": journal_id} if journal_id else {},
        code=grpc.StatusCode.FAILED_PRECONDITION,
    )
