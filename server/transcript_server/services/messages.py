"""Response messages put together from stored bytes; equal to what serializing the parsed message gives."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

from transcript.v1.transcript_service_pb2 import PageInfo, ReadPageResponse, WatchResponse
from transcript_server.journal.journal import Journal, Place, Principal, Rows, Span
from transcript_server.rules.limits import KIB, MESSAGE_BYTES
from transcript_server.rules.wire import embed

ROWS_BUDGET: Final = MESSAGE_BYTES - 64
"""Bytes of rows, and of what stands beside them, in a message: the rest is for tags and lengths."""
WATCH_BUDGET: Final = 48 * KIB
"""The same for a watch. One that stalls holds the message being sent and the rows that it was made of, the rows
read ahead, and live text that waits: together less than a whole message may have."""
SPANS_AT_ONCE: Final = 6144
"""Spans that are asked for at once: enough to fill a message with rows of the least size, some 40 bytes."""

_PAGE: Final = ReadPageResponse.DESCRIPTOR.fields_by_name["page"].number
_EVENTS: Final = ReadPageResponse.DESCRIPTOR.fields_by_name["events"].number
_CAUGHT_UP: Final = WatchResponse.DESCRIPTOR.fields_by_name["caught_up"].number
_HIDDEN: Final = WatchResponse.DESCRIPTOR.fields_by_name["hidden_sections"].number
_LIVE: Final = WatchResponse.DESCRIPTOR.fields_by_name["live"].number
_SESSIONS: Final = WatchResponse.DESCRIPTOR.fields_by_name["sessions"].number


async def stream_rows(
    journal: Journal, who: Principal, place: Place, spans: Iterable[Span], budget: int = ROWS_BUDGET
) -> AsyncIterator[Rows]:
    """The rows of spans, a message's worth at a time; the next are read while these are sent."""
    waiting = deque(span for span in spans if span.first <= span.last)

    def read_on() -> asyncio.Task[Rows] | None:
        # Not all of them each time: a surface may have a span for every row.
        some = [waiting.popleft() for _ in range(min(len(waiting), SPANS_AT_ONCE))]
        return asyncio.create_task(journal.rows(who, place, some, budget)) if some else None

    reading = read_on()
    try:
        while reading is not None:
            rows = await reading
            waiting.extendleft(reversed(rows.rest))
            reading = read_on()
            if rows.count:
                yield rows
    finally:
        if reading is not None:
            reading.cancel()


def page_message(info: PageInfo, rows: Rows) -> bytes:
    """A page's first message; the same bytes are the start of a watch's."""
    return embed(_PAGE, info.SerializeToString()) + rows_message(rows)


def rows_message(rows: Rows) -> bytes:
    """A message of rows, for a page and a watch alike; empty if there are none."""
    return embed(_EVENTS, rows.batch) if rows.count else b""


def caught_up_field(caught_up: bytes) -> bytes:
    """`WatchResponse.caught_up`."""
    return embed(_CAUGHT_UP, caught_up)


def hidden_field(hidden: bytes) -> bytes:
    """`WatchResponse.hidden_sections`."""
    return embed(_HIDDEN, hidden)


def live_message(live: bytes) -> bytes:
    """A watch's message of live text."""
    return embed(_LIVE, live)


def sessions_field(sessions: Sequence[bytes]) -> bytes:
    """`WatchResponse.sessions`."""
    return b"".join(embed(_SESSIONS, session) for session in sessions)
