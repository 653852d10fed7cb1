"""Agents' rows inside the log of the session that started them, as versions before 2.0.2x wrote them.

Newer rows name their agent. Older ones hang together by parentUuid alone: each agent's rows form a chain from a first
row without parent, and the chains of agents at work together are interleaved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transcript_importers.claude_code.entry import Entry


class Sidechains:
    """Tells the agents of one file apart."""

    def __init__(self) -> None:
        self._agent_of: dict[str, str] = {}
        self._latest = ""

    def agent_of(self, entry: Entry) -> str:
        """The agent that a row belongs to: its id, or else the uuid of its chain's first row."""
        agent = entry.agent_id or self._agent_of.get(entry.parent) or (self._latest if entry.parent else "")
        agent = agent or entry.uuid or "unknown"
        self._agent_of[entry.uuid] = self._latest = agent
        return agent
