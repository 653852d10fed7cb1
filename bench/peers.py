"""What a user would pick instead: taken, as it is, from the folder of peers that lies beside a checkout.

The folder has the workload too. It is neither copied nor written to: its modules get a scratch folder for their data.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "peers"

Record = dict[str, Any]
"""A row as the workload makes it: id, seq, turn, kind, ts, text, and of a tool's row call_id and tool."""


class Sqlite(Protocol):
    """SQLite with JSON rows, in this process."""

    def load(self, session: str, events: Iterator[Record]) -> None: ...
    def append(self, session: str, event: Record) -> None: ...
    def open_chat(self, session: str, count: int) -> list[Record]: ...
    def read_all(self, session: str) -> list[Record]: ...


@dataclass(frozen=True)
class Peers:
    """What the folder has."""

    records: Callable[..., Iterator[Record]]
    """`records(count, seed=…, session=…)`: a session's rows."""
    sqlite: Callable[[], Sqlite]
    """WAL, synchronous=FULL, one commit for each append."""
    grouping_sqlite: Callable[[], Sqlite]
    """The same, but appends that arrive during a commit share the next one."""


def find_peers(scratch: Path) -> Peers | None:
    """The peers, with their data in a scratch folder; none if their folder is not there."""
    if not (FOLDER / "common.py").is_file():
        return None
    os.environ["PEERS_DATA"] = str(scratch / "peers")
    os.environ["PEERS_RESULTS"] = str(scratch / "results")
    with _leaving_no_trace():
        sys.path.insert(0, str(FOLDER))
        common = importlib.import_module("common")
        spec = importlib.util.spec_from_file_location("sqlite_raw", FOLDER / "peers" / "sqlite_raw.py")
        if spec is None or spec.loader is None:
            raise ImportError("the peers' SQLite is not there")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return Peers(common.gen_session, module.Peer, _apart(module, scratch / "grouping"))


def _apart(module: Any, folder: Path) -> Callable[[], Sqlite]:
    """Makes the grouping store in a folder of its own: both kinds would take the same file."""

    def make() -> Sqlite:
        folder.mkdir()
        usual, module.DATA = module.DATA, folder
        try:
            store: Sqlite = module.Group()
        finally:
            module.DATA = usual
        return store

    return make


@contextmanager
def _leaving_no_trace() -> Iterator[None]:
    """Imports without compiled files, which would be written beside the sources."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    path = [*sys.path]
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
        sys.path[:] = path
