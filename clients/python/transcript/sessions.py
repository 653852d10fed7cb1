"""The part of the client that deals with sessions: SessionService."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from google.protobuf.field_mask_pb2 import FieldMask

from transcript.ids import new_id
from transcript.v1.session_pb2 import Session, SessionKind
from transcript.v1.session_service_pb2 import (
    CreateSessionRequest,
    DeleteSessionRequest,
    ForkSessionRequest,
    GetSessionRequest,
    ListSessionsRequest,
    UpdateSessionRequest,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from transcript.calls import Calls


class Sessions:
    """Makes, finds, changes, copies and removes sessions."""

    _calls: Calls

    async def create_session(
        self,
        id: str = "",  # noqa: A002
        title: str = "",
        labels: Mapping[str, str] | None = None,
        kind: SessionKind.ValueType = SessionKind.SESSION_KIND_UNSPECIFIED,
        parent_session_id: str = "",
    ) -> Session:
        """Make a session; again with the same id and fields, return it.

        Args:
            id: 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit. A UUIDv7 if empty.
            title: At most 200 code points.
            labels: At most 64 entries of 256 bytes.
            kind: What the session is for; decides how viewers open it.
            parent_session_id: The session whose agent runs this one.

        Raises:
            SessionExists: The session exists with other fields.
        """
        session = Session(id=id or new_id(), title=title, labels=labels, kind=kind, parent_session_id=parent_session_id)
        response = await self._calls.unary(self._calls.sessions.CreateSession, CreateSessionRequest(session=session))
        return response.session

    async def get_session(self, session_id: str) -> Session:
        """Return a session as it is now."""
        response = await self._calls.unary(self._calls.sessions.GetSession, GetSessionRequest(session_id=session_id))
        return response.session

    async def sessions(
        self,
        *,
        title_contains: str = "",
        kinds: Sequence[SessionKind.ValueType] = (),
        parent_session_id: str = "",
        labels: Mapping[str, str] | None = None,
        page_size: int = 0,
    ) -> AsyncGenerator[Session, None]:
        """All sessions of the caller, page by page: the latest prompted first.

        Args:
            title_contains: Only those whose title contains this, case folded.
            kinds: Only those of these kinds; if empty, all but subagents' sessions.
            parent_session_id: Only those under this session, of any kind.
            labels: Only those with all these labels.
            page_size: Sessions in a response: 50 if 0, at most 1000.
        """
        request = ListSessionsRequest(
            page_size=page_size,
            title_contains=title_contains,
            kinds=kinds,
            parent_session_id=parent_session_id,
            labels=labels,
        )
        async with aclosing(self._calls.listed(self._calls.sessions.ListSessions, request)) as responses:
            async for response in responses:
                for session in response.sessions:
                    yield session

    async def update_session(self, session: Session, paths: Sequence[str] = ()) -> Session:
        """Change a session's title or labels, and return it. Not sent again on failure: the last change wins.

        Args:
            session: Its id, and the fields to change.
            paths: Which fields: "title", "labels", each replaced whole. Those that are set, if empty.
        """
        request = UpdateSessionRequest(session=session, update_mask=FieldMask(paths=paths))
        return (await self._calls.unary(self._calls.sessions.UpdateSession, request)).session

    async def delete_session(self, session_id: str) -> None:
        """Remove a session and its rows, for good. Not sent again on failure: it may have been done.

        Raises:
            SessionNotFound: Also if an earlier attempt did it.
        """
        await self._calls.unary(self._calls.sessions.DeleteSession, DeleteSessionRequest(session_id=session_id))

    async def fork_session(
        self,
        source_session_id: str,
        *,
        through_sequence: int = 0,
        id: str = "",  # noqa: A002
        title: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> Session:
        """Make a session that begins with another's rows; again with the same id and fields, return it.

        Args:
            source_session_id: The session to copy.
            through_sequence: The last row to copy, inclusive; all if 0.
            id: The new session's. A UUIDv7 if empty.
            title: The source's if empty.
            labels: The new session's.

        Raises:
            SequenceAhead: The source does not reach that far.
            SessionExists: The session exists with other fields.
        """
        request = ForkSessionRequest(
            source_session_id=source_session_id,
            through_sequence=through_sequence,
            session=Session(id=id or new_id(), title=title, labels=labels),
        )
        return (await self._calls.unary(self._calls.sessions.ForkSession, request)).session
