"""A row as pages and watchers are served it: a large one cut, a checkpoint without its text (rules 20 and 23)."""

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from transcript.v1.event_pb2 import Event
from transcript_server.rules.facts import elidable_fields, is_elidable
from transcript_server.rules.limits import ELIDED_FIELD_BYTES, ELIDED_ROW_BYTES


def page_form(event: Event, size: int) -> Event | None:
    """The copy of a stored row that human readers get on pages and watches; none if they get the row itself.

    Args:
        event: The row as stored.
        size: Its serialized size in bytes.
    """
    if event.HasField("compaction_checkpoint"):
        # An instruction envelope for the model, not conversation: never shown, so not counted as left out.
        return _without_text(event) if event.compaction_checkpoint.text else None
    if size <= ELIDED_ROW_BYTES:
        return None
    copy = Event()
    copy.CopyFrom(event)
    copy.elided_bytes = _cut(copy)
    return copy if copy.elided_bytes else None


def _without_text(checkpoint: Event) -> Event:
    copy = Event()
    copy.CopyFrom(checkpoint)
    copy.compaction_checkpoint.text = ""
    return copy


def _cut(message: Message) -> int:
    """Cuts a message's elidable fields in place, and says how many bytes it left out."""
    left_out = 0
    for field in elidable_fields(message.DESCRIPTOR):
        value = getattr(message, field.name)
        if field.message_type is not None:
            if field.is_repeated:
                left_out += sum(_cut(item) for item in value)
            elif message.HasField(field.name):
                left_out += _cut(value)
        elif is_elidable(field):
            left_out += _cut_field(message, field, value)
    return left_out


def _cut_field(message: Message, field: FieldDescriptor, value: str | bytes) -> int:
    if isinstance(value, bytes):
        if value:
            message.ClearField(field.name)
        return len(value)
    encoded = value.encode()
    if len(encoded) <= ELIDED_FIELD_BYTES:
        return 0
    # A cut in the middle of a character drops what there is of it.
    kept = encoded[:ELIDED_FIELD_BYTES].decode(errors="ignore")
    setattr(message, field.name, kept)
    return len(encoded) - len(kept.encode())
