"""A foreign session is a missing one, to every call of any store: in code, in text, and in what is left of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from semantics.rows import begin, marker, user

from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import VIEW_JOURNAL
from transcript_server.journal.journal import Face, Journal, Place, SessionFilter, Span
from transcript_server.rules.pages import page_request

from .callers import BUDGET, Caller, refusal_of

CALLS: dict[str, Callable[[Caller, Place], Awaitable[Any]]] = {
    "session": lambda caller, _: caller.session(),
    "append": lambda caller, _: caller.append("s", user()),
    "append expecting": lambda caller, _: caller.append("s", user(), expected=77),
    "append an id that is used": lambda caller, _: caller.append("s", user("other", id="a")),
    "update": lambda caller, _: caller.journal.update_session(
        caller.who, Session(id="s", title="x"), frozenset({"title"})
    ),
    "delete": lambda caller, _: caller.journal.delete_session(caller.who, "s"),
    "fork": lambda caller, _: caller.journal.fork_session(caller.who, "s", 0, Session(id="mine")),
    "fork beyond the tip": lambda caller, _: caller.journal.fork_session(caller.who, "s", 99, Session(id="mine")),
    "touch": lambda caller, _: caller.journal.touch(caller.who, "s"),
    "page": lambda caller, _: caller.journal.page(caller.who, "s", page_request(view=VIEW_JOURNAL), BUDGET),
    "page beyond the tip": lambda caller, _: caller.journal.page(
        caller.who, "s", page_request(view=VIEW_JOURNAL, as_of_sequence=99), BUDGET
    ),
    "context": lambda caller, _: caller.context(),
    "context beyond the tip": lambda caller, _: caller.context(as_of=99),
    "rows": lambda caller, place: caller.journal.rows(caller.who, place, [Span(Face.JOURNAL, 1, 2)], BUDGET),
    "event": lambda caller, _: caller.journal.event(caller.who, "s", 1),
    "event beyond the tip": lambda caller, _: caller.journal.event(caller.who, "s", 99),
    "locate": lambda caller, _: caller.journal.locate(caller.who, "s"),
    "bar": lambda caller, place: caller.journal.bar(caller.who, place, 2),
    "tail": lambda caller, place: caller.journal.tail(caller.who, place, Face.JOURNAL, 0, BUDGET),
    "sections": lambda caller, _: caller.journal.sections(caller.who, "s", -1, 10),
}
"""Every call of the port that names a session; a place is one that another caller was given."""


def test_every_call_that_names_a_session_is_tried_here() -> None:
    """Whoever adds one to the port adds it here."""
    makes_or_lists = {"create_session", "sessions", "sessions_by_number", "close"}
    methods = {name for name, value in vars(Journal).items() if callable(value) and not name.startswith("_")}
    shortened = {"update": "update_session", "delete": "delete_session", "fork": "fork_session"}

    assert {shortened.get(name.split()[0], name.split()[0]) for name in CALLS} == methods - makes_or_lists


@pytest.mark.parametrize("name", CALLS)
async def test_a_foreign_session_is_refused_as_a_missing_one(caller: Caller, stranger: Caller, name: str) -> None:
    """By the same code, in the same words; and nothing of it is changed."""
    nowhere = Place("s", "0", 77)
    missing = await refusal_of(CALLS[name](stranger, nowhere))
    await caller.create()
    await caller.append("s", user(id="a"), begin(), marker())
    before = await caller.everything()
    foreign = await refusal_of(CALLS[name](stranger, await caller.place()))

    assert (foreign.reason_name, foreign.metadata) == ("SESSION_NOT_FOUND", {"session_id": "s"})
    assert (foreign.message, foreign.violations) == (missing.message, missing.violations)
    assert await caller.everything() == before
    assert await stranger.listed() == []


async def test_a_foreign_session_is_in_no_list(caller: Caller, stranger: Caller) -> None:
    """Whatever is asked for, its number included; a parent may be anybody's."""
    await caller.create("s", title="title", labels={"a": "b"})
    await stranger.create("child", parent_session_id="s")
    number = (await caller.place()).number

    for which in [{}, {"title_contains": "t"}, {"labels": {"a": "b"}}]:
        assert "s" not in await stranger.listed(**which)
    assert await stranger.journal.sessions_by_number(stranger.who, [number]) == [None]
    assert await caller.listed(parent_session_id="s") == []
    assert await stranger.listed(parent_session_id="s") == ["child"]


async def test_an_id_that_another_owner_uses_is_free(caller: Caller, stranger: Caller) -> None:
    """To make, to fork to, and to take again after a deletion."""
    await caller.create("s")
    await caller.append("s", user("mine"))
    assert (await stranger.create("s", title="other")).latest_sequence == 0

    await stranger.append("s", user("theirs"))
    await stranger.create("t")
    forked = await caller.journal.fork_session(caller.who, "s", 0, Session(id="t"))
    assert [row.user_message.text for row in await caller.rows("t")][:1] == ["mine"]
    assert forked.owner == caller.who

    await stranger.journal.delete_session(stranger.who, "s")
    assert [row.user_message.text for row in await caller.rows("s")] == ["mine"]


async def test_watchers_of_an_owners_sessions_are_woken_by_no_others(caller: Caller, stranger: Caller) -> None:
    """Neither by their being made, nor by what is written to them."""
    with stranger.journal.hub.watch(None, stranger.who) as watcher:
        await caller.create("s")
        await caller.append("s", user())
        await stranger.create("t")
        assert await watcher.wait(20)
        assert [*watcher.sessions.values()] == ["t"]


async def test_a_tail_that_is_shared_is_not_shared_with_others(caller: Caller, stranger: Caller) -> None:
    """Though both ask at once for the same rows."""
    await caller.create()
    await caller.append("s", user())
    place = await caller.place()
    with caller.journal.hub.watch(place.number, None):
        mine = caller.journal.tail(caller.who, place, Face.JOURNAL, 0, BUDGET)
        theirs = stranger.journal.tail(stranger.who, place, Face.JOURNAL, 0, BUDGET)
        refused, own = await asyncio.gather(refusal_of(theirs), mine)

    assert refused.reason_name == "SESSION_NOT_FOUND"
    assert own.rows.count == 1
    sessions, _ = await stranger.journal.sessions(stranger.who, SessionFilter(), 10, None)
    assert sessions == []
