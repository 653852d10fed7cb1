"""Prompts that were queued while the agent worked.

A queued prompt either waits for the turn's end and then becomes a user row (`dequeue`, and nothing is to be done here),
or the running turn absorbs it (`remove`). Then no user row ever comes: its words are in the queue's rows, and in newer
versions in an attachment beside them, before or after. Whichever comes first yields the row; the other one is kept as
it is.

Older versions do not say which prompt they removed, nor why. Then the first one that a person typed is meant, and it
was absorbed: taking a prompt back has a row of its own (`popAll`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import Event, SystemMessage, UserMessage
from transcript_importers.claude_code.content import attachment
from transcript_importers.claude_code.entry import Draft, blocks_of, foreign, text_of
from transcript_importers.claude_code.fields import mapping, string
from transcript_importers.claude_code.prompts import Nature, is_slash_command, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript.v1.event_pb2 import Attachment
    from transcript_importers.claude_code.entry import Entry

_ABSORBED = "absorbed_mid_turn"


class PromptQueue:
    """The queue of one session."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._dequeued = 0
        self._told_by_queue: Counter[str] = Counter()
        self._told_by_attachment: Counter[str] = Counter()

    def operation(self, entry: Entry) -> Iterator[Draft]:
        """A row of the queue."""
        text = text_of(entry.value.get("content")).strip()
        match string(entry.value, "operation"):
            case "enqueue":
                self._waiting.append(text)
            case "dequeue":
                self._dequeued += 1
            case "popAll" if not text:
                self._waiting.clear()
            case "popAll":
                self._forget(text)
            case "remove":
                yield from self._removed(entry, text)
                return
        yield foreign(entry)

    def attached(self, entry: Entry) -> Iterator[Draft]:
        """An attachment with a prompt that the running turn absorbed."""
        held = mapping(entry.value, "attachment")
        text = text_of(held.get("prompt")).strip()
        images = [found for block in blocks_of(held.get("prompt")) if (found := attachment(block)) is not None]
        notice = string(held, "commandMode") == "task-notification"
        if text and self._told_by_queue[text]:
            self._told_by_queue[text] -= 1
            yield foreign(entry)
            text = ""  # Its images, if any, are news: the queue has only words.
        elif text:
            self._told_by_attachment[text] += 1
        if text or images:
            yield _absorbed(text, images, notice=notice)
        elif not text_of(held.get("prompt")).strip():
            yield foreign(entry)

    def delivered(self, text: str) -> None:
        """A prompt came as a user row, whether or not the queue's rows said so."""
        if not self._forget(text.strip()) and self._dequeued and self._waiting:
            self._waiting.pop(0)
        self._dequeued = max(0, self._dequeued - 1)

    def _removed(self, entry: Entry, text: str) -> Iterator[Draft]:
        reason = string(entry.value, "reason")
        text = text or self._next_typed()
        self._forget(text)
        if self._told_by_attachment[text]:
            self._told_by_attachment[text] -= 1
        elif text and (reason == _ABSORBED or (not reason and _is_typed(text))):
            self._told_by_queue[text] += 1
            yield _absorbed(text, [], notice=not _is_typed(text))
            return
        yield foreign(entry)

    def _next_typed(self) -> str:
        return next((text for text in self._waiting if _is_typed(text)), self._waiting[0] if self._waiting else "")

    def _forget(self, text: str) -> bool:
        if text not in self._waiting:
            return False
        self._waiting.remove(text)
        return True


def _is_typed(text: str) -> bool:
    return not is_slash_command(text) and pieces(text)[-1].nature is Nature.TYPED


def _absorbed(text: str, images: list[Attachment], *, notice: bool) -> Draft:
    if notice:
        # A user message that does not steer would start a turn; a notice in the middle of one must not.
        return Draft("absorbed", Event(system_message=SystemMessage(text=text)))
    message = UserMessage(text=text, attachments=images, origin=UserMessage.ORIGIN_STEERING)
    return Draft("absorbed", Event(user_message=message))
