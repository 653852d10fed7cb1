"""Sessions of any store: made once, changed, and listed by when they were last asked something."""

from __future__ import annotations

import asyncio

import pytest
from semantics.rows import begin, marker, note, reply, steering, user

from transcript.v1.session_pb2 import Session, SessionKind
from transcript_server.journal.journal import ListPosition, SessionFilter
from transcript_server.rules.errors import Refusal

from .callers import Caller, refusal_of
from .stores import Clock, Store

INTERACTIVE, AUTOMATED, SUBAGENT = (
    SessionKind.SESSION_KIND_INTERACTIVE,
    SessionKind.SESSION_KIND_AUTOMATED,
    SessionKind.SESSION_KIND_SUBAGENT,
)


async def test_a_session_is_made_with_its_fields_and_an_empty_journal(caller: Caller, clock: Clock) -> None:
    """And found as it was made."""
    made = await caller.create(title="t", labels={"a": "b"}, kind=AUTOMATED, parent_session_id="p")

    assert made == Session(
        id="s", title="t", labels={"a": "b"}, kind=AUTOMATED, parent_session_id="p", owner=caller.who,
        created_at={"seconds": clock.now_us // 1_000_000}, journal_id=made.journal_id,
    )  # fmt: skip
    assert made.journal_id
    assert await caller.session() == made


async def test_a_session_is_made_once(caller: Caller) -> None:
    """The same again returns it, with what it amounts to by now; other fields are refused; a race makes one."""
    made = await asyncio.gather(*[caller.create(title="t") for _ in range(8)])
    await caller.append("s", user())

    assert len({session.journal_id for session in made}) == 1
    assert (await caller.create(title="t")).latest_sequence == 1
    for fields in [{"title": "u"}, {"title": "t", "labels": {"a": "b"}}, {"title": "t", "kind": AUTOMATED}]:
        refusal = await refusal_of(caller.create(**fields))
        assert (refusal.reason_name, refusal.metadata) == ("SESSION_EXISTS", {"session_id": "s"})


async def test_title_and_labels_are_changed_each_whole(caller: Caller) -> None:
    """What is not named stays, and nothing else of the session moves."""
    await caller.create(title="t", labels={"a": "b"})
    await caller.append("s", user(), reply())
    before = await caller.session()

    async def update(paths: set[str], **fields: object) -> Session:
        return await caller.journal.update_session(caller.who, Session(id="s", **fields), frozenset(paths))

    changed = await update({"title"}, title="u", labels={"x": "y"})
    assert (changed.title, dict(changed.labels)) == ("u", {"a": "b"})
    changed = await update({"labels"}, labels={"c": "d"})
    assert (changed.title, dict(changed.labels)) == ("u", {"c": "d"})
    changed = await update({"title", "labels"})
    assert (changed.title, dict(changed.labels)) == ("", {})
    assert await update(set()) == await caller.session() == changed
    changed.title, before.title = "", ""
    before.ClearField("labels")
    assert changed == before


async def test_sessions_are_listed_the_latest_prompted_first(caller: Caller, clock: Clock) -> None:
    """One that was never asked anything counts from its creation; replies, markers and notes move nothing."""
    for name in "abcd":
        clock.forward(1)
        await caller.create(name)
    assert await caller.listed() == ["d", "c", "b", "a"]

    for name in ("b", "d"):
        clock.forward(1)
        await caller.append(name, user())
    clock.forward(1)
    await caller.append("a", reply(), marker(), note(), begin())
    assert await caller.listed() == ["d", "b", "c", "a"]

    clock.forward(1)
    await caller.append("a", steering())
    assert await caller.listed() == ["a", "d", "b", "c"]


async def test_a_prompt_that_is_stated_places_its_session_by_its_own_time(caller: Caller, clock: Clock) -> None:
    """An import of an old log does not come first."""
    for name in "ab":
        await caller.create(name)
    clock.forward(1)
    await caller.append("a", user())
    old = user()
    old.time.FromSeconds(1_000_000_000)
    await caller.append("b", old, as_recorded=True)

    assert await caller.listed() == ["a", "b"]


async def test_sessions_of_one_moment_are_listed_the_youngest_first(caller: Caller) -> None:
    """So that the order is always the same, and a page ends between any two."""
    names = [f"s{number}" for number in range(9)]
    for name in names:
        await caller.create(name)

    for limit in (1, 2, 4, 9, 10):
        assert await caller.listed(limit) == names[::-1]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
async def test_pages_of_the_list_are_the_whole_list(caller: Caller, clock: Clock, limit: int) -> None:
    """And the last one says that it is."""
    for number in range(5):
        clock.forward(number % 2)
        await caller.create(f"s{number}")
    everything = await caller.listed()

    assert await caller.listed(limit) == everything
    sessions, following = await caller.journal.sessions(caller.who, SessionFilter(), 5, None)
    assert (len(sessions), following) == (5, None)


@pytest.mark.parametrize("budget", [1, 300, 1500, 1 << 20])
async def test_a_page_of_the_list_fits_its_budget_or_is_one_session(caller: Caller, budget: int) -> None:
    """And the pages are the whole list all the same."""
    for number in range(9):
        await caller.create(f"s{number}", title="t" * 60 * number)
    names: list[str] = []
    after, pages = None, 0
    while True:
        sessions, after = await caller.journal.sessions(caller.who, SessionFilter(), 100, after, budget)
        assert sum(session.ByteSize() for session in sessions) <= budget or len(sessions) == 1
        names += [session.id for session in sessions]
        pages += 1
        if after is None:
            break

    assert names == await caller.listed()
    assert pages == {1: 9, 1 << 20: 1}.get(budget, pages)


async def test_a_page_of_the_list_begins_after_its_place_though_the_list_has_moved(
    caller: Caller, clock: Clock
) -> None:
    """A session that moved up is not listed twice by those who page on, and none that stayed is missed."""
    for name in "abcdef":
        clock.forward(1)
        await caller.create(name)
    first, place = await caller.journal.sessions(caller.who, SessionFilter(), 2, None)
    clock.forward(1)
    await caller.append("a", user())
    await caller.create("g")
    await caller.journal.delete_session(caller.who, "e")

    assert [session.id for session in first] == ["f", "e"]
    assert isinstance(place, ListPosition)
    assert await caller.listed(2, place) == ["d", "c", "b"]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ({}, "cba"),
        ({"kinds": frozenset({AUTOMATED})}, "b"),
        ({"kinds": frozenset({SUBAGENT})}, "fed"),
        ({"kinds": frozenset({INTERACTIVE, SUBAGENT})}, "fedca"),
        ({"title_contains": "STRASSE"}, "ca"),
        ({"title_contains": "x"}, ""),
        ({"parent_session_id": "a"}, "fe"),
        ({"parent_session_id": "b"}, "d"),
        ({"parent_session_id": "zzz"}, ""),
        ({"parent_session_id": "a", "kinds": frozenset({INTERACTIVE})}, ""),
        ({"labels": {"team": "red"}}, "cb"),
        ({"labels": {"team": "red", "n": "1"}}, "c"),
        ({"labels": {"team": ""}}, ""),
        ({"labels": {"team": "red"}, "title_contains": "straße"}, "c"),
    ],
    ids=str,
)
async def test_the_list_may_be_filtered(caller: Caller, which: dict[str, object], expected: str) -> None:
    """By kind, by title without regard to case, by labels, by parent; subagents' sessions only where asked for."""
    await caller.create("a", title="Straße")
    await caller.create("b", title="other", kind=AUTOMATED, labels={"team": "red"})
    await caller.create("c", title="Hauptstrasse", labels={"team": "red", "n": "1"})
    await caller.create("d", kind=SUBAGENT, parent_session_id="b")
    await caller.create("e", kind=SUBAGENT, parent_session_id="a", title="Weg")
    await caller.create("f", kind=SUBAGENT, parent_session_id="a")

    for limit in (1, 2, 10):
        assert await caller.listed(limit, **which) == [*expected]


