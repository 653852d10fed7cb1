"""Runs the measurements and prints what they found: `python -m bench [--json]`."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from bench.contexts import measure_contexts
from bench.reads import measure_reads
from bench.table import Report, report
from bench.world import COMPACTED_EVERY, say, world
from bench.writes import measure_writes

ROWS = 1_000_000
LEAST_ROWS = 3 * COMPACTED_EVERY
LOAD_SECONDS = 210
READ_SECONDS = 45
CONTEXT_SECONDS = 30
WRITE_SECONDS = 60


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description="Measures speed against its goals (docs/speed.md).")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the long session (default: %(default)s)")
    parser.add_argument(
        "--in", dest="folder", type=Path, help="where the data lies meanwhile (default: the temporary folder)"
    )
    arguments = parser.parse_args()
    if arguments.rows < LEAST_ROWS:
        parser.error(f"--rows: at least {LEAST_ROWS}, for a compaction to lie in the middle")
    # Ended from outside, it still ends its servers and removes its data.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="transcript-bench-", dir=arguments.folder) as scratch:
        try:
            found = _run(_measure(Path(scratch), arguments.rows))
        except KeyboardInterrupt:
            return 130
    print(found.as_json() if arguments.json else found.as_text())
    return 0


async def _measure(scratch: Path, rows: int) -> Report:
    begun, load_before = time.monotonic(), os.getloadavg()[0]
    async with world(scratch, rows, LOAD_SECONDS) as made:
        # What the bench itself holds is not to be looked through again whenever a peer makes many objects.
        gc.collect()
        gc.freeze()
        reads = await measure_reads(made, time.monotonic() + READ_SECONDS)
        handler = made.server.handler_seconds("ReadPage")
        contexts = await measure_contexts(made, time.monotonic() + CONTEXT_SECONDS)
        writes = await measure_writes(made, time.monotonic() + WRITE_SECONDS)
        say(f"done in {time.monotonic() - begun:.0f} s")
        return report(reads, contexts, writes, made.loaded, handler, f"{load_before:.1f} to {os.getloadavg()[0]:.1f}")


def _run(measuring: Coroutine[Any, Any, Report]) -> Report:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(measuring)
    return uvloop.run(measuring)


if __name__ == "__main__":
    sys.exit(main())
