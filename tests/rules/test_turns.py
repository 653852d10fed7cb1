"""Rules 7 and 8: which turn a row belongs to, and what ends a turn that runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semantics.rows import (
    LOG_ONLY,
    begin,
    call,
    checkpoint,
    end,
    marker,
    note,
    nudge,
    replacing,
    reply,
    reset,
    result,
    status,
    steering,
    user,
)
from semantics.world import examples

from transcript.v1.event_pb2 import Event, SubagentCompleted, Thinking, TurnEnded, UserMessage
from transcript_server.rules.turns import Flag, Turns, interruption, known_kind, plan

from .journals import Journal, of

HUMAN, AUTOMATION = UserMessage.ORIGIN_HUMAN, UserMessage.ORIGIN_AUTOMATION


def replacement(of_row: int = 1) -> Event:
    """A user message that stands in for a row on the surface."""
    return user("shorter", surface=replacing(of_row, of_row))


def test_rule_7_before_the_first_turn_the_ordinal_is_0() -> None:
    """Rows that no turn has begun for belong to none."""
    assert of(status(), reply(), marker()).ordinals == [0, 0, 0]


def test_rule_7_a_user_message_starts_a_turn() -> None:
    """Each one that does not steer, outside a declared turn."""
    journal = of(user(), reply(), user(), reply())

    assert journal.ordinals == [1, 1, 2, 2]
    assert journal.with_flag(Flag.OPENS) == [1, 3]
    assert journal.with_flag(Flag.PROMPT) == [1, 3]


def test_rule_7_a_log_only_user_message_starts_a_turn_too() -> None:
    """What a row does to the surface does not matter, unless it replaces."""
    assert of(user(), user(surface=LOG_ONLY)).ordinals == [1, 2]


def test_rule_7_a_row_between_turns_has_the_ordinal_of_the_turn_before() -> None:
    """A marker after the turn's end, and whatever else comes before the next prompt."""
    journal = of(begin(), user(), end(), marker(), status(), reply(), user())

    assert journal.ordinals == [1, 1, 1, 1, 1, 1, 2]


def test_rule_7_inside_a_declared_turn_no_user_message_starts_another() -> None:
    """Whatever its origin."""
    journal = of(begin(), user(), reply(), nudge(), user(origin=HUMAN), user(origin=AUTOMATION), steering(), user())

    assert set(journal.ordinals) == {1}
    assert journal.with_flag(Flag.OPENS) == [1]


@pytest.mark.parametrize("tool_row", [call(), result()], ids=["call", "result"])
def test_rule_7_an_unspecified_message_after_a_tools_row_steers(tool_row: Event) -> None:
    """A person typed while the agent worked."""
    assert of(user(), tool_row, user()).ordinals == [1, 1, 1]


@pytest.mark.parametrize("origin", [HUMAN, UserMessage.ORIGIN_NUDGE, AUTOMATION])
def test_rule_7_a_message_of_another_origin_after_a_tools_row_starts_a_turn(origin: int) -> None:
    """Only an unspecified origin is guessed at."""
    assert of(user(), call(), user(origin=origin)).ordinals == [1, 1, 2]


@pytest.mark.parametrize("between", [reply(), Event(thinking=Thinking(text="so"))], ids=["reply", "thinking"])
def test_rule_7_an_agent_row_after_the_tools_makes_the_next_message_a_prompt(between: Event) -> None:
    """The last row of a prompting or agent kind decides, and that is no tool's any more."""
    assert of(user(), call(), between, user()).ordinals == [1, 1, 1, 2]


@pytest.mark.parametrize(
    "between",
    [status(), marker(), note(), Event(subagent_completed=SubagentCompleted(text="done"))],
    ids=["status", "marker", "note", "subagent"],
)
def test_rule_7_rows_of_other_kinds_do_not_stand_between_a_tools_row_and_what_steers(between: Event) -> None:
    """They are neither prompts nor the agent's."""
    assert of(user(), call(), between, user()).ordinals == [1, 1, 1, 1]


def test_rule_7_after_a_message_that_steered_the_next_one_starts_a_turn() -> None:
    """The last prompting row is the message itself."""
    assert of(user(), call(), user(), user()).ordinals == [1, 1, 1, 2]


def test_rule_7_after_a_turns_end_a_tools_row_before_it_makes_nothing_steer() -> None:
    """Only rows since the last TurnEnded count."""
    assert of(begin(), user(), call(), end(), user()).ordinals == [1, 1, 1, 1, 2]


