"""User rows → prompts, tool results, and what was put into the conversation in the user's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import Event, Note, SystemMessage, TurnEnded, UserMessage
from transcript_importers.claude_code.content import attachment, tool_result
from transcript_importers.claude_code.entry import Draft, foreign, foreign_block
from transcript_importers.claude_code.fields import flag, mapping, string
from transcript_importers.claude_code.prompts import Nature, Piece, is_caveat, is_output, origin, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript.v1.event_pb2 import Attachment
    from transcript_importers.claude_code.entry import Entry
    from transcript_importers.claude_code.fields import JsonObject
    from transcript_importers.claude_code.ids import Copies
    from transcript_importers.claude_code.steering import PromptQueue
    from transcript_importers.claude_code.subagents import Subagents


class _Prompt:
    """What a person typed in one row: its texts and images make one message."""

    def __init__(self, entry: Entry) -> None:
        self._steers = any(string(block, "type") == "tool_result" for block in entry.blocks)
        self._origin = origin(entry, Nature.TYPED)
        self.suffix = ""
        self.texts: list[str] = []
        self.attachments: list[Attachment] = []

    def add(self, suffix: str, text: str = "", image: Attachment | None = None) -> None:
        """Takes in a part; the first one gives the message its id."""
        self.suffix = self.suffix or suffix
        if text:
            self.texts.append(text)
        if image is not None:
            self.attachments.append(image)

    def take(self) -> Iterator[Draft]:
        """The message, if there is one."""
        if not any(text.strip() for text in self.texts) and not self.attachments:
            return
        # Words in the same row as a tool's result were said to the agent at work, which went on with its turn.
        spoken = UserMessage.ORIGIN_STEERING if self._steers else self._origin
        message = UserMessage(text="\n\n".join(self.texts), attachments=self.attachments, origin=spoken)
        self.texts, self.attachments = [], []
        yield Draft(self.suffix, Event(user_message=message))
        self.suffix = ""


class Requests:
    """The user rows of one session."""

    def __init__(self, copies: Copies, queue: PromptQueue, subagents: Subagents) -> None:
        self._copies = copies
        self._queue = queue
        self._subagents = subagents
        self._ran_locally = False
        """Whether the command that follows ran without the model, as a caveat before it says."""

    def answered(self) -> None:
        """The agent spoke: a command after this is not the one that a caveat before it was about."""
        self._ran_locally = False

    def read(self, entry: Entry) -> Iterator[Draft]:
        """A user row."""
        prompt = _Prompt(entry)
        told = False
        for at, block in enumerate(entry.blocks):
            if self._copies.is_copy(entry, block):
                told = True
                continue
            for draft in self._block(entry, block, at, prompt):
                told = True
                yield draft
        for draft in self._delivered(prompt):
            told = True
            yield draft
        if not told:
            yield foreign(entry)

    def _block(self, entry: Entry, block: JsonObject, at: int, prompt: _Prompt) -> Iterator[Draft]:
        record = entry.value.get("toolUseResult")
        injected = flag(entry.value, "isMeta")
        if (result := tool_result(block, record)) is not None:
            yield from self._subagents.launched(block, mapping(entry.value, "toolUseResult"))
            yield Draft(str(at), Event(tool_result=result))
            yield from self._subagents.returned(block, mapping(entry.value, "toolUseResult"))
        elif string(block, "type") == "text":
            for nth, piece in enumerate(pieces(string(block, "text"))):
                nature = Nature.INJECTED if injected else piece.nature
                suffix = f"{at}.{nth}" if nth else str(at)
                yield from self._piece(entry, Piece(nature, piece.text), suffix, prompt)
        elif (image := attachment(block)) is not None and not injected:
            prompt.add(str(at), image=image)
        else:
            yield foreign_block(entry, at)

    def _piece(self, entry: Entry, piece: Piece, suffix: str, prompt: _Prompt) -> Iterator[Draft]:
        text = piece.text
        self._ran_locally = is_caveat(text) or (self._ran_locally and not is_output(text))
        match piece.nature:
            case Nature.INTERRUPT:
                yield from self._delivered(prompt)
                yield Draft(f"{suffix}.told", Event(system_message=SystemMessage(text=text)))
                yield Draft(suffix, Event(turn_ended=TurnEnded(outcome=TurnEnded.OUTCOME_INTERRUPTED)))
            case Nature.TYPED:
                prompt.add(suffix, text=text)
            case Nature.SHELL:
                yield Draft(suffix, Event(note=Note(text=text, source="shell")))
            case Nature.INJECTED:
                if text.strip():
                    yield Draft(suffix, Event(system_message=SystemMessage(text=text)))
            case Nature.COMMAND if self._ran_locally:
                yield Draft(suffix, Event(system_message=SystemMessage(text=text)))
            case Nature.COMMAND | Nature.NOTICE:
                self._queue.delivered(text)
                yield from self._subagents.notified(text) if piece.nature is Nature.NOTICE else ()
                message = UserMessage(text=text, origin=origin(entry, piece.nature))
                yield Draft(suffix, Event(user_message=message))

    def _delivered(self, prompt: _Prompt) -> Iterator[Draft]:
        for draft in prompt.take():
            self._ran_locally = False
            self._queue.delivered(draft.event.user_message.text)
            yield draft
