"""A scenario's file: a history, and what is seen of it. What does not fit the form is an error that says what would.

The form is told in docs/scenarios.md.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from google.protobuf.json_format import ParseDict, ParseError

from transcript.errors import PREFIX
from transcript.v1.error_reason_pb2 import ErrorReason
from transcript.v1.journal_service_pb2 import (
    AddNoteRequest,
    AddSectionMarkerRequest,
    AppendEventsRequest,
    ResetContextRequest,
)
from transcript.v1.session_service_pb2 import ForkSessionRequest

from .counting import CountingError, written_out

FOLDER = Path(__file__).parent

VIEWS = ("compact", "full", "journal", "expanded", "everything")
CONTEXTS = ("surface", "conversation", "without running prompt")

Call = AppendEventsRequest | AddSectionMarkerRequest | AddNoteRequest | ResetContextRequest | ForkSessionRequest

# What a step is called by, the keys that may stand in it, and those that may stand beside it.
_INSIDE = {
    "mark": ("label", "source", "collapseEarlier", "eventId"),
    "note": ("text", "source"),
    "reset": ("reason", "eventId"),
    "fork": ("throughSequence",),
}
_BESIDE_APPEND = ("repeat", "asRecorded", "expectedLatestSequence")


class FormError(ValueError):
    """A scenario's file is not of the form: where, what is wrong, and what would be right."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call, without the session that it is for."""

    call: Call
    refused: str = ""  # the reason that must come, as in ErrorInfo; empty: the call is taken


@dataclass(frozen=True, slots=True)
class Expected:
    """What is seen in one way of reading, a line for each block."""

    way: str  # one of VIEWS or CONTEXTS
    as_of: int  # the row as of which it is read; 0: now
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.way} as of {self.as_of}" if self.as_of else self.way


@dataclass(frozen=True, slots=True)
class Scenario:
    """A history and what is seen of it."""

    name: str
    about: str
    steps: tuple[Step, ...]
    views: tuple[Expected, ...]
    context: tuple[Expected, ...]


def names() -> list[str]:
    """Every scenario there is."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        FormError: It is not of the form.
    """
    return parse(name, (FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Scenario:
    """A scenario from its file's text.

    Raises:
        FormError: It is not of the form.
    """
    try:
        whole = yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise FormError(f"{name}: {error}") from error
    _keys(whole, name, required=("about", "steps", "views", "context"))
    if not isinstance(whole["steps"], list):
        raise FormError(f"{name}: steps is a list")
    return Scenario(
        name=name,
        about=" ".join(_text(whole["about"], f"{name}, about").split()),
        steps=tuple(_step(step, f"{name}, step {n}") for n, step in enumerate(whole["steps"], 1)),
        views=tuple(_expected(whole["views"], VIEWS, f"{name}, views")),
        context=tuple(_expected(whole["context"], CONTEXTS, f"{name}, context")),
    )


class _Loader(yaml.SafeLoader):
    """Plain YAML, but a key that is there twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} is there twice", node.start_mark)
        return super().construct_mapping(node, deep)


def _step(step: Any, where: str) -> Step:
    if not isinstance(step, dict):
        raise FormError(f"{where}: a step is a mapping, not {step!r}")
    named = [key for key in step if key == "append" or key in _INSIDE]
    if len(named) != 1:
        raise FormError(f"{where}: a step is one of append, {', '.join(_INSIDE)}, not {' and '.join(map(str, step))}")
    kind = named[0]
    beside = _BESIDE_APPEND if kind == "append" else ()
    _keys(step, where, required=(kind,), optional=(*beside, "refused"))
    call = _append(step, where) if kind == "append" else _call(kind, step[kind], where)
    refused = _text(step.get("refused", ""), f"{where}, refused")
    if refused and PREFIX + refused not in ErrorReason.DESCRIPTOR.values_by_name:
        raise FormError(f"{where}, refused: {refused} is no reason of error_reason.proto")
    return Step(call, refused)


def _call(kind: str, inside: dict[str, Any], where: str) -> Call:
    _keys(inside, f"{where}, {kind}", optional=_INSIDE[kind])
    try:
        match kind:
            case "mark":
                return ParseDict(inside, AddSectionMarkerRequest())
            case "note":
                return ParseDict({"note": inside}, AddNoteRequest())
            case "reset":
                return ParseDict(inside, ResetContextRequest())
            case _:
                return ParseDict(inside, ForkSessionRequest())
    except ParseError as error:
        raise FormError(f"{where}: {error}") from error


def _append(step: dict[str, Any], where: str) -> AppendEventsRequest:
    rows, times = step["append"], step.get("repeat")
    if not isinstance(rows, list) or not rows:
        raise FormError(f"{where}: append is a list of rows")
    if times is not None:
        if not isinstance(times, int) or times < 1:
            raise FormError(f"{where}: repeat is a number, 1 or more, not {times!r}")
        rows = [_numbered(row, n) for n in range(1, times + 1) for row in rows]
    request = AppendEventsRequest()
    try:
        for row in rows:
            ParseDict(row, request.events.add())
        about = {key: step[key] for key in _BESIDE_APPEND[1:] if key in step}
        return ParseDict(about, request)
    except (ParseError, AttributeError) as error:
        raise FormError(f"{where}, row {len(request.events)}: {error}") from error


def _numbered(value: Any, n: int) -> Any:
    """The row with each `$n` in it written as the number."""
    match value:
        case str():
            return value.replace("$n", str(n))
        case dict():
            return {key: _numbered(one, n) for key, one in value.items()}
        case list():
            return [_numbered(one, n) for one in value]
        case _:
            return value


def _expected(texts: Any, ways: Iterable[str], where: str) -> Iterable[Expected]:
    if not isinstance(texts, dict):
        raise FormError(f"{where} is a mapping of what is read to its lines")
    for key, text in texts.items():
        found = re.fullmatch(rf"({'|'.join(ways)})(?: as of ([1-9][0-9]*))?", str(key))
        if not found:
            raise FormError(f"{where}: unknown {key!r}; allowed: {', '.join(ways)}, each also as `… as of 7`")
        lines = _text(text, f"{where}, {key}").splitlines()
        try:
            yield Expected(found[1], int(found[2] or 0), tuple(written_out(lines)))
        except CountingError as error:
            raise FormError(f"{where}, {key}: {error}") from error


def _keys(value: Any, where: str, *, required: Iterable[str] = (), optional: Iterable[str] = ()) -> None:
    """The value is a mapping with these keys and no others."""
    allowed = [*required, *optional]
    if not isinstance(value, dict):
        raise FormError(f"{where} is a mapping with {', '.join(allowed)}, not {value!r}")
    for key in value:
        if key not in allowed:
            raise FormError(f"{where}: unknown {key!r}; allowed: {', '.join(allowed)}")
    for key in required:
        if key not in value:
            raise FormError(f"{where}: {key} is missing")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise FormError(f"{where} is a text, not {value!r}")
    return value
