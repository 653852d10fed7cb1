"""One sound row of every kind, made off the descriptor, so that a new kind is met by every test that uses them."""

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from semantics.rows import replacing

from transcript.v1.event_pb2 import Event
from transcript_server.rules.facts import KINDS

_VALUES = {
    FieldDescriptor.TYPE_STRING: "text",
    FieldDescriptor.TYPE_BYTES: b"bytes",
    FieldDescriptor.TYPE_BOOL: True,
    FieldDescriptor.TYPE_INT32: 3,
    FieldDescriptor.TYPE_INT64: 3,
    FieldDescriptor.TYPE_ENUM: 1,
}
OUTPUT_ONLY = {"summary_sequence"}


def fill(message: Message) -> None:
    """Sets every field that a writer may set; of a oneof, the first."""
    for field in message.DESCRIPTOR.fields:
        oneof = field.containing_oneof
        if field.name in OUTPUT_ONLY or (oneof is not None and message.WhichOneof(oneof.name)):
            continue
        if field.message_type is not None:
            part = getattr(message, field.name)
            fill(part.add() if field.is_repeated else part)
        elif field.is_repeated:
            getattr(message, field.name).append(_VALUES[field.type])
        else:
            setattr(message, field.name, _VALUES[field.type])


def specimen(kind: str) -> Event:
    """A row of a kind with all of its fields set."""
    event = Event(id=f"the-{kind}")
    payload = getattr(event, kind)
    payload.SetInParent()
    fill(payload)
    if kind == "compaction_checkpoint":
        event.surface.CopyFrom(replacing(1, 1))
    return event


SPECIMENS = {kind: specimen(kind) for kind in KINDS}
