"""Errors as a person is told them: what went wrong, where, what to do, and where to read more."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

import click

from transcript import DeadlineExceeded, Unavailable, Unimplemented
from transcript_terminal.safe_text import safe

if TYPE_CHECKING:
    from transcript import TranscriptError

# What to do about each reason. `docs/errors.md` has an entry for each, and says more.
ADVICE = {
    "INVALID_FIELD": "mend what is named",
    "UNKNOWN_FIELD": "this program is newer than the server: upgrade the server",
    "UNKNOWN_KIND": "this program is newer than the server: upgrade the server",
    "BAD_SURFACE_OP": "mend the row's surface",
    "ROW_TOO_LARGE": "split the row, or leave out what is large",
    "SESSION_NOT_FOUND": "list those there are: transcript sessions",
    "EVENT_NOT_FOUND": "see which rows there are: transcript show SESSION --all",
    "SESSION_EXISTS": "choose another id",
    "EVENT_ID_REUSED": "choose another id for the row",
    "SEQUENCE_MISMATCH": "read what came in between, then try again",
    "SEQUENCE_AHEAD": "name a row that exists; transcript sessions shows how many there are",
    "BAD_SURFACE_RANGE": "name a range of rows that the model is sent",
    "REQUEST_NOT_OPEN": "read the session again: the request may be answered",
    "JOURNAL_CHANGED": "open the session anew",
    "HELD_ROWS_FULL": "wait for the turn's end, then try again",
    "STORE_FULL": "make room on the server's disk, then try again",
    "DRAINING": "try again in a few seconds",
    "INTERNAL": "look for the request id in the server's log",
}


class Complaint(click.ClickException):
    """What the command says before it ends with 1: it was asked for something sensible, and it failed."""

    def __init__(self, what: str, *, do: str = "", entry: str = "") -> None:
        """*what* went wrong and where; what to *do*; the *entry* of docs/errors.md."""
        place = f" (docs/errors.md#{entry})" if entry else ""
        super().__init__(f"{what}; {do}{place}" if do else f"{what}{place}")

    def show(self, file: IO[Any] | None = None) -> None:
        """Write it to stderr."""
        click.echo(f"transcript: {safe(self.message)}", file=file or sys.stderr)


class Misuse(Complaint):
    """The same for a command line that names nothing, or too much: it ends with 2."""

    exit_code = 2


def complaint_of(error: TranscriptError, target: str) -> Complaint:
    """The complaint for a call to the server at *target* that failed."""
    if error.reason_name:
        told = [error.message + _named(error)]
        told += [f"{one.field}: {one.description}" for one in error.violations if one.description not in error.message]
        # The server's own text says what to do behind a semicolon, where it knows better.
        advice = "" if "; " in error.message else ADVICE.get(error.reason_name, "see what the server's docs say")
        entry = entry_of(error.reason_name) if error.reason_name in ADVICE else ""
        return Complaint(f"{'; '.join(told)} (server {target})", do=advice, entry=entry)
    if isinstance(error, Unavailable):
        return Complaint(f"no server at {target}", do="start one: transcript serve", entry="no-server")
    if isinstance(error, DeadlineExceeded):
        return Complaint(f"no answer from {target} in time", do="try again, or look at its log", entry="deadline")
    if isinstance(error, Unimplemented):
        do = "is it a transcript server, and as new as this program?"
        return Complaint(f"the server at {target} does not have this call", do=do, entry="not-this-server")
    return Complaint(f"{error.message} ({error.code.name}, server {target})", entry="other-errors")


def entry_of(reason_name: str) -> str:
    """The entry of docs/errors.md for a reason: SESSION_NOT_FOUND → session-not-found."""
    return reason_name.lower().replace("_", "-")


def _named(error: TranscriptError) -> str:
    """What the error is about, where its text does not say."""
    named = error.metadata.get("session_id") or error.metadata.get("event_id") or error.metadata.get("request_id")
    return f": {named}" if named and named not in error.message else ""
