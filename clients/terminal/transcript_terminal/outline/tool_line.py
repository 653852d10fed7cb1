"""A tool card in a line: what was asked for, and what came of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from transcript_terminal.outline.amounts import count, duration, size
from transcript_terminal.outline.blocks import Outcome, ToolCard

GIST_LIMIT = 160  # code points

_PATHS = ("file_path", "path", "notebook_path")

_SAYS_CODE = re.compile(r"exit (code|status):? \d+", re.IGNORECASE)

# The argument that tells a reader most, first match wins. A tool without any of them shows all its arguments.
_TELLING = (
    "command",
    "cmd",
    "pattern",
    "query",
    *_PATHS,
    "url",
    "description",
    "subject",
    "prompt",
    "question",
)


@dataclass(frozen=True, slots=True)
class Gist:
    """A call's arguments in a few words, not shortened yet."""

    words: str
    is_all: bool = True  # nothing is left out
    is_path: bool = False


def gist(arguments_json: str) -> Gist:
    """The argument that tells most, or all of them."""
    arguments = _parsed(arguments_json)
    if not isinstance(arguments, dict):
        return Gist(arguments_json)
    for name in _TELLING:
        if arguments.get(name):
            return Gist(_words(arguments[name]), is_all=len(arguments) == 1, is_path=name in _PATHS)
    return Gist(", ".join(f"{name}={_words(value)}" for name, value in arguments.items()))


def one_line(text: str, limit: int = GIST_LIMIT) -> str:
    """The text on one line, and no longer than *limit*."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 2] + " …"


def result(card: ToolCard) -> str:
    """What came of the call: `→ ok, 12 lines`, `✗ failed: no such file`."""
    match card.outcome:
        case Outcome.APART:
            return ""
        case Outcome.OK:
            return ", ".join(["→ ok", *_amounts(card)])
        case Outcome.FAILED:
            code = f" (exit {card.exit_code})" if card.exit_code else ""
            lines = (line.strip() for line in card.output.splitlines())
            first = next((line for line in lines if line and not (code and _SAYS_CODE.fullmatch(line))), "")
            return f"✗ failed{code}: {one_line(first)}" if first else f"✗ failed{code}"
        case _:
            return f"… {card.outcome.value}"


def is_shortened(card: ToolCard) -> bool:
    """Whether the line leaves out anything of the call's arguments or the result."""
    asked = gist(card.arguments_json)
    return bool(card.output.strip()) or not asked.is_all or one_line(asked.words) != asked.words


def pretty(arguments_json: str) -> str:
    """The arguments, one a line where they are a JSON object."""
    arguments = _parsed(arguments_json)
    if not isinstance(arguments, dict):
        return arguments_json
    return "\n".join(f"{name}:{_whole(value)}" for name, value in arguments.items())


def _amounts(card: ToolCard) -> list[str]:
    amounts = []
    if card.elided_bytes:
        amounts.append(size(card.elided_bytes + len(card.output.encode())))
    elif card.output.strip():
        amounts.append(count(len(card.output.strip("\n").splitlines()), "line"))
    if card.carried:
        images = all(one.media_type.startswith("image/") for one in card.carried)
        amounts.append(count(len(card.carried), "image" if images else "file"))
    if not amounts:
        amounts.append("no output")
    if card.seconds is not None and card.seconds >= 1:
        amounts.append(duration(card.seconds))
    return amounts


def _parsed(arguments_json: str) -> Any:
    """What the JSON says; nothing where it is none, as when it was cut because the row is large."""
    try:
        return json.loads(arguments_json) if arguments_json else {}
    except (ValueError, RecursionError):
        return None


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return " ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _whole(value: Any) -> str:
    if isinstance(value, str) and "\n" in value:
        return "".join("\n  " + line for line in value.splitlines())
    return " " + _words(value)
