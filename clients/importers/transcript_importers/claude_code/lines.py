"""Physical lines → JSON objects.

A log is one object per line, but files in the wild are cut off, glued together, commented or pretty-printed.
Whatever can be read is read; the rest is reported with its line and passed over. What a line yields never depends
on the lines after it, with one exception that cannot be avoided: an object spread over lines is read at its last one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from transcript_importers.claude_code.fields import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript_importers.rows import Problems

_BOM = b"\xef\xbb\xbf"
_JSON_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"|(").*', re.DOTALL)
"""A whole string; or the quote that opens one without an end, and all after it.

It never gives back what it took, and a string without an end takes the rest: else every quote in that rest would be
tried as a beginning, and a long line that is still being written would take hours.
"""
_BLANKS = re.compile(r"\s*")
_SPREAD_LIMIT = 16 << 20
"""Bytes over which one pretty-printed object is looked for."""
_SALVAGE_TRIES = 200
_NESTING_LIMIT = 256
"""Objects and arrays within each other, the outermost included.

Python's own bound depends on how deep the caller stands, and what it can still read it may be unable to write. This
one is far below it, so that a line is readable always or never; the real logs of the tests stay below 30.
"""


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a log."""

    line: int
    """The line that it begins on, from 1."""
    text: str
    """The object as it was written."""
    value: JsonObject


class RecordReader:
    """Reads the objects of one file, in order."""

    def __init__(self, source: IO[bytes], problems: Problems) -> None:
        self._source = source
        self._problems = problems
        self._number = 0
        self._pushed_back: str | None = None
        self._terminated = True
        self._bad_bytes: dict[int, int] = {}
        """Lines that are no UTF-8, and the bytes where that begins; told once such a line has been read."""
        self.lines = 0
        """Lines seen that are not blank."""
        self.unreadable = 0
        """Those of them that were passed over."""
        self.done_bytes = 0
        """Bytes read so far."""
        self.first_text = ""
        """How the file begins, to say what it is when it is no log."""

    def __iter__(self) -> Iterator[Record]:
        while (text := self._next()) is not None:
            number = self._number
            try:
                value = _loads(text)
            except (ValueError, RecursionError) as error:
                yield from self._broken(number, text, error)
                continue
            if isinstance(value, dict):
                yield self._record(number, text, value)
            else:
                self._pass_over(number, f"{_name(value)}, not an object")

    def _next(self) -> str | None:
        """The next line that is not blank, without its end; None at the file's."""
        if self._pushed_back is not None:
            text, self._pushed_back = self._pushed_back, None
            return text
        while line := self._source.readline():
            self._number += 1
            if self._number == 1:
                line = line.removeprefix(_BOM)
            self.done_bytes = self._source.tell()
            self._terminated = line.endswith(b"\n")
            line = line.rstrip(b"\r\n")
            if line.strip():
                self.lines += 1
                self.first_text = self.first_text or line[:200].decode(errors="replace")
                return self._decoded(line)
        return None

    def _decoded(self, line: bytes) -> str:
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            self._bad_bytes[self._number] = error.start + 1
            return line.decode(errors="replace")

    def _record(self, number: int, text: str, value: JsonObject) -> Record:
        for line, byte in self._bad_bytes.items():
            self._problems.add(line, f"bytes that are not UTF-8, from byte {byte} on, were replaced")
        self._bad_bytes.clear()
        return Record(number, text, value)

    def _pass_over(self, number: int, why: str, lines: int = 1) -> None:
        self._bad_bytes.pop(number, None)
        self.unreadable += lines
        self._problems.add(number, why)

    def _broken(self, number: int, text: str, error: Exception) -> Iterator[Record]:
        """A line that is not one JSON value."""
        if text.startswith(("//", "#")):
            self._pass_over(number, "a comment")
            return
        if text.startswith("{"):
            glued, rest, too_deep = _glued(text)
            for value, piece in glued:
                yield self._record(number, piece, value)
            if glued and not rest:
                return
            if not glued and (depth := _depth(text)) and depth > 0:
                yield from self._spread(number, text, depth)
                return
            text, error = rest or text, too_deep or error
        if salvaged := self._salvaged(text):
            whole = text[salvaged:]
            yield self._record(number, whole, _loads(whole))
            self._pass_over(number, "cut off, and the next object follows on the same line: that one was read")
            return
        self._pass_over(number, _why(text, error))

    def _spread(self, number: int, text: str, depth: int) -> Iterator[Record]:
        """An object that begins on this line and may end on a later one."""
        lines, size = [text], len(text)
        while depth > 0 and size < _SPREAD_LIMIT:
            following = self._next()
            if following is None:
                break
            inside = None if following.startswith("{") else _depth(following)
            if inside is None:
                # Not the inside of a pretty-printed object: the first line was cut off, and this one is the next.
                self._pushed_back = following
                break
            lines.append(following)
            size += len(following)
            depth += inside
        whole = "\n".join(lines)
        try:
            value = _loads(whole)
        except (ValueError, RecursionError) as error:
            # The lines in between are parts of the object, never objects of the log themselves.
            self._pass_over(number, _why(whole, error), len(lines))
            return
        yield self._record(number, whole, value)

    def _salvaged(self, text: str) -> int:
        """Where a whole row begins that a crash glued to a cut one; 0 if there is none."""
        if not self._terminated:
            return 0  # Still being written: what looks whole now may turn out to be a part.
        at = 0
        for _ in range(_SALVAGE_TRIES):
            at = text.find('{"', at + 1)
            if at < 0:
                return 0
            try:
                value = _loads(text[at:])
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and "type" in value and ("sessionId" in value or "parentUuid" in value):
                return at
        return 0


