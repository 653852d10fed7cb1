"""Where an export goes: stdout, or a file that is there once it is whole."""

from __future__ import annotations

import io
import secrets
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from transcript_terminal.complaints import Complaint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

STDOUT: Final = Path("-")


@contextmanager
def opened(output: Path | None) -> Iterator[IO[str]]:
    """The file to write to, in UTF-8; *output*: none for stdout. What goes wrong within leaves no half file.

    Raises:
        Complaint: The file cannot be written.
    """
    if output is None or output == STDOUT:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        yield sys.stdout
        sys.stdout.flush()
        return
    path = output.resolve()
    # A device or a pipe is written to as it is.
    part = path
    if path.is_file() or not path.exists():
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("w" if part == path else "x", encoding="utf-8", newline="\n") as file:
            yield file
        if part != path:
            part.replace(path)
    except BrokenPipeError:
        raise  # as on stdout: whoever read has seen enough
    except OSError as failed:
        raise Complaint(f"cannot write {output}: {failed.strerror}", do="name another file: --output FILE") from failed
    finally:
        if part != path:
            part.unlink(missing_ok=True)
