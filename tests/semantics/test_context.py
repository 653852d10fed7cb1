"""What the model is, or was, sent: ReadContext (rules 24 and 25)."""

from __future__ import annotations

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript.v1.context_service_pb2 import CONTEXT_SCOPE_CONVERSATION, CONTEXT_SCOPE_SURFACE
from transcript.v1.event_pb2 import Event
from transcript.v1.session_pb2 import Session
from transcript.v1.session_service_pb2 import ForkSessionRequest

from . import surface, turns
from .facts import kind
from .histories import long_enough
from .play import Player
from .rows import (
    LOG_ONLY,
    begin,
    call,
    checkpoint,
    end,
    marker,
    note,
    replacing,
    reply,
    reset,
    result,
    rewind,
    steering,
    user,
)
from .wire import Wire, bytes_of, failure_of
from .world import World, examples


async def sequences(wire: Wire, **fields) -> list[int]:
    """The surface's rows."""
    return [row.sequence for row in await wire.surface("s", **fields)]


async def test_rule_24_the_surface_as_of_any_row(wire: Wire):
    """As it was once that row had landed."""
    await wire.create("s")
    await wire.append("s", user(), user(), reply(), user(), reply())
    await wire.append("s", checkpoint(2, 3))
    await wire.append("s", rewind(6))
    await wire.append("s", note(), reset(), user(), rewind(0))
    assert [await sequences(wire, as_of_sequence=n) for n in (5, 6, 7, 8, 9, 10, 11)] == [
        [1, 2, 3, 4, 5],
        [1, 6, 4, 5],
        [1, 6],
        [1, 6, 8],
        [],
        [10],
        [],
    ]


async def test_rule_24_scope_conversation_keeps_what_is_recalled(wire: Wire):
    """Neither tools nor reasoning nor instructions."""
    await wire.create("s")
    system, thinking = Event(), Event()
    system.system_message.text = thinking.thinking.text = "t"
    await wire.append("s", system, user(), thinking, call(), result(), reply(), note())
    assert await sequences(wire, scope=CONTEXT_SCOPE_SURFACE) == [1, 2, 3, 4, 5, 6, 7]
    assert await sequences(wire, scope=CONTEXT_SCOPE_CONVERSATION) == [2, 6, 7]


@examples(200, thorough=2000)
@given(parts=st.lists(long_enough(2, 12), min_size=1, max_size=2), restarts=st.sampled_from([False] * 3 + [True]))
def test_rules_24_to_27_any_historys_surface_is_the_models_as_of_every_row(world: World, parts, restarts):
    """A fold from the start at each: in order and to the byte; both scopes, with and without the running prompt."""

    async def play():
        player = Player(world.wire, (await world.wire.create(world.new_id())).id)
        for number, part in enumerate(parts):
            if number and restarts:
                await world.restart()
                player.wire = world.wire
            await player.play(part)
        await player.check_rows()
        for as_of in range(player.model.tip + 1):
            events = player.model.events(as_of or None)
            standing = bytes_of(surface.fold(events))
            assert bytes_of(await player.wire.surface(player.session_id, as_of_sequence=as_of)) == standing
            for conversation, exclude in [(False, True), (True, False), (True, True)]:
                prompt = turns.running_prompt(events) if exclude else None
                expected = surface.context(events, conversation=conversation, without_prompt=prompt)
                actual = await player.wire.surface(
                    player.session_id,
                    as_of_sequence=as_of,
                    scope=CONTEXT_SCOPE_CONVERSATION if conversation else CONTEXT_SCOPE_SURFACE,
                    exclude_running_prompt=exclude,
                )
                assert bytes_of(actual) == bytes_of(expected)

    world.run(play())


@examples(20)
@given(past=long_enough(4, 14), future=long_enough(2, 8), data=st.data())
def test_rule_31_a_forks_context_is_its_sources_up_to_the_row(world: World, past, future, data):
    """As of every row; and when both go on, each has its own, and as of the copied rows still the same."""

    async def play():
        wire = world.wire
        source = Player(wire, (await wire.create(world.new_id())).id)
        await source.play(past)
        await source.check_rows()
        through = data.draw(st.integers(1, source.model.tip))
        request = ForkSessionRequest(
            source_session_id=source.session_id, through_sequence=through, session=Session(id=world.new_id())
        )
        copy_id = (await wire.sessions.ForkSession(request)).session.id
        copy = Player(wire, copy_id, source.model.fork(through, source.session_id))
        copy.model.learn_rows(await wire.rows(copy_id))
        copy.maker.count, copy.maker.sent = source.maker.count, list(source.maker.sent)
        for player in (copy, source):
            await player.play(future)
            await player.check_rows()
        for player in (copy, source):
            for as_of in range(1, player.model.tip + 1):
                expected = bytes_of(surface.fold(player.model.events(as_of)))
                assert bytes_of(await wire.surface(player.session_id, as_of_sequence=as_of)) == expected
        assert bytes_of(copy.model.events(through)) == bytes_of(source.model.events(through))

    world.run(play())


async def without_prompt(wire: Wire, *rows: Event) -> list[int]:
    """What is left of the surface after these rows."""
    await wire.create("s")
    for row in rows:
        await wire.append("s", row)
    return await sequences(wire, exclude_running_prompt=True)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param((user(), reply(), user()), [1, 2], id="the latest turn's prompt"),
        pytest.param((user(), reply(), user(), note(), marker()), [1, 2, 4], id="not what is last"),
        pytest.param((user(), begin(), call(), result(), steering()), [3, 4, 5], id="not a steering message"),
        pytest.param((user(), begin(), end()), [1], id="unless the turn has ended"),
        pytest.param((user(), end(), begin()), [1], id="a turn may have no prompt"),
        pytest.param((begin(), user(), user()), [3], id="the first in a declared turn"),
        pytest.param((user(surface=LOG_ONLY), reply()), [2], id="nothing if it is not on the surface"),
        pytest.param((user(), user("copy", surface=replacing(1, 1))), [2], id="a copy of it is not it"),
    ],
)
async def test_rule_25_the_running_prompt_is_found_by_what_it_is(wire: Wire, rows, expected):
    """exclude_running_prompt, never by position."""
    assert await without_prompt(wire, *rows) == expected


async def test_rule_16_of_the_surface_as_of_beyond_the_tip_is_out_of_range(wire: Wire):
    """And at least one message comes even for an empty surface."""
    await wire.create("s")
    assert await wire.surface("s") == []
    await wire.append("s", user())
    failure = await failure_of(wire.surface("s", as_of_sequence=2))
    assert (failure.code, failure.reason) == (grpc.StatusCode.OUT_OF_RANGE, "SEQUENCE_AHEAD")
    assert kind((await wire.surface("s", as_of_sequence=1))[0]) == "user_message"
