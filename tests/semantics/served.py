"""How a stored row is served: whole, or as a page shows it (rules 20 and 23)."""

from __future__ import annotations

from transcript.v1.event_pb2 import Attachment, Event
from transcript.v1.transcript_service_pb2 import VIEW_JOURNAL

from .facts import elidable_places, kind

ROW_ELIDED_ABOVE = 64 << 10
FIELD_CUT_TO = 16 << 10
MESSAGE_LIMIT = 256 << 10


def whole(event: Event) -> Event:
    """As GetEvent gives it: a checkpoint's text stays empty."""
    copy = Event()
    copy.CopyFrom(event)
    if kind(copy) == "compaction_checkpoint":
        copy.compaction_checkpoint.text = ""
    return copy


def served(event: Event, view: int) -> Event:
    """As a page or a watch of this view gives it."""
    if view == VIEW_JOURNAL:
        return event
    copy = whole(event)
    if copy.ByteSize() <= ROW_ELIDED_ABOVE:
        return copy
    left_out = 0
    for message, field in list(elidable_places(copy)):
        value = getattr(message, field.name)
        if isinstance(message, Attachment):
            left_out += len(value)
            message.ClearField(field.name)
        else:
            short = shortened(value)
            left_out += len(value.encode()) - len(short.encode())
            setattr(message, field.name, short)
    if left_out:
        copy.elided_bytes = left_out
    return copy


def shortened(text: str) -> str:
    """The longest beginning of at most 16 KiB that ends at a character boundary."""
    return text.encode()[:FIELD_CUT_TO].decode(errors="ignore")
