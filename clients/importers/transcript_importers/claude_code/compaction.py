"""Compaction: a boundary row, then the summary as a row in the user's name, make one bracket.

The summary is kept as provenance, and the checkpoint with the same text takes the place of what the model was sent
before. Newer logs name rows that stay after the summary (`preservedSegment`, `preservedMessages`); those stay on the
surface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import (
    CompactionCheckpoint,
    CompactionEnded,
    CompactionStarted,
    CompactionSummary,
    Event,
)
from transcript_importers.claude_code.entry import Draft, text_of
from transcript_importers.claude_code.fields import array, count, mapping, string

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript_importers.claude_code.entry import Entry
    from transcript_importers.surface import LiveSurface

_TRIGGERS = {"auto": CompactionStarted.TRIGGER_AUTO, "manual": CompactionStarted.TRIGGER_MANUAL}


class Compactions:
    """The compactions of one session."""

    def __init__(self, surface: LiveSurface) -> None:
        self._surface = surface
        self._open: Entry | None = None
        self._open_id = ""

    def began(self, entry: Entry, stem: str) -> Iterator[Draft]:
        """A boundary row."""
        if self._open is not None:
            yield Draft("unfinished", Event(compaction_ended=CompactionEnded(compaction_id=self._open_id)))
        self._open, self._open_id = entry, stem
        named = string(mapping(entry.value, "compactMetadata"), "trigger")
        trigger = _TRIGGERS.get(named, CompactionStarted.TRIGGER_UNSPECIFIED)
        yield Draft("0", Event(compaction_started=CompactionStarted(compaction_id=stem, trigger=trigger)))

    def summarized(self, entry: Entry, stem: str) -> Iterator[Draft]:
        """The row with the summary, which ends the bracket."""
        if self._open is None:
            self._open_id = stem
            yield Draft("started", Event(compaction_started=CompactionStarted(compaction_id=stem)))
        metadata = mapping(self._open.value, "compactMetadata") if self._open else {}
        made, text = self._open_id, text_of(entry.message.get("content"))
        yield Draft("0", Event(compaction_summary=CompactionSummary(compaction_id=made, text=text)))
        taken = self._surface.all_before(_first_kept(metadata))
        if taken:
            checkpoint = CompactionCheckpoint(compaction_id=made, text=text)
            yield Draft("checkpoint", Event(compaction_checkpoint=checkpoint), taken)
        ended = CompactionEnded(
            compaction_id=made,
            landed=taken is not None,
            tokens_before=count(metadata, "preTokens"),
            tokens_after=count(metadata, "postTokens"),
        )
        yield Draft("ended", Event(compaction_ended=ended))
        self._open = None


def _first_kept(metadata: object) -> str:
    segment = string(mapping(metadata, "preservedSegment"), "headUuid")
    messages = [one for one in array(mapping(metadata, "preservedMessages"), "uuids") if isinstance(one, str)]
    return segment or (messages[0] if messages else "")
