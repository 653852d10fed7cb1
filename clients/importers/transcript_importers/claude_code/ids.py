"""Ids for rows, and which rows of a log are there twice.

An id comes from the log alone and from nothing after its line, so that reading a grown log again gives the rows that
are recorded already the ids that they have. A log may hold a row twice in two ways: as itself (same uuid), or, after a
resume that wrote the conversation down anew, as a copy with another uuid. A copy is known by what it says: the reply's
message.id, the call's id or the very same millisecond, together with the same content.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from transcript_importers.claude_code.fields import dumps, string

if TYPE_CHECKING:
    from transcript_importers.claude_code.entry import Entry
    from transcript_importers.claude_code.fields import JsonObject

_PLAIN = re.compile(r"[!-~]{1,64}")
"""A uuid that is taken as it is: with block and suffix an id stays well under 128 bytes."""

_NOT_CONTENT = frozenset(
    {
        "parentUuid", "logicalParentUuid", "timestamp", "sessionId", "isSidechain", "forkedFrom",
        "cwd", "gitBranch", "version", "slug", "userType", "requestId",
    }
)  # fmt: skip
"""What a rewritten copy of a row may say otherwise."""


class EventIds:
    """Gives the entries of one session the stems of their rows' ids."""

    def __init__(self) -> None:
        self._contents: dict[str, list[bytes]] = {}
        self._nameless: Counter[str] = Counter()

    def stem(self, entry: Entry) -> str | None:
        """The stem for an entry's rows; None if it is a row again that was read already."""
        if not entry.uuid:
            digest = _digest(entry.kind, entry.time, entry.text).hex()
            self._nameless[digest] += 1
            nth = self._nameless[digest]
            return f"line-{digest}" if nth == 1 else f"line-{digest}~{nth}"
        content = _digest(entry.kind, _said(entry))
        known = self._contents.setdefault(entry.uuid, [])
        if content in known:
            return None
        known.append(content)
        plain = entry.uuid if _PLAIN.fullmatch(entry.uuid) else _digest(entry.uuid).hex()
        return plain if len(known) == 1 else f"{plain}~{len(known)}"


class Copies:
    """Knows the blocks of one session again that another entry has said already."""

    def __init__(self) -> None:
        self._said_by: dict[bytes, str] = {}

    def is_copy(self, entry: Entry, block: JsonObject) -> bool:
        """Whether an earlier entry said this; remembers it otherwise."""
        kind = string(block, "type")
        if kind == "tool_result":
            occasion = string(block, "tool_use_id")
        elif entry.kind == "assistant":
            occasion = string(entry.message, "id")
        else:
            occasion = entry.time
        if not occasion:
            return False
        key = _digest(entry.kind, occasion, dumps(block))
        return self._said_by.setdefault(key, entry.uuid) != entry.uuid


def _said(entry: Entry) -> str:
    if entry.message:
        return dumps([entry.message.get("role"), entry.message.get("content")])
    return dumps({key: value for key, value in entry.value.items() if key not in _NOT_CONTENT})


def _digest(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(errors="replace"), digest_size=16).digest()
