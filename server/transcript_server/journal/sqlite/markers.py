"""Section markers: what the collapsing one hides, and the table of contents (rules 12 and 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import apsw

from transcript.v1.event_pb2 import Event, SectionMarker
from transcript.v1.transcript_service_pb2 import HiddenSections, Section
from transcript_server.journal.sqlite.heads import LAST_SEQUENCE, Head
from transcript_server.journal.sqlite.queries import each, first
from transcript_server.journal.sqlite.schema import KEPT
from transcript_server.rules.limits import HIDDEN_LABELS
from transcript_server.rules.sections import hidden_sections

COLLAPSING: Final = """
SELECT key, ordinal FROM marker INDEXED BY collapsing WHERE collapse AND key > ? AND key < ?
ORDER BY key DESC LIMIT 1"""
LABELS: Final = "SELECT label FROM marker WHERE key > ? AND key < ? ORDER BY key DESC LIMIT ?"
FIRST_MARKER: Final = "SELECT key FROM marker WHERE key > ? AND key <= ? ORDER BY key LIMIT 1"
FIRST_KEPT: Final = f"SELECT key FROM event INDEXED BY kept WHERE {KEPT} AND key > ? AND key < ? ORDER BY key LIMIT 1"
MARKERS: Final = """
SELECT m.key, m.messages_before, e.body FROM marker m JOIN event e USING (key)
WHERE m.key > ? AND m.key <= ? ORDER BY m.key LIMIT ?"""


def bar(connection: apsw.Connection, base: int, turn_start: int) -> HiddenSections | None:
    """What the collapsing marker hides while the latest turn is the one that begins with row `turn_start`."""
    row = first(connection, COLLAPSING, (base, base + turn_start))
    if row is None:
        return None
    key, ordinal = row
    labels = [label for (label,) in each(connection, LABELS, (base, key, HIDDEN_LABELS))]
    hidden = hidden_sections(key - base, ordinal, labels[::-1], opening=_has_opening(connection, base))
    return hidden if hidden.count else None


def contents(connection: apsw.Connection, head: Head, after: int, limit: int) -> tuple[Sequence[Section], int | None]:
    """At most `limit` sections that begin after row `after`, and the row after which the next ones begin."""
    base = head.base
    found = [*each(connection, MARKERS, (base + max(after, 0), base | LAST_SEQUENCE, limit + 1))]
    starts: list[tuple[int, int, SectionMarker | None]]
    # Where each section begins, with the messages before it: one more than is asked for tells where the last one ends.
    starts = [(key - base, messages, Event.FromString(body).section_marker) for key, messages, body in found]
    if after < 0 and head.tip and (not starts or _has_opening(connection, base)):
        starts.insert(0, (1, 0, None))
    if not starts:
        return (), None
    ends = [(sequence - 1, messages) for sequence, messages, _ in starts[1:]] + [(head.tip, head.messages)]
    sections = [
        Section(marker=marker, first_sequence=first, last_sequence=last, message_count=messages_after - messages_before)
        for (first, messages_before, marker), (last, messages_after) in zip(starts, ends, strict=True)
    ][:limit]
    return sections, sections[-1].first_sequence if len(starts) > limit else None


def _has_opening(connection: apsw.Connection, base: int) -> bool:
    """Whether the rows before the first marker count as a section: one of them is of a kept kind."""
    marker = first(connection, FIRST_MARKER, (base, base | LAST_SEQUENCE))
    return marker is not None and first(connection, FIRST_KEPT, (base, marker[0])) is not None
