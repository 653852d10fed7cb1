"""A log line for each marker, note and reset, with what became of it: they change how a session reads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence

from transcript_server.journal.journal import Appended
from transcript_server.journal.lane import LaneClosed
from transcript_server.rules.errors import Refusal
from transcript_server.rules.intake import Draft
from transcript_server.services.calls import Call

_log = logging.getLogger("transcript.audit")


async def audited(
    call: Call, session_id: str, drafts: Sequence[Draft], appending: Coroutine[None, None, Appended]
) -> Appended:
    """Carries out an append, and logs its rows of held kinds when it is over, whichever RPC brought them.

    A caller that leaves before the answer changes nothing of what the log says: the append is waited for.
    """
    if not any(draft.kind.held for draft in drafts):
        return await appending
    task = asyncio.ensure_future(appending)
    task.add_done_callback(lambda done: _tell(call, session_id, drafts, done))
    return await asyncio.shield(task)


def _tell(call: Call, session_id: str, drafts: Sequence[Draft], done: asyncio.Future[Appended]) -> None:
    error = asyncio.CancelledError() if done.cancelled() else done.exception()
    for index, draft in enumerate(drafts):
        if not draft.kind.held:
            continue
        if error is None:
            sequence = done.result().sequences[index]
            outcome = f"row {sequence}" if sequence else "held"
        else:
            outcome = "refused" if isinstance(error, Refusal | LaneClosed) else "failed"
        line = {"request_id": call.request_id, "session_id": session_id, "kind": draft.kind.name}
        _log.info("audit", extra={"call": {**line, "event_id": draft.event.id, "outcome": outcome}})
