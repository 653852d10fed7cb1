"""One command's conversation with the server: a client while it lasts, its errors as complaints."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from transcript import TranscriptError, connect
from transcript_terminal.complaints import complaint_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from transcript import Client

Result = TypeVar("Result")


def call(target: str, work: Callable[[Client], Awaitable[Result]]) -> Result:
    """Do *work* with a client of the server at *target*."""

    async def connected() -> Result:
        async with connect(target) as client:
            return await work(client)

    try:
        return asyncio.run(connected())
    except TranscriptError as error:
        raise complaint_of(error, target) from error
