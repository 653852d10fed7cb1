"""Rule 9: what is held while a declared turn runs, and where it lands."""

from __future__ import annotations

import pytest
from semantics.rows import begin, call, end, marker, note, nudge, replacing, reply, reset, user

from transcript.v1.event_pb2 import Event
from transcript_server.rules.facts import KINDS
from transcript_server.rules.limits import HELD_ROWS
from transcript_server.rules.turns import Flag

from .journals import Journal, of
from .specimens import SPECIMENS


@pytest.mark.parametrize("name", SPECIMENS)
def test_rule_9_the_fact_held_and_nothing_else_decides(name: str) -> None:
    """Every kind, asked for in a running declared turn."""
    journal = of(begin(), user())
    planned = journal.append(SPECIMENS[name])

    assert bool(planned.held) == KINDS[name].held
    assert (name in journal.kinds[2:]) != KINDS[name].held


def test_rule_9_held_rows_land_in_order_of_asking_right_after_the_end() -> None:
    """Whatever their kinds, and however many appends asked for them."""
    journal = of(begin(), marker("a"), reply(), note("b"))
    journal.append(reset(), marker("c"))
    journal.append(end())

    assert journal.kinds[-5:] == ["turn_ended", "section_marker", "note", "context_reset", "section_marker"]
    assert [row.event.section_marker.label for row in journal.landed if row.kind.name == "section_marker"] == ["a", "c"]
    assert journal.held == []


def test_rule_9_held_rows_land_before_the_row_that_interrupted() -> None:
    """They belong to the turn that was ended, in the same append."""
    journal = of(begin(), marker("a"))
    planned = journal.append(user(), begin(), reply())

    assert journal.kinds[1:] == ["turn_ended", "section_marker", "user_message", "turn_started", "assistant_message"]
    assert journal.ordinals == [1, 1, 1, 2, 2, 2]
    assert [landing.origin for landing in planned.landings] == [None, None, 0, 1, 2]


def test_rule_9_a_row_held_and_let_go_by_one_append_keeps_its_place_in_it() -> None:
    """A batch of a marker and the turn's end."""
    journal = of(begin())
    planned = journal.append(marker("a"), end(), marker("b"))

    assert [(landing.kind.name, landing.origin) for landing in planned.landings] == [
        ("turn_ended", 1),
        ("section_marker", 0),
        ("section_marker", 2),
    ]
    assert [landing.sequence for landing in planned.landings] == [2, 3, 4]


def test_rule_9_a_row_is_held_from_the_turn_started_of_its_own_append_on() -> None:
    """Before it there is no running turn."""
    journal = Journal()
    planned = journal.append(marker("before"), begin(), marker("after"))

    assert journal.kinds == ["section_marker", "turn_started"]
    assert [index for _, index in planned.held] == [2]


def test_rule_9_in_a_turn_that_nobody_declared_nothing_is_held() -> None:
    """A user message alone opens a turn that does not run."""
    journal = of(user(), call(), marker())

    assert journal.kinds[-1] == "section_marker"
    assert journal.held == []


def test_rule_9_a_replacement_is_never_held() -> None:
    """A note that stands in for another on the surface lands at once."""
    journal = of(note(), begin(), note("shorter", surface=replacing(1, 1)))

    assert journal.kinds == ["note", "turn_started", "note"]
    assert journal.held == []


def test_rule_9_as_recorded_rows_are_not_held() -> None:
    """They state what happened; what others asked for stays held until the end that they bring."""
    journal = of(begin(), marker("asked"))
    journal.append(marker("stated"), as_recorded=True)
    assert [event.section_marker.label for event in journal.held] == ["asked"]

    journal.append(end(), nudge(), as_recorded=True)
    assert journal.kinds == ["turn_started", "section_marker", "turn_ended", "section_marker", "user_message"]
    assert journal.with_flag(Flag.STATED) == [5]


def test_rule_9_as_recorded_rows_interrupt_like_any_other() -> None:
    """Nothing else differs for them."""
    journal = of(begin(), marker("asked"))
    journal.append(user(), begin(), as_recorded=True)

    assert journal.kinds == ["turn_started", "turn_ended", "section_marker", "user_message", "turn_started"]


def test_rule_9_ten_rows_are_held_and_an_eleventh_overfills() -> None:
    """Counted over all appends of the turn."""
    journal = of(begin())
    for _ in range(HELD_ROWS):
        assert not journal.append(marker()).overfull

    assert journal.append(note()).overfull


def test_rule_9_an_eleventh_in_one_append_overfills() -> None:
    """The whole batch is refused for it, whatever comes after."""
    assert not of(begin()).append(*[marker()] * HELD_ROWS).overfull
    assert of(begin()).append(*[marker()] * (HELD_ROWS + 1)).overfull
    assert of(begin()).append(*[marker()] * (HELD_ROWS + 1), end()).overfull


def test_rule_9_an_end_in_the_same_append_makes_room() -> None:
    """The limit is for one turn."""
    many = [marker()] * HELD_ROWS
    assert not of(begin()).append(*many, end(), begin(), *many).overfull


def test_rule_9_a_turn_past_its_deadline_lets_its_rows_go_first() -> None:
    """And what comes then is held by nothing."""
    journal = of(begin(), marker("held"))
    journal.append(marker("late"), expired=True)

    assert [row.event.section_marker.label for row in journal.landed[2:]] == ["held", "late"]


def test_rule_8_a_turn_ended_without_a_running_turn_lets_nothing_go() -> None:
    """Where no turn runs nothing is held either; what a plan is given as held stays."""
    journal = Journal(held=[marker()])
    journal.append(end())

    assert (journal.kinds, len(journal.held)) == (["turn_ended"], 1)


def test_rule_9_what_is_held_does_not_count_as_a_row_of_the_turn() -> None:
    """A note held between the prompt and a TurnStarted's agent row changes nothing for what steers."""
    journal = of(begin(), call(), note(), user(), end())

    assert journal.with_flag(Flag.PROMPT) == []
    assert Event.WhichOneof(journal.landed[-1].event, "payload") == "note"
