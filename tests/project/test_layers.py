"""Which way imports point: proto → rules → journal → services → clients → renderers, and never back."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .tree import GENERATED, PACKAGES, files, relative

# A layer, and what of the project's own it may import; a module belongs to the longest name that fits it.
LAYERS = {
    "transcript": {"transcript"},
    "transcript_importers": {"transcript", "transcript_importers"},
    "transcript_terminal": {"transcript", "transcript_importers", "transcript_terminal"},
    "transcript_server": {"transcript.v1", "transcript_server"},
    "transcript_server.rules": {"transcript.v1", "transcript_server.rules"},
    "transcript_server.journal": {"transcript.v1", "transcript_server.rules", "transcript_server.journal"},
    "transcript_server.services": {
        "transcript.v1",
        "transcript_server.rules",
        "transcript_server.journal",
        "transcript_server.services",
    },
}

# What a layer may import besides the standard library and the project; a layer not named, whatever is installed.
THIRD_PARTY = {
    "transcript": {"google", "grpc", "grpc_status"},
    "transcript_importers": {"google"},
    "transcript_server.rules": {"google"},
    "transcript_server.journal": {"apsw", "google"},
}

# Pure code neither waits nor reads nor writes: what it needs to know it is given.
IMPURE = {
    "asyncio", "concurrent", "ftplib", "http", "io", "logging", "multiprocessing", "os", "pathlib", "queue", "select",
    "selectors", "shutil", "signal", "smtplib", "socket", "socketserver", "sqlite3", "ssl", "subprocess", "tempfile",
    "threading", "urllib",
}  # fmt: skip

# The commands that start a server in their own process, and only once they are called.
STARTS_SERVERS = ("serve", "demo")

LINES = 600


@dataclass(frozen=True)
class Import:
    """One import statement's target, and where it stands."""

    module: str
    target: str
    place: str
    in_function: bool


def module_name(path: Path) -> str:
    package = next(folder for folder in PACKAGES.values() if folder in path.parents)
    parts = list(path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def absolute(module: str, is_package: bool, node: ast.ImportFrom) -> str:
    """The module that a `from … import` names, relative ones resolved."""
    if not node.level:
        return node.module or ""
    parents = module.split(".")
    base = parents[: len(parents) - node.level + is_package]
    return ".".join([*base, *([node.module] if node.module else [])])


def imports(path: Path) -> Iterator[Import]:
    module = module_name(path)

    def walk(node: ast.AST, in_function: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            place = f"{relative(path)}:{getattr(child, 'lineno', 0)}"
            if isinstance(child, ast.Import):
                for name in child.names:
                    yield Import(module, name.name, place, in_function)
            elif isinstance(child, ast.ImportFrom):
                base = absolute(module, path.name == "__init__.py", child)
                for name in child.names:
                    # `from package import module` may name a module as well as a thing in one.
                    yield Import(module, f"{base}.{name.name}", place, in_function)
            else:
                inside = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                yield from walk(child, inside)

    yield from walk(ast.parse(path.read_text()), in_function=False)


def within(name: str, prefixes: set[str]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def layer_of(module: str) -> str:
    return max((layer for layer in LAYERS if within(module, {layer})), key=len)


def hand_written() -> list[Path]:
    return [path for path in files(".py") if any(folder in path.parents for folder in PACKAGES.values())]


def starts_a_server(found: Import) -> bool:
    """Whether this is the one import of the server that a client may have."""
    name = found.module.removeprefix("transcript_terminal")
    return name != found.module and found.in_function and any(word in name for word in STARTS_SERVERS)


@pytest.mark.parametrize("path", hand_written(), ids=relative)
def test_imports_of_the_projects_own_packages_point_one_way(path: Path) -> None:
    """A layer imports itself and what lies before it; only serve and demo reach the server, and only when called."""
    wrong = [
        f"{found.place} imports {found.target}"
        for found in imports(path)
        if within(found.target, set(PACKAGES))
        and not within(found.target, LAYERS[layer_of(found.module)])
        and not (within(found.target, {"transcript_server"}) and starts_a_server(found))
    ]

    assert wrong == []


@pytest.mark.parametrize("path", hand_written(), ids=relative)
def test_a_layer_imports_only_the_packages_that_it_is_made_of(path: Path) -> None:
    """The rules know Protobuf alone, the journal no gRPC, the client neither a terminal nor a store."""
    wrong = []
    for found in imports(path):
        allowed = THIRD_PARTY.get(layer_of(found.module))
        top = found.target.partition(".")[0]
        if allowed is not None and top not in {*allowed, *PACKAGES, *sys.stdlib_module_names}:
            wrong.append(f"{found.place} imports {found.target}")

    assert wrong == []


def test_the_rules_are_pure() -> None:
    """No module of the rules imports one that waits, reads or writes."""
    wrong = [
        f"{found.place} imports {found.target}"
        for path in files(".py")
        if (PACKAGES["transcript_server"] / "transcript_server" / "rules") in path.parents
        for found in imports(path)
        if found.target.partition(".")[0] in IMPURE
    ]

    assert wrong == []


@pytest.mark.parametrize(
    ("package", "absent"),
    [
        ("transcript_server.rules", {"grpc", "apsw", "sqlite3", "asyncio"}),
        ("transcript_server.journal", {"grpc"}),
        ("transcript", {"transcript_server", "transcript_terminal", "transcript_importers", "click", "rich", "apsw"}),
        ("transcript_importers", {"transcript_server", "transcript_terminal", "click", "rich", "apsw"}),
    ],
)
def test_a_fresh_interpreter_loads_nothing_more(package: str, absent: set[str]) -> None:
    """Whatever a package's modules import by way of others, these stay away."""
    program = (
        "import importlib, pkgutil, sys\n"
        f"package = importlib.import_module({package!r})\n"
        "for found in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    importlib.import_module(found.name)\n"
        f"print(*sorted({absent!r} & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", "\n")


def test_generated_code_is_apart_from_hand_written_code() -> None:
    """`transcript/v1` holds what the generator writes and an `__init__.py`, and nothing lies elsewhere."""
    strangers = [path.name for path in GENERATED.iterdir() if path.is_file() and "_pb2" not in path.name]
    strays = [relative(path) for path in files(".py", ".pyi") if "_pb2" in path.name]

    assert (strangers, strays) == (["__init__.py"], [])


def test_no_hand_written_file_is_too_long() -> None:
    """A file that grows past the limit has more than one reason to exist."""
    lengths = {relative(path): len(path.read_text().splitlines()) for path in files(".py", ".proto", ".md")}

    assert {name: length for name, length in lengths.items() if length > LINES} == {}
