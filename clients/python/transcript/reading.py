"""The part of the client that deals with the human transcript: TranscriptService."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from transcript import paging, watching
from transcript.v1.transcript_service_pb2 import (
    GetEventRequest,
    ListSectionsRequest,
    ReadPageRequest,
    View,
    WatchRequest,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from transcript.calls import Calls
    from transcript.errors import TranscriptError
    from transcript.paging import Page
    from transcript.v1.event_pb2 import Event
    from transcript.v1.transcript_service_pb2 import Section, WatchResponse


class Reading:
    """Reads a session's transcript, page by page and live."""

    _calls: Calls

    async def read_page(
        self,
        session_id: str,
        *,
        view: View.ValueType = View.VIEW_COMPACT,
        page_size: int = 0,
        before_sequence: int = 0,
        after_sequence: int | None = None,
        as_of_sequence: int = 0,
        expand_sections: bool = False,
        journal_id: str = "",
    ) -> Page:
        """Read one page: the newest, unless told otherwise.

        Args:
            session_id: The session.
            view: Which rows.
            page_size: Messages (compact) or rows (full, journal): 40 or 100 if 0, at most 1000.
            before_sequence: The newest page of the rows before this one; from the tip if 0.
            after_sequence: Instead: the oldest page of the rows after this one.
            as_of_sequence: Read as if the journal ended with this row; now if 0.
            expand_sections: Let the page reach past the marker that hides earlier sections.
            journal_id: The journal that the sequences are of, as an earlier page or the session says; not
                checked if empty.

        Raises:
            SequenceAhead: The journal does not reach that far.
            JournalChanged: The session has another journal than *journal_id*, or one that does not reach
                that far.
        """
        request = ReadPageRequest(
            session_id=session_id,
            view=view,
            page_size=page_size,
            before_sequence=before_sequence,
            after_sequence=after_sequence,
            as_of_sequence=as_of_sequence,
            expand_sections=expand_sections,
        )
        return await paging.read_page(self._calls, request, journal_id)

    def pages(
        self,
        session_id: str,
        *,
        view: View.ValueType = View.VIEW_COMPACT,
        page_size: int = 0,
        expand_sections: bool = False,
    ) -> AsyncGenerator[Page, None]:
        """All pages, the newest first, as the journal is when the first one is read.

        Laid end to end they are the whole view, hidden sections included: no row twice, none missing.
        Without *expand_sections* a page begins at the marker that hides what is before it, so one may stop
        there, as a reader does. The arguments are those of read_page.

        Raises:
            JournalChanged: The session was deleted and made anew meanwhile, however long it is now.
        """
        request = ReadPageRequest(
            session_id=session_id, view=view, page_size=page_size, expand_sections=expand_sections
        )
        return paging.pages(self._calls, request)

    async def get_event(self, session_id: str, sequence: int) -> Event:
        """Return one row, whole; a checkpoint without its text.

        Raises:
            EventNotFound: The journal has no such row.
        """
        request = GetEventRequest(session_id=session_id, sequence=sequence)
        return (await self._calls.unary(self._calls.transcript.GetEvent, request)).event

    async def sections(self, session_id: str, *, page_size: int = 0) -> AsyncGenerator[Section, None]:
        """All sections of a session, oldest first: its table of contents.

        Args:
            session_id: The session.
            page_size: Sections in a response: 100 if 0, at most 1000.

        Raises:
            JournalChanged: The session was deleted and made anew meanwhile.
        """
        request = ListSectionsRequest(session_id=session_id, page_size=page_size)
        async with aclosing(self._calls.listed(self._calls.transcript.ListSections, request)) as responses:
            async for response in responses:
                for section in response.sections:
                    yield section

    def watch(
        self,
        session_id: str = "",
        *,
        view: View.ValueType = View.VIEW_COMPACT,
        page_size: int = 0,
        expand_sections: bool = False,
        after_sequence: int | None = None,
        resume_limit: int = 0,
        journal_id: str = "",
        include_sessions: bool = False,
        on_break: Callable[[TranscriptError, float], None] | None = None,
    ) -> AsyncGenerator[WatchResponse, None]:
        """The newest page and then what happens: every later row once, in order, no gap. Never ends by itself.

        A message may hold several things; take them in the order of WatchResponse's fields. A message with
        `page` begins anew: drop what was held. It comes first, and again where the stream could not be
        resumed: it broke before the first CaughtUp, the session has another journal now, the watcher was
        further behind than *resume_limit*, or, where there is a bar above the transcript (no
        *expand_sections*, not the journal view), three calls in a row broke between a row and CaughtUp.

        When the connection breaks, or nothing came for connect()'s *silence*, the watch goes on over a new
        one, where it stood, after a delay of up to 5 s. It gives up only if there was never a message, after
        connect()'s *timeout*.

        Args:
            session_id: The session. Empty: none, only *include_sessions*.
            view: Which rows. A compact watch is not thinned: live it gets what a full one gets.
            page_size: See read_page.
            expand_sections: See read_page.
            after_sequence: Begin after this row, without a page.
            resume_limit: A page instead when further behind than this many rows; never if 0.
            journal_id: With *after_sequence*, the journal that the row is of; not checked if empty.
            include_sessions: Send the caller's sessions too: the 200 prompted last, then those that change.
            on_break: Called with the error and the delay in seconds whenever the connection broke.

        Raises:
            SessionNotFound: There is no such session; or it was deleted, which its last state said before.
        """
        request = WatchRequest(
            session_id=session_id,
            view=view,
            page_size=page_size,
            expand_sections=expand_sections,
            after_sequence=after_sequence,
            resume_limit=resume_limit,
            journal_id=journal_id,
            include_sessions=include_sessions,
        )
        return watching.watch(self._calls, request, on_break=on_break)
