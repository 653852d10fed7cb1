"""The samples that come with the command, written for it: a review walk, and a log of Claude Code."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from google.protobuf.json_format import Parse

from transcript.v1.event_pb2 import Event

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

WALK_ID = "review-walk"
WALK_TITLE = "Walk of the album service's open reviews"
LOG_ID = "6f1c2a9e-4b7d-4e0a-9c35-2d8f0b6a7e11"


def walk() -> list[Event]:
    """The rows of a session that walks four reviews, a section for each. Its surface's ranges count from row 1."""
    lines = (_folder() / "review-walk.jsonl").read_text(encoding="utf-8").splitlines()
    return [Parse(line, Event()) for line in lines]


def log() -> Traversable:
    """A log as Claude Code writes it."""
    return _folder() / f"{LOG_ID}.jsonl"


def _folder() -> Traversable:
    return files("transcript_terminal.demo")
