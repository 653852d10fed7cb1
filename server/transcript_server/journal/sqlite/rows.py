"""Stored rows as they are served: their bytes with a tag and a length before each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import apsw

from transcript.v1.event_pb2 import Event
from transcript_server.journal.journal import Face, Rows, Span
from transcript_server.journal.sqlite.queries import each
from transcript_server.journal.sqlite.schema import HUMAN, KEPT
from transcript_server.rules.facts import kind_of
from transcript_server.rules.wire import first_field_prefix

_RANGE: Final = "key >= ? AND key <= ? ORDER BY key"
_WHOLE: Final = f"SELECT key, body FROM event WHERE {_RANGE}"
BODIES: Final = {
    Face.KEPT: f"SELECT key, coalesce(page_body, body) FROM event INDEXED BY kept WHERE {KEPT} AND {_RANGE}",
    Face.HUMAN: f"SELECT key, coalesce(page_body, body) FROM event INDEXED BY human WHERE {HUMAN} AND {_RANGE}",
    Face.JOURNAL: _WHOLE,
    Face.RECALLED: _WHOLE,
}


def read(connection: apsw.Connection, base: int, spans: Sequence[Span], budget: int) -> Rows:
    """The first rows of some spans for which at most `budget` bytes are read; the first row, however large."""
    parts: list[bytes] = []
    was_read = False
    for at, span in enumerate(spans):
        for key, body in each(connection, BODIES[span.face], (base + span.first, base + span.last)):
            prefix = first_field_prefix(len(body))
            budget -= len(prefix) + len(body)
            if budget < 0 and was_read:
                return _rows(parts, (Span(span.face, key - base, span.last), *spans[at + 1 :]))
            was_read = True
            if span.face is not Face.RECALLED or _is_recalled(body):
                parts += (prefix, body)
    return _rows(parts, ())


def _rows(parts: Sequence[bytes], rest: tuple[Span, ...]) -> Rows:
    return Rows(b"".join(parts), len(parts) // 2, rest)


def _is_recalled(body: bytes) -> bool:
    kind = kind_of(Event.FromString(body))
    return kind is not None and kind.recalled
