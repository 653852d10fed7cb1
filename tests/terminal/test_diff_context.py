"""`transcript diff-context`: what left the model's context and what entered it between two rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement, pairwise

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st
from semantics.rows import APPEND, checkpoint, replacing, reply, reset, rewind, status, user
from semantics.surface import apply, fold
from semantics.world import examples

from transcript import Client
from transcript.v1.event_pb2 import Event, ToolCall, ToolResult, UserMessage
from transcript_terminal.comparing import Change, Run, compare
from transcript_terminal.complaints import Complaint
from transcript_terminal.resolving import check_journal

from .command import Command, bare

STEPS = ["append"] * 4 + ["replace"] * 2 + ["rewind", "reset", "log"]
steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 99), st.integers(0, 4)), max_size=20)


def surfaces(played: Iterable[tuple[str, int, int]]) -> list[list[Event]]:
    """The surface before anything, and after each step; a step that has nothing to act on appends."""
    found: list[list[Event]] = [[]]
    for number, (step, low, more) in enumerate(played, 1):
        on = [row.sequence for row in found[-1]]
        start = low % len(on) if on else 0
        match step if on or step in ("reset", "log") else "append":
            case "replace":
                row = checkpoint(on[start], on[min(start + more, len(on) - 1)])
            case "rewind":
                row = rewind(on[start])
            case "reset":
                row = reset()
            case "log":
                row = status()
            case _:
                row = user(surface=APPEND)
        row.sequence = number
        found.append(apply(found[-1], row))
    return found


def numbers(rows: Iterable[Event]) -> list[int]:
    return [row.sequence for row in rows]


def of(runs: Sequence[Run], *changes: Change) -> list[int]:
    return [row.sequence for run in runs if run.change in changes for row in run.rows]


def told(runs: Iterable[Run]) -> str:
    """`-1 -2 +5 3 4`."""
    marks = {Change.LEFT: "-", Change.ENTERED: "+", Change.STAYS: ""}
    return " ".join(f"{marks[run.change]}{row.sequence}" for run in runs for row in run.rows)


def rows(*built: Event) -> list[Event]:
    """The rows with their numbers."""
    for number, row in enumerate(built, 1):
        row.sequence = number
        if not row.HasField("surface"):
            row.surface.CopyFrom(APPEND)
    return list(built)


@examples(100)
@given(played=steps)
def test_the_difference_makes_the_second_surface_of_the_first(played: list[tuple[str, int, int]]) -> None:
    """Between any two moments of any history: what left and what entered is told, and nothing else."""
    for before, after in combinations_with_replacement(surfaces(played), 2):
        runs = compare(before, after)

        assert of(runs, Change.LEFT, Change.STAYS) == numbers(before)
        assert of(runs, Change.ENTERED, Change.STAYS) == numbers(after)
        assert set(of(runs, Change.STAYS)) == set(numbers(before)) & set(numbers(after))
        assert all(run.rows for run in runs)
        assert all(one.change is not other.change for one, other in pairwise(runs))


@examples(100)
@given(played=steps)
def test_a_replacement_enters_right_behind_what_it_stands_in_place_of(played: list[tuple[str, int, int]]) -> None:
    """Wherever on the first surface the range's ends stood."""
    for before, after in combinations_with_replacement(surfaces(played), 2):
        known = numbers(before)
        runs = compare(before, after)
        for run, entered in pairwise(runs):
            for row in entered.rows if entered.change is Change.ENTERED else ():
                place = row.surface.replace
                if {place.start_sequence, place.end_sequence} <= set(known):
                    gone = known[known.index(place.start_sequence) : known.index(place.end_sequence) + 1]
                    assert row == entered.rows[0]
                    assert numbers(run.rows)[-len(gone) :] == gone


def test_each_of_several_replacements_stands_behind_its_own_rows() -> None:
    """And what a rewind took off stands apart, behind them."""
    journal = rows(*(user() for _ in range(9)))
    journal += [checkpoint(2, 3, sequence=10), checkpoint(4, 4, sequence=11), rewind(6, sequence=12)]
    journal += [reply(sequence=13, surface=APPEND)]

    assert told(compare(fold(journal[:9]), fold(journal))) == "1 -2 -3 +10 -4 +11 5 6 -7 -8 -9 +13"
    assert told(compare([], fold(journal))) == "+1 +10 +11 +5 +6 +13"
    assert told(compare(fold(journal), fold(journal))) == "1 10 11 5 6 13"


