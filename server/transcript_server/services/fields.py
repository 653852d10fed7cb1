"""Checks of single request fields that several RPCs share, and how they are named in errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from transcript_server.rules import limits, text
from transcript_server.rules.errors import Refusal, Violation, invalid_field


def check_session_id(session_id: str, field: str = "session_id") -> None:
    """Refuses what cannot be a session's id.

    Raises:
        Refusal: INVALID_FIELD.
    """
    if (wrong := text.session_id_fault(session_id, limits.SESSION_ID_BYTES)) is not None:
        raise invalid_field(field, wrong)


@contextmanager
def named(names: Mapping[str, str]) -> Iterator[None]:
    """Has errors inside name fields as the request does, where a row was made of it: `{row's field: request's}`."""
    try:
        yield
    except Refusal as refusal:
        message = refusal.message
        violations = []
        for violation in refusal.violations:
            name = names.get(violation.field, violation.field)
            message = message.replace(violation.field, name)
            violations.append(Violation(name, violation.description))
        raise Refusal(refusal.reason, message, refusal.metadata, violations) from None
