"""The entries of one session → its rows.

| what the log has                                     | rows                                                    |
|------------------------------------------------------|---------------------------------------------------------|
| user rows                                            | see `requests` and `prompts`                            |
| assistant rows                                       | see `replies`                                           |
| queue-operation, attachment/queued_command           | see `steering`                                          |
| system/compact_boundary, isCompactSummary            | see `compaction`                                        |
| system/microcompact_boundary                         | see `clearing`                                          |
| system/api_error, isApiErrorMessage                  | ErrorReport                                             |
| system/turn_duration                                 | TurnEnded, COMPLETED; not after an interrupt            |
| progress/agent_progress, calls that start an agent   | see `subagents`                                         |
| the end of rows copied from another session          | SessionForked                                           |
| anything else, and whatever has not the shape above  | ForeignRecord with the whole entry                      |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import Event, SessionForked, TurnEnded
from transcript.v1.session_pb2 import SESSION_KIND_INTERACTIVE, SESSION_KIND_SUBAGENT
from transcript_importers.claude_code.clearing import cleared
from transcript_importers.claude_code.compaction import Compactions
from transcript_importers.claude_code.details import Details
from transcript_importers.claude_code.entry import Draft, foreign, text_of
from transcript_importers.claude_code.fields import flag, mapping, string, timestamp
from transcript_importers.claude_code.ids import Copies, EventIds
from transcript_importers.claude_code.naming import legal
from transcript_importers.claude_code.replies import Replies, api_error
from transcript_importers.claude_code.requests import Requests
from transcript_importers.claude_code.steering import PromptQueue
from transcript_importers.claude_code.subagents import Subagents
from transcript_importers.fitting import fit
from transcript_importers.rows import Row, SessionInfo
from transcript_importers.surface import LiveSurface

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript_importers.claude_code.entry import Entry
    from transcript_importers.rows import Problems


class Conversation:
    """One session of a log. Every row follows from its entry and from those before it, never from a later one."""

    def __init__(self, session_id: str, problems: Problems, *, parent: str = "", family: str = "") -> None:
        """
        Args:
            session_id: The session.
            problems: Where to note what is wrong with an entry.
            parent: The session whose agent runs this one; empty if a person does.
            family: The session under which agents that this one starts stand; itself by default.
        """
        self.id = session_id
        self._problems = problems
        self._parent = parent
        self._ids = EventIds()
        self._details = Details()
        self._surface = LiveSurface()
        self._compactions = Compactions(self._surface)
        self._queue = PromptQueue()
        self.subagents = Subagents(family or session_id)
        copies = Copies()
        self._requests = Requests(copies, self._queue, self.subagents)
        self._replies = Replies(copies, self.subagents)
        self._belonged_to: list[str] = []
        """The sessions that the rows so far name as theirs, the latest last."""
        self._interrupted = False

    @property
    def info(self) -> SessionInfo:
        """The session as the entries read so far describe it."""
        return SessionInfo(
            id=self.id,
            kind=SESSION_KIND_SUBAGENT if self._parent else SESSION_KIND_INTERACTIVE,
            parent_session_id=self._parent,
            title=self._details.title,
            labels=self._details.labels,
        )

    def read(self, entry: Entry) -> Iterator[Row]:
        """The rows of the next entry."""
        stem = self._ids.stem(entry)
        if stem is None:
            return
        self._details.note(entry)
        for draft in self._drafts(entry, stem):
            yield self._row(entry, stem, draft)

    def note(self, entry: Entry, drafts: Iterator[Draft]) -> Iterator[Row]:
        """Rows that an entry of another session gives to this one."""
        stem = self._ids.stem(entry)
        if stem is None:
            return
        for draft in drafts:
            yield self._row(entry, stem, draft)

    def _drafts(self, entry: Entry, stem: str) -> Iterator[Draft]:
        yield from self._left_copy(entry)
        match entry.kind:
            case "user" if flag(entry.value, "isCompactSummary"):
                yield from self._compactions.summarized(entry, stem)
            case "user" if not flag(entry.value, "isVisibleInTranscriptOnly"):
                self._interrupted = False
                yield from self._requests.read(entry)
            case "assistant":
                self._interrupted = False
                self._requests.answered()
                yield from self._replies.read(entry)
            case "system" if string(entry.value, "subtype") == "compact_boundary":
                yield from self._compactions.began(entry, stem)
            case "system" if string(entry.value, "subtype") == "microcompact_boundary":
                yield from cleared(entry, self._surface)
            case "system":
                yield self._system(entry)
            case "queue-operation":
                yield from self._queue.operation(entry)
                yield from self.subagents.notified(string(entry.value, "content"))
            case "attachment" if string(mapping(entry.value, "attachment"), "type") == "queued_command":
                yield from self._queue.attached(entry)
                yield from self.subagents.notified(text_of(mapping(entry.value, "attachment").get("prompt")))
            case "progress":
                yield from self.subagents.progressed(entry)
                yield foreign(entry)
            case _:
                yield foreign(entry)

    def _system(self, entry: Entry) -> Draft:
        match string(entry.value, "subtype"):
            case "api_error":
                return api_error(entry)
            case "turn_duration" if not self._interrupted:
                return Draft("0", Event(turn_ended=TurnEnded(outcome=TurnEnded.OUTCOME_COMPLETED)))
            case _:
                return foreign(entry)

    def _left_copy(self, entry: Entry) -> Iterator[Draft]:
        """A resumed log begins with rows of the session that it resumes, a forked one with those of its source."""
        belongs_to = string(mapping(entry.value, "forkedFrom"), "sessionId") or entry.session_id
        if not belongs_to or belongs_to in self._belonged_to or self._parent:
            return
        if self._belonged_to:
            yield Draft("copied", Event(session_forked=SessionForked(session_id=legal(self._belonged_to[-1]))))
        self._belonged_to.append(belongs_to)

    def _row(self, entry: Entry, stem: str, draft: Draft) -> Row:
        event = draft.event
        event.id = f"{stem}:{draft.suffix}"
        if entry.time:
            moment = timestamp(entry.time)
            if moment is None:
                self._problems.add(entry.line, "its timestamp is none")
            else:
                event.time.CopyFrom(moment)
        if left_out := fit(event):
            self._problems.add(entry.line, left_out)
        self._details.heard(event, background=bool(self._parent))
        if event.HasField("turn_ended"):
            self._interrupted = event.turn_ended.outcome == TurnEnded.OUTCOME_INTERRUPTED
        if draft.replaces:
            self._surface.replace(event, *draft.replaces)
        else:
            self._surface.append(event)
        return Row(event, draft.replaces)
