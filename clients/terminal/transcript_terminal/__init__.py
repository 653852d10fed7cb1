"""The `transcript` command: serve, import, read and watch transcripts in a terminal."""

from __future__ import annotations

import os
import sys

NEEDED = frozenset({"click", "rich"})


def main() -> None:
    """The command's entry point. Says what to install if the extra `terminal` is missing."""
    # gRPC's own lines on stderr tell a person nothing that the command does not.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        from transcript_terminal.cli import cli
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in NEEDED:
            raise
        sys.stderr.write(
            f"transcript: the command needs {missing.name}, which is not installed; "
            "install it: pip install 'transcript[terminal]'\n"
        )
        sys.exit(1)
    cli(prog_name="transcript")