def test_a_replacement_of_a_replacement_stands_behind_the_rows_that_it_came_to_stand_for() -> None:
    """Though its range names a row that neither surface has."""
    journal = [*rows(user(), user()), checkpoint(1, 1, sequence=3), checkpoint(3, 3, sequence=4)]
    journal += [checkpoint(2, 2, sequence=5)]

    assert told(compare(fold(journal[:2]), fold(journal))) == "-1 +4 -2 +5"


@pytest.fixture
async def session(client: Client) -> str:
    """Two prompts and a call; 6 compacts the first, 8 cuts the result; 9 goes back; 13 compacts, 14 resets."""
    await client.create_session("diffed", title="Fix the parser")
    await client.append(
        "diffed",
        [
            Event(user_message=UserMessage(text="Fix the parser")),
            reply("Done."),
            user("And the tests?"),
            Event(tool_call=ToolCall(call_id="a", name="bash", arguments_json='{"command": "make"}')),
            Event(tool_result=ToolResult(call_id="a", text="x" * 3000)),
            checkpoint(1, 2),
            reply("They pass."),
            Event(tool_result=ToolResult(call_id="a", text="[cut]"), surface=replacing(5, 5)),
            rewind(8),
            user("Rather not"),
            reply("So be it."),
            reply("Anything else?"),
            checkpoint(6, 11),
            reset(),
            user("From the start."),
        ],
        as_recorded=True,
    )
    return "diffed"


async def test_what_left_is_one_line_and_what_stands_there_now_says_in_place_of_what(
    command: Command, session: str
) -> None:
    """What stays between is counted; one row alone is shown."""
    ran = await command("diff-context", session, "5", "8")

    assert (ran.status, ran.stderr) == (0, "")
    assert ran.lines == [
        "Fix the parser",
        "  diffed · the model's context from row 5 to row 8",
        "",
        "- #1 to #2  2 rows: User: Fix the parser … Agent: Done.  19 bytes",
        "+ #6  In place of #1 to #2: Checkpoint: for the model  13 bytes",
        "  … 2 rows stay  33 bytes",
        f"- #5  Tool bash: ok: {'x' * 143} …  2.9 KiB",
        "+ #8  In place of #5: Tool result: ok: [cut]  5 bytes",
        "+ #7  Agent: They pass.  10 bytes",
        "",
        "3 rows left (2.9 KiB), 3 entered (28 bytes), 2 stay",
        "  context 3.0 KiB → 61 bytes, about 763 → 15 tokens",
    ]


async def test_what_took_rows_off_is_named_unless_it_is_shown(command: Command, session: str) -> None:
    """A rewind, a reset, and a compaction that is no longer sent itself."""
    back = await command("diff-context", session, "8", "10")
    anew = await command("diff-context", session, "8")

    assert back.lines[2:] == [
        "  #9 · the conversation went back to #8; what came after it no longer counts",
        "",
        "  … 4 rows stay  51 bytes",
        "- #7   Agent: They pass.  10 bytes",
        "+ #10  User: Rather not  10 bytes",
        "",
        "1 row left (10 bytes), 1 entered (10 bytes), 4 stay",
        "  context 61 bytes → 61 bytes, about 15 → 15 tokens",
    ]
    assert anew.lines[1:] == [
        "  diffed · the model's context from row 8 to row 15",
        "  #9 · the conversation went back to #8; what came after it no longer counts",
        "  #13 · earlier context was compacted",
        "  #14 · the model's context was emptied: start afresh",
        "",
        "- #6 to #7  5 rows: In place of #1 to #2: Checkpoint: for the model … Agent: They pass.  61 bytes",
        "+ #15  User: From the start.  15 bytes",
        "",
        "5 rows left (61 bytes), 1 entered (15 bytes), 0 stay",
        "  context 61 bytes → 15 bytes, about 15 → 3 tokens",
    ]


async def test_of_many_that_took_rows_off_the_latest_are_named(command: Command, client: Client) -> None:
    await client.create_session("often")
    await client.append("often", [user(), *(row for _ in range(12) for row in (reset(), user()))], as_recorded=True)
    ran = await command("diff-context", "often", "1")

    assert ran.lines[1:4] == [
        "  the model's context from row 1 to row 25",
        "  … 2 earlier ones",
        "  #6 · the model's context was emptied: start afresh",
    ]
    assert ran.lines[12] == "  #24 · the model's context was emptied: start afresh"


