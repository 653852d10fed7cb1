"""Turns, steering, interruption and the idle timeout (rules 7 and 8), and what a list of turns says."""

from __future__ import annotations

import time

import pytest

from transcript.v1.event_pb2 import Event, TurnEnded
from transcript.v1.journal_service_pb2 import PublishLiveRequest
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.transcript_service_pb2 import ListTurnsRequest

from .facts import kind
from .polling import eventually, stays
from .rows import (
    LOG_ONLY,
    ask,
    begin,
    call,
    end,
    marker,
    note,
    nudge,
    replacing,
    reply,
    respond,
    result,
    status,
    steering,
    user,
)
from .wire import TRANSCRIPT, Wire

IDLE = 0.2
INTERRUPTED = TurnEnded.OUTCOME_INTERRUPTED


async def ordinals(wire: Wire, *events: Event) -> list[int]:
    """The turn of each of these rows, in a session of their own."""
    session = await wire.create()
    for event in events:
        await wire.append(session.id, event)
    return [row.turn for row in await wire.rows(session.id)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param((status(), user(), reply(), user()), [0, 1, 1, 2], id="a prompt starts a turn"),
        pytest.param((user(), call(), user()), [1, 1, 1], id="a message after a tool call steers"),
        pytest.param((user(), call(), result(), user()), [1, 1, 1, 1], id="and after a tool result"),
        pytest.param((user(), call(), status(), marker(), user()), [1] * 5, id="whatever no agent wrote lies between"),
        pytest.param((user(), call(), reply(), user()), [1, 1, 1, 2], id="the agent's last row decides"),
        pytest.param((user(), call(), user(), user()), [1, 1, 1, 2], id="a steering message is a prompting row itself"),
        pytest.param((user(), call(), nudge()), [1, 1, 2], id="only an unspecified origin steers after a tool"),
        pytest.param((user(), call(), end(), user()), [1, 1, 1, 2], id="since the last TurnEnded"),
        pytest.param((user(), reply(), steering()), [1, 1, 1], id="an origin of STEERING steers"),
        pytest.param((user(), reply(), end(), steering()), [1, 1, 1, 2], id="unless the latest turn has ended"),
        pytest.param((steering(), reply()), [1, 1], id="and unless there is none"),
        pytest.param((user(), begin(), user(), nudge()), [1, 1, 1, 1], id="no message starts one in a declared turn"),
        pytest.param((user(), begin(), end(), status(), user()), [1, 1, 1, 1, 2], id="between turns: the turn before"),
        pytest.param((user(), steering(), begin()), [1, 1, 1], id="a TurnStarted declares a prompt's turn"),
        pytest.param((user(), status(), note(), begin()), [1] * 4, id="rows of others do not part them"),
        pytest.param((user(), reply(), begin()), [1, 1, 2], id="a row of the agent does"),
        pytest.param((user(), end(), begin()), [1, 1, 2], id="a TurnEnded does"),
        pytest.param((user(), begin(), begin()), [1, 1, 1, 2], id="another TurnStarted opens a turn"),
        pytest.param((begin(), call(), end(), begin()), [1, 1, 1, 2], id="a TurnStarted alone opens one"),
        pytest.param((user(surface=LOG_ONLY), reply(), user()), [1, 1, 2], id="a log-only prompt is a prompt"),
        pytest.param((user(), user("copy", surface=replacing(1, 1))), [1, 1], id="a replacement is not"),
        pytest.param(
            (user(), call(), reply("copy", surface=replacing(1, 1)), user()), [1] * 4, id="nor an agent's row"
        ),
        pytest.param(
            (user(), user("copy", surface=replacing(1, 1)), reply("copy", surface=replacing(2, 2)), begin()),
            [1] * 4,
            id="nor does it stand between a prompt and its TurnStarted",
        ),
    ],
)
async def test_rule_7_which_turn_a_row_belongs_to(wire: Wire, rows, expected):
    """One row at a time; an interruption's TurnEnded is there as well."""
    assert await ordinals(wire, *rows) == expected


