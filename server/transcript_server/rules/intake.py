"""What becomes of a row before it reaches the journal: checked, hashed, redacted, completed.

The first step of rule 4: each row by itself, by rules 5, 6, 11, 20 and 23. What depends on the journal
(ids that are used, the tip, turns, the surface) comes later, inside the writing transaction.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from google.protobuf.message import Message

from transcript.v1 import error_reason_pb2
from transcript.v1.event_pb2 import AppendOp, Event, LogOnlyOp
from transcript_server.rules import limits, payloads, shape, text
from transcript_server.rules.errors import VIOLATIONS, Refusal, Violation, invalid_field
from transcript_server.rules.facts import Kind, kind_of
from transcript_server.rules.fallback import fallback
from transcript_server.rules.redaction import Redactor
from transcript_server.rules.wire import descendants, has_unknown_fields, unknown_field

_OUTPUT_ONLY: Final = ("sequence", "recorded_at", "turn", "fallback", "elided_bytes")


@dataclass(slots=True)
class Draft:
    """A row that passed intake and waits for its sequence.

    Attributes:
        event: The row as it will be stored, but for `sequence`, `turn`, `recorded_at` and a missing `time`.
        kind: Its kind.
        digest: Keyed hash of the row as sent, without `id` and `time`: what makes two appends equal (rule 3).
        named: Whether the writer chose the id, so that it may have been used before.
    """

    event: Event
    kind: Kind
    digest: bytes
    named: bool


class Intake:
    """Takes rows in.

    Args:
        key: Secret of the store: a stored hash must not help to guess a redacted secret.
        redact: Takes secrets out of a row; none yet.
    """

    def __init__(self, key: bytes, redact: Redactor | None = None) -> None:
        self._key = key
        self._redact = redact

    def take(self, events: Sequence[Event], path: str = "events") -> list[Draft]:
        """Checks and completes the rows of one append; the given messages become the drafts' own.

        Args:
            events: The rows as sent.
            path: What the request calls them, for the errors.

        Raises:
            Refusal: UNKNOWN_KIND, ROW_TOO_LARGE, BAD_SURFACE_OP or INVALID_FIELD, of the first wrong row.
        """
        if not events:
            raise invalid_field(path, "is empty; send at least one row")
        if len(events) > limits.APPEND_ROWS:
            raise invalid_field(path, f"has {len(events)} rows, at most {limits.APPEND_ROWS} are allowed")
        size = sum(event.ByteSize() for event in events)
        drafts = [self.take_one(event, f"{path}[{index}]") for index, event in enumerate(events)]
        if size > limits.APPEND_BYTES and len(drafts) > 1:
            raise invalid_field(path, f"has {size} bytes together, at most {limits.APPEND_BYTES} are allowed")
        return drafts

    def take_one(self, event: Event, path: str) -> Draft:
        """Checks and completes one row; see `take`."""
        kind = kind_of(event)
        if kind is None:
            raise _unknown_kind(path)
        _check_size(event, path)
        # Before anything is brought to its normal form: the hash is of the row as sent.
        draft = Draft(event, kind, self._digest(event), named=bool(event.id))
        payloads.normalise(event)
        refuse_invalid(_field_violations(event, kind, path))
        _check_surface(event, kind, path)
        if self._redact is not None:
            self._redact(event)
        _complete(event, kind)
        return draft

    def _digest(self, event: Event) -> bytes:
        as_sent = Event()
        as_sent.CopyFrom(event)
        as_sent.ClearField("id")
        as_sent.ClearField("time")
        return hashlib.blake2b(as_sent.SerializeToString(deterministic=True), key=self._key, digest_size=16).digest()


def refuse_unknown(request: Message) -> None:
    """Refuses a request that has a field unknown to this server, at any depth: it would slip past every check.

    Raises:
        Refusal: UNKNOWN_FIELD, or UNKNOWN_KIND if it is a row whose payload is not known.
    """
    if not has_unknown_fields(request):
        return
    for path, message in descendants(request):
        if isinstance(message, Event) and kind_of(message) is None:
            raise _unknown_kind(path)
    path = unknown_field(request) or "the request"
    raise Refusal(
        error_reason_pb2.ERROR_REASON_UNKNOWN_FIELD,
        f"{path} is a field that this server does not know",
        violations=[Violation(path, "is not known to this server")],
    )


def mint_id(microseconds: int, random: bytes) -> str:
    """A UUIDv7 (RFC 9562): the time in milliseconds, then ten random bytes."""
    value = int.from_bytes((microseconds // 1000).to_bytes(6) + random)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def refuse_invalid(found: Iterable[Violation]) -> None:
    """Refuses a request that has wrong fields.

    Raises:
        Refusal: INVALID_FIELD, with the first of them.
    """
    wrong = [*islice(found, VIOLATIONS)]
    if wrong:
        text = "; ".join(f"{violation.field}: {violation.description}" for violation in wrong)
        raise Refusal(error_reason_pb2.ERROR_REASON_INVALID_FIELD, text, violations=wrong)


def _unknown_kind(path: str) -> Refusal:
    return Refusal(
        error_reason_pb2.ERROR_REASON_UNKNOWN_KIND,
        f"{path} has no payload of a kind that this server knows",
        violations=[Violation(path, "has no payload of a known kind")],
    )


def _check_size(event: Event, path: str) -> None:
    size = event.ByteSize()
    if size > limits.ROW_BYTES:
        raise Refusal(
            error_reason_pb2.ERROR_REASON_ROW_TOO_LARGE,
            f"{path} has {size} bytes, at most {limits.ROW_BYTES} are allowed",
            {"size": size, "limit": limits.ROW_BYTES},
            [Violation(path, f"has {size} bytes")],
        )


def _field_violations(event: Event, kind: Kind, path: str) -> Iterator[Violation]:
    given = {field.name for field, _ in event.ListFields()}
    for name in _OUTPUT_ONLY:
        if name in given:
            yield Violation(f"{path}.{name}", "is assigned by the server; leave it unset")
    if (fault := text.id_fault(event.id, limits.EVENT_ID_BYTES)) is not None:
        yield Violation(f"{path}.id", fault)
    if 0 in event.source_sequences:
        yield Violation(f"{path}.source_sequences", "has a 0; rows count from 1")
    if event.HasField("surface") and event.surface.WhichOneof("op") is None:
        yield Violation(f"{path}.surface", "has no operation; set append, replace or log_only")
    yield from shape.violations(event, f"{path}.")
    yield from payloads.violations(event, kind, path)


def _check_surface(event: Event, kind: Kind, path: str) -> None:
    """Rule 23: only a kind that surfaces may append or replace, and a checkpoint must replace."""
    op = event.surface.WhichOneof("op")
    if kind.name == "compaction_checkpoint" and op != "replace":
        wrong = "must replace a range of the surface"
    elif op in ("append", "replace") and not kind.surfaces:
        wrong = f"may not {op} on the surface; leave surface unset"
    else:
        return
    raise Refusal(
        error_reason_pb2.ERROR_REASON_BAD_SURFACE_OP,
        f"{path}: a {kind.name} {wrong}",
        violations=[Violation(f"{path}.surface", wrong)],
    )


def _complete(event: Event, kind: Kind) -> None:
    """Writes what a stored row says of itself: its surface operation, its fallback, a marker's default."""
    if not event.HasField("surface"):
        if kind.surfaces:
            event.surface.append.CopyFrom(AppendOp())
        else:
            event.surface.log_only.CopyFrom(LogOnlyOp())
    if kind.name == "section_marker" and not event.section_marker.HasField("collapse_earlier"):
        event.section_marker.collapse_earlier = True
    event.fallback = fallback(event, kind)


def server_row(event: Event) -> Event:
    """A row that the server writes by itself, completed as intake completes any other."""
    kind = kind_of(event)
    if kind is None:
        raise ValueError("the server writes rows of known kinds alone")
    _complete(event, kind)
    return event
