"""The store's port: what services ask of a journal, whichever database keeps it.

Every call takes the caller's principal, and reaches sessions by (owner, id) alone: a foreign session is a
missing one in code, text and query plan. Rows come and go as wire bytes, as they are stored and served.

One contract suite (`tests/journal`) is written against this port, and every store passes it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NewType, Protocol

from transcript.v1.session_pb2 import Session, SessionKind
from transcript.v1.transcript_service_pb2 import HiddenSections, PageInfo, Section, View
from transcript_server.journal.hub import Hub
from transcript_server.journal.lane import Lane
from transcript_server.rules.intake import Draft
from transcript_server.rules.pages import PageRequest

Principal = NewType("Principal", str)
"""Who calls: the owner of the sessions that the call may see."""


class Face(enum.Enum):
    """Which rows of a range are read, and in which form."""

    KEPT = enum.auto()
    """The compact view's rows of older turns, as pages show them."""
    HUMAN = enum.auto()
    """The human transcript, as pages show it: large rows cut, a checkpoint without its text."""
    JOURNAL = enum.auto()
    """Every row, whole."""
    RECALLED = enum.auto()
    """Of every row, whole, those whose kind has the fact `recalled`."""


@dataclass(frozen=True, slots=True)
class Span:
    """Rows of one face, `first` to `last`, both included."""

    face: Face
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Place:
    """A journal that was found for a caller; reads that follow name it, and fail once it is gone.

    Attributes:
        session_id: The session's id.
        journal_id: Which journal of that session.
        number: The store's own number for it, never used twice.
    """

    session_id: str
    journal_id: str
    number: int


@dataclass(frozen=True, slots=True)
class Rows:
    """The first rows of some spans, in the order of the spans.

    Attributes:
        batch: A serialized `EventBatch`: the stored rows' bytes with a tag and a length before each.
        count: How many.
        rest: What of the spans is still to be read.
    """

    batch: bytes
    count: int
    rest: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page, cut.

    Attributes:
        place: Where it is.
        info: What it is.
        rows: Its first rows; as many as go into one message beside `info`.
    """

    place: Place
    info: PageInfo
    rows: Rows


@dataclass(frozen=True, slots=True)
class Context:
    """The model's surface, read.

    Attributes:
        place: Where it is.
        latest: The row as of which it was read.
        rows: Its first rows, in its own order; as many as go into one message.
    """

    place: Place
    latest: int
    rows: Rows


@dataclass(frozen=True, slots=True)
class Tail:
    """What a watcher has not seen yet, and how things stand at the tip.

    Attributes:
        rows: The next rows after its cursor.
        last: Every row of its face up to this one is in `rows`, or came before.
        tip: The journal's last row.
        session: The session, serialized.
        bar: What the collapsing marker hides as of the tip; none unless `rows` reach it.
    """

    rows: Rows
    last: int
    tip: int
    session: bytes
    bar: HiddenSections | None


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of an append; see `AppendEventsResponse`."""

    sequences: Sequence[int]
    latest_sequence: int
    event_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions are listed; see `ListSessionsRequest`. `kinds` empty: all but subagents'."""

    title_contains: str = ""
    kinds: frozenset[SessionKind.ValueType] = frozenset()
    parent_session_id: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListPosition:
    """A place in the list of sessions: the last one of a page.

    Attributes:
        listed_at: Its last prompt, or else its creation, in microseconds since 1970.
        number: The store's number of its journal.
    """

    listed_at: int
    number: int


class Journal(Protocol):
    """A store of journals. Any call may raise `Refusal` with SESSION_NOT_FOUND, and a writing one with STORE_FULL."""

    secret: bytes
    """Key of the rows' hashes; made with the store."""
    hub: Hub
    """Wakes watchers after commits."""

    async def create_session(self, who: Principal, session: Session) -> Session:
        """Makes a session of id, title, labels, kind and parent; the same again returns it, others: SESSION_EXISTS."""
        ...

    async def session(self, who: Principal, session_id: str) -> Session:
        """A session as it is now."""
        ...

    async def sessions(
        self, who: Principal, which: SessionFilter, limit: int, after: ListPosition | None, budget: int | None = None
    ) -> tuple[Sequence[Session], ListPosition | None]:
        """The caller's sessions, the latest prompted first, and where the next page begins.

        At most `limit`, and no more than fit `budget` bytes, if one is given.
        """
        ...

    async def sessions_by_number(self, who: Principal, numbers: Sequence[int]) -> Sequence[Session | None]:
        """The caller's sessions with these numbers; none in the place of one that is gone."""
        ...

    async def update_session(self, who: Principal, session: Session, paths: frozenset[str]) -> Session:
        """Changes the session's title or labels."""
        ...

    async def delete_session(self, who: Principal, session_id: str) -> None:
        """Removes a session: unseen at once, its rows in bounded steps."""
        ...

    async def fork_session(self, who: Principal, source_id: str, through: int, session: Session) -> Session:
        """Makes a session of another's rows 1 to `through` (0: all), in bounded steps; seen when whole (rule 31)."""
        ...

    async def append(
        self,
        who: Principal,
        session_id: str,
        drafts: Sequence[Draft],
        *,
        expected: int | None = None,
        as_recorded: bool = False,
        lane: Lane | None = None,
    ) -> Appended:
        """Appends rows, all or none; when it returns they are on stable storage (rules 1 to 11, 23, 24, 26).

        Appends of one lane are carried out in the order of their calls, awaited or not.
        """
        ...

    async def touch(self, who: Principal, session_id: str) -> Place:
        """Notes that live text was published: a running turn is not idle."""
        ...

    async def page(self, who: Principal, session_id: str, request: PageRequest, budget: int) -> Page:
        """Cuts a page (rules 13 to 21); its info and first rows fit `budget` bytes, or are one row."""
        ...

    async def context(
        self,
        who: Principal,
        session_id: str,
        face: Face,
        *,
        as_of: int | None,
        exclude_running_prompt: bool,
        budget: int,
    ) -> Context:
        """Reads the model's surface, now or as of a row (rules 24 and 25); its first rows fit `budget`, or are one.

        Costs what the surface holds, whatever the session does. May raise SEQUENCE_AHEAD.
        """
        ...

    async def rows(self, who: Principal, place: Place, spans: Sequence[Span], budget: int) -> Rows:
        """The first rows of some spans for which at most `budget` bytes were read, or the first row alone.

        Of a face that thins its span, there may be none although more follow.
        """
        ...

    async def event(self, who: Principal, session_id: str, sequence: int) -> bytes:
        """A row, whole, but for a checkpoint's text (else EVENT_NOT_FOUND)."""
        ...

    async def locate(self, who: Principal, session_id: str) -> tuple[Place, int]:
        """A session's journal and its last row."""
        ...

    async def bar(self, who: Principal, place: Place, as_of: int) -> HiddenSections | None:
        """What the collapsing marker hides as of a row; none if nothing."""
        ...

    async def tail(self, who: Principal, place: Place, face: Face, after: int, budget: int) -> Tail:
        """What lies after a watcher's cursor."""
        ...

    async def sections(
        self, who: Principal, session_id: str, after: int, limit: int
    ) -> tuple[Sequence[Section], int | None]:
        """At most `limit` sections that begin after row `after` (-1: all), and where the next page begins."""
        ...

    async def close(self) -> None:
        """Finishes what was asked for, and closes the store."""
        ...


def face_of(view: View.ValueType) -> Face:
    """The rows that a watcher of a view is sent as they land: compact is not thinned."""
    return Face.JOURNAL if view == View.VIEW_JOURNAL else Face.HUMAN