def test_rule_7_a_tools_row_after_a_turns_end_makes_the_next_message_steer() -> None:
    """By the words of the rule: its origin is unspecified, and a tool's row came last since the TurnEnded."""
    assert of(begin(), user(), end(), result(), user()).ordinals == [1, 1, 1, 1, 1]


def test_rule_7_a_steering_message_steers_until_the_turn_has_ended() -> None:
    """It starts no turn while the latest one has not ended, declared or not."""
    assert of(user(), reply(), steering(), steering()).ordinals == [1, 1, 1, 1]
    assert of(begin(), steering(), end(), steering()).ordinals == [1, 1, 1, 2]
    assert of(begin(), end(), user(), reply(), steering()).ordinals == [1, 1, 2, 2, 2]


def test_rule_7_without_a_turn_nothing_steers() -> None:
    """The first message starts the first turn, also one that calls itself steering or follows a tool's row."""
    assert of(steering()).with_flag(Flag.OPENS) == [1]
    assert of(call(), user()).ordinals == [0, 1]


def test_rule_7_a_turn_ended_without_a_running_turn_ends_the_latest() -> None:
    """So that a steering message after it is a prompt."""
    assert of(user(), reply(), end(), steering()).ordinals == [1, 1, 1, 2]


def test_rule_7_a_turn_started_after_the_prompt_declares_the_turn_that_it_opened() -> None:
    """The runner says so a little later than the person."""
    journal = of(user(), begin(), reply(), user())

    assert journal.ordinals == [1, 1, 1, 1]
    assert journal.with_flag(Flag.DECLARES) == [2]
    assert journal.with_flag(Flag.OPENS) == [1]


@pytest.mark.parametrize(
    "between", [status(), marker(), note(), steering(), reset()], ids=["status", "marker", "note", "steering", "reset"]
)
def test_rule_7_a_turn_started_declares_past_rows_that_are_not_the_agents(between: Event) -> None:
    """No agent row, TurnStarted or TurnEnded came since: nothing else counts."""
    assert of(user(), between, begin()).ordinals == [1, 1, 1]


@pytest.mark.parametrize("between", [reply(), call(), end()], ids=["reply", "call", "end"])
def test_rule_7_a_turn_started_after_the_agent_or_an_end_opens_a_turn(between: Event) -> None:
    """The turn before was under way, or over."""
    assert of(user(), between, begin()).ordinals == [1, 1, 2]


def test_rule_7_a_second_turn_started_opens_a_turn() -> None:
    """The first has declared the prompt's turn already."""
    journal = of(user(), begin(), begin())

    assert journal.kinds == ["user_message", "turn_started", "turn_ended", "turn_started"]
    assert journal.ordinals == [1, 1, 1, 2]


def test_rule_7_a_turn_that_a_turn_started_opened_is_not_declared_twice() -> None:
    """No user message opened it: the next TurnStarted opens another."""
    assert of(begin(), end(), begin()).ordinals == [1, 1, 2]


def test_rule_7_replacements_are_not_seen() -> None:
    """A replaced prompt starts nothing, and a replaced reply neither ends steering nor forbids a declaration."""
    assert of(user(), replacement()).ordinals == [1, 1]
    assert of(user(), call(), reply(surface=replacing(1, 1)), user()).ordinals == [1, 1, 1, 1]
    assert of(user(), reply(surface=replacing(1, 1)), begin()).ordinals == [1, 1, 1]
    assert of(user(), replacement(), begin()).ordinals == [1, 1, 1]
    assert of(user(), call(surface=replacing(1, 1)), user()).ordinals == [1, 1, 2]


def test_rule_7_a_message_steers_inside_a_declared_turn_too() -> None:
    """It is not the turn's prompt, though none came before it."""
    journal = of(begin(), call(), user(), reply(), user(), user())

    assert journal.with_flag(Flag.PROMPT) == [5]


def test_rule_25_the_prompt_is_the_turns_first_message_that_does_not_steer() -> None:
    """In a turn that a TurnStarted opened it comes after it; a steering one before it is passed over."""
    journal = of(begin(), steering(), user("the prompt"), user("another"))

    assert journal.with_flag(Flag.PROMPT) == [3]


def test_rule_10_a_prompt_that_is_not_steering_by_origin_retires() -> None:
    """Also one that steers by where it stands."""
    assert of(user(), call(), user(), steering(), nudge()).with_flag(Flag.RETIRES) == [1, 3, 5]
    assert of(user(), steering()).with_flag(Flag.PROMPTS) == [1, 2]


