"""Rule 31's forks in any store: whole or not at all, in steps that let others write, and apart from then on."""

from __future__ import annotations

import asyncio

import pytest
from semantics.rows import (
    ask,
    begin,
    call,
    checkpoint,
    end,
    marker,
    nudge,
    replacing,
    reply,
    respond,
    result,
    rewind,
    status,
    steering,
    summary,
    user,
)

from transcript.v1.event_pb2 import Event, TokenUsage
from transcript.v1.session_pb2 import Session, SessionKind
from transcript.v1.transcript_service_pb2 import VIEW_COMPACT
from transcript_server.rules.errors import Refusal

from .callers import Caller, outcome_of, refusal_of
from .stores import Clock, Store
from .waiting import PATIENCE, gone

MANY = 1600
"""Rows that take a fork several steps to copy."""


async def fork(caller: Caller, source: str, through: int = 0, session_id: str = "copy", **fields: object) -> Session:
    """Forks a session."""
    return await caller.journal.fork_session(caller.who, source, through, Session(id=session_id, **fields))


def replied(tokens: int) -> Event:
    """A reply that reports tokens."""
    row = reply()
    row.assistant_message.usage.CopyFrom(TokenUsage(input_tokens=tokens, output_tokens=1, cached_input_tokens=2))
    return row


HISTORY = [
    user("one", id="a"),
    call("c1"),
    result("c1"),
    replied(10),
    marker("first", id="m"),
    ask("q1"),
    user("two"),
    reply("short", surface=replacing(4, 4)),
    summary("k"),
    checkpoint(1, 3, "k"),
    ask("q2"),
    begin(),
    steering("rather so"),
    call("c2"),
    respond("q2"),
    replied(20),
    end(),
    marker("second"),
    user("three"),
    status(),
    rewind(7),
]


async def written(caller: Caller, session_id: str = "s", *, through: int | None = None) -> None:
    """A session with the history, or its beginning."""
    await caller.create(session_id, title="the source", labels={"a": "b"})
    await caller.append(session_id, *HISTORY[:through])


def seen(session: Session) -> Session:
    """A session without what every session has of its own."""
    copy = Session()
    copy.CopyFrom(session)
    for name in ("id", "journal_id", "created_at", "labels", "forked_from_session_id", "forked_from_sequence"):
        copy.ClearField(name)
    return copy


@pytest.mark.parametrize("through", [*range(1, len(HISTORY) + 1)])
async def test_rule_31_a_fork_is_what_the_source_was_at_that_row(caller: Caller, through: int) -> None:
    """Its rows, its pages and its state are those of a session that was written just so far, but for what it adds."""
    await written(caller)
    await written(caller, "so far", through=through)
    expected = await caller.session("so far")
    made = await fork(caller, "s", through)

    rows = await caller.rows("copy")
    assert [row.SerializeToString() for row in rows[:through]] == [
        row.SerializeToString() for row in (await caller.rows("s"))[:through]
    ]
    added = [row.WhichOneof("payload") for row in rows[through:]]
    assert added == (["turn_ended"] if expected.running else []) + ["session_forked"]
    assert rows[-1].session_forked.session_id == "s"
    assert rows[-1].session_forked.sequence == through
    expected.running, expected.latest_sequence = False, len(rows)
    assert seen(made) == seen(expected)
    for as_of in range(1, through + 1):
        one, other = [await caller.page(name, view=VIEW_COMPACT, as_of_sequence=as_of) for name in ("copy", "so far")]
        one[0].journal_id = other[0].journal_id
        assert one[0] == other[0]
        assert [row.sequence for row in one[1]] == [row.sequence for row in other[1]]


