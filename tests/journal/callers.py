"""A caller of the port: what a service does of a request, without the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

import pytest

from transcript.v1.event_pb2 import Event
from transcript.v1.session_pb2 import Session, SessionKind
from transcript.v1.transcript_service_pb2 import VIEW_JOURNAL, EventBatch, PageInfo
from transcript_server.journal.journal import (
    Appended,
    Face,
    Journal,
    ListPosition,
    Page,
    Place,
    Principal,
    Rows,
    SessionFilter,
    Span,
)
from transcript_server.rules.errors import Refusal
from transcript_server.rules.intake import Draft, Intake
from transcript_server.rules.pages import page_request

ME, SOMEBODY_ELSE = Principal("me"), Principal("somebody else")
BUDGET = 256 * 1024


def copies(events: tuple[Event, ...]) -> list[Event]:
    """Intake changes the rows that it is given."""
    made = [Event() for _ in events]
    for copy, event in zip(made, events, strict=True):
        copy.CopyFrom(event)
    return made


def events_of(rows: Rows) -> list[Event]:
    """The rows of a batch."""
    events = [*EventBatch.FromString(rows.batch).events]
    assert len(events) == rows.count
    return events


def length(spans: Sequence[Span]) -> int:
    """How many rows the spans may hold."""
    return sum(span.last - span.first + 1 for span in spans)


async def refusal_of(call: Awaitable[Any]) -> Refusal:
    """How a call is refused; it must be."""
    with pytest.raises(Refusal) as caught:
        await call
    return caught.value


async def outcome_of(call: Awaitable[Any]) -> Any:
    """What a call is answered with, or how it is refused."""
    try:
        return await call
    except Refusal as refusal:
        return refusal


class Caller:
    """One principal's calls of a journal."""

    def __init__(self, journal: Journal, who: Principal = ME) -> None:
        self.journal = journal
        self.who = who
        self._intake = Intake(journal.secret)

    async def create(self, session_id: str = "s", **fields: Any) -> Session:
        """A new session."""
        fields.setdefault("kind", SessionKind.SESSION_KIND_INTERACTIVE)
        return await self.journal.create_session(self.who, Session(id=session_id, **fields))

    async def session(self, session_id: str = "s") -> Session:
        """A session as it is now."""
        return await self.journal.session(self.who, session_id)

    def drafts(self, *events: Event) -> list[Draft]:
        """Copies of rows, taken in."""
        return self._intake.take(copies(events))

    async def append(self, session_id: str, *events: Event, **options: Any) -> Appended:
        """Appends copies of rows."""
        return await self.journal.append(self.who, session_id, self.drafts(*events), **options)

    async def fill(self, session_id: str, event: Event, count: int) -> None:
        """Appends a row many times."""
        for start in range(0, count, 1000):
            await self.append(session_id, *[event] * min(1000, count - start))

    async def place(self, session_id: str = "s") -> Place:
        """Where a session's journal is."""
        place, _ = await self.journal.locate(self.who, session_id)
        return place

    async def rows(self, session_id: str = "s", face: Face = Face.JOURNAL, budget: int = BUDGET) -> list[Event]:
        """All rows of a face."""
        place, tip = await self.journal.locate(self.who, session_id)
        return await self.spans(place, [Span(face, 1, tip)], budget)

    async def spans(self, place: Place, spans: Sequence[Span], budget: int = BUDGET) -> list[Event]:
        """The rows of spans, as many calls as it takes."""
        events: list[Event] = []
        while spans:
            rows = await self.journal.rows(self.who, place, spans, budget)
            assert not rows.rest or length(rows.rest) < length(spans), "it goes on"
            assert len(rows.batch) <= budget or rows.count == 1
            events += events_of(rows)
            spans = rows.rest
        return events

    async def context(
        self,
        session_id: str = "s",
        as_of: int | None = None,
        *,
        face: Face = Face.JOURNAL,
        exclude_running_prompt: bool = False,
        budget: int = BUDGET,
    ) -> list[Event]:
        """What the model is sent."""
        context = await self.journal.context(
            self.who, session_id, face, as_of=as_of, exclude_running_prompt=exclude_running_prompt, budget=budget
        )
        assert len(context.rows.batch) <= budget or context.rows.count == 1
        return events_of(context.rows) + await self.spans(context.place, context.rows.rest, budget)

    async def cut(self, session_id: str = "s", budget: int = BUDGET, **fields: Any) -> Page:
        """A page, as far as it is cut and its first rows read."""
        return await self.journal.page(self.who, session_id, page_request(**fields), budget)

    async def page(self, session_id: str = "s", budget: int = BUDGET, **fields: Any) -> tuple[PageInfo, list[Event]]:
        """A page with all of its rows."""
        page = await self.cut(session_id, budget, **{"view": VIEW_JOURNAL, **fields})
        return page.info, events_of(page.rows) + await self.spans(page.place, page.rows.rest, budget)

    async def listed(self, limit: int = 100, after: ListPosition | None = None, **which: Any) -> list[str]:
        """The ids of the caller's sessions, page by page of `limit`."""
        ids: list[str] = []
        while True:
            sessions, after = await self.journal.sessions(self.who, SessionFilter(**which), limit, after)
            assert len(sessions) <= limit
            ids += [session.id for session in sessions]
            if after is None:
                return ids

    async def everything(self, session_id: str = "s") -> tuple[bytes, list[bytes], bytes]:
        """All that a reader can see of a session, to compare it with what it was."""
        session = await self.session(session_id)
        rows = await self.rows(session_id)
        info, _ = await self.page(session_id)
        return (
            session.SerializeToString(deterministic=True),
            [row.SerializeToString(deterministic=True) for row in rows],
            info.SerializeToString(deterministic=True),
        )
