"""Wake-ups and live text (rules 29 and 30): they carry no row, and hold no more than a little."""

from __future__ import annotations

import asyncio

import pytest

from transcript_server.journal.hub import LIVE_BYTES, Hub, Watcher

LONG, NOW = 20.0, 0.0


async def is_woken(watcher: Watcher) -> bool:
    """Whether something woke it already."""
    return await watcher.wait(NOW)


async def test_a_commit_wakes_the_journals_watchers_and_its_owners() -> None:
    """And nobody else."""
    hub = Hub()
    with (
        hub.watch(1, None) as journal,
        hub.watch(None, "me") as owner,
        hub.watch(2, "me") as both,
        hub.watch(2, None) as another,
        hub.watch(None, "you") as stranger,
    ):
        hub.committed("me", 1, "s")
        woken = [await is_woken(watcher) for watcher in (journal, owner, both, another, stranger)]
        assert woken == [True, True, True, False, False]
        assert (owner.sessions, both.sessions, journal.sessions) == ({1: "s"}, {1: "s"}, {})


async def test_rule_29_a_wake_up_between_two_waits_is_not_lost() -> None:
    """It counts for the next wait; several count once."""
    hub = Hub()
    with hub.watch(1, None) as watcher:
        for _ in range(3):
            hub.committed("me", 1, "s")
        assert await watcher.wait(LONG)
        assert not await is_woken(watcher)
        hub.committed("me", 1, "s")
        assert await watcher.wait(LONG)


async def test_a_watcher_that_waits_is_woken() -> None:
    """By a commit, by live text, by the server's going away."""
    hub = Hub()
    for wake in (lambda: hub.committed("me", 1, "s"), lambda: hub.publish(1, b"x"), hub.drain):
        with hub.watch(1, None) as watcher:
            waiting = asyncio.ensure_future(watcher.wait(LONG))
            await asyncio.sleep(0)
            wake()
            assert await waiting


async def test_nobody_who_left_is_told() -> None:
    """A watcher is forgotten with its context, and so is what was counted for it."""
    hub = Hub()
    with hub.watch(1, "me") as watcher:
        hub.committed("me", 1, "s")
        assert hub.version(1) > 0
    hub.committed("me", 1, "t")
    hub.publish(1, b"x")

    assert watcher.sessions == {1: "s"}
    assert [*watcher.take_live()] == []
    assert hub.version(1) == 0


async def test_a_watched_journals_version_moves_with_its_commits_and_is_never_met_again() -> None:
    """So that reads which began at the same one may be shared, and none that began before a watcher came."""
    hub = Hub()
    met = []
    for _ in range(2):
        with hub.watch(1, None):
            met.append(hub.version(1))
            hub.committed("me", 1, "s")
            met.append(hub.version(1))
            hub.committed("me", 2, "t")
            assert hub.version(1) == met[-1]
            with hub.watch(1, None):
                met.append(hub.version(1))
    assert met == sorted(set(met))
    assert hub.version(2) == 0


async def test_rule_30_live_text_reaches_the_journals_watchers_in_order() -> None:
    """Each of them, and those of no other journal; once."""
    hub = Hub()
    with hub.watch(1, None) as one, hub.watch(1, None) as two, hub.watch(2, "me") as other:
        for text in (b"a", b"b", b"c"):
            hub.publish(1, text)
        assert [[*watcher.take_live()] for watcher in (one, two, other)] == [[b"a", b"b", b"c"]] * 2 + [[]]
        assert [*one.take_live()] == []


@pytest.mark.parametrize("size", [1, 1000, LIVE_BYTES // 2, LIVE_BYTES])
async def test_rule_30_of_live_text_that_nobody_takes_little_waits(size: int) -> None:
    """What comes beyond is dropped, and there is room again once what waits was taken."""
    hub = Hub()
    with hub.watch(1, None) as slow, hub.watch(1, None) as quick:
        for _ in range(LIVE_BYTES // size + 3):
            hub.publish(1, b"x" * size)
            assert [*quick.take_live()] == [b"x" * size]
        waiting = [*slow.take_live()]
        assert sum(map(len, waiting)) == LIVE_BYTES // size * size
        hub.publish(1, b"new")
        assert [*slow.take_live()] == [b"new"]


async def test_rule_30_a_short_text_passes_where_a_long_one_did_not() -> None:
    """Its offset shows what was dropped between."""
    watcher = Watcher()
    watcher.offer_live(b"x" * (LIVE_BYTES - 10))
    watcher.offer_live(b"y" * 11)
    watcher.offer_live(b"z" * 10)

    assert [text[:1] for text in watcher.take_live()] == [b"x", b"z"]


async def test_a_server_that_goes_away_wakes_everybody_and_calls_whoever_asked() -> None:
    """Unless they took it back."""
    hub = Hub()
    called: list[str] = []
    hub.on_drain(lambda: called.append("one"))
    take_back = hub.on_drain(lambda: called.append("two"))
    take_back()
    with hub.watch(1, None) as journal, hub.watch(None, "me") as owner:
        assert not hub.draining
        hub.drain()
        assert hub.draining
        assert [await is_woken(journal), await is_woken(owner)] == [True, True]
    assert called == ["one"]
