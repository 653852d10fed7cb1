"""Rule 31's deletions in any store: unseen at once, nothing left in the end, and the id free again."""

from __future__ import annotations

import asyncio

import pytest
from semantics.rows import (
    ask,
    begin,
    call,
    checkpoint,
    marker,
    note,
    replacing,
    reply,
    reset,
    result,
    status,
    summary,
    user,
)

from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import VIEW_JOURNAL
from transcript_server.journal.journal import Face, Span
from transcript_server.rules.errors import Refusal
from transcript_server.rules.pages import page_request

from .callers import BUDGET, Caller, outcome_of, refusal_of
from .stores import Clock, Store
from .waiting import gone

MANY = 1600
EVERYTHING = [
    user(id="a"), call(), result(), reply("x" * 100_000), ask("q"), marker("m"), summary("k"), checkpoint(1, 4, "k"),
    reset(), user(), call("c2"), reply("r", surface=replacing(10, 10)), begin(), marker("held"), note("held"),
]  # fmt: skip
"""Rows of which every table has something."""


async def test_rule_31_nothing_is_left_of_a_deleted_session(store: Store, caller: Caller) -> None:
    """In any table: rows, ids, what was held, what was indexed, and the session itself."""
    await caller.create()
    await caller.append("s", *EVERYTHING)
    number = (await caller.place()).number
    assert len(await store.left_of(number)) >= 9, "there is something in every table, or this proves nothing"

    await caller.journal.delete_session(caller.who, "s")
    await gone(store, number)


async def test_rule_31_a_deleted_session_is_not_seen_from_the_first_moment(caller: Caller) -> None:
    """By any call, also those that were given its place before."""
    await caller.create()
    await caller.fill("s", status(), MANY)
    place, who, journal = await caller.place(), caller.who, caller.journal
    await journal.delete_session(who, "s")

    for call_ in [
        caller.session(),
        caller.append("s", user()),
        journal.update_session(who, Session(id="s", title="x"), frozenset({"title"})),
        journal.delete_session(who, "s"),
        journal.fork_session(who, "s", 0, Session(id="t")),
        journal.touch(who, "s"),
        journal.page(who, "s", page_request(view=VIEW_JOURNAL), BUDGET),
        caller.context(),
        journal.rows(who, place, [Span(Face.JOURNAL, 1, 5)], BUDGET),
        journal.event(who, "s", 1),
        journal.locate(who, "s"),
        journal.bar(who, place, 5),
        journal.tail(who, place, Face.JOURNAL, 0, BUDGET),
        journal.sections(who, "s", -1, 10),
    ]:
        refusal = await refusal_of(call_)
        assert (refusal.reason_name, refusal.metadata) == ("SESSION_NOT_FOUND", {"session_id": "s"})
    assert await caller.listed() == []
    assert await journal.sessions_by_number(who, [place.number]) == [None]


async def test_rule_31_the_id_is_free_for_a_new_journal_at_once(store: Store, caller: Caller) -> None:
    """Another journal_id, empty, whose ids and requests are its own; the old one's rows are still taken away."""
    first = await caller.create()
    await caller.fill("s", status("old"), MANY)
    await caller.append("s", user("old", id="a"), ask("q"))
    old = await caller.place()
    await caller.journal.delete_session(caller.who, "s")
    second = await caller.create()
    await caller.append("s", user("new", id="a"))
    new = await caller.place()
    await gone(store, old.number)

    assert first.journal_id != second.journal_id
    assert new.number != old.number
    assert [row.user_message.text for row in await caller.rows()] == ["new"]
    assert (await caller.session()).open_request_count == 0
    refusal = await refusal_of(caller.spans(old, [Span(Face.JOURNAL, 1, 1)]))
    assert refusal.reason_name == "SESSION_NOT_FOUND"


async def test_rule_31_a_journals_number_is_never_used_again(store: Store, caller: Caller, clock: Clock) -> None:
    """Nor after opening anew: a place names one journal for good."""
    numbers = []
    for number in range(6):
        await caller.create(f"s{number}")
        numbers.append((await caller.place(f"s{number}")).number)
        await caller.journal.delete_session(caller.who, f"s{number}")
        await gone(store, numbers[-1])
        if number % 2:
            await store.close()
            caller = Caller(await store.open(clock))

    assert sorted({*numbers}) == numbers


async def test_rule_31_a_deletion_is_made_in_steps_between_which_others_write(store: Store, caller: Caller) -> None:
    """Another writer is answered again and again while rows are taken away."""
    await caller.create("s")
    await caller.create("other")
    await caller.fill("s", status("x"), MANY)
    number = (await caller.place()).number
    await caller.journal.delete_session(caller.who, "s")
    answered = 0
    while (left := (await store.left_of(number)).get("event", 0)) > 0:
        await caller.append("other", user())
        answered += left < MANY

    assert answered >= 1, "others were answered while some of the rows were gone and some were not"


async def test_rule_31_a_deletion_that_was_cut_short_goes_on_after_opening_anew(
    store: Store, caller: Caller, clock: Clock
) -> None:
    """Nothing is left of it, and it is seen by nobody in between."""
    await caller.create()
    await caller.fill("s", status(), MANY)
    number = (await caller.place()).number
    await caller.journal.delete_session(caller.who, "s")
    await store.close()
    assert (await store.left_of(number)).get("event", 0) > 0, "there was something left to do"
    again = Caller(await store.open(clock))

    assert await again.listed() == []
    await gone(store, number)


@pytest.mark.parametrize("deleted", ["s", "t"])
async def test_rule_31_a_deletion_touches_no_other_session(store: Store, caller: Caller, deleted: str) -> None:
    """Whichever lies beside it in the tables."""
    for session_id in ("s", "t", "u"):
        await caller.create(session_id)
        await caller.append(session_id, *EVERYTHING)
    others = {name: await caller.everything(name) for name in ("s", "t", "u") if name != deleted}
    number = (await caller.place(deleted)).number
    await caller.journal.delete_session(caller.who, deleted)
    await gone(store, number)

    assert {name: await caller.everything(name) for name in others} == others
    assert sorted(await caller.listed()) == sorted(others)


async def test_of_racing_deletions_one_works(caller: Caller) -> None:
    """The others find no session."""
    await caller.create()
    outcomes = await asyncio.gather(
        *[caller.journal.delete_session(caller.who, "s") for _ in range(5)], return_exceptions=True
    )

    assert [outcome.reason_name for outcome in outcomes if isinstance(outcome, Refusal)] == ["SESSION_NOT_FOUND"] * 4


async def test_appends_that_race_with_a_deletion_are_refused_or_gone(caller: Caller) -> None:
    """None brings anything of the session back."""
    await caller.create()

    async def write() -> int:
        for count in range(200):
            outcome = await outcome_of(caller.append("s", user()))
            if isinstance(outcome, Refusal):
                assert outcome.reason_name == "SESSION_NOT_FOUND"
                return count
        return -1

    writing = [asyncio.ensure_future(write()) for _ in range(4)]
    await caller.append("s", status())
    await caller.journal.delete_session(caller.who, "s")
    assert min(await asyncio.gather(*writing)) >= 0

    await caller.create()
    assert await caller.rows() == []
