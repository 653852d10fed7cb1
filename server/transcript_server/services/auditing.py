"""What the log says of rows that change how a session reads: each marker, note and reset, with what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transcript_server.rules.intake import Draft
from transcript_server.services.calls import Call


def audit(call: Call, session_id: str, drafts: Sequence[Draft]) -> Callable[[Sequence[int]], None]:
    """Has the call's log line name an append's rows of held kinds, whichever RPC brought them.

    Returns:
        Told the sequences, it says where they landed, or that they are held; until then they are refused.
    """
    asked = [(index, draft) for index, draft in enumerate(drafts) if draft.kind.held]

    def tell(sequences: Sequence[int] | None) -> None:
        if not asked:
            return
        rows = []
        for index, draft in asked:
            outcome = "refused" if sequences is None else f"row {sequences[index]}" if sequences[index] else "held"
            rows.append({"kind": draft.kind.name, "event_id": draft.event.id, "outcome": outcome})
        call.facts.update(session_id=session_id, audited=rows)

    tell(None)
    return tell
