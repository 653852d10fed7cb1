"""`transcript demo`: a server with something in it, for looking around."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import click

from transcript import TranscriptError, connect
from transcript_terminal.complaints import complaint_of
from transcript_terminal.demo import tour
from transcript_terminal.output import Output
from transcript_terminal.serving import cannot_serve, server_extra


@click.command()
@click.option("--once", is_flag=True, help="Show the sample and end.")
@click.option(
    "--grpc", default="127.0.0.1:0", show_default=True, metavar="HOST:PORT", help="Where to listen; port 0 picks one."
)
def demo(once: bool, grpc: str) -> None:
    """Serve two sample sessions from a folder of their own, show one, and say what to try next.

    Goes on serving until Ctrl-C, except with --once or where the output is no terminal. Nothing of it
    stays: the folder is removed at the end.
    """
    with server_extra():
        from transcript_server.app import Config, serving

    async def guided(data: Path) -> None:
        output = Output()
        ended = asyncio.Event()
        # Ended by another program, the folder is removed all the same.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        async with serving(Config(data=data, grpc=grpc)) as running:
            try:
                async with connect(running.address) as client:
                    for line in await tour.fill(client):
                        output.note(line)
                    await tour.show(client, output)
            except TranscriptError as error:
                raise complaint_of(error, running.address) from error
            click.echo(f"\n{tour.next_steps(running.address)}")
            if sys.stdout.isatty() and not once:
                click.echo(f"\nServing on {running.address} until Ctrl-C.")
                await ended.wait()

    try:
        with tempfile.TemporaryDirectory(prefix="transcript-demo-") as folder, suppress(KeyboardInterrupt):
            asyncio.run(guided(Path(folder)))
    except (OSError, ValueError) as error:
        raise cannot_serve(error) from error