@pytest.mark.parametrize("through", [*range(1, len(HISTORY) + 1)])
async def test_rule_31_a_fork_goes_on_as_the_source_would_have(caller: Caller, through: int) -> None:
    """Turns, requests, the surface and its pairs stand as they stood at that row."""
    await written(caller)
    await written(caller, "so far", through=through)
    await fork(caller, "s", through)
    # What the fork added, as a session appended by hand would have it.
    fork_rows = (await caller.rows("copy"))[through:]
    by_hand = [Event(turn_ended=row.turn_ended) if row.HasField("turn_ended") else status() for row in fork_rows]
    await caller.append("so far", *by_hand)

    tip = through + len(fork_rows)
    for number, event in enumerate(
        [
            respond("q1"),
            respond("q2"),
            reply("r", surface=replacing(1, 1)),
            reply("r", surface=replacing(2, 3)),
            reply("r", surface=replacing(7, 7)),
            checkpoint(10, 10, "k"),
            user("steers?"),
            nudge(),
            begin(),
        ]
    ):
        outcomes = []
        for session_id in ("copy", "so far"):
            outcome = await outcome_of(caller.append(session_id, event))
            is_refused = isinstance(outcome, Refusal)
            outcomes.append((number, outcome.reason_name if is_refused else [*outcome.sequences]))
        assert outcomes[0] == outcomes[1]
    ours, theirs = [(await caller.rows(name))[tip:] for name in ("copy", "so far")]
    for row in ours + theirs:
        row.ClearField("id")
    assert [row.turn for row in ours] == [row.turn for row in theirs]
    assert [row.compaction_checkpoint.summary_sequence for row in ours] == [
        row.compaction_checkpoint.summary_sequence for row in theirs
    ]
    assert (await caller.session("copy")).open_request_count == (await caller.session("so far")).open_request_count


async def test_rule_31_a_fork_was_last_asked_when_its_source_was_as_of_that_row(caller: Caller, clock: Clock) -> None:
    """By a prompt of any kind, steering or not, stated or recorded; a replacement asks nothing."""
    await caller.create()
    events = [
        status(),
        user(),
        begin(),
        call(),
        user("steers"),
        reply(),
        steering(),
        user(surface=replacing(2, 2)),
        end(),
    ]
    asked = []
    for event in events:
        clock.forward(60)
        await caller.append("s", event)
        asked.append((await caller.session()).last_prompt_at)
    stated = user()
    stated.time.FromSeconds(1_000_000_000)
    await caller.append("s", stated, as_recorded=True)
    asked.append(stated.time)

    for through, then in enumerate(asked, start=1):
        made = await fork(caller, "s", through, f"copy{through}")
        assert (through, made.last_prompt_at) == (through, then)


async def test_rule_1_in_a_fork_recorded_at_goes_on_from_the_last_row_copied(caller: Caller, clock: Clock) -> None:
    """Though the clock was set back before it was made."""
    await caller.create()
    await caller.append("s", user(), begin())
    clock.forward(-86400)
    await fork(caller, "s")
    await caller.append("copy", status())

    recorded = [row.recorded_at.seconds for row in await caller.rows("copy")]
    assert len(recorded) == 5
    assert {*recorded} == {recorded[0]}


async def test_rule_31_held_rows_stay_with_the_source_and_their_ids_are_free_in_the_copy(caller: Caller) -> None:
    """They are not among the rows that are copied."""
    await caller.create()
    await caller.append("s", begin(), marker("held", id="h"))
    made = await fork(caller, "s")

    assert (made.held_row_count, made.running, made.latest_sequence) == (0, False, 3)
    assert (await caller.session("s")).held_row_count == 1
    assert [*(await caller.append("copy", user(id="h"))).sequences] == [4]


async def test_rule_31_ids_up_to_that_row_are_known_in_the_copy_and_later_ones_are_not(caller: Caller) -> None:
    """A retry on the copy is a retry."""
    await caller.create()
    await caller.append("s", user("x", id="a"), user("y", id="b"))
    await fork(caller, "s", 1)

    assert [*(await caller.append("copy", user("x", id="a"))).sequences] == [1]
    assert (await refusal_of(caller.append("copy", user("z", id="a")))).reason_name == "EVENT_ID_REUSED"
    assert [*(await caller.append("copy", user("z", id="b"))).sequences] == [3]


async def test_rule_31_a_fork_and_its_source_are_apart(caller: Caller) -> None:
    """What is written to one, or its deletion, does not touch the other."""
    await written(caller)
    await fork(caller, "s")
    copied = await caller.everything("copy")
    await caller.append("s", user("more"), respond("q1"))
    await caller.journal.delete_session(caller.who, "s")

    assert await caller.everything("copy") == copied
    await caller.append("copy", user("its own"))


