"""The docs keep up with the project: what they point to is there, and what has to be told is told."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from .markdown import anchors, in_code, links
from .tree import ROOT, files, relative

PAGES = files(".md")
DOCS = ROOT / "docs"

# What a page's own words may leave out before a path.
BASES = (ROOT, ROOT / "server" / "transcript_server", ROOT / "clients" / "python", ROOT / "tests")


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    """A relative link names a file that is there, and an anchor that this file has."""
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_paths_in_the_text_exist(page: Path) -> None:
    """A file or folder of the project that a page names is there."""
    named = [text for text in in_code(page) if re.fullmatch(r"\.?\w[\w./-]*(/|\.(py|proto|md|toml|yaml|binpb))", text)]
    missing = [text for text in named if "/" in text and not any((base / text).exists() for base in BASES)]

    assert missing == []


@pytest.mark.parametrize("folder", [DOCS, DOCS / "decisions", DOCS / "clients"], ids=relative)
def test_every_page_is_in_an_index(folder: Path) -> None:
    """A page that no index names is not found."""
    named = {
        (index.parent / link.partition("#")[0]).resolve() for index in DOCS.rglob("README.md") for link in links(index)
    }

    assert sorted(set(folder.glob("*.md")) - named - set(DOCS.rglob("README.md"))) == []


def test_the_rules_are_all_told() -> None:
    """The design's numbered rules are there, each once and in order: tests and comments name them by number."""
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", (DOCS / "design.md").read_text(), re.MULTILINE)]

    assert numbers == list(range(1, 33))


def test_every_dependency_has_its_reason() -> None:
    """What the project takes in from elsewhere is named with why, and nothing else is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    required = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(name for names in project["project"]["optional-dependencies"].values() for name in names),
        *(name for names in project["dependency-groups"].values() for name in names),
        *re.findall(r"--with '?([\w-]+)", (ROOT / "Makefile").read_text()),
        "uv",
    ]
    names = {re.split(r"[^\w-]", requirement)[0] for requirement in required}
    told = re.findall(r"^\| `([\w-]+)`", (DOCS / "decisions" / "dependencies.md").read_text(), re.MULTILINE)

    assert sorted(told) == sorted(names)


def test_the_start_is_two_commands() -> None:
    """A stranger gets from a checkout to a running server and passing tests in two commands."""
    readme = (ROOT / "README.md").read_text()

    assert "```sh\nmake demo\nmake test\n```" in readme