async def test_rule_7_the_session_is_running_in_a_declared_turn_alone(wire: Wire):
    """A prompt alone declares nothing."""
    await wire.create("s")
    states = []
    for row in (user(), begin(), reply(), end(), user(), end()):
        await wire.append("s", row)
        session = await wire.session("s")
        states.append((session.running, session.latest_turn))
    assert states == [(False, 1), (True, 1), (True, 1), (False, 1), (False, 2), (False, 2)]


async def test_rule_8_the_next_turn_started_interrupts_a_running_turn(wire: Wire):
    """The server's TurnEnded stands before it, and lets held rows go."""
    await wire.create("s")
    await wire.append("s", user(), begin(), marker("held"))
    answer = await wire.append("s", begin())
    assert (answer.sequences, answer.latest_sequence) == ([5], 5)
    rows = await wire.rows("s")
    assert [kind(row) for row in rows[2:]] == ["turn_ended", "section_marker", "turn_started"]
    assert rows[2].turn_ended.outcome == INTERRUPTED
    assert [row.turn for row in rows] == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("prompt", [user(), nudge()])
async def test_rule_8_a_prompt_directly_followed_by_a_turn_started_is_the_new_turns(wire: Wire, prompt):
    """Appended together they begin a turn, even where the prompt alone would steer."""
    await wire.create("s")
    await wire.append("s", user(), begin(), call())
    await wire.append("s", prompt, begin())
    rows = await wire.rows("s")
    assert [kind(row) for row in rows[3:]] == ["turn_ended", "user_message", "turn_started"]
    assert [row.turn for row in rows[3:]] == [1, 2, 2]


async def test_rule_8_a_prompt_that_something_parts_from_the_turn_started_stays(wire: Wire):
    """So does a STEERING one, and a replacement."""
    await wire.create("s")
    await wire.append("s", user(), begin())
    await wire.append("s", user(), status(), begin())
    await wire.append("s", steering(), begin())
    await wire.append("s", user("copy", surface=replacing(1, 1)), begin())
    rows = await wire.rows("s")
    assert [(kind(row), row.turn) for row in rows[2:]] == [
        ("user_message", 1),
        ("status", 1),
        ("turn_ended", 1),
        ("turn_started", 2),
        ("user_message", 2),
        ("turn_ended", 2),
        ("turn_started", 3),
        ("user_message", 3),
        ("turn_ended", 3),
        ("turn_started", 4),
    ]


async def test_rule_8_a_turn_ended_without_a_running_turn_is_accepted_and_lets_nothing_go(wire: Wire):
    """For the next message it ends the latest turn all the same."""
    await wire.create("s")
    await wire.append("s", end())
    await wire.append("s", user(), reply(), end())
    await wire.append("s", steering())
    assert [row.turn for row in await wire.rows("s")] == [0, 1, 1, 1, 2]


async def test_rule_8_an_idle_turn_is_interrupted_and_lets_held_rows_go(wire: Wire):
    """Whoever asks after the deadline finds it ended, and by the sweep it ends without being asked."""
    await wire.create("s")
    await wire.append("s", user(), begin(idle=IDLE), marker("held"))

    async def is_over() -> bool:
        return not (await wire.session("s")).running

    await eventually(is_over)
    rows = await wire.rows("s")
    assert [kind(row) for row in rows] == ["user_message", "turn_started", "turn_ended", "section_marker"]
    assert rows[2].turn_ended.outcome == INTERRUPTED
    idle = rows[2].recorded_at.ToNanoseconds() - rows[1].recorded_at.ToNanoseconds()
    assert idle >= IDLE * 1e9
    assert (await wire.session("s")).held_row_count == 0


