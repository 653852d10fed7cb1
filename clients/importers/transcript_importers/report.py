"""What an import tells whoever started it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What became of one file."""

    file: str
    session_id: str
    """The session that the file's own conversation went to; empty where the file was refused."""
    lines: int
    """Physical lines that are not blank."""
    rows: int
    """Rows that the file yields, over all its sessions."""
    added: int
    """Those of them that the journals did not have yet."""
    foreign: int
    """Those of `rows` that no kind here can say, kept as they were."""
    unreadable: int
    """Lines passed over."""
    error: str = ""
    """Why the import of this file stopped; what was sent before that stays."""
    problems: tuple[str, ...] = ()
    """What a reader should know of, each with its line; at most a few hundred, and then how many more."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the import of one file has come."""

    file: str
    done_bytes: int
    total_bytes: int
