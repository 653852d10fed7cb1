"""What `show` leaves out, counted, each with the flag that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from transcript.v1.transcript_service_pb2 import View
from transcript_terminal.outline.amounts import count

if TYPE_CHECKING:
    from transcript.v1.transcript_service_pb2 import PageInfo
    from transcript_terminal.outline import Wording


@dataclass(slots=True)
class Coverage:
    """Which of the view's rows were read."""

    first: PageInfo | None = None
    last: PageInfo | None = None
    rows: int = 0

    def add(self, info: PageInfo, rows: int) -> None:
        """A page was read."""
        self.first = self.first or info
        self.last = info
        self.rows += rows


def around(coverage: Coverage) -> list[str]:
    """What lies before and after the rows that were read."""
    first, last = coverage.first, coverage.last
    if first is None or last is None:
        return []
    notes = []
    hidden = first.hidden_sections.count
    rows = first.oldest_sequence - max(first.hidden_sections.marker_sequence, 1) if first.has_more else 0
    if hidden and rows > 0:
        notes.append(f"{count(rows, 'earlier row')} and {count(hidden, 'earlier section')} not shown; --all shows them")
    elif hidden:
        notes.append(f"{count(hidden, 'earlier section')} hidden; --expand shows {_them(hidden)}")
    elif rows > 0:
        notes.append(f"{count(rows, 'earlier row')} not shown; --all shows {_them(rows)}")
    if last.has_newer:
        later = last.latest_sequence - last.newest_sequence
        notes.append(f"{count(later, 'later row')} not shown; --all shows {_them(later)}")
    return notes


def between(coverage: Coverage, view: View.ValueType) -> list[str]:
    """What lies among the rows that were read, and is not of the view."""
    first, last = coverage.first, coverage.last
    if first is None or last is None or view == View.VIEW_JOURNAL or not last.newest_sequence:
        return []
    missing = last.newest_sequence - first.oldest_sequence + 1 - coverage.rows
    if missing <= 0:
        return []
    if view == View.VIEW_COMPACT:
        return [f"{count(missing, 'row')} of earlier turns not in the compact view; --view full shows {_them(missing)}"]
    return [f"{count(missing, 'row')} made for the model alone not shown; --view journal shows {_them(missing)}"]


def shortened(wording: Wording) -> list[str]:
    """What stands there in a line only, or was passed over."""
    parts = []
    if wording.shortened_cards:
        parts.append(count(wording.shortened_cards, "tool card"))
    if wording.shortened_asides:
        parts.append(count(wording.shortened_asides, "thought"))
    total = wording.shortened_cards + wording.shortened_asides
    notes = [f"{' and '.join(parts)} shortened; --whole shows {_them(total)}"] if parts else []
    foreign = wording.foreign_records
    if foreign:
        notes.append(f"{count(foreign, 'foreign record')} not shown; --whole shows {_them(foreign)}")
    return notes


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


def held(number: int) -> str:
    """Rows that are not in the journal yet."""
    return f"{count(number, 'row')} held until the running turn ends"