async def test_from_nothing_all_has_entered(command: Command, session: str) -> None:
    ran = await command("diff-context", session, "0", "2")

    assert ran.lines[1:] == [
        "  diffed · the model's context from row 0 to row 2",
        "",
        "+ #1  User: Fix the parser  14 bytes",
        "+ #2  Agent: Done.  5 bytes",
        "",
        "0 rows left, 2 entered (19 bytes), 0 stay",
        "  context 0 bytes → 19 bytes, about 0 → 4 tokens",
    ]


async def test_between_a_row_and_itself_nothing_has_changed(command: Command, session: str) -> None:
    ran = await command("diff-context", session, "5", "5")

    assert ran.lines[-4:] == [
        "  … 5 rows stay  3.0 KiB",
        "",
        "0 rows left, 0 entered, 5 stay",
        "  context 3.0 KiB → 3.0 KiB, about 763 → 763 tokens",
    ]


async def test_whole_is_a_line_for_every_row(command: Command, session: str) -> None:
    ran = await command("diff-context", session, "5", "8", "--whole")

    assert [line[:4].rstrip() for line in ran.lines[3:-3]] == [
        "- #1",
        "- #2",
        "+ #6",
        "  #3",
        "  #4",
        "- #5",
        "+ #8",
        "+ #7",
    ]


async def test_json_lines_are_what_left_and_what_entered(command: Command, session: str, client: Client) -> None:
    """Each an Event that reads back, whole, in the surface's order."""
    ran = await command("diff-context", session, "5", "8", "--json")
    known = {
        row.sequence: row for at in (5, 8) for row in (await client.read_context(session, as_of_sequence=at)).events
    }
    found = [json.loads(line) for line in ran.lines]

    assert [(one["change"], ParseDict(one["event"], Event())) for one in found] == [
        (change, known[sequence])
        for change, sequence in (
            ("left", 1),
            ("left", 2),
            ("entered", 6),
            ("left", 5),
            ("entered", 8),
            ("entered", 7),
        )
    ]
    assert (await command("diff-context", session, "5", "5", "--json")).stdout == ""


async def test_rows_that_are_not_there_or_in_the_wrong_order_are_said(command: Command, session: str) -> None:
    ahead = await command("diff-context", session, "5", "16")
    first_ahead = await command("diff-context", session, "16")
    backwards = await command("diff-context", session, "8", "5")

    for ran in (ahead, first_ahead):
        assert (ran.status, ran.stdout) == (2, "")
        assert "its last row is 15; name a row that exists" in ran.stderr
        assert "(docs/errors.md#sequence-ahead)" in ran.stderr
    assert (backwards.status, backwards.stdout) == (2, "")
    assert "row 8 comes after row 5: give the earlier one first" in backwards.stderr


async def test_two_journals_are_never_compared(client: Client) -> None:
    """A session that was made anew between the reads has rows with the same numbers and another journal."""
    found = await client.create_session("anew")
    await client.delete_session("anew")
    await client.create_session("anew")
    context = await client.read_context("anew")

    with pytest.raises(Complaint, match=r"anew has another journal now; open the session anew .*#journal-changed"):
        check_journal(found, context.journal_id)
    check_journal(found, found.journal_id)


async def test_on_a_terminal_each_change_has_its_colour_and_fits_the_width(
    command: Command, client: Client, session: str
) -> None:
    """What left is red, what entered green; of a run's two headlines each has what the other leaves."""
    await client.append(session, [user("words " * 99), reply("so it is"), reset(), user("Hello")], as_recorded=True)
    ran = await (await command.on_terminal("diff-context", session, "17", "19", width=80)).end()
    lines = bare(ran.stdout).splitlines()

    assert ran.status == 0
    assert lines[4:6] == [
        "- #15 to #17  3 rows: User: From the start. … Agent: so it is          617 bytes",
        "+ #19  User: Hello" + " " * 55 + "5 bytes",
    ]
    assert "\x1b[31m- #15" in ran.stdout
    assert "\x1b[32m+ #19" in ran.stdout
    plain = await (await command.on_terminal("diff-context", session, "17", "19", NO_COLOR="1")).end()
    assert bare(plain.stdout) == bare(ran.stdout)
    assert "\x1b[31m" not in plain.stdout
