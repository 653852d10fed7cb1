"""What holds of every field of every message of the contract, by its type alone (rule 5)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from transcript.v1 import (
    context_service_pb2,
    journal_service_pb2,
    session_service_pb2,
    transcript_service_pb2,
)
from transcript.v1.event_pb2 import Event, ToolResult, UserMessage
from transcript.v1.journal_service_pb2 import AppendEventsRequest
from transcript.v1.session_pb2 import Session
from transcript_server.rules import limits
from transcript_server.rules.facts import is_elidable
from transcript_server.rules.shape import violations

SERVICES = [context_service_pb2, journal_service_pb2, session_service_pb2, transcript_service_pb2]
INTEGERS = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64)


def messages() -> Iterator[Descriptor]:
    """Every message of the contract's own that a request may hold, rows and requests themselves included."""
    seen: dict[str, Descriptor] = {}

    def visit(message: Descriptor) -> None:
        if message.full_name not in seen and message.full_name.startswith("transcript."):
            seen[message.full_name] = message
            for field in message.fields:
                if field.message_type is not None:
                    visit(field.message_type)

    for service in SERVICES:
        for described in service.DESCRIPTOR.services_by_name.values():
            for method in described.methods:
                visit(method.input_type)
    return iter([message for message in seen.values() if not message.GetOptions().map_entry])


def fields(*types: int) -> list[FieldDescriptor]:
    """Every field of these types."""
    return [field for message in messages() for field in message.fields if field.type in types]


def name(field: FieldDescriptor) -> str:
    """The field, for the test's id."""
    return field.full_name.removeprefix("transcript.v1.")


def holding(field: FieldDescriptor, value: object) -> Message:
    """A message with this field alone."""
    message: Message = GetMessageClass(field.containing_type)()
    if field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)
    return message


def found(message: Message) -> list[str]:
    """The fields that are wrong in a message."""
    return [violation.field for violation in violations(message)]


def in_seconds(value: object) -> str:
    """A time or a duration, for the test's id."""
    return f"{value.seconds}s{value.nanos}ns" if isinstance(value, Timestamp | Duration) else str(value)


def own_name(field: FieldDescriptor) -> str:
    """The field as a violation names it."""
    return f"{field.name}[0]" if field.is_repeated else str(field.name)


@pytest.mark.parametrize("field", fields(*INTEGERS), ids=name)
def test_rule_5_a_number_below_zero_is_refused(field: FieldDescriptor) -> None:
    """Sizes, sequences and counts are 0 or more; an exit code may be anything."""
    assert found(holding(field, -1)) == ([] if field.name == "exit_code" else [own_name(field)])
    assert found(holding(field, 1)) == []


@pytest.mark.parametrize("field", fields(FieldDescriptor.TYPE_ENUM), ids=name)
def test_rule_5_an_enum_value_that_is_not_known_is_refused(field: FieldDescriptor) -> None:
    """Every known one may be sent, 0 included."""
    for value in field.enum_type.values_by_number:
        assert found(holding(field, value)) == []
    for value in (-1, max(field.enum_type.values_by_number) + 1, 2**31 - 1):
        assert found(holding(field, value)) == [own_name(field)]


@pytest.mark.parametrize("field", fields(FieldDescriptor.TYPE_STRING), ids=name)
def test_a_string_that_no_page_cuts_is_a_line_of_bounded_length(field: FieldDescriptor) -> None:
    """Counted in bytes; text that may be elided is bounded by its row, live text by a limit of its own."""
    unbounded = is_elidable(field) or field.name == "text_delta"

    assert found(holding(field, "é" * (limits.LINE_BYTES // 2))) == []
    assert found(holding(field, "é" * (limits.LINE_BYTES // 2) + "a")) == ([] if unbounded else [own_name(field)])


@pytest.mark.parametrize(
    ("time", "sound"),
    [
        (Timestamp(), True),
        (Timestamp(seconds=-62135596800), True),
        (Timestamp(seconds=-62135596801, nanos=999_999_999), False),
        (Timestamp(seconds=253402300799, nanos=999_999_999), True),
        (Timestamp(seconds=253402300800), False),
        (Timestamp(nanos=-1), False),
        (Timestamp(nanos=1_000_000_000), False),
    ],
    ids=in_seconds,
)
def test_a_time_lies_between_the_years_1_and_9999(time: Timestamp, sound: bool) -> None:
    """What the well-known type allows."""
    assert found(Event(time=time)) == ([] if sound else ["time"])


@pytest.mark.parametrize(
    ("duration", "sound"),
    [
        (Duration(), True),
        (Duration(seconds=315_576_000_000), True),
        (Duration(seconds=315_576_000_001), False),
        (Duration(seconds=-1), False),
        (Duration(nanos=-1), False),
        (Duration(seconds=1, nanos=-1), False),
        (Duration(nanos=1_000_000_000), False),
    ],
    ids=in_seconds,
)
def test_a_duration_is_zero_or_more(duration: Duration, sound: bool) -> None:
    """And no longer than the well-known type allows."""
    row = Event(tool_result=ToolResult(duration=duration))

    assert found(row) == ([] if sound else ["tool_result.duration"])


def test_at_most_64_attachments() -> None:
    """Of more, nothing further is looked at; of those, their own fields too, named by their place."""
    message = UserMessage(attachments=[{"name": "a"}] * 64)
    assert found(message) == []

    message.attachments.add(name="x" * (limits.LINE_BYTES + 1))
    assert found(message) == ["attachments"]
    del message.attachments[0]
    assert found(message) == ["attachments[63].name"]


def test_a_field_is_named_by_its_whole_path() -> None:
    """As a caller would write it."""
    row = Event(user_message=UserMessage(attachments=[{}, {"uri": "x" * (limits.LINE_BYTES + 1)}]))

    assert [violation.field for violation in violations(row, "events[7].")] == [
        "events[7].user_message.attachments[1].uri"
    ]


def test_rows_of_a_request_are_left_to_intake_and_maps_to_their_own_checks() -> None:
    """Intake names a row's fields by its place, and judges it in its own order."""
    assert found(AppendEventsRequest(events=[Event(sequence=-1)])) == []
    assert found(Session(labels={"a": "x" * (limits.LINE_BYTES + 1)})) == []