def _loads(text: str) -> Any:
    """The one value that a text is.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply.
    """
    # NaN and Infinity are no JSON, yet Python reads and writes them.
    value = json.loads(text, parse_constant=str)
    _check_nesting(value, text)
    return value


def _check_nesting(value: object, text: str) -> None:
    """Raises RecursionError for a value over the limit; the text is the value's own."""
    if text.count("{") + text.count("[") <= _NESTING_LIMIT:
        return  # Every level has its bracket: most lines are done here.
    level = [value]
    for _ in range(_NESTING_LIMIT):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise RecursionError(f"more than {_NESTING_LIMIT} levels")


def _glued(text: str) -> tuple[list[tuple[JsonObject, str]], str, RecursionError | None]:
    """Whole objects that stand one after the other on a line, what follows them, and whether that is too deep."""
    found: list[tuple[JsonObject, str]] = []
    too_deep: RecursionError | None = None
    decoder = json.JSONDecoder(parse_constant=str)
    at = 0
    while text.startswith("{", at):
        try:
            value, end = decoder.raw_decode(text, at)
            piece = text[at:end]
            _check_nesting(value, piece)
        except ValueError:
            break
        except RecursionError as error:
            too_deep = error
            break
        found.append((value, piece))
        blanks = _BLANKS.match(text, end)
        at = blanks.end() if blanks else end
    return found, text[at:] if found else text, too_deep


def _depth(line: str) -> int | None:
    """How many more brackets a line opens than it closes; None if it ends inside a string."""
    bare = _JSON_STRING.sub(r"\1", line)
    if bare.endswith('"'):
        return None
    return bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")


def _why(text: str, error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if not text.startswith(("{", "[")):
        return "not JSON"
    if isinstance(error, json.JSONDecodeError):
        if error.msg.startswith("Unterminated"):
            return f"cut off inside the text that begins at character {error.pos + 1}"
        if error.pos >= len(text.rstrip()):
            return f"cut off after character {len(text.rstrip())}"
    return f"not JSON: {error}"


def _name(value: object) -> str:
    if isinstance(value, list):
        return "a JSON array"
    return {str: "a JSON string", bool: "a JSON boolean", type(None): "null"}.get(type(value), "a number")
