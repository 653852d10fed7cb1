"""The checkout's own files, as the tests of the project look at them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What tools put beside the sources; `.gitignore` names the same.
PASSED_OVER = {
    ".git",
    ".venv",
    ".tools",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    "__pycache__",
    "node_modules",
    "build",
    "dist",
}

GENERATED = ROOT / "clients" / "python" / "transcript" / "v1"

# Where each hand-written package lies.
PACKAGES = {
    "transcript": ROOT / "clients" / "python",
    "transcript_importers": ROOT / "clients" / "importers",
    "transcript_server": ROOT / "server",
    "transcript_terminal": ROOT / "clients" / "terminal",
}


def all_files() -> Iterator[Path]:
    """Every file of the checkout, in order of its path."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in PASSED_OVER and not name.endswith(".egg-info"))
        for name in sorted(names):
            yield Path(folder) / name


def files(*suffixes: str) -> list[Path]:
    """The hand-written files whose names end in one of these."""
    return [path for path in all_files() if path.suffix in suffixes and GENERATED not in path.parents]


def relative(path: Path) -> str:
    """A path as messages name it."""
    return path.relative_to(ROOT).as_posix()
