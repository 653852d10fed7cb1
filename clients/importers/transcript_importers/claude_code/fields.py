"""Typed looks into JSON that anything may stand in."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

JsonObject = dict[str, Any]

_SURROGATE = re.compile("[\ud800-\udfff]")
_INT64 = (1 << 63) - 1


def clean(text: str) -> str:
    """The text as valid Unicode: JSON may escape half of a surrogate pair, UTF-8 has no such thing."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text) if not text.isascii() else text


def string(value: object, key: str) -> str:
    """The text under a key; empty where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return clean(found) if isinstance(found, str) else ""


def mapping(value: object, key: str) -> JsonObject:
    """The object under a key; empty where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def array(value: object, key: str) -> list[Any]:
    """The list under a key; empty where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def flag(value: object, key: str) -> bool:
    """Whether true stands under a key."""
    return isinstance(value, dict) and value.get(key) is True


def number(value: object, key: str) -> float | None:
    """The number under a key, not negative."""
    found = value.get(key) if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= _INT64:
        return None
    return found


def count(value: object, key: str) -> int:
    """The whole number under a key; 0 where there is none."""
    return int(number(value, key) or 0)


def dumps(value: object) -> str:
    """JSON in one canonical form: equal values, equal texts."""
    return clean(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")))


def dumps_in_order(value: object) -> str:
    """JSON with the keys in the order in which they were written, as a person reads them."""
    return clean(json.dumps(value, ensure_ascii=False))


def timestamp(text: str) -> Timestamp | None:
    """A moment as the log writes it; None where it is none."""
    try:
        moment = datetime.fromisoformat(text)
        stamp = Timestamp()
        stamp.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
    return stamp
