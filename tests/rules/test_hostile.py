"""What a hostile request costs: no more than its size."""

from __future__ import annotations

import pytest

from transcript.v1.event_pb2 import Event, UserMessage
from transcript.v1.journal_service_pb2 import AppendEventsRequest
from transcript_server.rules import shape, wire
from transcript_server.rules.errors import VIOLATIONS, Refusal
from transcript_server.rules.intake import Intake, refuse_invalid

MANY = 2_000_000


def test_a_number_without_end_is_given_up() -> None:
    """After the ten bytes that one may have."""
    assert wire.fault(AppendEventsRequest, b"\xff" * MANY) is None


def test_a_field_of_too_many_entries_is_refused_unseen() -> None:
    """Its entries are not looked at one by one."""
    event = Event(user_message=UserMessage(text="a"), source_sequences=[1] * MANY)
    with pytest.raises(Refusal) as caught:
        Intake(b"key").take([event])

    assert [violation.field for violation in caught.value.violations] == ["events[0].source_sequences"]


def test_a_refusal_names_the_first_wrong_fields_alone() -> None:
    """Of however many."""
    event = Event(user_message=UserMessage(text="a"), source_sequences=[-1] * 1000)
    with pytest.raises(Refusal) as caught:
        refuse_invalid(shape.violations(event))

    assert len(caught.value.violations) == VIOLATIONS
