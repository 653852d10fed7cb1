"""What a session's log shows of the agents that it started.

An agent is known by its agentId, in logs before 2.0.2x by the call that started it. The log shows its start by the
first progress that it reports, by the first row of its sidechain, or only by the call's result; its end by the call's
result or, for an agent in the background, by the notification that it is done.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import Event, SubagentCompleted, SubagentStarted, SubagentTerminated
from transcript_importers.claude_code.entry import Draft, text_of
from transcript_importers.claude_code.fields import flag, mapping, string
from transcript_importers.claude_code.naming import child_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript.v1.event_pb2 import ToolCall
    from transcript_importers.claude_code.entry import Entry
    from transcript_importers.claude_code.fields import JsonObject

_STARTING_TOOLS = {"Task", "Agent"}
_NOTICE = re.compile(r"<(task-id|status|summary|result)>(.*?)</\1>", re.DOTALL)
_REASON_LENGTH = 200
_ENDED_WELL = "completed"
_RUNNING_ON = {"async_launched", "running", "started"}


class Subagents:
    """The agents of one session."""

    def __init__(self, family: str) -> None:
        self._family = family
        """The session under which the agents' own sessions stand."""
        self._calls: dict[str, JsonObject] = {}
        self._runs: set[tuple[str, str]] = set()
        self._running: dict[str, str] = {}
        """Agents at work, and the calls that started them."""
        self._agents: dict[str, str] = {}
        """Calls, and the agents that they started."""
        self._ends = 0

    def called(self, call: ToolCall, arguments: JsonObject) -> None:
        """The session's agent called a tool."""
        if call.name in _STARTING_TOOLS:
            self._calls[call.call_id] = arguments

    def call_for(self, prompt: str) -> str:
        """The call that gave an agent this prompt and has started none yet; empty if there is none."""
        return next(
            (
                call_id
                for call_id, arguments in self._calls.items()
                if call_id not in self._agents and string(arguments, "prompt").strip() == prompt.strip()
            ),
            "",
        )

    def started(self, agent: str, call_id: str, session_id: str = "") -> Iterator[Draft]:
        """An agent shows itself, for the first time or again.

        Args:
            agent: Its id.
            call_id: The call that started it.
            session_id: Its session, where that does not follow from its id.
        """
        if (agent, call_id) in self._runs:
            return
        self._runs.add((agent, call_id))
        self._running[agent] = call_id
        self._agents[call_id] = agent
        arguments = self._calls.get(call_id, {})
        name = string(arguments, "description") or string(arguments, "subagent_type") or agent
        started = SubagentStarted(subagent_id=agent, name=name, session_id=session_id or child_id(self._family, agent))
        yield Draft(f"started-{len(self._runs)}", Event(subagent_started=started))

    def progressed(self, entry: Entry) -> Iterator[Draft]:
        """A progress row."""
        agent = string(mapping(entry.value, "data"), "agentId")
        if agent:
            yield from self.started(agent, string(entry.value, "parentToolUseID"))

    def launched(self, block: JsonObject, record: JsonObject) -> Iterator[Draft]:
        """A call's result, before the result's own row: whether it names an agent that did not show itself before."""
        agent = string(record, "agentId")
        if agent and string(block, "tool_use_id") in self._calls:
            yield from self.started(agent, string(block, "tool_use_id"))

    def returned(self, block: JsonObject, record: JsonObject) -> Iterator[Draft]:
        """A call's result, after the result's own row: whether it ends an agent's work."""
        agent = self._agents.get(string(block, "tool_use_id"), "")
        if string(record, "status") in _RUNNING_ON or flag(record, "isAsync"):
            return
        # The model is also told how to resume the agent; what it reported stands alone in the tool's own record.
        text = text_of(record.get("content")) or text_of(block.get("content"))
        yield from self._ended(agent, well=not flag(block, "is_error"), text=text)

    def notified(self, text: str) -> Iterator[Draft]:
        """A notification, wherever in the log it stands; the same one may stand there several times."""
        said = {found[1]: found[2].strip() for found in _NOTICE.finditer(text)}
        agent, status = said.get("task-id", ""), said.get("status", "")
        if not status or status in _RUNNING_ON:
            return
        well = status == _ENDED_WELL
        told = said.get("result") if well else said.get("summary", status)
        yield from self._ended(agent, well=well, text=told or said.get("summary", ""))

    def _ended(self, agent: str, *, well: bool, text: str) -> Iterator[Draft]:
        if self._running.pop(agent, None) is None:
            return
        self._ends += 1
        suffix = f"ended-{self._ends}"
        if well:
            yield Draft(suffix, Event(subagent_completed=SubagentCompleted(subagent_id=agent, text=text)))
        else:
            reason = text.strip()[:_REASON_LENGTH] or "stopped"
            yield Draft(suffix, Event(subagent_terminated=SubagentTerminated(subagent_id=agent, reason=reason)))
