"""Sessions: made once, listed in order, changed in what may change."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from transcript.v1.session_pb2 import SESSION_KIND_AUTOMATED, SESSION_KIND_INTERACTIVE, SESSION_KIND_SUBAGENT, Session
from transcript.v1.session_service_pb2 import (
    CreateSessionRequest,
    GetSessionRequest,
    ListSessionsRequest,
    UpdateSessionRequest,
)

from .rows import marker, note, user
from .watching import watch
from .wire import Wire, failure_of


async def test_sessions_are_created_once(wire: Wire):
    """Again with the same fields: the same session; with others it exists."""
    first = await wire.create("s", title="t", labels={"a": "b"})
    assert await wire.create("s", title="t", labels={"a": "b"}) == first
    failure = await failure_of(wire.create("s", title="other"))
    assert (failure.code, failure.reason) == (grpc.StatusCode.ALREADY_EXISTS, "SESSION_EXISTS")
    assert failure.metadata == {"session_id": "s"}
    minted = (await wire.sessions.CreateSession(CreateSessionRequest(session=Session(title="t")))).session
    assert minted.id
    assert (await wire.sessions.GetSession(GetSessionRequest(session_id=minted.id))).session == minted


@pytest.mark.parametrize("page_size", [1, 2, 50])
async def test_sessions_are_listed_the_latest_prompted_first(wire: Wire, page_size):
    """One never prompted counts from its creation; pages join without gap or repetition."""
    for session_id in "abcde":
        await wire.create(session_id)
    await wire.append("b", user())
    await wire.append("a", user())
    await wire.append("c", marker(), note())
    listed: list[str] = []
    token = ""
    while True:
        request = ListSessionsRequest(page_size=page_size, page_token=token)
        answer = await wire.sessions.ListSessions(request)
        listed += [session.id for session in answer.sessions]
        token = answer.next_page_token
        if not token:
            break
    assert listed == ["a", "b", "e", "d", "c"]


async def ids(wire: Wire, **fields) -> list[str]:
    """The sessions that a filter lets through."""
    answer = await wire.sessions.ListSessions(ListSessionsRequest(**fields))
    return sorted(session.id for session in answer.sessions)


async def test_sessions_are_filtered_by_title_kind_parent_and_labels(wire: Wire):
    """Subagents' sessions show only where they are asked for."""
    await wire.create("a", title="Fix the LEXER", labels={"team": "x", "env": "test"})
    await wire.create("b", title="fix the parser", labels={"team": "x"}, kind=SESSION_KIND_AUTOMATED)
    await wire.create("c", title="fix a lexer test", kind=SESSION_KIND_SUBAGENT, parent_session_id="a")
    assert await ids(wire) == ["a", "b"]
    assert await ids(wire, title_contains="lexer") == ["a"]
    assert await ids(wire, title_contains="fix THE") == ["a", "b"]
    assert await ids(wire, title_contains="100%_") == []
    assert await ids(wire, kinds=[SESSION_KIND_AUTOMATED]) == ["b"]
    assert await ids(wire, kinds=[SESSION_KIND_SUBAGENT, SESSION_KIND_INTERACTIVE]) == ["a", "c"]
    assert await ids(wire, parent_session_id="a") == ["c"]
    assert await ids(wire, labels={"team": "x"}) == ["a", "b"]
    assert await ids(wire, labels={"team": "x", "env": "test"}) == ["a"]
    assert await ids(wire, labels={"team": "y"}) == []


async def test_an_update_changes_what_it_names_and_watchers_are_told(wire: Wire):
    """With a mask that which it names, empty ones too; without one what is set."""
    await wire.create("s", title="t", labels={"a": "b"})

    async def update(paths: list[str] | None, **fields) -> Session:
        request = UpdateSessionRequest(session=Session(id="s", **fields))
        if paths is not None:
            request.update_mask.paths.extend(paths)
        return (await wire.sessions.UpdateSession(request)).session

    async with watch(wire, "s") as watcher:
        await watcher.until(lambda: watcher.sessions)
        assert (await update(["title"], title="new", labels={"c": "d"})).title == "new"
        await watcher.until(lambda: watcher.sessions[-1].title == "new")
        assert dict(watcher.sessions[-1].labels) == {"a": "b"}
        changed = await update(None, labels={"c": "d"})
        assert (changed.title, dict(changed.labels)) == ("new", {"c": "d"})
        changed = await update(["title", "labels"])
        assert (changed.title, dict(changed.labels)) == ("", {})
        await watcher.until(lambda: not watcher.sessions[-1].labels and not watcher.sessions[-1].title)
        assert watcher.sessions[-1] == await wire.session("s") == changed


async def test_racing_creations_of_one_session_make_one(wire: Wire):
    """All are answered with the same journal."""
    made = await asyncio.gather(*(wire.create("s", title="t") for _ in range(20)))
    assert len({session.journal_id for session in made}) == 1


async def test_rule_31_a_session_id_is_of_a_to_z_digits_dot_underscore_and_dash(wire: Wire):
    """1 to 128 of them, the first a letter or digit."""
    for session_id in ("a", "9", "A.b_c-d", "x" * 128):
        assert (await wire.create(session_id)).id == session_id
    missing = await failure_of(wire.session("x" * 127))
    assert (missing.code, missing.reason) == (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")
