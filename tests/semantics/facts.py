"""What a row is, read off the contract alone: its kind, the kind's facts, and what may be cut of it."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from transcript.v1 import kind_pb2
from transcript.v1.event_pb2 import Event, UserMessage

PAYLOAD = Event.DESCRIPTOR.oneofs_by_name["payload"]
KINDS: dict[str, FieldDescriptor] = {field.name: field for field in PAYLOAD.fields}
STEERING = UserMessage.ORIGIN_STEERING
UNSPECIFIED = UserMessage.ORIGIN_UNSPECIFIED


def kind(event: Event) -> str:
    """The payload's field name; empty where there is none."""
    return event.WhichOneof("payload") or ""


def facts(event: Event) -> kind_pb2.KindFacts:
    """The facts of the row's kind."""
    return KINDS[kind(event)].GetOptions().Extensions[kind_pb2.facts]


def payload(event: Event) -> Message:
    """The payload itself."""
    return getattr(event, kind(event))


def replaces(event: Event) -> bool:
    """Whether the row is a replacement on the model's surface."""
    return event.surface.WhichOneof("op") == "replace"


def is_human(event: Event) -> bool:
    """Rule 23: every row that does not replace, and checkpoints."""
    return not replaces(event) or kind(event) == "compaction_checkpoint"


def is_message(event: Event) -> bool:
    """Whether the row counts as a message of the human transcript."""
    return facts(event).message and is_human(event)


def is_prompt(event: Event) -> bool:
    """Whether the row moves last_prompt_at."""
    return facts(event).prompts and not replaces(event)


def is_elidable(field: FieldDescriptor) -> bool:
    """Whether a page may cut this field."""
    return field.GetOptions().Extensions[kind_pb2.elidable]


def elidable_places(message: Message) -> Iterator[tuple[Message, FieldDescriptor]]:
    """Every elidable field that is set in the message, at any depth, with the message that holds it."""
    for field, value in message.ListFields():
        if is_elidable(field):
            yield message, field
        elif field.message_type is None:
            continue
        elif field.is_repeated:
            for item in value:
                yield from elidable_places(item)
        else:
            yield from elidable_places(value)


def has_text_of_its_own(name: str) -> bool:
    """Whether a kind has an elidable field: the server sets `fallback` for those that have none."""
    return any(is_elidable(field) for field in KINDS[name].message_type.fields)
