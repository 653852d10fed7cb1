"""Keeps a row within what a journal takes.

What is too large loses its attachments' bytes first, then the end of its texts; a name or another line loses its end.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from transcript.v1.kind_pb2 import elidable

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    from transcript.v1.event_pb2 import Attachment, Event

ROW_LIMIT = (8 << 20) - (64 << 10)
"""Bytes of a row, and of the rows of one append: the server's 8 MiB, with room for what it adds."""
LINE_LIMIT = 16 << 10
"""Bytes of a text that no page may cut: a name, an id, a line."""
ATTACHMENT_LIMIT = 64

_ROOM = 4 << 10
"""Bytes set aside for the note that stands in place of what was cut."""


def fit(event: Event) -> str:
    """Cuts a row to the limits, in place.

    Returns:
        What was left out, for people; empty where nothing was.
    """
    kind = event.WhichOneof("payload")
    payload = getattr(event, kind) if kind else None
    if payload is None:
        return ""
    left_out = [*_surplus_attachments(payload), *_long_lines(payload)]
    size = event.ByteSize()
    if size > ROW_LIMIT:
        cut = [*_attachments_bytes(event, payload), *_long_texts(event, payload)]
        left_out.append(f"{' and '.join(cut)}, for the row has {size} bytes")
    return f"more than a journal takes; left out: {'; '.join(left_out)}" if left_out else ""


def _surplus_attachments(payload: Message) -> list[str]:
    held = getattr(payload, "attachments", [])
    surplus = len(held) - ATTACHMENT_LIMIT
    if surplus <= 0:
        return []
    del held[ATTACHMENT_LIMIT:]
    return [f"{surplus} attachments after the first {ATTACHMENT_LIMIT}"]


def _long_lines(message: Message) -> list[str]:
    cut: list[str] = []
    for name in _text_fields(message.DESCRIPTOR, may_be_long=False):
        line: str = getattr(message, name)
        if len(line) * 4 > LINE_LIMIT and len(line.encode()) > LINE_LIMIT:
            setattr(message, name, f"{line.encode()[: LINE_LIMIT - 8].decode(errors='ignore')}…")
            cut.append(f"the end of {name}")
    for attachment in getattr(message, "attachments", []):
        cut += _long_lines(attachment)
    return cut


def _attachments_bytes(event: Event, payload: Message) -> list[str]:
    held: list[Attachment] = list(getattr(payload, "attachments", []))
    dropped = 0
    for attachment in sorted(held, key=lambda one: len(one.data), reverse=True):
        if event.ByteSize() <= ROW_LIMIT or not attachment.data:
            break
        attachment.name = f"{attachment.name or 'attachment'} ({len(attachment.data)} bytes left out)"
        attachment.ClearField("data")
        dropped += 1
    return [f"the bytes of {dropped} attachments"] if dropped else []


def _long_texts(event: Event, payload: Message) -> list[str]:
    cut: list[str] = []
    fields = _text_fields(payload.DESCRIPTOR, may_be_long=True)
    for name in sorted(fields, key=lambda name: len(getattr(payload, name)), reverse=True):
        excess = event.ByteSize() - ROW_LIMIT
        if excess <= 0:
            break
        whole = str(getattr(payload, name)).encode()
        begins = whole[: max(0, len(whole) - excess - _ROOM)].decode(errors="ignore")
        setattr(payload, name, _shortened(name, begins, len(whole)))
        cut.append(f"the end of {name}")
    return cut


@cache
def _text_fields(descriptor: Descriptor, *, may_be_long: bool) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in descriptor.fields
        if field.type == field.TYPE_STRING
        and not field.is_repeated
        and field.GetOptions().Extensions[elidable] is may_be_long
    )


def _shortened(name: str, begins: str, size: int) -> str:
    if "json" not in name:
        return f"{begins}\n[… cut by the import, {size} bytes in all]"
    # What is JSON stays JSON. Escaping may double the text, so half of the room is used.
    return json.dumps({"cut": True, "bytes": size, "begins": begins[: len(begins) // 2]}, ensure_ascii=False)
