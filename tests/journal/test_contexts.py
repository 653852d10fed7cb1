"""The model's surface of any store: as of every row, in parts that fit (rules 24 and 25)."""

from __future__ import annotations

import random

import pytest
from semantics import surface
from semantics.rows import begin, call, checkpoint, end, note, replacing, reply, reset, result, rewind, status, user

from transcript.v1.event_pb2 import Event
from transcript_server.journal.journal import Face
from transcript_server.rules.errors import Refusal

from .callers import BUDGET, Caller, events_of, refusal_of

LARGE = 100_000


def numbers(rows: list[Event]) -> list[int]:
    """The rows' sequences."""
    return [row.sequence for row in rows]


@pytest.fixture
async def talk(caller: Caller) -> Caller:
    """Rows of all sizes, of which some stand in place of others: the surface is not in the order of sequences."""
    await caller.create()
    await caller.append("s", user("one"), call(), result("c1", "x" * LARGE), reply("done"), status())
    await caller.append("s", user("two"), reply("y" * LARGE), note(), reply("end"))
    await caller.append("s", result("c1", "short", surface=replacing(3, 3)))
    await caller.append("s", checkpoint(6, 8), user("three"))
    return caller


@pytest.mark.parametrize("budget", [1, 200, 1_000, BUDGET])
async def test_rule_24_a_surface_comes_whole_in_parts_that_fit(talk: Caller, budget: int) -> None:
    """Rows whole, in its own order."""
    rows = await talk.context(budget=budget)
    assert numbers(rows) == [1, 2, 10, 4, 11, 9, 12]
    by_sequence = {row.sequence: row for row in await talk.rows()}
    assert rows == [by_sequence[row.sequence] for row in rows]
    assert len((await talk.context(as_of=9, budget=budget))[2].tool_result.text) == LARGE


@pytest.mark.parametrize("budget", [1, 200, BUDGET])
async def test_rule_24_of_the_recalled_face_what_is_not_recalled_is_passed_over(talk: Caller, budget: int) -> None:
    """However much of it there is."""
    assert numbers(await talk.context(face=Face.RECALLED, budget=budget)) == [1, 4, 11, 9, 12]
    assert numbers(await talk.context(as_of=3, face=Face.RECALLED, budget=budget)) == [1]


async def test_rule_21_a_surface_beyond_the_tip_is_refused(talk: Caller) -> None:
    """With what was asked for and where the journal ends."""
    refusal = await refusal_of(talk.context(as_of=13))
    assert refusal.reason_name == "SEQUENCE_AHEAD"
    assert numbers(await talk.context(as_of=12)) == numbers(await talk.context())


async def test_rule_25_the_running_prompt_is_that_as_of_the_row(caller: Caller) -> None:
    """Whatever came later, and whether or not the turn has ended since."""
    await caller.create()
    rows = [user(), reply(), user(), begin(), reply(), end(), note(), user()]
    for row in rows:
        await caller.append("s", row)
    without = [numbers(await caller.context(as_of=at, exclude_running_prompt=True)) for at in range(1, 9)]
    assert without == [[], [2], [1, 2], [1, 2], [1, 2, 5], [1, 2, 3, 5], [1, 2, 3, 5, 7], [1, 2, 3, 5, 7]]


async def test_rule_24_a_long_surface_is_right_as_of_every_row(caller: Caller) -> None:
    """Hundreds of rows that come, are replaced in ranges, rewound and emptied: against a fold from the start."""
    await caller.create()
    chance = random.Random(7)
    standing: list[list[int]] = [[]]
    while len(standing) <= 600:
        model = standing[-1]
        sequence = len(standing)
        match chance.random():
            case roll if roll < 0.15 and model:
                start, length = chance.randrange(len(model)), chance.choice([1, 1, 2, 3, 30, 300])
                gone = model[start : start + length]
                event = reply(surface=replacing(gone[0], gone[-1]))
                after = [*model[:start], sequence, *model[start + length :]]
            case roll if roll < 0.18 and model:
                keep = chance.randrange(len(model))
                event, after = rewind(model[keep]), model[: keep + 1]
            case roll if roll < 0.185:
                event, after = chance.choice([rewind(0), reset()]), []
            case roll if roll < 0.25:
                event, after = status(), model
            case _:
                event, after = user(), [*model, sequence]
        await caller.append("s", event)
        standing.append(after)

    assert standing[-1] == numbers(surface.fold(await caller.rows())), "the fold is the one that other tests trust"
    for at in range(1, len(standing)):
        assert numbers(await caller.context(as_of=at)) == standing[at], at


async def test_rule_24_a_surface_is_of_one_moment_however_slowly_it_is_read(talk: Caller) -> None:
    """What lands between its parts is not in it, and takes nothing off it."""
    context = await talk.journal.context(
        talk.who, "s", Face.JOURNAL, as_of=None, exclude_running_prompt=False, budget=1
    )
    await talk.append("s", checkpoint(1, 9), reply())
    rows = events_of(context.rows) + await talk.spans(context.place, context.rows.rest)
    assert (context.latest, numbers(rows)) == (12, [1, 2, 10, 4, 11, 9, 12])
    assert numbers(await talk.context()) == [13, 12, 14]


async def test_a_surface_of_a_session_that_is_gone_midway_ends_in_a_refusal(talk: Caller) -> None:
    """Never in a shorter surface."""
    context = await talk.journal.context(
        talk.who, "s", Face.JOURNAL, as_of=None, exclude_running_prompt=False, budget=1
    )
    await talk.journal.delete_session(talk.who, "s")
    with pytest.raises(Refusal):
        await talk.spans(context.place, context.rows.rest)
