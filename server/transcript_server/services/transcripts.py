"""TranscriptService: the human transcript, page by page and live. Turns and search are not served yet."""

from __future__ import annotations

from transcript.v1 import transcript_service_pb2 as pb
from transcript_server.journal.journal import Journal
from transcript_server.rules import limits
from transcript_server.rules.errors import invalid_field, journal_changed
from transcript_server.rules.pages import page_request
from transcript_server.rules.wire import embed
from transcript_server.services.calls import Call
from transcript_server.services.fields import check_session_id
from transcript_server.services.messages import ROWS_BUDGET, page_message, rows_message, stream_rows
from transcript_server.services.tokens import Tokens
from transcript_server.services.watching import Watching

_EVENT: int = pb.GetEventResponse.DESCRIPTOR.fields_by_name["event"].number


class TranscriptService:
    """See `transcript_service.proto`."""

    def __init__(self, journal: Journal, heartbeat_seconds: float) -> None:
        self._journal = journal
        self._heartbeat_seconds = heartbeat_seconds
        self._tokens = Tokens(journal.secret)

    async def ReadPage(self, request: pb.ReadPageRequest, call: Call) -> None:
        check_session_id(request.session_id)
        asked = page_request(
            view=request.view,
            page_size=request.page_size,
            before_sequence=request.before_sequence,
            after_sequence=request.after_sequence if request.HasField("after_sequence") else None,
            as_of_sequence=request.as_of_sequence,
            expand_sections=request.expand_sections,
        )
        page = await self._journal.page(call.principal, request.session_id, asked, ROWS_BUDGET)
        await call.send(page_message(page.info, page.rows))
        async for rows in stream_rows(self._journal, call.principal, page.place, page.rows.rest):
            await call.send(rows_message(rows))

    async def Watch(self, request: pb.WatchRequest, call: Call) -> None:
        if not request.session_id and not request.include_sessions:
            raise invalid_field("session_id", "is required, unless include_sessions is set")
        if request.session_id:
            check_session_id(request.session_id)
        await Watching(self._journal, call, self._heartbeat_seconds).serve(request)

    async def GetEvent(self, request: pb.GetEventRequest, call: Call) -> bytes:
        check_session_id(request.session_id)
        return embed(_EVENT, await self._journal.event(call.principal, request.session_id, request.sequence))

    async def ListSections(self, request: pb.ListSectionsRequest, call: Call) -> pb.ListSectionsResponse:
        check_session_id(request.session_id)
        place, _ = await self._journal.locate(call.principal, request.session_id)
        after = -1
        if request.page_token:
            number, after = self._tokens.read(request, request.page_token, 2)
            if number != place.number:
                raise journal_changed(place.session_id, place.journal_id)
        size = min(request.page_size, limits.PAGE_SIZE_MAX) or limits.LIST_SECTIONS
        sections, following = await self._journal.sections(call.principal, request.session_id, after, size)
        response = pb.ListSectionsResponse()
        budget = ROWS_BUDGET
        for section in sections:
            budget -= section.ByteSize() + 8
            if budget < 0:
                following = response.sections[-1].first_sequence
                break
            response.sections.append(section)
        if following is not None:
            response.next_page_token = self._tokens.make(request, place.number, following)
        return response
