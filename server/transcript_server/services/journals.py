"""JournalService: the writer's side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from transcript.v1 import journal_service_pb2 as pb
from transcript.v1.event_pb2 import ContextReset, Event, SectionMarker
from transcript_server.journal.journal import Face, Journal, Span
from transcript_server.journal.lane import Lane
from transcript_server.rules import limits, text
from transcript_server.rules.errors import invalid_field, sequence_ahead
from transcript_server.rules.intake import Draft, Intake
from transcript_server.services.appending import Answer, AppendStream
from transcript_server.services.auditing import audited
from transcript_server.services.calls import Call
from transcript_server.services.draining import until_draining
from transcript_server.services.fields import check_session_id, named
from transcript_server.services.messages import stream_rows

INLINE_ROWS: Final = 32
INLINE_BYTES: Final = 64 * limits.KIB
"""Rows, and bytes of them, that are taken in on the event loop; more are taken in beside it."""

_ROW: Final = "events[0]"


class JournalService:
    """See `journal_service.proto`."""

    def __init__(self, journal: Journal, intake: Intake) -> None:
        self._journal = journal
        self._intake = intake

    async def AppendEvents(self, request: pb.AppendEventsRequest, call: Call) -> pb.AppendEventsResponse:
        return await self._append(request, await self._take(request, ""), call)

    async def StreamAppendEvents(self, requests: AsyncIterator[pb.StreamAppendEventsRequest], call: Call) -> None:
        lane = Lane()

        async def ask(request: pb.StreamAppendEventsRequest) -> Answer:
            drafts = await self._take(request.append, "append.")
            return asyncio.create_task(self._append(request.append, drafts, call, lane))

        await AppendStream(ask, call.send).serve(until_draining(requests, self._journal.hub))

    async def ReadEvents(self, request: pb.ReadEventsRequest, call: Call) -> None:
        check_session_id(request.session_id)
        place, tip = await self._journal.locate(call.principal, request.session_id)
        for name in ("after_sequence", "through_sequence"):
            if (sequence := getattr(request, name)) > tip:
                raise sequence_ahead(name, sequence, tip)
        span = Span(Face.JOURNAL, request.after_sequence + 1, request.through_sequence or tip)
        async for rows in stream_rows(self._journal, call.principal, place, [span]):
            # `events` has the same number in the response as in the batch that the rows come in.
            await call.send(rows.batch)

    async def AddSectionMarker(self, request: pb.AddSectionMarkerRequest, call: Call) -> pb.AddSectionMarkerResponse:
        marker = SectionMarker(label=request.label, source=request.source)
        if request.HasField("collapse_earlier"):
            marker.collapse_earlier = request.collapse_earlier
        names = {f"{_ROW}.section_marker.label": "label", f"{_ROW}.section_marker.source": "source"}
        sequence, event_id = await self._add(request, Event(section_marker=marker), names, call)
        return pb.AddSectionMarkerResponse(sequence=sequence, held=not sequence, event_id=event_id)

    async def AddNote(self, request: pb.AddNoteRequest, call: Call) -> pb.AddNoteResponse:
        if not request.HasField("note"):
            raise invalid_field("note", "is required")
        names = {f"{_ROW}.note.source": "note.source"}
        sequence, event_id = await self._add(request, Event(note=request.note), names, call)
        return pb.AddNoteResponse(sequence=sequence, held=not sequence, event_id=event_id)

    async def ResetContext(self, request: pb.ResetContextRequest, call: Call) -> pb.ResetContextResponse:
        reset = ContextReset(reason=request.reason)
        names = {f"{_ROW}.context_reset.reason": "reason"}
        sequence, event_id = await self._add(request, Event(context_reset=reset), names, call)
        return pb.ResetContextResponse(sequence=sequence, held=not sequence, event_id=event_id)

    async def PublishLive(self, requests: AsyncIterator[pb.PublishLiveRequest], call: Call) -> pb.PublishLiveResponse:
        async for request in until_draining(requests, self._journal.hub):
            check_session_id(request.session_id)
            live = request.live
            if not live.event_id:
                raise invalid_field("live.event_id", "is required: the id of the row to come")
            if (wrong := text.id_fault(live.event_id, limits.EVENT_ID_BYTES)) is not None:
                raise invalid_field("live.event_id", wrong)
            if (size := len(live.text_delta.encode())) > limits.LIVE_DELTA_BYTES:
                raise invalid_field(
                    "live.text_delta", f"has {size} bytes, at most {limits.LIVE_DELTA_BYTES} are allowed"
                )
            place = await self._journal.touch(call.principal, request.session_id)
            self._journal.hub.publish(place.number, live.SerializeToString())
        return pb.PublishLiveResponse()

    async def _take(self, request: pb.AppendEventsRequest, prefix: str) -> Sequence[Draft]:
        check_session_id(request.session_id, f"{prefix}session_id")
        return await self._take_rows(request.events, f"{prefix}events", request.ByteSize())

    async def _take_rows(self, rows: Sequence[Event], path: str, size: int) -> Sequence[Draft]:
        if len(rows) > INLINE_ROWS or size > INLINE_BYTES:
            # Long enough to keep every other call waiting.
            return await asyncio.to_thread(self._intake.take, rows, path)
        return self._intake.take(rows, path)

    async def _append(
        self, request: pb.AppendEventsRequest, drafts: Sequence[Draft], call: Call, lane: Lane | None = None
    ) -> pb.AppendEventsResponse:
        appending = self._journal.append(
            call.principal,
            request.session_id,
            drafts,
            expected=request.expected_latest_sequence if request.HasField("expected_latest_sequence") else None,
            as_recorded=request.as_recorded,
            lane=lane,
        )
        appended = await audited(call, request.session_id, drafts, appending)
        return pb.AppendEventsResponse(
            sequences=appended.sequences, latest_sequence=appended.latest_sequence, event_ids=appended.event_ids
        )

    async def _add(
        self,
        request: pb.AddSectionMarkerRequest | pb.AddNoteRequest | pb.ResetContextRequest,
        event: Event,
        names: Mapping[str, str],
        call: Call,
    ) -> tuple[int, str]:
        """Appends the one row that a request is for; its sequence (0 while held), and its id."""
        check_session_id(request.session_id)
        event.id = request.event_id
        with named({f"{_ROW}.id": "event_id", **names}):
            drafts = await self._take_rows([event], "events", event.ByteSize())
        appending = self._journal.append(call.principal, request.session_id, drafts)
        appended = await audited(call, request.session_id, drafts, appending)
        return appended.sequences[0], appended.event_ids[0]