async def test_rule_31_fields_of_a_fork_default_to_the_sources(caller: Caller) -> None:
    """Kind and title; labels are its own."""
    await caller.create("s", title="the source", kind=SessionKind.SESSION_KIND_AUTOMATED, labels={"a": "b"})
    await caller.append("s", user())
    like = await fork(caller, "s", session_id="like")
    own = await fork(caller, "s", session_id="own", title="mine", kind=SessionKind.SESSION_KIND_INTERACTIVE)

    assert (like.title, like.kind, dict(like.labels)) == ("the source", SessionKind.SESSION_KIND_AUTOMATED, {})
    assert (own.title, own.kind) == ("mine", SessionKind.SESSION_KIND_INTERACTIVE)
    assert (like.forked_from_session_id, like.forked_from_sequence) == ("s", 1)
    assert len({like.journal_id, own.journal_id, (await caller.session("s")).journal_id}) == 3


async def test_rule_31_an_empty_session_is_forked_too(caller: Caller) -> None:
    """Into one that says so."""
    await caller.create()
    made = await fork(caller, "s")

    assert [row.WhichOneof("payload") for row in await caller.rows("copy")] == ["session_forked"]
    assert (made.forked_from_session_id, made.forked_from_sequence) == ("s", 0)


async def test_rule_31_the_same_fork_again_is_the_first_copy_whatever_became_of_the_source(caller: Caller) -> None:
    """Renamed, gone on, or gone: what was left out of the call is not compared."""
    await written(caller)
    first = await fork(caller, "s")
    await caller.journal.update_session(caller.who, Session(id="s", title="another"), frozenset({"title"}))
    assert (await fork(caller, "s")).journal_id == first.journal_id
    await caller.append("s", user())
    assert (await fork(caller, "s")).journal_id == first.journal_id
    await caller.journal.delete_session(caller.who, "s")
    assert (await fork(caller, "s")).journal_id == first.journal_id
    with pytest.raises(Refusal) as caught:
        await fork(caller, "s", title="of its own")
    assert caught.value.reason_name == "SESSION_EXISTS"


async def test_rule_31_the_same_fork_again_is_the_first_copy(caller: Caller) -> None:
    """Also if all rows were asked for, and there are more by now; other fields are another session."""
    await caller.create()
    await caller.append("s", user())
    first = await fork(caller, "s")
    await caller.append("s", user("more"))

    assert (await fork(caller, "s")).journal_id == first.journal_id
    assert (await fork(caller, "s", 1)).journal_id == first.journal_id
    assert (await refusal_of(fork(caller, "s", 2))).reason_name == "SESSION_EXISTS"
    assert (await refusal_of(fork(caller, "s", title="other"))).reason_name == "SESSION_EXISTS"
    assert (await refusal_of(fork(caller, "s", session_id="s"))).reason_name == "SESSION_EXISTS"


async def test_rule_31_racing_equal_forks_are_one_copy_though_the_source_grows(caller: Caller) -> None:
    """A retry overtakes the call that it repeats; both are answered with the first copy."""
    await caller.create()
    await caller.fill("s", status(), MANY)
    first, _, second = await asyncio.gather(fork(caller, "s"), caller.append("s", user()), fork(caller, "s"))

    assert first.journal_id == second.journal_id
    assert len(await caller.rows("copy")) == first.latest_sequence


async def test_rule_31_what_the_source_does_not_have_is_refused(caller: Caller) -> None:
    """A row beyond its tip, and a source that is not there."""
    await caller.create()
    await caller.append("s", user())
    ahead, missing = await refusal_of(fork(caller, "s", 2)), await refusal_of(fork(caller, "nowhere"))

    assert (ahead.reason_name, ahead.metadata) == ("SEQUENCE_AHEAD", {"sequence": "2", "latest_sequence": "1"})
    assert (missing.reason_name, missing.metadata) == ("SESSION_NOT_FOUND", {"session_id": "nowhere"})
    assert await caller.listed() == ["s"]


async def test_rule_31_a_fork_is_made_in_steps_between_which_others_write(caller: Caller) -> None:
    """Another writer is answered again and again while it goes on."""
    await caller.create("s")
    await caller.create("other")
    await caller.fill("s", status("x"), MANY)
    copying = asyncio.ensure_future(fork(caller, "s"))
    answered = 0
    while not copying.done():
        await caller.append("other", user())
        answered += 1

    assert answered >= 4
    assert (await copying).latest_sequence == MANY + 1