async def test_the_list_is_the_same_after_opening_anew(store: Store, caller: Caller, clock: Clock) -> None:
    """With every session's state."""
    for name in "abc":
        await caller.create(name)
        await caller.append(name, user(), begin(), marker())
    before, _ = await caller.journal.sessions(caller.who, SessionFilter(), 10, None)
    await store.close()
    again = await store.open(clock)

    assert (await again.sessions(caller.who, SessionFilter(), 10, None))[0] == before
    assert [session.held_row_count for session in before] == [1, 1, 1]


async def test_sessions_are_found_by_their_numbers(caller: Caller) -> None:
    """In the order asked for, with none in the place of one that is gone."""
    for name in "abc":
        await caller.create(name)
    numbers = [(await caller.place(name)).number for name in "cab"]
    await caller.journal.delete_session(caller.who, "a")
    found = await caller.journal.sessions_by_number(caller.who, [*numbers, 9_999])

    assert [session.id if session else None for session in found] == ["c", None, "b", None]
    assert found[0] == await caller.session("c")


async def test_a_change_of_a_session_that_is_not_there_is_refused(caller: Caller) -> None:
    """And makes none."""
    with pytest.raises(Refusal, match="session s not found"):
        await caller.journal.update_session(caller.who, Session(id="s", title="t"), frozenset({"title"}))
    assert await caller.listed() == []
