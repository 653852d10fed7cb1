"""Prints what is seen of a scenario now, in its file's form: `python -m scenarios.actual NAME`, in tests/.

For whoever writes the next one, to compare with what the rules say. A file that expects nothing yet has
`views: {}` and `context: {}`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from transcript import connect
from transcript_server.app import Config, serving

from .playing import Moment, play
from .reading import context_lines
from .scenario import load


async def actual(name: str) -> str:
    """Every view and context after the scenario's last step."""
    scenario = load(name)
    with TemporaryDirectory() as folder:
        async with (
            serving(Config(data=Path(folder), grpc="127.0.0.1:0")) as server,
            connect(server.address) as client,
        ):
            async for last in play(client, scenario):
                moment = last
    return "\n".join(_told(moment))


def _told(moment: Moment) -> Iterator[str]:
    yield "views:"
    for way, seen in moment.seen.items():
        yield from _part(way, seen.lines(running=moment.running))
    yield ""
    yield "context:"
    for way, events in moment.context.items():
        yield from _part(way, context_lines(events))


def _part(way: str, lines: Iterable[str]) -> list[str]:
    told = [f"    {line}" for line in lines]
    return [f"  {way}: |", *told] if told else [f'  {way}: ""']


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(actual(sys.argv[1])) + "\n")
