"""What a kind of row means, read off the contract: no kind is listed here."""

from __future__ import annotations

from transcript.v1 import event_pb2, kind_pb2

_FACTS = {
    field.name: field.GetOptions().Extensions[kind_pb2.facts]
    for field in event_pb2.Event.DESCRIPTOR.oneofs_by_name["payload"].fields
}
_NONE = kind_pb2.KindFacts()


def kind_of(event: event_pb2.Event) -> str:
    """The name of the payload's field; empty for a kind that this program does not know."""
    return event.WhichOneof("payload") or ""


def facts_of(event: event_pb2.Event) -> kind_pb2.KindFacts:
    """The facts of the row's kind; none for a kind that this program does not know."""
    return _FACTS.get(kind_of(event), _NONE)


def is_replacement(event: event_pb2.Event) -> bool:
    """Whether the row was made for the model alone, in place of others."""
    return event.surface.WhichOneof("op") == "replace"


def steers(event: event_pb2.Event) -> bool:
    """Whether the row is a message into a running turn."""
    return event.user_message.origin == event_pb2.UserMessage.ORIGIN_STEERING
