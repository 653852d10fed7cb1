"""`transcript import claude-code`: what it says of each file."""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file
from pathlib import Path

import pytest

from transcript_terminal.demo.samples import LOG_ID, log

from .command import Command, bare


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one log that is fine, and one that is none."""
    made = tmp_path / "logs"
    made.mkdir()
    with as_file(log()) as path:
        shutil.copy(path, made / f"{LOG_ID}.jsonl")
    (made / "not-a-log.jsonl").write_text('{"hello": 1}\n')
    return made


async def test_a_line_for_each_file_and_1_if_any_failed(command: Command, folder: Path) -> None:
    ran = await command("import", "claude-code", str(folder))
    fine = f"{folder}/{LOG_ID}.jsonl: 29 rows added, 2 as foreign records → {LOG_ID}"

    assert ran.status == 1
    assert ran.lines[0] == fine
    assert ran.lines[1].startswith(f"{folder}/not-a-log.jsonl: failed: ")
    again = await command("import", "claude-code", f"{folder}/{LOG_ID}.jsonl")
    assert again.status == 0
    assert again.stdout == f"{folder}/{LOG_ID}.jsonl: 0 rows added, 29 were there, 2 as foreign records → {LOG_ID}\n"
    assert again.stderr == ""


async def test_one_foreign_record_is_told_as_one(command: Command, folder: Path) -> None:
    path = folder / f"{LOG_ID}.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    ran = await command("import", "claude-code", str(path))

    assert ran.stdout == f"{path}: 28 rows added, 1 as a foreign record → {LOG_ID}\n"


async def test_json_has_an_object_for_each_file(command: Command, folder: Path) -> None:
    ran = await command("import", "claude-code", "--json", str(folder))
    fine, failed = map(json.loads, ran.lines)

    assert fine == {
        "file": f"{folder}/{LOG_ID}.jsonl",
        "session_id": LOG_ID,
        "lines": 26,
        "rows": 29,
        "added": 29,
        "foreign": 2,
        "unreadable": 0,
    }
    assert failed["error"]
    assert ran.status == 1


async def test_a_terminal_gets_a_bar_that_is_gone_at_the_end(command: Command, folder: Path) -> None:
    ran = await (await command.on_terminal("import", "claude-code", str(folder), width=200)).end()

    assert ran.status == 1
    assert "29 rows added" in bare(ran.stdout)
    assert "\x1b[?25h" in ran.stdout, "the cursor is shown again"


async def test_a_path_that_is_not_there_is_a_misuse(command: Command) -> None:
    ran = await command("import", "claude-code", "nowhere.jsonl")

    assert ran.status == 2
    assert "nowhere.jsonl" in ran.stderr
