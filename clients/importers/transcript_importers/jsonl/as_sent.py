"""A stored row → the row as a client may send it, and whether the two are the same."""

from __future__ import annotations

import unicodedata

from transcript.v1.event_pb2 import Event


def as_sent(event: Event) -> Event:
    """A copy without what the server assigns, which it assigns again, and with what it otherwise fills in."""
    row = Event()
    row.CopyFrom(event)
    row.ClearField("sequence")
    row.ClearField("recorded_at")
    row.ClearField("turn")
    row.ClearField("fallback")
    row.ClearField("elided_bytes")
    if row.HasField("compaction_checkpoint"):
        row.compaction_checkpoint.ClearField("summary_sequence")
    if row.HasField("section_marker"):
        row.ClearField("surface")  # A marker admits none.
        marker = row.section_marker
        marker.label, marker.source = _normal(marker.label), _normal(marker.source)
        marker.collapse_earlier = marker.collapse_earlier if marker.HasField("collapse_earlier") else True
    elif row.HasField("note"):
        row.note.source = _normal(row.note.source)
    return row


def is_recorded_as(row: Event, stored: Event) -> bool:
    """Whether sending *row* would have made *stored*: what it leaves to the server may be anything."""
    made = as_sent(stored)
    if not row.HasField("time"):
        made.ClearField("time")
    if not row.HasField("surface"):
        made.ClearField("surface")
    return row == made


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)