async def test_rule_31_a_fork_is_seen_when_it_is_whole(caller: Caller) -> None:
    """Never before: by its id, or in the list."""
    await caller.create()
    await caller.fill("s", status(), MANY)
    copying = asyncio.ensure_future(fork(caller, "s"))
    hidden = 0
    while not copying.done():
        outcome = await outcome_of(caller.session("copy"))
        if isinstance(outcome, Refusal):
            assert outcome.reason_name == "SESSION_NOT_FOUND"
            hidden += "copy" not in await caller.listed() or copying.done()
        else:
            assert outcome.latest_sequence == MANY + 1

    assert hidden
    assert len(await caller.rows("copy")) == MANY + 1


async def test_rule_31_the_source_may_be_written_to_while_it_is_forked(caller: Caller) -> None:
    """The copy is of the rows there were when it was asked for."""
    await caller.create()
    await caller.fill("s", status(), MANY)
    copying = asyncio.ensure_future(fork(caller, "s"))
    while not copying.done():
        await caller.append("s", user(), ask("q"), respond("q"), begin(), marker(), end())

    made = await copying
    assert made.latest_sequence == made.forked_from_sequence + 1
    assert [row.sequence for row in await caller.rows("copy")] == [*range(1, made.latest_sequence + 1)]
    await caller.append("copy", user(), ask("q"))


async def test_rule_31_a_source_that_is_deleted_midway_leaves_no_copy(store: Store, caller: Caller) -> None:
    """Nor does a new session under its id become the source; what was copied is taken away."""
    await caller.create()
    await caller.fill("s", status(), MANY)
    place = await caller.place()
    copying = asyncio.ensure_future(refusal_of(fork(caller, "s")))
    await caller.append("s", user())
    await caller.journal.delete_session(caller.who, "s")
    await caller.create("s")

    assert (await copying).reason_name == "SESSION_NOT_FOUND"
    assert await caller.listed() == ["s"]
    await gone(store, place.number + 1)


async def test_rule_31_a_fork_that_nobody_waits_for_is_whole_or_nothing(store: Store, caller: Caller) -> None:
    """Its caller leaves at some moment: then there is no copy, or one with all of its rows, and nothing between."""
    await caller.create()
    await caller.fill("s", status(), MANY)
    for number in range(8):
        name = f"copy{number}"
        copying = asyncio.ensure_future(fork(caller, "s", session_id=name))
        for _ in range(number):
            await caller.append("s", user())
        copying.cancel()
        await asyncio.gather(copying, return_exceptions=True)
        await caller.append("s", user())
        outcome = await outcome_of(caller.session(name))
        if not isinstance(outcome, Refusal):
            assert len(await caller.rows(name)) == outcome.latest_sequence > MANY
    await caller.create("last")
    for number in range(1, (await caller.place("last")).number):
        # A copy that was begun may go on by itself: what is left of it in the end is a session, or nothing.
        async with asyncio.timeout(PATIENCE):
            while await store.left_of(number):
                if number in {(await caller.place(name)).number for name in await caller.listed()}:
                    break
                await asyncio.sleep(0.005)


async def test_rule_31_a_fork_that_ends_while_another_session_is_taken_away_is_whole(
    store: Store, caller: Caller
) -> None:
    """Clearing away what is hidden leaves alone what is hidden no longer."""
    await caller.create("big")
    await caller.create("s")
    await caller.fill("big", status(), 3 * MANY)
    await caller.fill("s", status(), MANY)
    big = await caller.place("big")
    copying = asyncio.ensure_future(fork(caller, "s"))
    await caller.append("s", user())
    await caller.journal.delete_session(caller.who, "big")
    made = await copying
    await gone(store, big.number)

    assert made.latest_sequence > MANY
    assert [row.sequence for row in await caller.rows("copy")] == [*range(1, made.latest_sequence + 1)]


async def test_rule_31_a_fork_outlives_opening_anew(store: Store, caller: Caller, clock: Clock) -> None:
    """As a session like any other."""
    await written(caller)
    await fork(caller, "s", 12)
    before = await caller.everything("copy")
    await store.close()
    again = Caller(await store.open(clock))

    assert await again.everything("copy") == before
    assert (await fork(again, "s", 12)).journal_id == (await again.session("copy")).journal_id
