"""The store's folder and file: whose they are, who may open them, and how an older file is brought up to date."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from semantics.rows import checkpoint, reply, rewind, user

from journal.callers import Caller
from journal.stores import Clock, SqliteStore
from transcript_server.app import Config, serving
from transcript_server.journal.sqlite import schema
from transcript_server.journal.sqlite.store import SqliteJournal, StoreInUse, StoreUnusable


@pytest.fixture
def generous() -> Iterator[None]:
    """A process that makes its files readable to everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    """Who may do what."""
    return stat.S_IMODE(path.stat().st_mode)


def database(folder: Path) -> apsw.Connection:
    """The store's file, opened beside the store."""
    return apsw.Connection(str(folder / "transcript.sqlite3"))


async def test_folder_and_files_are_their_owners_alone(store: SqliteStore, clock: Clock, generous: None) -> None:
    """Whatever the process leaves to others: 0700, and 0600 for each file that holds rows."""
    caller = Caller(await store.open(clock))
    await caller.create()
    await caller.append("s", user())
    kept = sorted(path.name for path in store.folder.iterdir() if path.name.startswith("transcript"))
    modes = {mode(store.folder / name) for name in kept}
    await store.close()

    assert kept == ["transcript.sqlite3", "transcript.sqlite3-shm", "transcript.sqlite3-wal"]
    assert modes == {0o600}
    assert mode(store.folder) == 0o700


async def test_a_folder_is_made_with_those_above_it(tmp_path: Path, clock: Clock) -> None:
    """The store's own is its owner's alone."""
    folder = tmp_path / "a" / "b" / "c"
    await (await SqliteJournal.open(folder, idle_timeout_seconds=1, now_us=clock)).close()

    assert mode(folder) == 0o700


async def test_a_second_server_on_one_folder_is_refused_in_clear_words(store: SqliteStore, clock: Clock) -> None:
    """They name the folder and say what to do; the first goes on, and the folder is free once it is closed."""
    caller = Caller(await store.open(clock))
    await caller.create()
    with pytest.raises(StoreInUse) as caught:
        await SqliteJournal.open(store.folder, idle_timeout_seconds=1, now_us=clock)
    assert str(caught.value) == (
        f"another server has {store.folder} open; stop it, or choose another folder with --data"
    )
    with pytest.raises(StoreInUse):
        async with serving(Config(data=store.folder, grpc="127.0.0.1:0")):
            pass

    await caller.append("s", user())
    await store.close()
    await (await SqliteJournal.open(store.folder, idle_timeout_seconds=1, now_us=clock)).close()


async def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(store: SqliteStore, clock: Clock) -> None:
    """In words that say what to do; the folder is not left locked."""
    caller = Caller(await store.open(clock))
    await caller.create()
    await store.close()
    with closing(database(store.folder)) as connection:
        connection.pragma("user_version", 99)
    before = (store.folder / "transcript.sqlite3").read_bytes()

    for _ in range(2):
        with pytest.raises(StoreUnusable, match=r"written by a newer version \(schema 99\); upgrade the server"):
            await store.open(clock)
    assert (store.folder / "transcript.sqlite3").read_bytes() == before
    with closing(database(store.folder)) as connection:
        connection.pragma("user_version", len(schema.MIGRATIONS))
    assert (await Caller(await store.open(clock)).session()).id == "s"
    await store.close()


async def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(store: SqliteStore, clock: Clock) -> None:
    """It is somebody's; nothing repairs it by writing over it."""
    store.folder.mkdir()
    path = store.folder / "transcript.sqlite3"
    path.write_bytes(b"not a database at all\n" * 1000)
    for _ in range(2):
        with pytest.raises(StoreUnusable, match="not a database"):
            await store.open(clock)

    assert path.read_bytes() == b"not a database at all\n" * 1000


async def test_a_new_file_is_at_the_newest_schema_and_set_up_to_be_durable(store: SqliteStore, clock: Clock) -> None:
    """Write-ahead log, every commit flushed, pages of a size that fits rows."""
    journal = await store.open(clock)
    settings = await journal._writer.do(
        lambda connection, _: [
            connection.pragma(name) for name in ("user_version", "journal_mode", "synchronous", "page_size")
        ]
    )
    await store.close()

    assert settings == [len(schema.MIGRATIONS), "wal", 2, schema.PAGE_BYTES]


async def test_an_older_file_is_brought_up_step_by_step_once(
    store: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it held stays; each step that it had not seen is taken, and no step twice."""
    caller = Caller(await store.open(clock))
    await caller.create()
    await caller.append("s", user())
    before = await caller.everything()
    await store.close()
    steps = ("CREATE TABLE one(x INTEGER) STRICT", "INSERT INTO one VALUES (1); INSERT INTO one VALUES (2)")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, *steps))
    for _ in range(2):
        assert await Caller(await store.open(clock)).everything() == before
        await store.close()

    with closing(database(store.folder)) as connection:
        assert connection.execute("SELECT count(*) FROM one").fetchone() == (2,)
        assert connection.pragma("user_version") == len(schema.MIGRATIONS)


async def test_a_file_of_the_first_release_has_its_surfaces_read_as_of_any_row(
    store: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its indexes are made anew; rows that left before are found as those that leave after."""
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
    caller = Caller(await store.open(clock))
    await caller.create()
    await caller.append("s", user(), reply(), user(), checkpoint(1, 2), rewind(4))
    await store.close()
    monkeypatch.undo()

    caller = Caller(await store.open(clock))
    await caller.append("s", reply())
    seen = [[row.sequence for row in await caller.context(as_of=at)] for at in range(1, 7)]
    await store.close()
    assert seen == [[1], [1, 2], [1, 2, 3], [4, 3], [4], [4, 6]]


async def test_a_step_that_fails_leaves_the_file_as_it_was(
    store: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those before it stand, each by itself."""
    await store.open(clock)
    await store.close()
    version = len(schema.MIGRATIONS)
    good, bad = "CREATE TABLE good(x INTEGER) STRICT", "CREATE TABLE half(x INTEGER) STRICT; SELECT * FROM nowhere"
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, good, bad))
        for _ in range(2):
            with pytest.raises(StoreUnusable, match="nowhere"):
                await store.open(clock)

    with closing(database(store.folder)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert "good" in tables
        assert "half" not in tables
        assert connection.pragma("user_version") == version + 1


@pytest.mark.parametrize(
    ("version", "safe"), [("3.40.1", False), ("3.51.2", False), ("3.51.3", True), ("3.60.0", True), ("4.0.0", True)]
)
async def test_a_sqlite_that_can_corrupt_its_log_is_refused(
    store: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch, version: str, safe: bool
) -> None:
    """Before anything is made."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    if safe:
        await store.open(clock)
        await store.close()
    else:
        with pytest.raises(StoreUnusable, match=f"SQLite {version} can corrupt its log"):
            await store.open(clock)
        assert not store.folder.exists()


async def test_the_key_of_the_hashes_is_made_once(store: SqliteStore, tmp_path: Path, clock: Clock) -> None:
    """32 random bytes, kept with the rows; every store has its own."""
    secrets = []
    for folder in (store.folder, store.folder, tmp_path / "other"):
        journal = await SqliteJournal.open(folder, idle_timeout_seconds=1, now_us=clock)
        secrets.append(journal.secret)
        await journal.close()

    assert secrets[0] == secrets[1] != secrets[2]
    assert {len(secret) for secret in secrets} == {32}
