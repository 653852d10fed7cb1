"""ContextService: what the model is sent next, or was sent as of any row."""

from __future__ import annotations

from typing import Final

from transcript.v1 import context_service_pb2 as pb
from transcript_server.journal.journal import Face, Journal
from transcript_server.services.calls import Call
from transcript_server.services.fields import check_session_id
from transcript_server.services.messages import ROWS_BUDGET, stream_rows

HEAD_BYTES: Final = 64
"""More than the last row's number and the journal's id take in the first message."""


class ContextService:
    """See `context_service.proto`."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def ReadContext(self, request: pb.ReadContextRequest, call: Call) -> None:
        check_session_id(request.session_id)
        context = await self._journal.context(
            call.principal,
            request.session_id,
            Face.RECALLED if request.scope == pb.CONTEXT_SCOPE_CONVERSATION else Face.JOURNAL,
            as_of=request.as_of_sequence or None,
            exclude_running_prompt=request.exclude_running_prompt,
            budget=ROWS_BUDGET - HEAD_BYTES,
        )
        head = pb.ReadContextResponse(latest_sequence=context.latest, journal_id=context.place.journal_id)
        # `events` has the same number in the response as in the batch that the rows come in.
        await call.send(context.rows.batch + head.SerializeToString())
        async for rows in stream_rows(self._journal, call.principal, context.place, context.rows.rest):
            await call.send(rows.batch)
