"""What each kind of row means, read off the descriptor of `Event.payload`: the only place where it is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from transcript.v1 import kind_pb2
from transcript.v1.event_pb2 import Event

FIRST_KINDS: Final = range(10, 36)
"""Field numbers of v1's first kinds; every client knows how to show these."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of row and its facts; see `KindFacts` in `kind.proto` for what each fact says."""

    name: str
    number: int
    message: bool
    kept: bool
    surfaces: bool
    recalled: bool
    prompts: bool
    held: bool
    agent: bool
    tool: bool
    elidable: bool
    """Whether it has a field, at any depth, that a page may cut."""


def is_elidable(field: FieldDescriptor) -> bool:
    """Whether a page may cut this field of a large row."""
    return bool(field.GetOptions().Extensions[kind_pb2.elidable])


@cache
def elidable_fields(message: Descriptor) -> tuple[FieldDescriptor, ...]:
    """The fields of a message that are elidable, or hold messages that have such fields."""
    return tuple(
        field
        for field in message.fields
        if is_elidable(field) or (field.message_type is not None and elidable_fields(field.message_type))
    )


def _kinds() -> Iterator[Kind]:
    for field in Event.DESCRIPTOR.oneofs_by_name["payload"].fields:
        facts = field.GetOptions().Extensions[kind_pb2.facts]
        yield Kind(
            name=field.name,
            number=field.number,
            message=facts.message,
            kept=facts.kept,
            surfaces=facts.surfaces,
            recalled=facts.recalled,
            prompts=facts.prompts,
            held=facts.held,
            agent=facts.agent,
            tool=facts.tool,
            elidable=bool(elidable_fields(field.message_type)),
        )


KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in _kinds()}


def kind_of(event: Event) -> Kind | None:
    """The kind of a row, by which member of `payload` is set; none if none that is known here is."""
    name = event.WhichOneof("payload")
    return KINDS[name] if name else None
