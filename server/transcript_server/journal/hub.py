"""Wakes watchers when something was committed, and carries live text past the journal.

A wake-up carries no data: whoever wakes reads the journal from its own cursor, so a lost wake-up costs time
and not rows (rule 29). Live text (rule 30) is never stored, and dropped where a watcher is behind.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

_Key = TypeVar("_Key")

LIVE_BYTES: Final = 64 * 1024
"""Live text that waits for one watcher; what comes beyond is dropped, but for a single large piece."""


class Watcher:
    """One watch's end of the hub: what woke it, and the live text that waits for it."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._live: deque[bytes] = deque()
        self._live_bytes = 0
        self.sessions: dict[int, str] = {}
        """Sessions of its owner that changed, by the store's numbers; their ids, for those that are gone by now."""

    def wake(self) -> None:
        """Says that there is something to read."""
        self._woken.set()

    def offer_live(self, update: bytes) -> None:
        """Leaves a serialized `LiveUpdate`, or drops it if too much waits already."""
        if not self._live or self._live_bytes + len(update) <= LIVE_BYTES:
            self._live.append(update)
            self._live_bytes += len(update)
            self._woken.set()

    def take_live(self) -> Iterator[bytes]:
        """The live text that waits, oldest first."""
        while self._live:
            update = self._live.popleft()
            self._live_bytes -= len(update)
            yield update

    async def wait(self, seconds: float) -> bool:
        """Waits to be woken, at most this long; whether it was. What wakes it from now on counts for the next wait."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


class Hub:
    """All watchers of one server process. Used on its event loop alone."""

    def __init__(self) -> None:
        self._watchers: defaultdict[int, set[Watcher]] = defaultdict(set)
        self._owners: defaultdict[str, set[Watcher]] = defaultdict(set)
        self._versions: dict[int, int] = {}
        self._count = itertools.count(1)
        self._on_drain: set[Callable[[], None]] = set()
        self.draining = False
        """Whether the server is going away: watchers end, and resume elsewhere."""

    @contextmanager
    def watch(self, number: int | None, owner: str | None) -> Iterator[Watcher]:
        """A watcher of one journal, or of an owner's sessions, or of both."""
        watcher = Watcher()
        if number is not None:
            self._watchers[number].add(watcher)
            # A number that none had before: reads that began before this watcher came are not shared with it.
            self._versions[number] = next(self._count)
        if owner is not None:
            self._owners[owner].add(watcher)
        try:
            yield watcher
        finally:
            if number is not None:
                _discard(self._watchers, number, watcher)
                if number not in self._watchers:
                    self._versions.pop(number, None)
            if owner is not None:
                _discard(self._owners, owner, watcher)

    def committed(self, owner: str, number: int, session_id: str) -> None:
        """A session changed: its journal, its state, or its being there at all."""
        if number in self._watchers:
            self._versions[number] = next(self._count)
            for watcher in self._watchers[number]:
                watcher.wake()
        for watcher in self._owners.get(owner, ()):
            watcher.sessions[number] = session_id
            watcher.wake()

    def version(self, number: int) -> int:
        """Moves with a watched journal's commits: reads that begin at the same one see the same rows."""
        return self._versions.get(number, 0)

    def publish(self, number: int, update: bytes) -> None:
        """Shows a journal's watchers live text."""
        for watcher in self._watchers.get(number, ()):
            watcher.offer_live(update)

    def on_drain(self, call: Callable[[], None]) -> Callable[[], None]:
        """Has something called when the server begins to go away; returns what takes that back."""
        self._on_drain.add(call)
        return lambda: self._on_drain.discard(call)

    def drain(self) -> None:
        """Tells every watcher that the server is going away."""
        self.draining = True
        for call in [*self._on_drain]:
            call()
        for watchers in (*self._watchers.values(), *self._owners.values()):
            for watcher in watchers:
                watcher.wake()


def _discard(watchers: defaultdict[_Key, set[Watcher]], key: _Key, watcher: Watcher) -> None:
    watchers[key].discard(watcher)
    if not watchers[key]:
        del watchers[key]
