"""Text that the running turn is writing, put together from its updates. Never drawn as a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transcript.v1.live_pb2 import LiveUpdate


@dataclass(slots=True)
class _Writing:
    block: LiveUpdate.Block.ValueType
    said: bytearray = field(default_factory=bytearray)


class LiveText:
    """What is being written, by the id of the row to come."""

    def __init__(self) -> None:
        self._writing: dict[str, _Writing] = {}

    def add(self, update: LiveUpdate) -> None:
        """Take in an update. One whose beginning is missing waits for the row."""
        writing = self._writing.get(update.event_id)
        if writing is None or writing.block != update.block:
            writing = _Writing(update.block)
        if update.offset > len(writing.said):
            return
        del writing.said[update.offset :]
        writing.said += update.text_delta.encode()
        self._writing[update.event_id] = writing

    def landed(self, event_id: str) -> None:
        """The row is there."""
        self._writing.pop(event_id, None)

    def clear(self) -> None:
        """The turn has ended."""
        self._writing.clear()

    def texts(self) -> list[str]:
        """What is being written, oldest first."""
        return [writing.said.decode(errors="ignore") for writing in self._writing.values()]
