"""The part of the client that deals with the journal: JournalService."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from transcript import appending, writing
from transcript.ids import new_id
from transcript.v1.event_pb2 import Note
from transcript.v1.journal_service_pb2 import (
    AddNoteRequest,
    AddSectionMarkerRequest,
    AppendEventsRequest,
    ReadEventsRequest,
    ResetContextRequest,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Iterable

    from transcript.calls import Calls
    from transcript.v1.event_pb2 import Event
    from transcript.v1.journal_service_pb2 import (
        AddNoteResponse,
        AddSectionMarkerResponse,
        AppendEventsResponse,
        ResetContextResponse,
    )
    from transcript.v1.live_pb2 import LiveUpdate


class Journal:
    """Appends rows, and reads them as they lie."""

    _calls: Calls

    async def append(
        self,
        session_id: str,
        events: Iterable[Event],
        *,
        expected_latest_sequence: int | None = None,
        as_recorded: bool = False,
    ) -> AppendEventsResponse:
        """Append rows, all or none. Once this returns they are durable.

        Events without an id get one, on a copy, and the call is sent again while the server is
        unavailable, until the client's timeout. If that passes too, the rows may have been recorded or
        not: to find out, append them once more with the same ids, so give them ids yourself (new_id).

        Args:
            session_id: The session.
            events: 1 to 1000 rows, at most 8 MiB together. Output-only fields must be unset.
            expected_latest_sequence: The journal must end with this row before; 0: it must be empty.
            as_recorded: The rows record what already happened elsewhere: none is held.

        Returns:
            For each row its sequence, 0 while it is held, and its id; and the journal's last row.

        Raises:
            UnknownKind, BadSurfaceOp, RowTooLarge: A row is wrong by itself.
            EventIdReused: A row's id was used for other content.
            SequenceMismatch: The journal does not end where expected.
            BadSurfaceRange, RequestNotOpen, HeldRowsFull: A row cannot stand where it would land.
            StoreFull: The store has no room.
        """
        request = AppendEventsRequest(
            session_id=session_id,
            events=events,
            expected_latest_sequence=expected_latest_sequence,
            as_recorded=as_recorded,
        )
        appending.mint_ids(request)
        return await self._calls.repeated(self._calls.journal.AppendEvents, request)

    def stream_append(
        self, batches: AsyncIterable[AppendEventsRequest] | Iterable[AppendEventsRequest]
    ) -> AsyncGenerator[AppendEventsResponse, None]:
        """Append batch after batch, to any sessions, over one stream: for many rows.

        Each batch is an append of its own, durable when its answer comes; answers come in order. Events
        get ids as by append. When the connection breaks, what is unanswered is sent again over a new one,
        until there was no answer for the client's timeout. At most 32 batches are on their way at once.

        Args:
            batches: The batches. What the iterable raises is raised here, once what it gave is answered.

        Raises:
            TranscriptError: As by append, for the first batch without an answer; none after it was taken.
        """
        return appending.stream_append(self._calls, batches)

    async def add_section_marker(
        self,
        session_id: str,
        label: str = "",
        *,
        collapse_earlier: bool | None = None,
        source: str = "",
        event_id: str = "",
    ) -> AddSectionMarkerResponse:
        """Mark the boundary between two units of work. Held until the running turn ends, if one runs.

        Args:
            session_id: The session.
            label: Heading of what follows: at most 120 code points, none of them control or invisible.
            collapse_earlier: Whether readers hide what lies before until asked; True if None.
            source: Who drew the boundary: at most 64 code points.
            event_id: The row's id, at most 128 bytes; minted if empty.

        Returns:
            The row's sequence, 0 while it is held; whether it is held; its id.

        Raises:
            EventIdReused: The id was used for other content.
            HeldRowsFull: Ten rows are held already.
        """
        request = AddSectionMarkerRequest(
            session_id=session_id,
            label=label,
            collapse_earlier=collapse_earlier,
            source=source,
            event_id=event_id or new_id(),
        )
        return await self._calls.repeated(self._calls.journal.AddSectionMarker, request)

    async def add_note(self, session_id: str, text: str, *, source: str = "", event_id: str = "") -> AddNoteResponse:
        """Add a note, for readers and for the model's next prompt. Held, and answered, as a section marker.

        Args:
            session_id: The session.
            text: Markdown.
            source: Who wrote it, for display.
            event_id: The row's id, at most 128 bytes; minted if empty.

        Raises:
            RowTooLarge: The row is over 8 MiB.
            EventIdReused: The id was used for other content.
            HeldRowsFull: Ten rows are held already.
        """
        request = AddNoteRequest(
            session_id=session_id, note=Note(text=text, source=source), event_id=event_id or new_id()
        )
        return await self._calls.repeated(self._calls.journal.AddNote, request)

    async def reset_context(self, session_id: str, reason: str = "", *, event_id: str = "") -> ResetContextResponse:
        """Empty the model's context and leave the transcript alone. Held, and answered, as a section marker.

        Args:
            session_id: The session.
            reason: For display.
            event_id: The row's id, at most 128 bytes; minted if empty.

        Raises:
            EventIdReused: The id was used for other content.
            HeldRowsFull: Ten rows are held already.
        """
        request = ResetContextRequest(session_id=session_id, reason=reason, event_id=event_id or new_id())
        return await self._calls.repeated(self._calls.journal.ResetContext, request)

    async def publish_live(self, session_id: str, updates: AsyncIterable[LiveUpdate]) -> None:
        """Show watchers text that is not yet a row, until *updates* ends. Nothing of it is stored.

        There is no deadline. Live text may be lost without an error: the row that follows has it.

        Args:
            session_id: The session.
            updates: What is written, as it comes: at most 64 KiB in each. What this raises is raised here.
        """
        await writing.publish_live(self._calls, session_id, updates)

    async def read_events(
        self, session_id: str, *, after_sequence: int = 0, through_sequence: int = 0
    ) -> AsyncGenerator[Event, None]:
        """The journal's rows as they lie, whole, oldest first, up to the tip at the time of the call.

        If the connection breaks midway, Unavailable is raised: read on after the last row.

        Args:
            session_id: The session.
            after_sequence: Only rows after this one, exclusive.
            through_sequence: Only rows up to this one, inclusive; up to the tip if 0.

        Raises:
            SequenceAhead: The journal does not reach that far.
        """
        request = ReadEventsRequest(
            session_id=session_id, after_sequence=after_sequence, through_sequence=through_sequence
        )
        stream = self._calls.stream(self._calls.journal.ReadEvents, request, silence=self._calls.timeout)
        async with aclosing(stream):
            async for response in stream:
                for event in response.events:
                    yield event
