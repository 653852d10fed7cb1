"""Ids that a retry can repeat."""

from __future__ import annotations

import secrets
import time
import uuid


def new_id() -> str:
    """A new UUIDv7 as text, 36 characters: unique, and sorted by the millisecond of its making.

    What Event.id and Session.id are minted as. Give an event its id yourself to send it again later,
    after an error or from another process, without recording it twice.
    """
    milliseconds = time.time_ns() // 1_000_000
    bits = milliseconds << 80 | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | 0x7 << 76  # the version
    bits = bits & ~(0x3 << 62) | 0x2 << 62  # the variant
    return str(uuid.UUID(int=bits))
