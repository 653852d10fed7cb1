"""What each kind means is what the contract's options say, and nothing else."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import Descriptor

from transcript.v1.event_pb2 import Event
from transcript.v1.kind_pb2 import KindFacts, elidable, facts
from transcript_server.rules.facts import FIRST_KINDS, KINDS, elidable_fields, kind_of

from .specimens import SPECIMENS

PAYLOAD = {field.name: field for field in Event.DESCRIPTOR.oneofs_by_name["payload"].fields}
FACTS = [field.name for field in KindFacts.DESCRIPTOR.fields]


def has_elidable(message: Descriptor) -> bool:
    """Whether a message has a field, at any depth, that a page may cut."""
    return any(
        field.GetOptions().Extensions[elidable] or (field.message_type is not None and has_elidable(field.message_type))
        for field in message.fields
    )


@pytest.mark.parametrize("name", PAYLOAD)
def test_a_kinds_facts_are_those_on_its_field(name: str) -> None:
    """Every one of them, also one that is added to the contract later."""
    said = PAYLOAD[name].GetOptions().Extensions[facts]
    kind = KINDS[name]

    assert {fact: getattr(kind, fact) for fact in FACTS} == {fact: getattr(said, fact) for fact in FACTS}
    assert (kind.name, kind.number) == (name, PAYLOAD[name].number)
    assert kind.elidable is has_elidable(PAYLOAD[name].message_type)


def test_every_kind_is_known_and_the_first_ones_are_numbered_10_to_35() -> None:
    """In the order of the contract."""
    assert [*KINDS] == [*PAYLOAD]
    assert {kind.number for kind in KINDS.values()} >= {*FIRST_KINDS}
    assert (FIRST_KINDS.start, FIRST_KINDS.stop) == (10, 36)


@pytest.mark.parametrize("name", PAYLOAD)
def test_a_rows_kind_is_the_member_that_is_set(name: str) -> None:
    """Also if that member is empty."""
    empty = Event()
    getattr(empty, name).SetInParent()

    assert kind_of(SPECIMENS[name]) is kind_of(empty) is KINDS[name]


def test_a_row_without_a_member_has_no_kind() -> None:
    """Nor one with a member that is not known here."""
    assert kind_of(Event(sequence=1)) is None
    assert kind_of(Event.FromString(b"\xa2\x06\x03abc")) is None


def test_fields_to_cut_are_looked_for_no_deeper_than_there_are_any() -> None:
    """A message of attachments leads to their data; a surface leads nowhere."""
    user_message = PAYLOAD["user_message"].message_type

    assert [field.name for field in elidable_fields(user_message)] == ["text", "attachments"]
    assert elidable_fields(Event.DESCRIPTOR.fields_by_name["surface"].message_type) == ()
