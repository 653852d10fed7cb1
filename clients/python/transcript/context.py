"""The part of the client that deals with what the model is, or was, sent: ContextService."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc

from transcript.status import by_code
from transcript.v1.context_service_pb2 import ContextScope, ReadContextRequest

if TYPE_CHECKING:
    from transcript.calls import Calls
    from transcript.v1.context_service_pb2 import ReadContextResponse
    from transcript.v1.event_pb2 import Event


@dataclass(frozen=True, slots=True)
class Context:
    """The model's surface, now or as of a row."""

    events: list[Event]
    """Its rows, whole, in the order in which the model sees them; after a replacement that is not the
    order of their sequences."""
    latest_sequence: int
    """The row as of which it was read."""
    journal_id: str
    """Which journal of the session; see Session.journal_id."""


class Contexts:
    """Reads the model's side of a session."""

    _calls: Calls

    async def read_context(
        self,
        session_id: str,
        *,
        scope: ContextScope.ValueType = ContextScope.CONTEXT_SCOPE_SURFACE,
        exclude_running_prompt: bool = False,
        as_of_sequence: int = 0,
    ) -> Context:
        """Read what the model is sent next, or was sent as of a row. All of it is of one moment.

        Args:
            session_id: The session.
            scope: All of the surface, or what a fresh conversation is told of an old one.
            exclude_running_prompt: Leave out the latest turn's prompt, unless that turn has ended: for a
                caller who sends it itself.
            as_of_sequence: As the surface was once this row had landed; now if 0.

        Raises:
            SequenceAhead: The journal does not reach that far.
        """
        request = ReadContextRequest(
            session_id=session_id,
            scope=scope,
            exclude_running_prompt=exclude_running_prompt,
            as_of_sequence=as_of_sequence,
        )
        head: ReadContextResponse | None = None
        events: list[Event] = []
        async for part in self._calls.stream(self._calls.context.ReadContext, request, silence=self._calls.timeout):
            head = head or part
            events.extend(part.events)
        if head is None:
            raise by_code(grpc.StatusCode.INTERNAL, f"the context has no head (server {self._calls.target})")
        return Context(events, head.latest_sequence, head.journal_id)
