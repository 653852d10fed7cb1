"""Stored rows as they are served: their bytes with a tag and a length before each."""

from __future__ import annotations

from typing import Final

import apsw

from transcript_server.journal.journal import Face, Rows, Span
from transcript_server.journal.sqlite.queries import each
from transcript_server.journal.sqlite.schema import HUMAN, KEPT
from transcript_server.rules.wire import first_field_prefix

_RANGE: Final = "key >= ? AND key <= ? ORDER BY key"
BODIES: Final = {
    Face.KEPT: f"SELECT key, coalesce(page_body, body) FROM event INDEXED BY kept WHERE {KEPT} AND {_RANGE}",
    Face.HUMAN: f"SELECT key, coalesce(page_body, body) FROM event INDEXED BY human WHERE {HUMAN} AND {_RANGE}",
    Face.JOURNAL: f"SELECT key, body FROM event WHERE {_RANGE}",
}


def read(connection: apsw.Connection, base: int, span: Span, budget: int, *, at_least_one: bool = True) -> Rows:
    """The first rows of a span that fit `budget` bytes; one at least, if `at_least_one`, however large."""
    parts: list[bytes] = []
    last = span.first - 1
    for key, body in each(connection, BODIES[span.face], (base + span.first, base + span.last)):
        prefix = first_field_prefix(len(body))
        budget -= len(prefix) + len(body)
        if budget < 0 and (parts or not at_least_one):
            break
        parts += (prefix, body)
        last = key - base
    else:
        last = span.last
    return Rows(b"".join(parts), len(parts) // 2, last)
