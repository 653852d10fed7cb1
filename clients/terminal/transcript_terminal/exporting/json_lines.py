"""A journal as JSON lines: a header that says which session it is, then every row as it lies."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING

from google.protobuf.json_format import MessageToDict, MessageToJson

from transcript_terminal.complaints import Complaint
from transcript_terminal.resolving import check_journal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from transcript import Client
    from transcript.v1.session_pb2 import Session


async def json_lines(client: Client, session: Session, at: int) -> AsyncGenerator[str, None]:
    """The lines of the journal's rows 1 to *at*, each with its end; the first is `{"session": …}`.

    Raises:
        Complaint: A row says more than this program knows: the file would lack it. Or the session was deleted and made
            anew meanwhile.
    """
    yield json.dumps({"session": MessageToDict(session)}) + "\n"
    if not at:
        return
    async with aclosing(client.read_events(session.id, through_sequence=at)) as events:
        async for event in events:
            size = event.ByteSize()
            event.DiscardUnknownFields()
            if event.ByteSize() != size:
                raise Complaint(
                    f"row {event.sequence} has fields that this program does not know",
                    do="upgrade this program: a newer one wrote the row",
                )
            yield MessageToJson(event, indent=None) + "\n"
    # The rows do not say which journal they are of; it was there before them, and is there still.
    check_journal(session, (await client.get_session(session.id)).journal_id)
