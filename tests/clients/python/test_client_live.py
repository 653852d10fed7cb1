"""The client against the real server, live: watches, breaks and restarts."""

from __future__ import annotations

import asyncio
import socket
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from scripted_server import Proxy, until
from viewer import Watcher, filled, said

from transcript import SessionNotFound, Unavailable, connect
from transcript.v1.event_pb2 import Event, ToolResult
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import View
from transcript_server.app import Config, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from transcript import Client


@pytest.fixture
async def watched(client: Client) -> AsyncIterator[Callable[..., Watcher]]:
    """Begins watches, and ends them with the test."""
    watchers: list[Watcher] = []

    def begin(session_id: str = "", **options: Any) -> Watcher:
        watchers.append(Watcher(client.watch(session_id, **options)))
        return watchers[-1]

    yield begin
    for watcher in watchers:
        await watcher.close()


async def test_a_watch_begins_with_a_page_and_gives_every_later_row(
    client: Client, watched: Callable[..., Watcher]
) -> None:
    session_id = await filled(client, 2)
    watcher = watched(session_id, view=View.VIEW_JOURNAL)
    await watcher.sees(lambda: watcher.caught_up == 8)

    for n in range(20):
        await client.append(session_id, [said(str(n))])
    await watcher.sees(lambda: watcher.caught_up == 28)

    assert watcher.rows == [event async for event in client.read_events(session_id)]
    assert watcher.pages == 1
    assert watcher.sessions[session_id].latest_sequence == 28


async def test_a_watch_may_begin_after_a_row(client: Client, watched: Callable[..., Watcher]) -> None:
    session_id = await filled(client, 3)
    watcher = watched(session_id, view=View.VIEW_FULL, after_sequence=9)

    await watcher.sees(lambda: watcher.caught_up == 12)

    assert watcher.sequences == [10, 11, 12]
    assert watcher.pages == 0


async def test_live_text_reaches_a_watcher(client: Client, watched: Callable[..., Watcher]) -> None:
    session_id = await filled(client, 1)
    watcher = watched(session_id)
    await watcher.sees(lambda: watcher.caught_up == 4)

    async def updates() -> AsyncIterator[LiveUpdate]:
        offset = 0
        while len(watcher.live) < 3:
            yield LiveUpdate(event_id="reply", offset=offset, text_delta="word ")
            offset += 5
            await asyncio.sleep(0.01)

    async with asyncio.timeout(10):
        await client.publish_live(session_id, updates())

    assert {update.event_id for update in watcher.live} == {"reply"}


async def test_live_text_for_no_session_is_an_error(client: Client) -> None:
    async def updates() -> AsyncIterator[LiveUpdate]:
        yield LiveUpdate(event_id="reply", text_delta="word")

    with pytest.raises(SessionNotFound):
        await client.publish_live("nowhere", updates())


async def test_a_deleted_session_is_shown_deleted_and_then_not_found(
    client: Client, watched: Callable[..., Watcher]
) -> None:
    session_id = await filled(client, 1)
    watcher = watched(session_id)
    await watcher.sees(lambda: watcher.caught_up == 4)

    await client.delete_session(session_id)
    await until(lambda: watcher.error)

    assert isinstance(watcher.error, SessionNotFound)
    assert watcher.sessions[session_id].deleted


async def test_a_watch_of_no_session_is_not_found(client: Client) -> None:
    with pytest.raises(SessionNotFound):
        await anext(client.watch("nowhere"))


async def test_a_place_of_another_journal_is_begun_anew_with_a_page(
    client: Client, watched: Callable[..., Watcher]
) -> None:
    old = await client.create_session("mine")
    await client.append("mine", [said("old")])
    await client.delete_session("mine")
    await client.create_session("mine")
    await client.append("mine", [said("new"), said("newer")])

    watcher = watched("mine", after_sequence=1, journal_id=old.journal_id)
    await watcher.sees(lambda: watcher.caught_up == 2)

    assert watcher.pages == 1
    assert [event.user_message.text for event in watcher.rows] == ["new", "newer"]


