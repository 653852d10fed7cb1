"""What was measured, beside what was wanted."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

import apsw

from bench.rounds import Rounds
from bench.world import Loaded

MS: Final = "ms"
US: Final = "us"
RATE: Final = "rows/s"
_PER_SECOND: Final = {MS: 1e3, US: 1e6}


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A goal and how far it is reached.

    Attributes:
        what: What is held against what.
        ours: The service's figure, the median over the rounds.
        peer: The other one's.
        unit: Of both.
        ratio: The median of the rounds' ratios of the two.
        goal: What the ratio is to be, in words.
        reached: Whether it is.
    """

    what: str
    ours: float
    peer: float
    unit: str
    ratio: float
    goal: str
    reached: bool


@dataclass(frozen=True)
class _Wanted:
    """A goal: which two samples are held against each other, and which ratio is wanted."""

    what: str
    ours: str
    peer: str
    unit: str
    at_most: float = 0.0
    at_least: float = 0.0
    turned: bool = False
    """Whether the ratio is the peer's by ours: how many times faster."""

    def measure(self, rounds: Rounds, many_rows: int) -> Measure | None:
        """The goal as measured; none if its peer was not there, or the system does not tell processor time."""
        if not all(name in rounds.values and all(rounds.values[name]) for name in (self.ours, self.peer)):
            return None
        ratio = rounds.ratio(self.peer, self.ours) if self.turned else rounds.ratio(self.ours, self.peer)
        return Measure(
            what=self.what.format(many=many_rows),
            ours=_in(self.unit, rounds.median(self.ours)),
            peer=_in(self.unit, rounds.median(self.peer)),
            unit=self.unit,
            ratio=round(ratio, 2),
            goal=f"≤ {self.at_most:g}" if self.at_most else f"≥ {self.at_least:g}",
            reached=ratio <= self.at_most if self.at_most else ratio >= self.at_least,
        )


@dataclass(frozen=True)
class Figure:
    """Something that has no goal."""

    what: str
    value: float
    unit: str = ""


READS = (
    _Wanted("open 100 of 10,000 rows / an empty call", "open", "empty", MS, at_most=2.2),
    _Wanted("open 100 of 10,000 rows / SQLite and JSON, in process", "open", "open sqlite", MS, at_most=1.5),
    _Wanted("open at {many:,} rows / at 1,000", "open many", "open thousand", MS, at_most=1.3),
    _Wanted("open after a turn of 50,000 rows / without", "open long turn", "open ordinary", MS, at_most=1.5),
    _Wanted(
        "SQLite and JSON, in process / read 10,000 rows",
        "read",
        "read sqlite",
        MS,
        at_least=2,
        turned=True,
    ),
    _Wanted(
        "processor time: stream a journal / decode and encode it",
        "stream cpu",
        "recoded stream cpu",
        MS,
        at_most=0.55,
    ),
)
CONTEXTS = (
    _Wanted("context of 200 rows at {many:,} rows / at 1,000", "context many", "context short", MS, at_most=1.5),
    _Wanted("the same as of a row in the middle / now", "context then", "context many", MS, at_most=3),
    _Wanted("each row of a context of 8,000 rows / of 1,000", "row of larger", "row of large", US, at_most=1.2),
)
WRITES = (
    _Wanted("append on 16 streams / by 16 unary callers", "streamed", "unary", RATE, at_least=3),
    _Wanted("append on 16 streams / SQLite with group commit", "streamed", "grouped sqlite", RATE, at_least=1),
    _Wanted("append one row / an empty call and SQLite's commit", "append", "empty and commit", MS, at_most=1.25),
    _Wanted(
        "append while pages are read: p99 / p50",
        "append p99 while read",
        "append p50 while read",
        MS,
        at_most=4,
    ),
    _Wanted("from append to watcher / append", "append to watcher", "watched append", MS, at_most=2),
    _Wanted("processor time: one of 100 deliveries / an empty call", "delivery cpu", "empty cpu", US, at_most=0.2),
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """All that a run found."""

    machine: str
    measures: list[Measure]
    others: list[Figure]

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)

    def as_text(self) -> str:
        return "\n".join([self.machine, "", *_table(self.measures), "", *_list(self.others)])


def report(
    reads: Rounds, contexts: Rounds, writes: Rounds, loaded: Loaded, handler_seconds: float, load_average: str
) -> Report:
    """Puts a run's samples against the goals."""
    wanted = [(READS, reads), (CONTEXTS, contexts), (WRITES, writes)]
    measured = [goal.measure(rounds, loaded.many_rows) for goals, rounds in wanted for goal in goals]
    return Report(
        machine=_machine(load_average),
        measures=[measure for measure in measured if measure is not None],
        others=[
            Figure("rows of the long session", loaded.many_rows),
            Figure("loading it", round(loaded.rows_per_second), RATE),
            Figure("bytes of the store's files for each byte of rows as sent", round(loaded.size_ratio, 2)),
            Figure("one durable append, p50", _in(MS, writes.median("append")), MS),
            Figure("context of 200 rows, p50", _in(MS, contexts.median("context many")), MS),
            Figure("deliveries to 100 watchers of one session", round(writes.median("deliveries")), RATE),
            Figure("an empty call of a server that does nothing", _in(MS, reads.median("bare empty")), MS),
            Figure("one message of a page's size, streamed by it", _in(MS, reads.median("bare message")), MS),
            Figure("of an opening, in the server's handler", _in(MS, handler_seconds), MS),
        ],
    )


def _in(unit: str, value: float) -> float:
    """Seconds, or rows a second, in the unit that they are shown in."""
    return round(value * _PER_SECOND.get(unit, 1), 2 if unit == MS else 0)


def _shown(value: float, unit: str) -> str:
    return f"{value:,.2f} {unit}" if unit == MS else f"{value:,.12g} {unit}".strip()


def _machine(load_average: str) -> str:
    packages = ("grpcio", "protobuf", "uvloop")
    versions = [f"{name} {metadata.version(name)}" for name in packages]
    return ", ".join(
        [
            _processor(),
            f"{os.cpu_count()} cores",
            f"load {load_average}",
            f"{platform.system()} {platform.release()}",
            f"Python {platform.python_version()}",
            *versions,
            f"SQLite {apsw.sqlite_lib_version()} (server's)",
            f"{sqlite3.sqlite_version} (peer's)",
        ]
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _table(measures: list[Measure]) -> Iterator[str]:
    rows = [("measure", "ours", "peer", "ratio", "goal", "reached")]
    for measure in measures:
        reached = "yes" if measure.reached else "NO"
        ours, peer = _shown(measure.ours, measure.unit), _shown(measure.peer, measure.unit)
        rows.append((measure.what, ours, peer, f"{measure.ratio:.2f}", measure.goal, reached))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, (what, *figures) in enumerate(rows):
        yield "  ".join([what.ljust(widths[0]), *map(str.rjust, figures, widths[1:])])
        if number == 0:
            yield "  ".join("-" * width for width in widths)


def _list(figures: list[Figure]) -> Iterator[str]:
    width = max(len(figure.what) for figure in figures)
    for figure in figures:
        yield f"{figure.what.ljust(width)}  {_shown(figure.value, figure.unit)}"
