"""The examples of the docs do what they say: each block is run, as a reader would, against a real server."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from transcript_server.app import Serving

from .markdown import Block, split
from .tree import ROOT

PAGES = ["README.md", "docs/clients/python.md", "docs/grpcurl.md", "docs/two-faces.md"]

SECONDS = 60


COMMANDS = Path(sys.executable).parent

HAS_GRPCURL = (COMMANDS / "grpcurl").exists()


def blocks(page: str) -> list[Block]:
    """The blocks of a page that a reader can run; `make` is what a continuous build runs anyhow."""
    left_out = ("make ",) if HAS_GRPCURL else ("make ", "grpcurl ")
    found = [block for block in split(ROOT / page)[1] if block.language in {"python", "sh"}]
    return [block for block in found if block.not_run is None and not block.text.startswith(left_out)]


def output_of(page: str, block: Block) -> str | None:
    """What a page says that a block prints: a block of text right below it."""
    all_blocks = split(ROOT / page)[1]
    following = all_blocks[all_blocks.index(block) + 1 :][:1]
    return next((shown.text for shown in following if shown.language == "text"), None)


async def run(block: Block, home: Path, address: str) -> tuple[int, str]:
    """Runs a block in a process of its own, with the project's commands on the path and nothing of the user's."""
    environment = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(COMMANDS), os.environ["PATH"]]),
        "LANG": "C.UTF-8",
        "TRANSCRIPT_SERVER": address,
    }
    shell = shutil.which("bash") or "sh"
    command = [sys.executable, "-c"] if block.language == "python" else [shell, "-euo", "pipefail", "-c"]
    process = await asyncio.create_subprocess_exec(
        *command,
        block.text,
        cwd=ROOT,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        output, _ = await process.communicate()
        return -1, f"still running after {SECONDS} s\n{output.decode(errors='replace')}"
    return process.returncode or 0, output.decode(errors="replace")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES)
async def test_the_examples_of_a_page_run(page: str, server: Serving, tmp_path: Path) -> None:
    """Each block ends well, in the page's order against one server: a later one may use what an earlier one made.

    What the page says that it prints, it prints.
    """
    if page == "docs/grpcurl.md" and not HAS_GRPCURL:
        pytest.skip("grpcurl is not packaged for this kind of machine")
    for block in blocks(page):
        code, output = await run(block, tmp_path, server.address)

        assert code == 0, f"{page}:{block.line} ended with {code}\n{output}"
        if (expected := output_of(page, block)) is not None:
            assert output.rstrip().splitlines() == expected.splitlines(), f"{page}:{block.line}"
