"""The model's surface read back, as it stands or stood once any row had landed (rules 24 and 25).

A row stands as of n if it landed by then, after the last row that emptied the surface by then, and nothing took
it off until n. Of those that nothing ever took off, `standing` gives the ones that landed by n: no position is
taken twice, so what replaced them since is no more than they are. Those that were taken off since are the
intervals [sequence, left_at - 1] that hold n: a relational interval tree finds them, one probe for each bit of
the last sequence. So a read costs what stood, and neither what came before nor what came after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import apsw

from transcript_server.journal.journal import Context, Face, Span
from transcript_server.journal.sqlite import rows
from transcript_server.journal.sqlite.heads import Head
from transcript_server.journal.sqlite.queries import each
from transcript_server.journal.sqlite.surfaces import floor
from transcript_server.journal.sqlite.turn_states import running_prompt
from transcript_server.rules.errors import sequence_ahead
from transcript_server.rules.surface import path

NEVER_TAKEN: Final = """
SELECT pos, key FROM surface INDEXED BY standing WHERE pos > :floor AND pos <= :at AND left_at IS NULL AND key <= :at"""
TAKEN_AFTER: Final = "SELECT pos, key FROM surface INDEXED BY gone_by_leaving WHERE node = ? AND left_at > ?"
LANDED_BY: Final = """
SELECT pos, key FROM surface INDEXED BY gone_by_landing WHERE node = ? AND key <= ? AND left_at IS NOT NULL"""


def read_context(
    connection: apsw.Connection, head: Head, face: Face, as_of: int | None, *, exclude_running_prompt: bool, budget: int
) -> Context:
    """The surface and its first rows.

    Raises:
        Refusal: SEQUENCE_AHEAD.
    """
    at = head.tip if as_of is None else as_of
    if at > head.tip:
        raise sequence_ahead("as_of_sequence", at, head.tip)
    standing = standing_as_of(connection, head, at)
    if exclude_running_prompt and (prompt := running_prompt(connection, head.base, at)) in standing:
        standing.remove(prompt)
    return Context(head.place, at, rows.read(connection, head.base, [*_spans(face, standing)], budget))


def standing_as_of(connection: apsw.Connection, head: Head, at: int) -> list[int]:
    """The rows that stood on the surface once row `at` had landed, in its order."""
    base = head.base
    found = [*each(connection, NEVER_TAKEN, {"floor": floor(connection, base, at), "at": base + at})]
    if 0 < at < head.tip:
        for node in path(at, head.tip):
            if node <= at:
                found += each(connection, TAKEN_AFTER, (base + node, at))
            else:
                found += each(connection, LANDED_BY, (base + node, base + at))
        found.sort()
    return [key - base for _, key in found]


def _spans(face: Face, sequences: Iterable[int]) -> Iterator[Span]:
    """Runs of sequences, each one more than the one before it, as spans."""
    run: tuple[int, int] | None = None
    for sequence in sequences:
        if run is not None and sequence == run[1] + 1:
            run = run[0], sequence
            continue
        if run is not None:
            yield Span(face, *run)
        run = sequence, sequence
    if run is not None:
        yield Span(face, *run)