async def test_rule_8_a_reader_or_a_writer_that_comes_after_the_deadline_interrupts_first(wire: Wire):
    """A row that comes late is not of the turn."""
    await wire.create("s")
    await wire.append("s", user(), begin(idle=IDLE))
    before = time.monotonic()

    async def is_late() -> bool:
        return time.monotonic() > before + 2 * IDLE

    await eventually(is_late)
    answer = await wire.append("s", steering("too late"))
    assert answer.sequences == [4]
    rows = await wire.rows("s")
    assert [(kind(row), row.turn) for row in rows[2:]] == [("turn_ended", 1), ("user_message", 2)]


async def test_rule_8_what_is_written_or_published_puts_the_deadline_off(wire: Wire):
    """Rows, held rows and live text do; an append that is refused or wholly repeated does not."""
    await wire.create("s")
    await wire.append("s", user(id="u"), begin(idle=1.0))
    published = 0

    async def runs() -> bool:
        return (await wire.session("s")).running

    async def live():
        for _ in range(3):
            yield PublishLiveRequest(session_id="s", live=LiveUpdate(event_id="r", text_delta="x"))
            await stays(runs, 0.5)

    await wire.journal.PublishLive(live())
    await wire.append("s", note())
    await stays(runs, 0.6)
    await wire.append("s", status())
    last = time.monotonic()
    while await runs():
        await wire.append("s", user(id="u"))
        await wire.refused("s", respond("never asked"))
        published += 1
        assert time.monotonic() < last + 20
    assert published
    assert kind((await wire.rows("s"))[3]) == "turn_ended"


async def test_rule_8_an_open_request_of_this_turn_suspends_the_timeout(wire: Wire):
    """A person may take their time; the answer starts the clock again."""
    await wire.create("s")
    await wire.append("s", user(), begin(idle=IDLE), ask())

    async def runs() -> bool:
        return (await wire.session("s")).running

    async def is_over() -> bool:
        return not await runs()

    await stays(runs, 4 * IDLE)
    await wire.append("s", respond())
    await eventually(is_over)
    rows = await wire.rows("s")
    assert [kind(row) for row in rows[3:]] == ["human_response", "turn_ended"]


async def test_rule_8_a_request_of_an_earlier_turn_suspends_nothing(wire: Wire):
    """It is open, but not this turn's."""
    await wire.create("s")
    await wire.append("s", user(), ask(), end())
    await wire.append("s", begin(idle=IDLE))

    async def is_over() -> bool:
        return not (await wire.session("s")).running

    await eventually(is_over)
    assert (await wire.session("s")).open_request_count == 1


async def test_turns_are_listed_latest_first_with_prompt_and_outcome(wire: Wire):
    """An outline by prompts."""
    if not await wire.serves(TRANSCRIPT + "ListTurns"):
        pytest.skip("ListTurns is not served yet")
    await wire.create("s")
    await wire.append("s", status(), user("first\nprompt"), begin(), call(), result(), steering(), reply(), end())
    await wire.append("s", user("second " * 40), call("c2"), Event(id="x", tool_result=result("c2").tool_result))
    await wire.append("s", begin())
    answer = await wire.transcript.ListTurns(ListTurnsRequest(session_id="s"))
    turns = answer.turns
    assert [turn.turn for turn in turns] == [3, 2, 1]
    assert [turn.first_sequence for turn in turns] == [12, 9, 2]
    assert [turn.last_sequence for turn in turns] == [12, 11, 8]
    assert [turn.tool_call_count for turn in turns] == [0, 1, 1]
    assert turns[2].outcome == TurnEnded.OUTCOME_COMPLETED
    assert turns[1].outcome == turns[0].outcome == TurnEnded.OUTCOME_UNSPECIFIED
    assert "\n" not in turns[2].prompt
    assert turns[2].prompt.startswith("first")
    assert (turns[0].prompt, len(turns[1].prompt)) == ("", 120)
    assert ("second " * 40).startswith(turns[1].prompt[:100])