def test_rule_10_what_is_stated_as_recorded_is_marked_on_prompts_alone() -> None:
    """Their own time moves last_prompt_at."""
    journal = Journal()
    journal.append(user(), reply(), as_recorded=True)
    journal.append(user())

    assert journal.with_flag(Flag.STATED) == [1]


@pytest.mark.parametrize("kind_of_replacement", [user, reply, note, call, result])
def test_rule_23_a_replacement_is_no_part_of_any_view(kind_of_replacement) -> None:
    """It is silent: no message, no prompt, no row of the human transcript."""
    journal = of(user(), kind_of_replacement(surface=replacing(1, 1)))

    assert journal.landed[1].flags == Flag(0)


def test_rule_23_a_checkpoint_is_kept_and_seen_though_it_replaces() -> None:
    """Recognised by its kind; it is no message."""
    assert of(user(), checkpoint(1, 1)).landed[1].flags == Flag.HUMAN | Flag.KEPT


def test_rule_8_the_next_turn_started_ends_a_running_turn_as_interrupted() -> None:
    """The server's row comes before it."""
    journal = of(begin(), user(), reply())
    planned = journal.append(begin())

    assert journal.kinds[3:] == ["turn_ended", "turn_started"]
    assert journal.ordinals == [1, 1, 1, 1, 2]
    assert planned.landings[0].event.turn_ended.outcome == TurnEnded.OUTCOME_INTERRUPTED
    assert [landing.origin for landing in planned.landings] == [None, 0]


def test_rule_8_a_message_with_its_turn_started_ends_a_running_turn_and_is_the_next_ones_prompt() -> None:
    """A runner appends the two together."""
    journal = of(begin(), user(), reply())
    journal.append(user("next"), begin(), reply())

    assert journal.kinds[3:] == ["turn_ended", "user_message", "turn_started", "assistant_message"]
    assert journal.ordinals[3:] == [1, 2, 2, 2]
    assert journal.turns.running


def test_rule_8_a_message_after_its_turn_started_belongs_to_the_new_turn() -> None:
    """Or the TurnStarted comes first."""
    journal = of(begin(), user())
    journal.append(begin(), user("next"))

    assert journal.kinds[2:] == ["turn_ended", "turn_started", "user_message"]
    assert journal.ordinals == [1, 1, 1, 2, 2]


def test_rule_8_a_steering_message_does_not_end_the_turn_though_a_turn_started_follows() -> None:
    """It belongs to what was running; the TurnStarted ends that by itself."""
    journal = of(begin(), user())
    journal.append(steering(), begin())

    assert journal.kinds[2:] == ["user_message", "turn_ended", "turn_started"]
    assert journal.ordinals == [1, 1, 1, 1, 2]


def test_rule_8_a_replacement_does_not_end_the_turn_though_a_turn_started_follows() -> None:
    """It is for the model alone."""
    journal = of(begin(), user())
    journal.append(replacement(2), begin())

    assert journal.kinds[2:] == ["user_message", "turn_ended", "turn_started"]


@pytest.mark.parametrize("between", [status(), reply(), marker()], ids=["status", "reply", "marker"])
def test_rule_8_only_a_turn_started_that_follows_directly_makes_a_message_interrupt(between: Event) -> None:
    """Whatever stands between parts the two."""
    journal = of(begin(), user())
    journal.append(user("of the running turn"), between, begin())

    assert journal.landed[2].turn == 1
    assert journal.landed[-1].turn == 2


def test_rule_8_a_message_in_an_append_of_its_own_never_interrupts() -> None:
    """A TurnStarted of a later append says nothing of it."""
    journal = of(begin(), user(), user("more"), begin())

    assert journal.ordinals == [1, 1, 1, 1, 2]
    assert journal.kinds[3] == "turn_ended"


def test_rule_8_of_two_messages_before_a_turn_started_only_the_second_interrupts() -> None:
    """The first still belongs to the running turn."""
    journal = of(begin(), user())
    journal.append(user("one"), user("two"), begin())

    assert journal.kinds[2:] == ["user_message", "turn_ended", "user_message", "turn_started"]
    assert journal.ordinals[2:] == [1, 1, 2, 2]


def test_rule_8_a_turn_past_its_deadline_is_ended_before_what_is_written() -> None:
    """The writer who comes after the deadline interrupts first."""
    journal = of(begin(), user())
    journal.append(user("much later"), expired=True)

    assert journal.kinds[2:] == ["turn_ended", "user_message"]
    assert journal.ordinals == [1, 1, 1, 2]
    assert not journal.turns.running


