"""What a program does with a session: fill it, and hold what a viewer would hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from scripted_server import until

from transcript import Client
from transcript.v1.event_pb2 import AssistantMessage, Event, Status, UserMessage
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import WatchResponse


def said(text: str, id: str = "") -> Event:  # noqa: A002
    return Event(id=id, user_message=UserMessage(text=text))


def replied(text: str) -> Event:
    return Event(assistant_message=AssistantMessage(text=text))


async def filled(client: Client, turns: int) -> str:
    """A session of *turns* turns, four rows each: the prompt, two rows of status, the reply."""
    session = await client.create_session()
    for n in range(turns):
        events = [said(f"prompt {n}"), Event(status=Status(text="a")), Event(status=Status(text="b")), replied(str(n))]
        await client.append(session.id, events)
    return session.id


class Watcher:
    """Holds what a viewer would hold, as the watch's messages come."""

    def __init__(self, watching: AsyncGenerator[WatchResponse, None]) -> None:
        self.rows: list[Event] = []
        self.pages = 0
        self.caught_up = -1
        self.sessions: dict[str, Session] = {}
        self.live: list[LiveUpdate] = []
        self.error: BaseException | None = None
        self._task = asyncio.create_task(self._follow(watching))

    async def _follow(self, watching: AsyncGenerator[WatchResponse, None]) -> None:
        try:
            async with aclosing(watching):
                async for message in watching:
                    if message.HasField("page"):
                        self.rows.clear()
                        self.pages += 1
                    self.rows += message.events.events
                    if message.HasField("caught_up"):
                        self.caught_up = message.caught_up.latest_sequence
                    if message.HasField("live"):
                        self.live.append(message.live)
                    for session in message.sessions:
                        self.sessions[session.id] = session
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    @property
    def sequences(self) -> list[int]:
        return [event.sequence for event in self.rows]

    async def sees(self, condition: Callable[[], object]) -> None:
        await until(lambda: condition() or self.error)
        if not condition() and self.error:
            raise self.error

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
