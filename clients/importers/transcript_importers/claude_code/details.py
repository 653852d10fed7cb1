"""A session's title and labels, gathered while its log is read.

The title is what a person called the session, else what the agent program called it, else the first prompt.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import UserMessage
from transcript_importers.claude_code.entry import FORMAT
from transcript_importers.claude_code.fields import string
from transcript_importers.claude_code.prompts import command_line

if TYPE_CHECKING:
    from transcript.v1.event_pb2 import Event
    from transcript_importers.claude_code.entry import Entry

_TITLE_LIMIT = 200
"""Code points."""
_LABEL_LIMIT = 256
"""Bytes."""
_NOT_A_MODEL = "<synthetic>"
"""The name under which the agent program writes messages of its own."""
_BREAKING = frozenset({"Cc", "Zl", "Zp"})
"""Categories of characters that break a line."""
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn a line's direction; the server refuses them too."""


class Details:
    """What is known of a session besides its rows."""

    def __init__(self) -> None:
        self._given = self._generated = self._prompt = self._command = ""
        self._summaries: list[tuple[str, str]] = []
        """What summary rows say, and the row that each conversation of them ends with."""
        self._labels = {"agent": FORMAT}
        self._uuids: set[str] = set()

    def note(self, entry: Entry) -> None:
        """Takes in what an entry says of its session."""
        if entry.uuid:
            self._uuids.add(entry.uuid)
        match entry.kind:
            case "custom-title":
                self._given = string(entry.value, "customTitle")
            case "ai-title":
                self._generated = string(entry.value, "aiTitle")
            case "summary":
                # At a log's head stand summaries of other sessions of the same folder. Those after it are this one's.
                leaf = string(entry.value, "leafUuid") if not (self._prompt or self._command) else ""
                self._summaries.append((leaf, string(entry.value, "summary")))
        # The folder is where the session began; branch and model are the latest.
        self._label("folder", self._labels.get("folder") or string(entry.value, "cwd"))
        self._label("branch", string(entry.value, "gitBranch"))
        model = string(entry.message, "model")
        self._label("model", model if model != _NOT_A_MODEL else "")

    def heard(self, event: Event, *, background: bool) -> None:
        """Takes in a row of the session.

        Args:
            event: The row.
            background: Whether the session is a background agent's, whose prompts no person types.
        """
        message = event.user_message
        if not event.HasField("user_message") or not message.text:
            return
        if background or message.origin == UserMessage.ORIGIN_HUMAN:
            self._prompt = self._prompt or message.text
        else:
            self._command = self._command or command_line(message.text)

    @property
    def title(self) -> str:
        """One line of at most 200 code points; empty if nothing was said yet."""
        summary = next((said for leaf, said in reversed(self._summaries) if not leaf or leaf in self._uuids), "")
        named = self._given or self._generated or summary or self._prompt or self._command
        line = _one_line(named[: _TITLE_LIMIT * 10])
        return line if len(line) <= _TITLE_LIMIT else f"{line[: _TITLE_LIMIT - 1].rstrip()}…"

    @property
    def labels(self) -> dict[str, str]:
        """By name."""
        return dict(self._labels)

    def _label(self, name: str, value: str) -> None:
        if value:
            self._labels[name] = _one_line(value).encode()[:_LABEL_LIMIT].decode(errors="ignore")


def _one_line(text: str) -> str:
    """The text as one line for display."""
    shown = (
        " " if unicodedata.category(character) in _BREAKING else character
        for character in unicodedata.normalize("NFC", text)
        if character not in _TURNING
    )
    return " ".join("".join(shown).split())
