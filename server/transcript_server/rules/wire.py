"""Protobuf's wire format, as far as the service handles bytes itself.

Rows are stored as they are served, so pages and batches are put together from stored bytes: a tag and a
length before each (`embed`). And requests are checked for what parsing hides: fields that this server does
not know, and where broken bytes broke.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

_LENGTH_DELIMITED = 2
_FIRST_FIELD = 1 << 3 | _LENGTH_DELIMITED
_VARINT_BYTES = 10
_FIXED_WIDTHS = {1: 8, 5: 4}


def varint(value: int) -> bytes:
    """A non-negative number as protobuf writes it."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def embed(number: int, message: bytes) -> bytes:
    """A serialized message as field `number` of the message around it."""
    return varint(number << 3 | _LENGTH_DELIMITED) + varint(len(message)) + message


def embedded_size(size: int) -> int:
    """Bytes of a message of `size` bytes inside another, under one of the field numbers 1 to 15."""
    return 1 + len(varint(size)) + size


def first_field_prefix(size: int) -> bytes:
    """What stands before a message of `size` bytes that is field 1: quick, because it stands before every row."""
    if size < 0x80:
        return bytes((_FIRST_FIELD, size))
    if size < 0x4000:
        return bytes((_FIRST_FIELD, size & 0x7F | 0x80, size >> 7))
    return bytes((_FIRST_FIELD,)) + varint(size)


def has_unknown_fields(message: Message) -> bool:
    """Whether a message has, at any depth, a field that this server does not know."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return known.ByteSize() != message.ByteSize()


def unknown_field(message: Message, path: str = "") -> str | None:
    """The path of the first field that this server does not know, e.g. `events[0].#99`; none if it knows all."""
    for field in UnknownFieldSet(message):  # type: ignore[attr-defined]  # a sequence, which the stubs do not say
        return f"{path}#{field.field_number}"
    for child_path, child in children(message, path):
        if (found := unknown_field(child, f"{child_path}.")) is not None:
            return found
    return None


def children(message: Message, path: str = "") -> Iterator[tuple[str, Message]]:
    """The messages that stand in a message's fields, each with its path."""
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        if field.is_repeated:
            for index, item in enumerate(value):
                yield f"{path}{field.name}[{index}]", item
        else:
            yield f"{path}{field.name}", value


def descendants(message: Message, path: str = "") -> Iterator[tuple[str, Message]]:
    """The messages that stand in a message at any depth, each with its path."""
    for child_path, child in children(message, path):
        yield child_path, child
        yield from descendants(child, f"{child_path}.")


def fault(message: type[Message], data: bytes) -> str | None:
    """The path of the field at which bytes cease to be a message of this type; none if that cannot be told.

    Only asked for once parsing has failed, to name the field in the error.
    """
    try:
        return _fault(message.DESCRIPTOR, data, "")
    except IndexError:
        return None


def _fault(descriptor: Any, data: bytes, path: str) -> str | None:
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        field = descriptor.fields_by_number.get(tag >> 3)
        name = f"{path}{field.name if field else f'#{tag >> 3}'}"
        wire_type = tag & 7
        if wire_type == 0:
            _, at = _read_varint(data, at)
            continue
        if wire_type in _FIXED_WIDTHS:
            at += _FIXED_WIDTHS[wire_type]
            if at > len(data):
                return name
            continue
        if wire_type != _LENGTH_DELIMITED:
            return name
        length, at = _read_varint(data, at)
        value, at = data[at : at + length], at + length
        if at > len(data):
            return name
        if field is None:
            continue
        if field.type == FieldDescriptor.TYPE_STRING and not _is_utf8(value):
            return name
        if field.message_type is not None and (found := _fault(field.message_type, value, f"{name}.")) is not None:
            return found
    return None


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_VARINT_BYTES):
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise IndexError("a number of more than ten bytes")


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
