"""Rows of a query, typed for what they are: whatever the statement selects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import apsw

Bindings = Sequence[Any] | Mapping[str, Any]


def first(connection: apsw.Connection, statement: str, bindings: Bindings = ()) -> tuple[Any, ...] | None:
    """A query's first row; none if it has none."""
    return connection.execute(statement, bindings).fetchone()


def only(connection: apsw.Connection, statement: str, bindings: Bindings = ()) -> tuple[Any, ...]:
    """The row of a query that always has one."""
    row = first(connection, statement, bindings)
    if row is None:
        raise LookupError(f"no row: {statement}")
    return row


def each(connection: apsw.Connection, statement: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
    """A query's rows, read as they are asked for."""
    return connection.execute(statement, bindings)
