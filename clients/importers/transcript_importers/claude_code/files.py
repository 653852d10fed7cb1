"""Which files to read, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript_importers.claude_code.naming import agent_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def log_files(paths: Iterable[Path]) -> list[Path]:
    """The files that some files and folders mean, each once; agents' logs after those of the sessions that began them.

    A folder means every .jsonl file in it, at any depth. One that holds none is given back itself, so that whoever
    named it is told.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        inside = sorted(path.rglob("*.jsonl")) if path.is_dir() else []
        for file in [one for one in inside if one.is_file()] or [path]:
            found.setdefault(file.resolve(), file)
    return sorted(found.values(), key=lambda file: bool(agent_of(file)))
