"""What a reader is shown: views, pages, sections. Whole lists first, then a cut (rules 12 to 19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import grpc

from transcript.v1.event_pb2 import Event
from transcript.v1.transcript_service_pb2 import (
    VIEW_COMPACT,
    VIEW_FULL,
    VIEW_JOURNAL,
    VIEW_UNSPECIFIED,
    HiddenSections,
    PageInfo,
    Section,
)

from . import turns
from .facts import facts, is_human, is_message, kind
from .refused import Refused
from .served import served

DEFAULT_MESSAGES, DEFAULT_ROWS, MOST = 40, 100, 1000
COMPACT_ROWS, COMPACT_BYTES = 1000, 4 << 20
WAITING_SHOWN = LABELS_SHOWN = 32
VIEWS = (VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL)


@dataclass
class Page:
    """A page as the server must give it."""

    info: PageInfo
    rows: list[Event] = field(default_factory=list)


def human(rows: Sequence[Event]) -> list[Event]:
    """The human transcript."""
    return [row for row in rows if is_human(row)]


def view_of(rows: Sequence[Event], view: int) -> list[Event]:
    """Every row of the view, as served, where `rows` is the journal's beginning up to some row."""
    if view == VIEW_JOURNAL:
        return list(rows)
    shown = human(rows)
    if view in {VIEW_COMPACT, VIEW_UNSPECIFIED}:
        latest = turns.fold(rows).latest
        shown = [row for row in shown if row.turn == latest or facts(row).kept]
    return [served(row, view) for row in shown]


def markers(rows: Sequence[Event]) -> list[Event]:
    """The section markers."""
    return [row for row in rows if kind(row) == "section_marker"]


def collapsing_marker(rows: Sequence[Event]) -> Event | None:
    """Rule 13: the last marker that asks to collapse and lies before the latest turn's first row."""
    first = turns.fold(rows).first_sequence
    found = [row for row in markers(rows) if row.section_marker.collapse_earlier and row.sequence < first]
    return found[-1] if found else None


def sections(rows: Sequence[Event]) -> list[Section]:
    """Rule 12."""
    starts = markers(rows)
    found: list[Section] = []
    opening = rows[: starts[0].sequence - 1] if starts else rows
    if any(facts(row).kept for row in human(opening)):
        found.append(section(opening, None))
    for index, marker in enumerate(starts):
        end = starts[index + 1].sequence - 1 if index + 1 < len(starts) else len(rows)
        found.append(section(rows[marker.sequence - 1 : end], marker))
    return found


def section(rows: Sequence[Event], marker: Event | None) -> Section:
    """The section that these rows are."""
    return Section(
        marker=marker.section_marker if marker is not None else None,
        first_sequence=rows[0].sequence,
        last_sequence=rows[-1].sequence,
        message_count=sum(is_message(row) for row in rows),
    )


def hidden_sections(rows: Sequence[Event]) -> HiddenSections | None:
    """What the collapsing marker hides; none where that is nothing."""
    marker = collapsing_marker(rows)
    if marker is None:
        return None
    before = [each for each in sections(rows) if each.first_sequence < marker.sequence]
    labels = [each.marker.label for each in before]
    if not before:
        return None
    return HiddenSections(count=len(before), labels=labels[-LABELS_SHOWN:], marker_sequence=marker.sequence)


def read_page(
    journal: Sequence[Event],
    view: int,
    *,
    page_size: int = 0,
    before: int = 0,
    expand: bool = False,
    as_of: int = 0,
    after: int | None = None,
) -> Page:
    """Rules 13 to 19. `journal` is every row there is."""
    for asked in (as_of, after or 0):
        if asked > len(journal):
            raise ahead(asked, len(journal))
    if as_of and (after or 0) > as_of:
        raise ahead(after or 0, as_of)
    rows = journal[: as_of or len(journal)]
    shown = view_of(rows, view)
    bar = None
    if after is not None:
        page = forwards([row for row in shown if row.sequence > after], view, page_size)
    else:
        hidden = None if expand or view == VIEW_JOURNAL else hidden_sections(rows)
        if hidden is not None and (before == 0 or before > hidden.marker_sequence):
            bar = hidden
        earliest = bar.marker_sequence if bar else 0
        asked_for = [row for row in shown if row.sequence >= earliest and (before == 0 or row.sequence < before)]
        page = backwards(asked_for, view, page_size)
    if page:
        oldest, newest = page[0].sequence, page[-1].sequence
        edges = (oldest, newest)
    else:
        oldest = newest = 0
        edges = (after + 1, after) if after is not None else (before or len(rows) + 1, (before or len(rows) + 1) - 1)
    return Page(
        rows=page,
        info=PageInfo(
            oldest_sequence=oldest,
            newest_sequence=newest,
            has_more=any(row.sequence < edges[0] for row in shown),
            has_newer=any(row.sequence > edges[1] for row in shown),
            latest_sequence=len(rows),
            hidden_sections=bar,
            open_request_sequences=turns.waiting(rows)[-WAITING_SHOWN:],
        ),
    )


def ahead(asked: int, latest: int) -> Refused:
    """Rule 16: the journal does not reach that far."""
    named = {"sequence": str(asked), "latest_sequence": str(latest)}
    return Refused(grpc.StatusCode.OUT_OF_RANGE, "SEQUENCE_AHEAD", named)


def backwards(rows: list[Event], view: int, page_size: int) -> list[Event]:
    """The newest page of these rows."""
    if view in {VIEW_FULL, VIEW_JOURNAL}:
        return rows[-size(page_size, DEFAULT_ROWS) :]
    page: list[Event] = []
    for turn in reversed(whole_turns(rows)):
        if not page and not fits(turn):
            return newest_that_fit(turn)
        if not fits([*turn, *page]):
            break
        page = [*turn, *page]
        if sum(is_message(row) for row in page) >= size(page_size, DEFAULT_MESSAGES):
            break
    return page


def forwards(rows: list[Event], view: int, page_size: int) -> list[Event]:
    """The oldest page of these rows: the mirror image."""
    if view in {VIEW_FULL, VIEW_JOURNAL}:
        return rows[: size(page_size, DEFAULT_ROWS)]
    page: list[Event] = []
    for turn in whole_turns(rows):
        if not page and not fits(turn):
            return oldest_that_fit(turn)
        if not fits([*page, *turn]):
            break
        page = [*page, *turn]
        if sum(is_message(row) for row in page) >= size(page_size, DEFAULT_MESSAGES):
            break
    return page


def size(asked: int, default: int) -> int:
    """A page size above the limit counts as the limit."""
    return min(asked or default, MOST)


def whole_turns(rows: list[Event]) -> list[list[Event]]:
    """The rows by turn."""
    return [list(turn) for _, turn in groupby(rows, key=lambda row: row.turn)]


def fits(rows: list[Event]) -> bool:
    """Whether these rows may stand on one compact page."""
    return len(rows) <= COMPACT_ROWS and sum(row.ByteSize() for row in rows) <= COMPACT_BYTES


def newest_that_fit(rows: list[Event]) -> list[Event]:
    """A turn that alone is too big, cut at the oldest end. One row always fits."""
    count = 1
    while count < len(rows) and fits(rows[-count - 1 :]):
        count += 1
    return rows[-count:]


def oldest_that_fit(rows: list[Event]) -> list[Event]:
    """The same, cut at the newest end."""
    count = 1
    while count < len(rows) and fits(rows[: count + 1]):
        count += 1
    return rows[:count]
