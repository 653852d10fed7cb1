"""What is measured: a server with sessions in it, its client, and the peers with the same rows."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

import grpc.aio

from bench.peers import Peers, Sqlite, find_peers
from bench.rows import Records, before_last_prompt, checkpoint, event_of, plain_records, tool_rows
from bench.server import Server, bare_server, transcript_server
from transcript import Client, connect
from transcript.v1.event_pb2 import Event
from transcript.v1.journal_service_pb2 import AppendEventsRequest

BATCH_ROWS = 1000
TEN_THOUSAND = "ten-thousand"
THOUSAND = "thousand"
MANY = "many"
"""A session of 1,000,000 rows (or of as many as could be loaded in time), the last thousand those of `THOUSAND`."""
COMPACTED_EVERY = 10_000
"""Rows of the long session after which a checkpoint takes the place of all that the model was sent."""
LONG_TURN = "long-turn"
"""The rows of `THOUSAND`, with 50,000 tool rows in the last turn but one."""
LONG_TURN_ROWS = 50_000


def say(text: str) -> None:
    """Tells whoever waits how far things are."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Loaded:
    """What was loaded, and how.

    Attributes:
        many_rows: Rows of the long session.
        rows_per_second: Rows of it that the server took in a second.
        size_ratio: Bytes of the store's files for each byte of rows as sent.
    """

    many_rows: int
    rows_per_second: float
    size_ratio: float


@dataclass(frozen=True)
class World:
    """Everything that a measurement needs."""

    server: Server
    client: Client
    bare_channel: grpc.aio.Channel
    records: Records
    loaded: Loaded
    sqlite: Sqlite | None
    grouping_sqlite: Sqlite | None

    @property
    def channel(self) -> grpc.aio.Channel:
        """The client's own channel, for calls that the client does not have."""
        return channel_of(self.client)


def channel_of(client: Client) -> grpc.aio.Channel:
    """A client's channel: an empty call is to go the same way as the calls that are held against it."""
    return client._calls._channel  # noqa: SLF001 - the client has no use for showing it


@asynccontextmanager
async def world(scratch: Path, many_rows: int, load_seconds: float) -> AsyncIterator[World]:
    """Starts the servers and loads the sessions, in a scratch folder.

    Args:
        many_rows: Rows of the long session.
        load_seconds: After this many seconds the long session is left as long as it is.
    """
    peers = find_peers(scratch)
    if peers is None:
        say("the peers (../shared/peers) are not here: nothing of theirs is used. The rows are plain ones")
    records = plain_records if peers is None else peers.records
    store = scratch / "store"
    with transcript_server(store) as server:
        async with connect(server.address) as client:
            many, rate, sent_bytes = await _load(client, records, many_rows, load_seconds)
    # Started anew, so that all rows lie in the file and the server has no load behind it.
    loaded = Loaded(many, rate, sum(path.stat().st_size for path in store.iterdir()) / sent_bytes)
    sqlite, grouping_sqlite = _fill_peers(peers)
    with transcript_server(store) as server, bare_server(scratch / "bare") as bare:
        async with connect(server.address) as client, grpc.aio.insecure_channel(bare.address) as bare_channel:
            yield World(server, client, bare_channel, records, loaded, sqlite, grouping_sqlite)


def _fill_peers(peers: Peers | None) -> tuple[Sqlite | None, Sqlite | None]:
    if peers is None:
        return None, None
    sqlite = peers.sqlite()
    sqlite.load(TEN_THOUSAND, peers.records(10_000, seed=4, session=TEN_THOUSAND))
    return sqlite, peers.grouping_sqlite()


async def _load(client: Client, records: Records, many_rows: int, load_seconds: float) -> tuple[int, float, int]:
    """Loads the sessions; rows of the long one, rows of it a second, and the bytes of all that were sent."""
    loader = _Loader(client)
    ten_thousand = [*records(10_000, seed=4, session=TEN_THOUSAND)]
    await loader.load(TEN_THOUSAND, [event_of(record) for record in ten_thousand])
    thousand = [*records(1000, seed=1000, session=THOUSAND)]
    earlier, latest = before_last_prompt(thousand)
    await loader.load(THOUSAND, [event_of(record) for record in thousand])
    before = [event_of(record) for record in earlier]
    after = [event_of(record) for record in latest]
    say(f"loading a turn of {LONG_TURN_ROWS:,} rows")
    await loader.load(LONG_TURN, chain(before, tool_rows(ten_thousand, LONG_TURN_ROWS), after))

    say(f"loading a session of {many_rows:,} rows (at most {load_seconds:.0f} s)")
    # The same ten thousand rows again and again, without ids: the server gives them theirs.
    blocks = cycle([*_batches(MANY, (event_of(record, named=False) for record in ten_thousand))])
    wanted = (many_rows - len(thousand)) // BATCH_ROWS
    await loader.create(MANY)
    begun = time.monotonic()
    rows = first = 0
    for number, block in enumerate(islice(blocks, wanted), start=1):
        await loader.append(block)
        rows += BATCH_ROWS
        if number * BATCH_ROWS % COMPACTED_EVERY == 0:
            for compaction in _batches(MANY, [checkpoint(max(first, 1), rows)]):
                await loader.append(compaction)
            rows += 1
            first = rows
        if number % 100 == 0:
            say(f"  {rows:,} rows, {rows / (time.monotonic() - begun):,.0f} rows/s")
        if time.monotonic() - begun > load_seconds:
            say(f"  time is up: it is left at {rows + len(thousand):,} rows")
            break
    seconds = time.monotonic() - begun
    for block in _batches(MANY, (event_of(record) for record in thousand)):
        await loader.append(block)
    return rows + len(thousand), rows / seconds if rows else 0.0, loader.sent_bytes


class _Loader:
    """Appends batches as they are, serialized: making the same ones again would only cost the bench time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._append: Any = channel_of(client).unary_unary("/transcript.v1.JournalService/AppendEvents")
        self.sent_bytes = 0

    async def create(self, session: str) -> None:
        await self._client.create_session(session)

    async def append(self, batch: bytes) -> None:
        self.sent_bytes += len(batch)
        await self._append(batch)

    async def load(self, session: str, events: Iterable[Event]) -> None:
        await self.create(session)
        for batch in _batches(session, events):
            await self.append(batch)


def _batches(session: str, events: Iterable[Event]) -> Iterator[bytes]:
    """Events as serialized requests, stated as recorded elsewhere."""
    remaining = iter(events)
    while some := [*islice(remaining, BATCH_ROWS)]:
        yield AppendEventsRequest(session_id=session, events=some, as_recorded=True).SerializeToString()
