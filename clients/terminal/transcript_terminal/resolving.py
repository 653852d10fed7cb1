"""SESSION on the command line: an id, a unique part of one, an exact title, @last or @running."""

from __future__ import annotations

import re
from contextlib import aclosing
from typing import TYPE_CHECKING

from transcript import SessionNotFound
from transcript.v1.session_pb2 import SessionKind
from transcript_terminal.complaints import ADVICE, Complaint, Misuse, entry_of

if TYPE_CHECKING:
    from transcript import Client
    from transcript.v1.session_pb2 import Session

LAST = "@last"
RUNNING = "@running"
ALL_KINDS = tuple(kind for kind in SessionKind.values() if kind)
SHOWN = 10  # of several that match
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


async def resolve(client: Client, argument: str) -> Session:
    """The one session that is meant; a Misuse if there is none, or more than one."""
    if argument == LAST:
        async with aclosing(client.sessions(page_size=1)) as sessions:
            async for session in sessions:
                return session
        raise _none("there is no session yet", "import one: transcript import claude-code PATH")
    if argument == RUNNING:
        running = [session async for session in client.sessions() if session.running]
        return _only(running, "sessions are running", "no session is running", "the latest prompted one is @last")
    if _ID.fullmatch(argument):
        try:
            return await client.get_session(argument)
        except SessionNotFound:
            pass
    return await _by_title_or_part(client, argument)


def check_row(session: Session, sequence: int) -> None:
    """A row that is named on the command line has to be there: else a Misuse."""
    if sequence > session.latest_sequence:
        raise Misuse(
            f"no row {sequence} in {session.id}: its last row is {session.latest_sequence}",
            do="name a row that exists",
            entry="sequence-ahead",
        )


def check_journal(session: Session, journal_id: str) -> None:
    """What was read has to be of the journal that the session had when it was found: else a Complaint."""
    if journal_id != session.journal_id:
        reason = "JOURNAL_CHANGED"
        raise Complaint(f"{session.id} has another journal now", do=ADVICE[reason], entry=entry_of(reason))


async def _by_title_or_part(client: Client, argument: str) -> Session:
    titled, parts = [], []
    async for session in client.sessions(kinds=ALL_KINDS, page_size=1000):
        if session.title and session.title == argument:
            titled.append(session)
        elif argument and argument in session.id:
            parts.append(session)
    return _only(
        titled or parts,
        f"sessions match {argument!r}",
        f"no session has the id, a part of an id, or the title {argument!r}",
        "list those there are: transcript sessions",
    )


def _only(found: list[Session], several: str, none: str, do: str) -> Session:
    if not found:
        raise _none(none, do)
    if len(found) > 1:
        lines = [f"  {session.id}  {session.title}".rstrip() for session in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"  … and {len(found) - SHOWN} more")
        raise Misuse("\n".join([f"{len(found)} {several}; name one of them, or more of its id:", *lines]))
    return found[0]


def _none(what: str, do: str) -> Misuse:
    return Misuse(what, do=do, entry="session-not-found")