async def test_a_watch_of_the_sessions_shows_them_as_they_change(
    client: Client, watched: Callable[..., Watcher]
) -> None:
    first = await client.create_session(title="first")
    watcher = watched(include_sessions=True)
    await watcher.sees(lambda: first.id in watcher.sessions)

    second = await client.create_session(title="second")
    await client.update_session(Session(id=first.id, title="renamed"))

    await watcher.sees(lambda: second.id in watcher.sessions and watcher.sessions[first.id].title == "renamed")


async def test_a_watch_over_cut_connections_has_every_row_once(client: Client, far: Proxy) -> None:
    session_id = await filled(client, 1)
    async with connect(far.address) as distant:
        watcher = Watcher(distant.watch(session_id, view=View.VIEW_FULL))
        await watcher.sees(lambda: watcher.caught_up == 4)
        for n in range(100):
            await client.append(session_id, [said(str(n))])
            if n % 20 == 10:
                far.cut()
        await watcher.sees(lambda: watcher.caught_up == 104)
        await watcher.close()

    assert watcher.sequences == list(range(1, 105))
    assert watcher.pages == 1


async def test_a_bar_that_a_break_swallowed_comes_after_all(client: Client, far: Proxy) -> None:
    """The row that moves the bar has come, the bar is still behind six megabytes of rows."""
    session_id = await filled(client, 1)
    async with connect(far.address) as distant, aclosing(distant.watch(session_id)) as watching:
        while not (await anext(watching)).HasField("caught_up"):
            pass
        await client.add_section_marker(session_id, "second")
        while not (await anext(watching)).HasField("caught_up"):
            pass
        tip = 6 + 100
        await client.append(
            session_id, [said("next"), *(Event(tool_result=ToolResult(text="x" * 60_000)) for _ in range(100))]
        )
        first = await anext(watching)
        sequences = [event.sequence for event in first.events.events]
        assert sequences[0] == 6
        assert not first.HasField("hidden_sections")
        far.cut()
        bars = []
        while True:
            message = await anext(watching)
            sequences += [event.sequence for event in message.events.events]
            if message.HasField("hidden_sections"):
                bars.append(message.hidden_sections)
            if message.HasField("caught_up") and message.caught_up.latest_sequence == tip:
                break

    assert sequences == list(range(6, tip + 1))
    assert bars == [(await client.read_page(session_id)).info.hidden_sections]
    assert list(bars[0].labels) == [""]


# Restarts


@pytest.fixture
def fixed(tmp_path: Path) -> Config:
    """A configuration with an address that a restarted server has again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return Config(data=tmp_path / "data", grpc=f"127.0.0.1:{free.getsockname()[1]}")


async def test_a_restart_is_sat_out_by_watch_and_append(fixed: Config) -> None:
    async with connect(fixed.grpc) as client:
        async with serving(fixed):
            session_id = await filled(client, 1)
            watcher = Watcher(client.watch(session_id, view=View.VIEW_JOURNAL))
            await watcher.sees(lambda: watcher.caught_up == 4)
        appending = asyncio.create_task(client.append(session_id, [said("while it was away")]))
        async with serving(fixed):
            assert list((await appending).sequences) == [5]
            await watcher.sees(lambda: watcher.caught_up == 5)
            assert watcher.sequences == [1, 2, 3, 4, 5]
            assert watcher.pages == 1
            await watcher.close()


async def test_appends_through_restarts_are_recorded_once_each(fixed: Config) -> None:
    async with connect(fixed.grpc) as client:
        async with serving(fixed):
            session = await client.create_session()
        texts = [str(n) for n in range(60)]
        answered: list[str] = []

        async def write() -> None:
            for text in texts:
                await client.append(session.id, [said(text)])
                answered.append(text)

        def has_written(count: int) -> bool:
            return len(answered) >= count or writing.done()

        writing = asyncio.create_task(write())
        for count in (15, 30, 45):
            async with serving(fixed):
                await until(partial(has_written, count), seconds=30)
        async with serving(fixed):
            await writing
            assert [event.user_message.text async for event in client.read_events(session.id)] == texts


async def test_a_server_that_is_gone_is_unavailable(fixed: Config) -> None:
    async with connect(fixed.grpc, timeout=1) as client:
        async with serving(fixed):
            session = await client.create_session()
        with pytest.raises(Unavailable, match=fixed.grpc):
            await client.get_session(session.id)
        with pytest.raises(Unavailable, match=fixed.grpc):
            await client.append(session.id, [said("too late")])
