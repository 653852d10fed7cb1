"""The server's side of the command: what `serve` and the demo need of the extra `server`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from transcript_terminal.complaints import Complaint

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS = frozenset({"transcript", "transcript_importers", "transcript_server", "transcript_terminal"})


@contextmanager
def server_extra() -> Iterator[None]:
    """Within: a module of the extra that is missing becomes what to install."""
    try:
        yield
    except ModuleNotFoundError as missing:
        name = missing.name or ""
        if name.partition(".")[0] in _OURS and name != "transcript_server":
            raise
        raise Complaint(
            f"the server needs {name}, which is not installed",
            do="install it: pip install 'transcript[server]'",
            entry="no-server-installed",
        ) from missing


def cannot_serve(error: Exception) -> Complaint:
    """The complaint for a server that could not begin."""
    do = "--grpc HOST:PORT names another address (port 0 picks one), --data DIR another folder"
    return Complaint(f"cannot serve: {error}", do=do, entry="cannot-serve")
