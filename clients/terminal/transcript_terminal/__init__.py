"""The `transcript` command: serve, import, read and watch transcripts in a terminal."""

from __future__ import annotations

import errno
import os
import sys

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
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
    try:
        cli(prog_name="transcript")
    except OSError as failed:
        if failed.errno not in _NO_ROOM:
            raise
        said = f"the output cannot be written: {failed.strerror}; make room, or write elsewhere"
        sys.stderr.write(f"transcript: {said}\n")
        # What is left in the buffer would fail again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
