"""Assistant rows → what the agent thought, said and called for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import AssistantMessage, ErrorReport, Event
from transcript_importers.claude_code.content import attachment, thinking, tool_call, tool_result
from transcript_importers.claude_code.entry import Draft, foreign, foreign_block, text_of
from transcript_importers.claude_code.fields import count, flag, mapping, string
from transcript_importers.claude_code.usage import TokenAccount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript_importers.claude_code.entry import Entry
    from transcript_importers.claude_code.fields import JsonObject
    from transcript_importers.claude_code.ids import Copies
    from transcript_importers.claude_code.subagents import Subagents

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_WORD = re.compile(r"[^A-Za-z0-9]+")


class Replies:
    """The replies of one session."""

    def __init__(self, copies: Copies, subagents: Subagents) -> None:
        self._copies = copies
        self._subagents = subagents
        self._account = TokenAccount()

    def read(self, entry: Entry) -> Iterator[Draft]:
        """A row of a reply: usually one of its blocks."""
        if flag(entry.value, "isApiErrorMessage"):
            reason = upper_snake(string(entry.value, "error")) or "API_ERROR"
            said = text_of(entry.message.get("content"))
            yield Draft("0", Event(error_report=ErrorReport(reason=reason, message=said)))
            return
        self._account.note(entry)
        blocks = entry.blocks
        for at, block in enumerate(blocks):
            if not self._copies.is_copy(entry, block):
                yield self._block(entry, block, at)
        if not blocks:
            yield foreign(entry)

    def _block(self, entry: Entry, block: JsonObject, at: int) -> Draft:
        if (thought := thinking(block)) is not None:
            return Draft(str(at), Event(thinking=thought))
        if (call := tool_call(block)) is not None:
            self._subagents.called(call, mapping(block, "input"))
            return Draft(str(at), Event(tool_call=call))
        if (result := tool_result(block, None)) is not None:
            return Draft(str(at), Event(tool_result=result))
        said, image = string(block, "text"), attachment(block)
        if not said.strip() and image is None:
            return foreign_block(entry, at)  # Newer models often begin with a text of line ends; nobody reads that.
        message = AssistantMessage(
            text=said,
            attachments=[image] if image else [],
            model=string(entry.message, "model"),
            usage=self._account.take(),
        )
        return Draft(str(at), Event(assistant_message=message))


def api_error(entry: Entry) -> Draft:
    """A system row about a request to the provider that failed and is tried again."""
    error = mapping(entry.value, "error")
    cause = mapping(error, "cause") or mapping(entry.value, "cause")
    named = string(cause, "code") or string(mapping(mapping(error, "error"), "error"), "type")
    status = count(error, "status")
    what = string(error, "message") or string(cause, "message") or named or "The request to the provider failed"
    if status:
        what = f"{what} (HTTP {status})"
    attempt, most = count(entry.value, "retryAttempt"), count(entry.value, "maxRetries")
    if attempt:
        seconds = count(entry.value, "retryInMs") / 1000
        what = f"{what}; attempt {attempt} of {most} follows in {seconds:.1f} s"
    reason = upper_snake(named) or (f"HTTP_{status}" if status else "API_ERROR")
    return Draft("0", Event(error_report=ErrorReport(reason=reason, message=what)))


def upper_snake(name: str) -> str:
    """A program's name for an error in the form of a machine-readable reason."""
    return _NO_WORD.sub("_", _WORD_START.sub("_", name)).strip("_").upper()
