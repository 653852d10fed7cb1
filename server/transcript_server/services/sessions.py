"""SessionService: what a transcript belongs to."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Final

from transcript.v1 import session_service_pb2 as pb
from transcript.v1.session_pb2 import Session, SessionKind
from transcript_server.journal.journal import Journal, ListPosition, SessionFilter
from transcript_server.rules import limits, text
from transcript_server.rules.errors import Violation, invalid_field
from transcript_server.rules.intake import mint_id, refuse_invalid
from transcript_server.services.calls import Call
from transcript_server.services.fields import check_session_id
from transcript_server.services.messages import ROWS_BUDGET
from transcript_server.services.tokens import Tokens

_MADE_OF: Final = frozenset({"id", "title", "labels", "kind", "parent_session_id"})
_FORKED_OF: Final = frozenset({"id", "title", "labels", "kind"})
_CHANGEABLE: Final = frozenset({"title", "labels"})


class SessionService:
    """See `session_service.proto`."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._tokens = Tokens(journal.secret)

    async def CreateSession(self, request: pb.CreateSessionRequest, call: Call) -> pb.CreateSessionResponse:
        session = request.session
        _check(session, _MADE_OF)
        session.id = session.id or _mint()
        session.kind = session.kind or SessionKind.SESSION_KIND_INTERACTIVE
        return pb.CreateSessionResponse(session=await self._journal.create_session(call.principal, session))

    async def GetSession(self, request: pb.GetSessionRequest, call: Call) -> pb.GetSessionResponse:
        check_session_id(request.session_id)
        return pb.GetSessionResponse(session=await self._journal.session(call.principal, request.session_id))

    async def ListSessions(self, request: pb.ListSessionsRequest, call: Call) -> pb.ListSessionsResponse:
        after = None
        if request.page_token:
            after = ListPosition(*self._tokens.read(request, request.page_token, 2))
        which = SessionFilter(
            title_contains=request.title_contains,
            kinds=frozenset(kind or SessionKind.SESSION_KIND_INTERACTIVE for kind in request.kinds),
            parent_session_id=request.parent_session_id,
            labels=dict(request.labels),
        )
        size = min(request.page_size, limits.PAGE_SIZE_MAX) or limits.LIST_SESSIONS
        sessions, place = await self._journal.sessions(call.principal, which, size, after, ROWS_BUDGET)
        token = "" if place is None else self._tokens.make(request, place.listed_at, place.number)
        return pb.ListSessionsResponse(sessions=sessions, next_page_token=token)

    async def UpdateSession(self, request: pb.UpdateSessionRequest, call: Call) -> pb.UpdateSessionResponse:
        session = request.session
        check_session_id(session.id, "session.id")
        _check(session, _CHANGEABLE | {"id"})
        for index, path in enumerate(request.update_mask.paths):
            if path not in _CHANGEABLE:
                raise invalid_field(f"update_mask.paths[{index}]", "may be title or labels")
        given = frozenset(field.name for field, _ in session.ListFields()) & _CHANGEABLE
        paths = frozenset(request.update_mask.paths) or given
        return pb.UpdateSessionResponse(session=await self._journal.update_session(call.principal, session, paths))

    async def DeleteSession(self, request: pb.DeleteSessionRequest, call: Call) -> pb.DeleteSessionResponse:
        check_session_id(request.session_id)
        call.facts["session_id"] = request.session_id
        await self._journal.delete_session(call.principal, request.session_id)
        return pb.DeleteSessionResponse()

    async def ForkSession(self, request: pb.ForkSessionRequest, call: Call) -> pb.ForkSessionResponse:
        check_session_id(request.source_session_id, "source_session_id")
        session = request.session
        _check(session, _FORKED_OF)
        session.id = session.id or _mint()
        call.facts.update(session_id=session.id, source_session_id=request.source_session_id)
        forked = await self._journal.fork_session(
            call.principal, request.source_session_id, request.through_sequence, session
        )
        return pb.ForkSessionResponse(session=forked)


def _mint() -> str:
    return mint_id(time.time_ns() // 1000, os.urandom(10))


def _check(session: Session, may_be_set: frozenset[str]) -> None:
    """Brings a session's title to its normal form, and refuses what a caller may not send."""
    session.title = text.normalised(session.title)
    refuse_invalid(_violations(session, may_be_set))


def _violations(session: Session, may_be_set: frozenset[str]) -> Iterator[Violation]:
    """What is wrong with a session as a caller sends it."""
    for field, _ in session.ListFields():
        if field.name not in may_be_set:
            yield Violation(f"session.{field.name}", "may not be set here; leave it unset")
    for name in ("id", "parent_session_id"):
        value = getattr(session, name)
        if value and (wrong := text.session_id_fault(value, limits.SESSION_ID_BYTES)) is not None:
            yield Violation(f"session.{name}", wrong)
    if (wrong := text.title_fault(session.title, limits.TITLE_CODE_POINTS)) is not None:
        yield Violation("session.title", wrong)
    if len(session.labels) > limits.SESSION_LABELS:
        yield Violation(
            "session.labels", f"has {len(session.labels)} entries, at most {limits.SESSION_LABELS} are allowed"
        )
    for key, value in session.labels.items():
        if not key or max(len(key.encode()), len(value.encode())) > limits.SESSION_LABEL_BYTES:
            yield Violation(
                f"session.labels[{key[:64]}]",
                f"needs a key, and at most {limits.SESSION_LABEL_BYTES} bytes in key and value each",
            )
