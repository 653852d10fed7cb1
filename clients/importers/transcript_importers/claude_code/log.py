"""A log file → the rows of its sessions, in the order of the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from transcript_importers.claude_code.conversation import Conversation
from transcript_importers.claude_code.entry import Entry
from transcript_importers.claude_code.lines import RecordReader
from transcript_importers.claude_code.naming import agent_of, child_id, in_agents_folder, is_uuid, parent_of, session_id
from transcript_importers.claude_code.recognition import NotALog, is_array, is_ours, refusal
from transcript_importers.claude_code.sidechains import Sidechains
from transcript_importers.rows import Problems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

    from transcript_importers.rows import Row, SessionInfo

_LOOK_AHEAD = 1000
"""Entries within which a log shows what it is and which session it belongs to."""


class Log:
    """A Claude Code log, read once from front to end.

    Raises:
        NotALog: On creation, if the file is none.
    """

    def __init__(self, path: Path, source: IO[bytes]) -> None:
        self.problems = Problems()
        self.reader = RecordReader(source, self.problems)
        self._entries = (Entry.of(record) for record in self.reader)
        self._ahead, named, agent = self._look_ahead(path)
        if agent:
            parent = parent_of(path, named)
            self.main = Conversation(child_id(parent, agent), self.problems, parent=parent, family=parent)
        else:
            self.main = Conversation(session_id(path.stem, named), self.problems)
        self._whole_file_is_an_agents = bool(agent)
        self._sidechains = Sidechains()
        self._children: dict[str, Conversation] = {}

    def rows(self) -> Iterator[tuple[Conversation, Row]]:
        """The rows, each with its session. A session's own session comes before those of its agents."""
        yield from self._read_all(self._ahead)
        yield from self._read_all(self._entries)

    def _read_all(self, entries: Iterator[Entry] | list[Entry]) -> Iterator[tuple[Conversation, Row]]:
        for entry in entries:
            if not entry.sidechain or self._whole_file_is_an_agents:
                yield from ((self.main, row) for row in self.main.read(entry))
                continue
            agent = self._sidechains.agent_of(entry)
            child = self._children.get(agent)
            if child is None:
                child = self._children[agent] = Conversation(
                    child_id(self.main.id, agent), self.problems, parent=self.main.id, family=self.main.id
                )
                yield from ((self.main, row) for row in self._started(agent, child, entry))
            yield from ((child, row) for row in child.read(entry))

    def _started(self, agent: str, child: Conversation, entry: Entry) -> Iterator[Row]:
        """What the session that started an agent has of its first row."""
        prompt = "\n".join(str(block.get("text", "")) for block in entry.blocks)
        call_id = self.main.subagents.call_for(prompt)
        drafts = self.main.subagents.started(entry.agent_id or call_id or agent, call_id, child.id)
        return self.main.note(entry, drafts)

    def _look_ahead(self, path: Path) -> tuple[list[Entry], str, str]:
        """Reads on until it is clear what the file is.

        Returns:
            The entries read, the session that the first of them names, and the agent whose own log this is, if any.
        """
        entries: list[Entry] = []
        ours, named = False, ""
        for entry in self._entries:
            entries.append(entry)
            ours = ours or is_ours(entry)
            named = named or entry.session_id
            if (ours and (named or is_uuid(path.stem))) or len(entries) == _LOOK_AHEAD:
                break
        if not ours or is_array(self.reader):
            raise refusal(self.reader, entries)
        if not named and not is_uuid(path.stem):
            # A made-up name would be another one as soon as the log has grown.
            raise NotALog("no row names its session yet, and the file's name is no session's id")
        agent = agent_of(path)
        sidechain = next((entry for entry in entries if entry.sidechain), None)
        if agent and (sidechain or in_agents_folder(path)):
            return entries, named, (sidechain.agent_id if sidechain else "") or agent
        return entries, named, ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRows:
    """One session of a log, read to the end."""

    info: SessionInfo
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContents:
    """A log, read to the end."""

    sessions: tuple[SessionRows, ...]
    """The file's own session first."""
    lines: int
    unreadable: int
    problems: tuple[str, ...]


def read_log(path: Path) -> LogContents:
    """Reads a whole log at once.

    Raises:
        NotALog: The file is none.
    """
    with path.open("rb") as source:
        log = Log(path, source)
        rows: dict[Conversation, list[Row]] = {log.main: []}
        for conversation, row in log.rows():
            rows.setdefault(conversation, []).append(row)
    return LogContents(
        sessions=tuple(SessionRows(info=one.info, rows=tuple(its)) for one, its in rows.items()),
        lines=log.reader.lines,
        unreadable=log.reader.unreadable,
        problems=log.problems.texts(),
    )
