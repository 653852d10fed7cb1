"""A part of the project that was not installed is named with the command that installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run_without(missing: str, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in an interpreter that cannot import *missing*."""
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {missing!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        f"sys.argv = ['transcript', *{arguments!r}]\n"
        "from transcript_terminal import main\n"
        "main()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_terminal_the_command_says_how_to_get_it(missing: str, tmp_path: Path) -> None:
    ran = run_without(missing, ["sessions"], tmp_path)

    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr == (
        f"transcript: the command needs {missing}, which is not installed; "
        "install it: pip install 'transcript[terminal]'\n"
    )


@pytest.mark.parametrize("command", ["serve", "demo"])
@pytest.mark.parametrize("missing", ["transcript_server", "apsw"])
def test_without_the_extra_server_only_serve_and_demo_are_lost(command: str, missing: str, tmp_path: Path) -> None:
    ran = run_without(missing, [command], tmp_path)

    assert ran.returncode == 1
    assert ran.stderr == (
        f"transcript: the server needs {missing}, which is not installed; "
        "install it: pip install 'transcript[server]' (docs/errors.md#no-server-installed)\n"
    )
    assert run_without(missing, ["show", "--help"], tmp_path).returncode == 0


def test_another_missing_module_is_not_explained_away(tmp_path: Path) -> None:
    ran = run_without("google", ["sessions"], tmp_path)

    assert ran.returncode == 1
    assert "ModuleNotFoundError" in ran.stderr
