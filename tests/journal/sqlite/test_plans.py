"""How SQLite carries out each statement: by an index that it names, and never by reading a table through."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import apsw
import apsw.ext
import pytest
from semantics.rows import begin, marker, user

from journal.callers import SOMEBODY_ELSE, Caller, refusal_of
from journal.stores import Clock, SqliteStore
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import VIEW_COMPACT
from transcript_server.journal.sqlite.readers import open_to_read

from .statements import modules, put_together_in_functions, statements

STATEMENTS = statements()

MAY_BE_READ_THROUGH = {
    "hidden": "has a row only for a journal that is being copied or taken away",
    "numbers": "has one row",
}

# What a search is bounded by, where that is neither one row nor a range of one session's keys.
BOUNDED_OTHERWISE = {
    "heads.EXPIRED": "the sweep looks at what is overdue, of all sessions",
    "sessions.LIST_ALL": "one owner's sessions, from a place in the list on",
    "sessions.LIST_CHILDREN": "one parent's sessions, from a place in the list on",
    "copying.NEXT_IDS": "one session's ids, from one on, a step's worth",
}


@dataclass(frozen=True)
class Step:
    """One step of a plan: what is read, and how."""

    detail: str

    @property
    def table(self) -> str:
        """The table, or its name in the statement."""
        return self.detail.split()[1]

    @property
    def bounds(self) -> list[str]:
        """What an index is searched by: `key>?`, `number=?`."""
        found = re.search(r"\(([^()]*)\)$", self.detail)
        return found[1].split(" AND ") if found else []


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    """A reader's connection to a file that was migrated as a server does it."""
    folder = tmp_path_factory.mktemp("plans")

    async def make() -> None:
        store = SqliteStore(folder)
        caller = Caller(await store.open(Clock()))
        await caller.create()
        await caller.append("s", user(), begin(), marker())
        await store.close()

    asyncio.run(make())
    connection = open_to_read(folder / "transcript.sqlite3")
    yield connection
    connection.close()


def plan(connection: apsw.Connection, statement: str) -> list[Step]:
    """The steps of a statement's plan."""

    def walk(node: Any) -> Iterator[Step]:
        yield Step(node.detail)
        for part in node.sub or ():
            yield from walk(part)

    details = apsw.ext.query_info(connection, statement, explain_query_plan=True).query_plan
    return [step for part in details.sub or () for step in walk(part)]


def test_no_function_puts_a_statement_together() -> None:
    """Or its plan could not be looked at."""
    assert [place for module in modules() for place in put_together_in_functions(module)] == []


def test_the_statements_are_found() -> None:
    """Those that pages, appends, forks and deletions are made of among them."""
    assert len(STATEMENTS) > 60
    assert {"heads.BY_ID", "views.TURN_START", "appending.FIND_ID", "surfaces.STANDING"} <= STATEMENTS.keys()
    assert any(name.startswith("copying.COPY_ROWS[") for name in STATEMENTS)


@pytest.mark.parametrize("name", STATEMENTS)
def test_rule_22_no_table_is_read_through_and_nothing_is_sorted(connection: apsw.Connection, name: str) -> None:
    """Every step searches; the rows come in the order of an index."""
    for step in plan(connection, STATEMENTS[name]):
        if step.detail.startswith("SCAN"):
            is_part_of_the_plan = step.table.startswith("(")
            assert is_part_of_the_plan or step.table in MAY_BE_READ_THROUGH, step.detail
        assert "TEMP B-TREE" not in step.detail
        assert "AUTOMATIC" not in step.detail


@pytest.mark.parametrize("name", STATEMENTS)
def test_rule_22_the_index_that_a_statement_names_is_searched(connection: apsw.Connection, name: str) -> None:
    """By its first column, not filtered along the way."""
    for index in re.findall(r"INDEXED BY (\w+)", STATEMENTS[name]):
        by_index = [step for step in plan(connection, STATEMENTS[name]) if f"INDEX {index} " in step.detail]
        assert by_index
        assert all(step.detail.startswith("SEARCH") and step.bounds for step in by_index)


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_search_is_of_one_session(connection: apsw.Connection, name: str) -> None:
    """By a row of it, or from one of its keys to another."""
    for step in plan(connection, STATEMENTS[name]):
        if not step.detail.startswith("SEARCH") or step.table.startswith("("):
            continue
        bounds = step.bounds
        is_one_row = bool(bounds) and bounds[0].endswith("=?")
        is_a_range = {">?", "<?"} <= {bound[-2:] for bound in bounds}
        assert is_one_row or is_a_range or name in BOUNDED_OTHERWISE, step.detail


@pytest.mark.parametrize("name", ["heads.BY_ID", "reading.IS_THERE"])
def test_a_foreign_session_is_looked_for_as_a_missing_one(connection: apsw.Connection, name: str) -> None:
    """One statement has the owner among its conditions: there is no second step that tells the two apart."""
    assert re.search(r"WHERE .*owner = \? AND .*id = \?", STATEMENTS[name], re.DOTALL)
    first = plan(connection, STATEMENTS[name])[0]
    assert first.bounds[:2] in (["owner=?", "id=?"], ["rowid=?"])


CALLS: dict[str, Callable[[Caller, str], Awaitable[Any]]] = {
    "session": lambda caller, name: caller.session(name),
    "append": lambda caller, name: caller.append(name, user()),
    "delete": lambda caller, name: caller.journal.delete_session(caller.who, name),
    "fork": lambda caller, name: caller.journal.fork_session(caller.who, name, 1, Session(id="copy")),
    "page": lambda caller, name: caller.cut(name, view=VIEW_COMPACT),
    "touch": lambda caller, name: caller.journal.touch(caller.who, name),
    "locate": lambda caller, name: caller.journal.locate(caller.who, name),
}


@pytest.mark.parametrize("call", CALLS)
async def test_the_same_statements_run_for_a_foreign_session_as_for_a_missing_one(
    store: SqliteStore, clock: Clock, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, with as many rows read: nothing is loaded and compared afterwards."""
    journal = await store.open(clock)
    caller, stranger = Caller(journal), Caller(journal, SOMEBODY_ELSE)
    await caller.create("theirs")
    await caller.append("theirs", user(), begin())
    ran: list[str] = []

    def traced(job: Callable[..., Any]) -> Callable[..., Any]:
        def run(connection: apsw.Connection, *rest: Any) -> Any:
            connection.exec_trace = lambda _, statement, __: ran.append(statement) or True
            connection.row_trace = lambda _, row: ran.append("a row") or row
            try:
                return job(connection, *rest)
            finally:
                connection.exec_trace = connection.row_trace = None

        return run

    read, write = journal._readers.do, journal._writer.do
    monkeypatch.setattr(journal._readers, "do", lambda job: read(traced(job)))
    monkeypatch.setattr(journal._writer, "do", lambda job, *rest: write(traced(job), *rest))
    traces = []
    for name in ("missing", "theirs"):
        ran.clear()
        assert (await refusal_of(CALLS[call](stranger, name))).reason_name == "SESSION_NOT_FOUND"
        traces.append([*ran])
    await store.close()

    assert traces[0]
    assert traces[0] == traces[1]