def test_rule_8_a_turn_past_its_deadline_is_ended_though_nothing_is_written() -> None:
    """By a reader, or by the sweep."""
    journal = of(begin(), user())
    journal.append(expired=True)

    assert journal.kinds[2:] == ["turn_ended"]


def test_rule_8_a_turn_ended_without_a_running_turn_is_accepted() -> None:
    """It writes nothing but itself."""
    assert of(end()).kinds == ["turn_ended"]
    assert of(user(), end(), end()).kinds == ["user_message", "turn_ended", "turn_ended"]


def test_rule_8_a_turn_ended_that_is_sent_ends_the_running_turn_with_its_own_outcome() -> None:
    """Then the server adds none."""
    journal = of(begin(), user())
    journal.append(end(TurnEnded.OUTCOME_FAILED), begin())

    assert journal.kinds[2:] == ["turn_ended", "turn_started"]
    assert journal.landed[2].event.turn_ended.outcome == TurnEnded.OUTCOME_FAILED


def test_the_state_that_a_plan_starts_from_is_left_as_it_was() -> None:
    """A refused append must not have moved it."""
    turns = Turns(turn=3, start=7, running=True)
    plan(turns, 9, [(0, end()), (1, user())], write_turn_ended=interruption)

    assert turns == Turns(turn=3, start=7, running=True)


def test_a_row_without_a_known_kind_is_never_planned() -> None:
    """Intake refuses it; if it ever got past, nothing may be guessed."""
    with pytest.raises(ValueError, match="known kind"):
        known_kind(Event())


ROWS = st.sampled_from(
    [
        user(),
        user(origin=HUMAN),
        steering(),
        nudge(),
        reply(),
        call(),
        result(),
        begin(),
        end(),
        marker(),
        note(),
        reset(),
        status(),
        replacement(),
        checkpoint(1, 1),
    ]
)
APPENDS = st.lists(st.tuples(st.lists(ROWS, max_size=4), st.booleans(), st.booleans()), max_size=12)


@examples(60)
@given(APPENDS)
def test_rules_7_to_9_hold_over_any_appends(appends: list[tuple[list[Event], bool, bool]]) -> None:
    """Nothing is lost or doubled, ordinals only rise where a turn opens, and no held kind lands in a running turn."""
    journal = Journal()
    for events, expire, as_recorded in appends:
        held_before = journal.held
        was_running = journal.turns.running
        planned = journal.append(*events, expired=expire and was_running, as_recorded=as_recorded)

        own = [landing for landing in planned.landings if landing.origin is not None]
        held_now = [index for _, index in planned.held if index is not None]
        assert sorted([landing.origin for landing in own] + held_now) == [*range(len(events))]
        written = [landing for landing in planned.landings if landing.origin is None]
        let_go = [landing.event for landing in written if any(landing.event is event for event in held_before)]
        kept_back = [event for event, index in planned.held if index is None]
        assert let_go + kept_back == held_before
        assert all(landing.event == interruption() for landing in written if landing.event not in let_go)

    assert [landing.sequence for landing in journal.landed] == [*range(1, len(journal.landed) + 1)]
    ordinal, running = 0, False
    for landing in journal.landed:
        assert landing.turn == ordinal + (Flag.OPENS in landing.flags)
        ordinal = landing.turn
        if landing.kind.name == "turn_ended":
            running = False
        elif landing.kind.name == "turn_started":
            assert not running, "a TurnStarted interrupts what runs"
            running = True
    assert (journal.turns.turn, journal.turns.running) == (ordinal, running)
    assert journal.turns.start == max(journal.with_flag(Flag.OPENS), default=0)


@examples(60)
@given(st.lists(ROWS, max_size=12))
def test_rule_14_markers_never_change_which_turn_another_row_belongs_to(rows: list[Event]) -> None:
    """The same rows without the markers among them have the same ordinals, appended one by one."""
    with_markers = of(*[event for row in rows for event in (marker(), row)])
    without = of(*[row for row in rows if not row.HasField("section_marker")])

    def others(journal: Journal) -> list[tuple[str, int, Flag]]:
        return [
            (landing.kind.name, landing.turn, landing.flags)
            for landing in journal.landed
            if landing.kind.name != "section_marker"
        ]

    assert others(with_markers) == others(without)
