"""Checks that hold for every message of the contract alike, read off its descriptor.

Enum values must be known; sizes, counts, times and durations must be in range; a string without a limit of
its own is a line of bounded length.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from transcript.v1.event_pb2 import Event
from transcript_server.rules.errors import Violation
from transcript_server.rules.facts import is_elidable
from transcript_server.rules.limits import ATTACHMENTS, LINE_BYTES, REPEATED

_INTEGERS: Final = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64)
_SIGNED: Final = frozenset({"exit_code"})
_LONGER: Final = frozenset({"text_delta"})  # has a limit of its own
# 0001-01-01 to 9999-12-31, and 10,000 years: what the two well-known types allow.
_TIMESTAMP_SECONDS: Final = range(-62_135_596_800, 253_402_300_800)
_DURATION_SECONDS_MAX: Final = 315_576_000_000
_NANOS: Final = range(1_000_000_000)


@cache
def _watched_fields(descriptor: Descriptor) -> frozenset[int]:
    """The numbers of a message's fields that may be out of range."""
    return frozenset(field.number for field in descriptor.fields if _is_watched(field))


def _is_watched(field: FieldDescriptor) -> bool:
    if field.type == FieldDescriptor.TYPE_STRING:
        return not is_elidable(field) and field.name not in _LONGER
    if field.message_type is not None:
        # A map's entries are checked where the map has a meaning; an empty message has nothing to check.
        return not field.message_type.GetOptions().map_entry and bool(field.message_type.fields)
    return field.type in (FieldDescriptor.TYPE_ENUM, *_INTEGERS)


def violations(message: Message, path: str = "") -> Iterator[Violation]:
    """What is out of range in a message, at any depth; `path` stands before each field's name."""
    if isinstance(message, Timestamp):
        if message.seconds not in _TIMESTAMP_SECONDS or message.nanos not in _NANOS:
            yield Violation(path.rstrip("."), "is not a time between the years 1 and 9999")
        return
    if isinstance(message, Duration):
        if not (0 <= message.seconds <= _DURATION_SECONDS_MAX and message.nanos in _NANOS):
            yield Violation(path.rstrip("."), "is not a duration of zero or more")
        return
    watched = _watched_fields(message.DESCRIPTOR)
    for field, value in message.ListFields():
        if field.number not in watched:
            continue
        if not field.is_repeated:
            yield from _value_violations(field, value, f"{path}{field.name}")
            continue
        most = ATTACHMENTS if field.name == "attachments" else REPEATED
        if len(value) > most:
            yield Violation(f"{path}{field.name}", f"has {len(value)} entries, at most {most} are allowed")
            continue
        for index, item in enumerate(value):
            yield from _value_violations(field, item, f"{path}{field.name}[{index}]")


def _value_violations(field: FieldDescriptor, value: object, name: str) -> Iterator[Violation]:
    if isinstance(value, Event):
        # A request's rows are taken in one by one, by `intake`.
        return
    if isinstance(value, Message):
        yield from violations(value, f"{name}.")
    elif field.enum_type is not None:
        if value not in field.enum_type.values_by_number:
            yield Violation(name, f"has the value {value}, which this server does not know")
    elif isinstance(value, str):
        if (size := len(value.encode())) > LINE_BYTES:
            yield Violation(name, f"has {size} bytes, at most {LINE_BYTES} are allowed")
    elif isinstance(value, int) and value < 0 and field.name not in _SIGNED:
        yield Violation(name, "is below zero")
