"""How much of the model's context a row is: its text, and apart from that what it carries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transcript.v1 import kind_pb2
from transcript_terminal.outline.amounts import size
from transcript_terminal.outline.facts import kind_of

if TYPE_CHECKING:
    from transcript.v1.event_pb2 import Event

_BYTES_A_TOKEN = 4  # of English and of code, roughly


@dataclass(frozen=True, slots=True)
class Weight:
    """Of a row, or of several together."""

    text: int = 0  # bytes of UTF-8
    files: int = 0
    carried: int = 0  # bytes of these files, as far as the rows hold them; they are no tokens

    def __add__(self, other: Weight) -> Weight:
        return Weight(self.text + other.text, self.files + other.files, self.carried + other.carried)

    def __str__(self) -> str:
        """`812 bytes`, `812 bytes + 1.2 MiB attached`."""
        return size(self.text) + (f" + {size(self.carried)} attached" if self.carried else "")

    @property
    def tokens(self) -> int:
        """About as many as so much English or code is; in hundreds from 1,000 on."""
        tokens = self.text // _BYTES_A_TOKEN
        return tokens if tokens < 1000 else round(tokens, -2)


def weigh(event: Event) -> Weight:
    """The row's own: of its payload the texts that may be long, as the contract marks them, and the attachments."""
    kind = kind_of(event)
    if not kind:
        return Weight(len(event.fallback.encode()))
    payload = getattr(event, kind)
    texts = [
        value
        for field, value in payload.ListFields()
        if field.type == field.TYPE_STRING and field.GetOptions().Extensions[kind_pb2.elidable]
    ]
    attachments = getattr(payload, "attachments", ())
    return Weight(
        sum(len(text.encode()) for text in texts), len(attachments), sum(len(one.data) for one in attachments)
    )


def together(weights: Iterable[Weight]) -> Weight:
    """All of them added up."""
    return sum(weights, Weight())
