"""Which session a file belongs to.

A session is the log, not a field of its rows: a resumed or forked log has rows under several session ids, and copies
of a log in two folders are one session. So a file that is named by a UUID, as the agent program names its own, is the
session of that name; any other name is made unique by the session that the file's first rows name.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9._-]+")
_AGENT_FILE = re.compile(r"agent-(.+)")
_AGENTS_FOLDER = "subagents"
_ID_LIMIT = 128


def is_uuid(name: str) -> bool:
    """Whether a name is a UUID."""
    return _UUID.fullmatch(name) is not None


def agent_of(path: Path) -> str:
    """The agent whose log a file's name says it is; empty if the name says no such thing."""
    found = _AGENT_FILE.fullmatch(path.stem)
    return found[1] if found else ""


def in_agents_folder(path: Path) -> bool:
    """Whether a file lies where only agents' logs lie."""
    return any(folder.name == _AGENTS_FOLDER for folder in path.parents)


def session_id(stem: str, named: str) -> str:
    """The session of a file.

    Args:
        stem: The file's name without its ending.
        named: The session id that the first rows name.
    """
    return legal(stem if is_uuid(stem) else f"{stem}-{named[:8]}")


def parent_of(path: Path, named: str) -> str:
    """The session under which an agent's own log stands: its folder says so, or else its rows."""
    for folder in path.parents:
        if folder.name == _AGENTS_FOLDER:
            return session_id(folder.parent.name, named)
    return legal(named)


def child_id(parent: str, agent: str) -> str:
    """The session of an agent that another session started."""
    return legal(f"{parent}.{agent}")


def legal(name: str) -> str:
    """A name brought to what a session id may be: 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit."""
    made = _ILLEGAL.sub("_", name)
    if not made[:1].isalnum():
        made = f"s{made}"
    if len(made) <= _ID_LIMIT:
        return made
    digest = sha256(made.encode()).hexdigest()[:16]
    return f"{made[: _ID_LIMIT - len(digest) - 1]}-{digest}"
