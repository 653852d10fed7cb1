"""`transcript serve`: the server, in the foreground."""

from __future__ import annotations

from pathlib import Path

import click

from transcript_terminal.commands.options import DEFAULT_SERVER
from transcript_terminal.serving import cannot_serve, server_extra


@click.command()
@click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), help="Where the data lies; by default the user's own."
)
@click.option(
    "--grpc", default=DEFAULT_SERVER, show_default=True, metavar="HOST:PORT", help="Where to listen; port 0 picks one."
)
def serve(data: Path | None, grpc: str) -> None:
    """Serve transcripts until Ctrl-C. Prints `grpc HOST:PORT` once it is ready."""
    with server_extra():
        from platformdirs import user_data_path

        from transcript_server import app
        from transcript_server.journal.sqlite.store import StoreUnusable

    folder = data or user_data_path("transcript")
    try:
        app.serve(app.Config(data=folder, grpc=grpc), lambda address: click.echo(f"grpc {address}"))
    except (OSError, ValueError, StoreUnusable) as error:
        raise cannot_serve(error) from error
