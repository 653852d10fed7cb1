"""The surface as an importer folds it."""

from __future__ import annotations

from transcript.v1.event_pb2 import (
    AppendOp,
    CompactionCheckpoint,
    ContextReset,
    Event,
    LogOnlyOp,
    ReplaceOp,
    Rewind,
    Status,
    Surface,
    ToolResult,
    UserMessage,
)
from transcript_importers.surface import fold, surfaces

SAID = Surface(append=AppendOp())
ASIDE = Surface(log_only=LogOnlyOp())


def stored(*events: Event) -> list[Event]:
    """Rows as a server stores them: numbered, each saying what it does to the surface."""
    for sequence, event in enumerate(events, 1):
        event.sequence = sequence
    return list(events)


def said() -> Event:
    return Event(user_message=UserMessage(text="Go."), surface=SAID)


def test_which_kinds_stand_on_the_surface_is_read_off_the_contract() -> None:
    """No list of kinds here."""
    events = (said(), Event(tool_result=ToolResult()), Event(status=Status()), Event())

    assert [surfaces(event) for event in events] == [True, True, False, False]


def test_a_journal_folds_to_what_the_model_is_sent() -> None:
    """Appends, replacements in the surface's own order, resets and rewinds, by anybody."""
    checkpoint = Event(
        compaction_checkpoint=CompactionCheckpoint(text="…"),
        surface=Surface(replace=ReplaceOp(start_sequence=1, end_sequence=3)),
    )
    rows = stored(said(), Event(status=Status(text="…"), surface=ASIDE), said(), said(), checkpoint, said())
    again = Event(
        compaction_checkpoint=CompactionCheckpoint(text="…"),
        surface=Surface(replace=ReplaceOp(start_sequence=5, end_sequence=4)),
    )

    assert fold(rows) == [5, 4, 6]
    assert fold(stored(*rows, again)) == [7, 6]
    assert fold(stored(*rows, Event(rewind=Rewind(after_sequence=5), surface=ASIDE))) == [5]
    assert fold(stored(*rows, Event(rewind=Rewind(), surface=ASIDE), said())) == [8]
    assert fold(stored(*rows, Event(context_reset=ContextReset(), surface=ASIDE), said())) == [8]
