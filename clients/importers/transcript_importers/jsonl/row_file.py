"""A file of rows, one Event as proto JSON a line, behind a header that says which session they are of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import ParseDict, ParseError

from transcript.v1.event_pb2 import Event
from transcript.v1.session_pb2 import Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

LINE_LIMIT = 64 << 20
"""Bytes of a line: a row of 8 MiB in ASCII may have six times as many."""


class Broken(Exception):  # noqa: N818 - says what the line is
    """A line that the import cannot get past; its text says which, why, and what to do."""

    def __init__(self, line: int, what: str, *, do: str = "mend it, or export the session again") -> None:
        super().__init__(f"line {line} {what}; {do}")


class RowFile:
    """A file, read once from front to end.

    Raises:
        Broken: On creation and while reading, at the first line that is neither.

    Attributes:
        header: The session as the export saw it; None where the file begins with a row.
        lines: Physical lines read so far that are not blank.
        done_bytes: How far the file has been read.
    """

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._number = 0
        self.lines = 0
        self.done_bytes = 0
        first = self._next()
        if first is None:
            raise Broken(1, "is missing: the file is empty", do="export the session again")
        self._first = first
        self.header = self._header()

    def rows(self) -> Iterator[tuple[int, Event]]:
        """The rows, each with the number of its line."""
        said: dict[str, Any] | None = self._first if self.header is None else self._next()
        while said is not None:
            yield self._number, self._event(said)
            said = self._next()

    def _header(self) -> Session | None:
        if "session" not in self._first:
            return None
        try:
            # Of a newer server's session only what is known here is of use here.
            return ParseDict(self._first["session"], Session(), ignore_unknown_fields=True)
        except (ParseError, TypeError) as wrong:
            raise Broken(self._number, f"is no session ({wrong})") from None

    def _event(self, said: dict[str, Any]) -> Event:
        try:
            event = ParseDict(said, Event())
        except (ParseError, RecursionError) as wrong:
            do = "upgrade this program if a newer one wrote the file; else mend the line"
            raise Broken(self._number, f"is no row ({wrong})", do=do) from None
        if event.WhichOneof("payload") is None:
            raise Broken(self._number, "is no row: it says of no kind what happened")
        return event

    def _next(self) -> dict[str, Any] | None:
        """The next line that is not blank; None at the end."""
        while line := self._source.readline(LINE_LIMIT + 1):
            self._number += 1
            self.done_bytes += len(line)
            if len(line) > LINE_LIMIT:
                raise Broken(self._number, f"is over {LINE_LIMIT >> 20} MiB long: no row is")
            if not line.isspace():
                self.lines += 1
                return self._object(line)
        return None

    def _object(self, line: bytes) -> dict[str, Any]:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError) as wrong:
            ends = "" if line.endswith(b"\n") else ", and the file ends within it"
            where = f"{wrong.msg}, column {wrong.colno}" if isinstance(wrong, json.JSONDecodeError) else str(wrong)
            raise Broken(self._number, f"is no JSON{ends} ({where})") from None
        if not isinstance(said, dict):
            raise Broken(self._number, "is no JSON object")
        return said
