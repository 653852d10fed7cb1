"""Microcompaction: a boundary row names calls whose results the model sees no more.

People still have the results whole. For the model each is replaced, where it stands, by what the agent program sends in
its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import Event, Status, ToolResult
from transcript_importers.claude_code.entry import Draft, foreign
from transcript_importers.claude_code.fields import array, mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript_importers.claude_code.entry import Entry
    from transcript_importers.surface import LiveSurface

_CLEARED = "[Old tool result content cleared]"
"""What the agent program sends in place of an output. The log does not repeat it."""


def cleared(entry: Entry, surface: LiveSurface) -> Iterator[Draft]:
    """A boundary row.

    What a person reads of it is its line. The record is kept for what no kind says: the tokens, and why it was done.
    """
    yield foreign(entry)
    if told := string(entry.value, "content"):
        yield Draft("told", Event(status=Status(text=told)))
    for at, call_id in enumerate(array(mapping(entry.value, "microcompactMetadata"), "compactedToolIds")):
        # A result that was compacted away, or cleared before, is not there to be cleared.
        result = surface.result_of(call_id) if isinstance(call_id, str) else None
        if result:
            shorter = ToolResult(call_id=call_id, text=_CLEARED, is_error=result.is_error)
            yield Draft(f"cleared.{at}", Event(tool_result=shorter), (result.id, result.id))
