"""A log line for each marker, note and reset, with what became of it: they change how a session reads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from transcript_server.rules.errors import Refusal
from transcript_server.rules.intake import Draft
from transcript_server.services.calls import Call

_log = logging.getLogger("transcript.audit")


@contextmanager
def audited(call: Call, session_id: str, drafts: Sequence[Draft]) -> Iterator[Callable[[Sequence[int]], None]]:
    """Logs the rows of held kinds in an append, whichever RPC brought them, when it is over.

    What is yielded is told the rows' sequences. Untold, they were refused; or, if the caller left before the
    answer, nobody knows here whether they landed.
    """
    told: list[int] = []
    otherwise = "unknown"
    try:
        yield told.extend
    except Refusal:
        otherwise = "refused"
        raise
    finally:
        for index, draft in enumerate(drafts):
            if draft.kind.held:
                outcome = (f"row {told[index]}" if told[index] else "held") if told else otherwise
                line = {"request_id": call.request_id, "session_id": session_id, "kind": draft.kind.name}
                _log.info("audit", extra={"call": {**line, "event_id": draft.event.id, "outcome": outcome}})
