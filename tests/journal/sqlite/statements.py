"""Every statement that the embedded store has, found in its modules."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from transcript_server.journal import sqlite

VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")


def modules() -> Iterator[ModuleType]:
    """The store's modules."""
    for found in pkgutil.iter_modules(sqlite.__path__):
        yield importlib.import_module(f"{sqlite.__name__}.{found.name}")


def is_statement(text: str) -> bool:
    """Whether a text is a whole statement, and no template of one."""
    return text.lstrip().startswith(VERBS) and "{" not in text


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _texts(part)


def constants(module: ModuleType) -> Iterator[tuple[str, str]]:
    """The statements that a module names, as they are once its constants are put together."""
    for name, value in vars(module).items():
        if name.isupper():
            found = [text for text in _texts(value) if is_statement(text)]
            for number, text in enumerate(found):
                yield (name if len(found) == 1 else f"{name}[{number}]"), text


def _pieces(tree: ast.AST) -> set[int]:
    """The literals that are pieces of a longer text."""
    return {
        id(piece)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for piece in ast.walk(node)
        if piece is not node
    }


def literals(module: ModuleType) -> Iterator[tuple[str, str]]:
    """The statements that stand in a module's functions as they are."""
    tree = ast.parse(inspect.getsource(module))
    pieces = _pieces(tree)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in pieces
            if is_text and is_statement(str(node.value)):
                yield f"{function.name}:{node.lineno}", str(node.value)


def put_together_in_functions(module: ModuleType) -> list[str]:
    """Where a function puts a statement together, which nobody could look at here."""
    tree = ast.parse(inspect.getsource(module))
    return [
        f"{function.name}:{node.lineno}"
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.JoinedStr)
        and node.values
        and isinstance(node.values[0], ast.Constant)
        and str(node.values[0].value).lstrip().startswith(VERBS)
    ]


def statements() -> dict[str, str]:
    """Every statement, once, by where it stands."""
    found: dict[str, str] = {}
    for module in modules():
        short = module.__name__.rpartition(".")[2]
        for name, text in [*constants(module), *literals(module)]:
            if text not in found.values():
                found[f"{short}.{name}"] = text
    return found
