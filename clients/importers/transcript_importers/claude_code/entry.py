"""One record of a log, with the fields that every part of the importer asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transcript.v1.event_pb2 import Event, ForeignRecord
from transcript_importers.claude_code.fields import array, clean, dumps, flag, mapping, string

if TYPE_CHECKING:
    from transcript_importers.claude_code.fields import JsonObject
    from transcript_importers.claude_code.lines import Record

FORMAT = "claude-code"


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the log."""

    line: int
    text: str
    value: JsonObject
    kind: str
    uuid: str
    parent: str
    session_id: str
    agent_id: str
    time: str
    sidechain: bool

    @classmethod
    def of(cls, record: Record) -> Entry:
        """Looks into a record."""
        value = record.value
        return cls(
            line=record.line,
            text=record.text,
            value=value,
            kind=string(value, "type"),
            uuid=string(value, "uuid"),
            parent=string(value, "parentUuid"),
            session_id=string(value, "sessionId"),
            agent_id=string(value, "agentId"),
            time=string(value, "timestamp"),
            sidechain=flag(value, "isSidechain"),
        )

    @property
    def message(self) -> JsonObject:
        """What was said, as the provider's API has it."""
        return mapping(self.value, "message")

    @property
    def blocks(self) -> list[JsonObject]:
        """The message's content; plain text counts as one text block."""
        return blocks_of(self.message.get("content"))


@dataclass(frozen=True, slots=True)
class Draft:
    """A row that an entry yields, before it has its id and its time."""

    suffix: str
    """Tells the row from the entry's others; part of its id, so it must follow from the entry alone."""
    event: Event
    replaces: tuple[str, str] | None = None
    """As `Row.replaces`."""


def blocks_of(content: object) -> list[JsonObject]:
    """Content as a list of blocks, whatever shape it was written in."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_block(one) for one in content] if isinstance(content, list) else []


def _block(value: Any) -> JsonObject:
    if isinstance(value, dict):
        return value
    return {"type": "text", "text": value} if isinstance(value, str) else {"type": "", "value": value}


def text_of(content: object) -> str:
    """The text blocks of some content, one after the other."""
    return "\n\n".join(string(block, "text") for block in blocks_of(content) if string(block, "type") == "text")


def foreign(entry: Entry, suffix: str = "0") -> Draft:
    """The entry as it was written, where no kind can say it."""
    return Draft(suffix, Event(foreign_record=ForeignRecord(format=FORMAT, type=entry.kind, json=clean(entry.text))))


def foreign_block(entry: Entry, at: int) -> Draft:
    """A block of a message that no kind can say; the whole entry where it is the only one."""
    blocks = array(entry.message, "content")
    if len(blocks) < 2:
        return foreign(entry, str(at))
    block = entry.blocks[at]
    named = f"{entry.kind}/{string(block, 'type')}"
    return Draft(str(at), Event(foreign_record=ForeignRecord(format=FORMAT, type=named, json=dumps(block))))
