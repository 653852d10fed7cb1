"""What no file of the project holds: the machine that it was written on, and marks of unfinished work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .tree import ROOT, files, relative

TEXTS = [*files(".md", ".proto", ".py", ".toml", ".yaml"), ROOT / "Makefile", ROOT / ".ci" / "run"]

# Where packages come from is each machine's own affair; the lock names it for the machine that wrote it.
INDEXES = set(re.findall(r'https?://([^/"]+)', (ROOT / "uv.lock").read_text()))
REGISTRIES = {"pypi.org", "pythonhosted.org", "npmjs.org", "deb.debian.org"}

FOLDERS = [str(ROOT), str(Path.home()), "/root", "/work", "/opt"]
MACHINE = re.compile(rf"(?<![\w.}}])(?:{'|'.join(map(re.escape, FOLDERS))})(?![\w-])")


@pytest.mark.parametrize("path", [path for path in TEXTS if path != Path(__file__).resolve()], ids=relative)
def test_no_file_names_the_machine_that_it_was_written_on(path: Path) -> None:
    """A path or a host of one machine is wrong on every other."""
    text = path.read_text()

    assert MACHINE.findall(text) + [host for host in sorted(INDEXES | REGISTRIES) if host in text] == []


@pytest.mark.parametrize("path", [path for path in TEXTS if path != Path(__file__).resolve()], ids=relative)
def test_no_file_says_that_it_is_unfinished(path: Path) -> None:
    """What is left to do is said where it is followed up, not in the code."""
    assert re.findall(r"(?:#|//|--) *(?:TODO|FIXME)\b.*", path.read_text()) == []
