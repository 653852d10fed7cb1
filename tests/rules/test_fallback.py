"""Rule 6's fallback: the line for readers that do not know a row's kind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from semantics.rows import ask, begin, call, end, marker, note, reply, reset, rewind, status, user

from transcript.v1.event_pb2 import (
    CompactionEnded,
    CompactionStarted,
    ErrorReport,
    Event,
    InputReceipt,
    SessionForked,
    SubagentStarted,
    SubagentTerminated,
    TurnEnded,
)
from transcript_server.rules.facts import FIRST_KINDS, KINDS, kind_of
from transcript_server.rules.fallback import fallback

from .specimens import SPECIMENS

LINES = [
    (marker("Chapter one"), "— Section: Chapter one —"),
    (marker(), "— Section —"),
    (begin(), "Turn started"),
    (end(TurnEnded.OUTCOME_UNSPECIFIED), "Turn ended"),
    (end(TurnEnded.OUTCOME_COMPLETED), "Turn completed"),
    (end(TurnEnded.OUTCOME_INTERRUPTED), "Turn interrupted"),
    (end(TurnEnded.OUTCOME_FAILED), "Turn failed"),
    (Event(error_report=ErrorReport(reason="QUOTA", message="No tokens left")), "Error: No tokens left"),
    (Event(error_report=ErrorReport(reason="QUOTA")), "Error: QUOTA"),
    (Event(error_report=ErrorReport()), "Error"),
    (status("Reading files"), "Status: Reading files"),
    (status(" "), "Status"),
    (Event(subagent_started=SubagentStarted(subagent_id="a1", name="scout")), "Background agent started: scout"),
    (Event(subagent_started=SubagentStarted(subagent_id="a1")), "Background agent started: a1"),
    (Event(subagent_terminated=SubagentTerminated(reason="lost")), "Background agent stopped: lost"),
    (Event(compaction_started=CompactionStarted()), "Compaction started"),
    (Event(compaction_ended=CompactionEnded(landed=True)), "Compaction ended"),
    (Event(compaction_ended=CompactionEnded()), "Compaction ended without effect"),
    (reset(), "Model's context emptied: start afresh"),
    (rewind(7), "Went back to row 7"),
    (Event(input_receipt=InputReceipt(event_id="e")), "Input receipt"),
    (Event(session_forked=SessionForked(session_id="s", sequence=4)), "Copied from session s up to row 4"),
]


def line(event: Event) -> str:
    """The row's fallback."""
    kind = kind_of(event)
    assert kind is not None
    return fallback(event, kind)


@pytest.mark.parametrize(("event", "expected"), LINES, ids=[expected for _, expected in LINES])
def test_rule_6_a_row_without_text_of_its_own_has_a_line(event: Event, expected: str) -> None:
    """What happened, in words, with what the row says of it."""
    assert line(event) == expected


@pytest.mark.parametrize("name", KINDS)
def test_rule_6_exactly_the_kinds_without_an_elidable_field_have_a_fallback(name: str) -> None:
    """A kind with text of its own shows that, and is spared a copy of it."""
    assert bool(line(SPECIMENS[name])) != KINDS[name].elidable


def test_every_kind_with_a_fallback_is_spelled_out_here() -> None:
    """Whoever adds one says what its line is."""
    assert {event.WhichOneof("payload") for event, _ in LINES} == {
        name for name, kind in KINDS.items() if not kind.elidable
    }


@pytest.mark.parametrize("event", [user(), reply(), call(), note(), ask()])
def test_rule_6_a_kind_newer_than_the_first_has_a_fallback_though_it_has_text(event: Event) -> None:
    """Older clients show it."""
    kind = kind_of(event)
    assert kind is not None
    newer = replace(kind, number=FIRST_KINDS.stop)

    assert fallback(event, newer) == kind.name.replace("_", " ").capitalize()


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.elidable])
def test_a_fallback_is_one_line_whatever_the_row_says(name: str) -> None:
    """A client that knows nothing of the kind prints it as it is."""
    event = Event()
    event.CopyFrom(SPECIMENS[name])
    payload = getattr(event, name)
    for field, value in payload.ListFields():
        if isinstance(value, str) and name != "section_marker":
            setattr(payload, field.name, "one\ntwo\r\n\tthree\u2028four")

    assert line(event)
    assert line(event).splitlines() == [line(event)]
