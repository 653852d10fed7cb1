"""Tool cards: a call, its result, and how the two become one."""

from __future__ import annotations

from dataclasses import replace

from transcript.v1 import event_pb2
from transcript_terminal.outline.blocks import Outcome, ToolCard
from transcript_terminal.outline.reading import carried, place


def called(event: event_pb2.Event) -> ToolCard:
    """The card of a call that has no result yet."""
    call = event.tool_call
    return ToolCard(
        **place(event),
        call_id=call.call_id,
        name=call.name,
        arguments_json=call.arguments_json,
        elided_bytes=event.elided_bytes,
    )


def returned(event: event_pb2.Event, card: ToolCard | None = None) -> ToolCard:
    """The card with its result; of its own if the call is not known."""
    result = event.tool_result
    card = card or ToolCard(**place(event), call_id=result.call_id)
    failed = result.is_error or result.exit_code != 0
    return replace(
        card,
        outcome=Outcome.FAILED if failed else Outcome.OK,
        output=result.text,
        carried=carried(result.attachments),
        exit_code=result.exit_code if result.HasField("exit_code") else None,
        seconds=result.duration.ToNanoseconds() / 1e9 if result.HasField("duration") else None,
        elided_bytes=card.elided_bytes + event.elided_bytes,
    )
