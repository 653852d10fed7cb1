"""The ranges that replacements have in a journal that others write to as well: not always those that the log means."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transcript import Client
    from transcript.v1.event_pb2 import Event


async def as_recorded(client: Client, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Replacements that the journal has already, each with the range that it was given then."""
    for event in events:
        if (row := await _recorded(client, session_id, event)) is not None:
            event.surface.CopyFrom(row.surface)
    return list(events)


async def _recorded(client: Client, session_id: str, event: Event) -> Event | None:
    """The row with a replacement's id. It lies after the rows that it replaces: nothing before them is read."""
    named = event.surface.replace
    after = max(named.start_sequence, named.end_sequence)
    async with aclosing(client.read_events(session_id, after_sequence=after)) as rows:
        async for row in rows:
            if row.id == event.id:
                return row
    return None


async def as_can_land(client: Client, session_id: str, events: Sequence[Event]) -> list[Event]:
    """Those of some replacements that can land as the surface stands now.

    A checkpoint takes the place of all that stands. Of the others those are left out whose row has left the surface:
    the model does not see it anyway.
    """
    standing = [row.sequence for row in (await client.read_context(session_id)).events]
    landing: list[Event] = []
    for event in events:
        named = event.surface.replace
        if event.HasField("compaction_checkpoint"):
            if standing:
                named.start_sequence, named.end_sequence = standing[0], standing[-1]
            landing.append(event)
            standing = []  # what follows in this list names rows that this one takes
        elif named.start_sequence in standing:
            landing.append(event)
    return landing
