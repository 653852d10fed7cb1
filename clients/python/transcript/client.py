"""The client: one connection to a transcript server, and all that may be asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript.calls import Calls
from transcript.context import Contexts
from transcript.journal import Journal
from transcript.reading import Reading
from transcript.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    import grpc


def connect(
    target: str,
    *,
    timeout: float = 30.0,
    silence: float = 45.0,
    token: str = "",
    credentials: grpc.ChannelCredentials | None = None,
    options: Mapping[str, int | str] | None = None,
) -> Client:
    """A client of the server at *target*. Nothing is sent before the first call.

        async with connect("127.0.0.1:50051") as client: ...

    Args:
        target: Where the server is: "host:port", or any other name that gRPC resolves.
        timeout: Seconds that a call may take, retries included. A stream that goes on while there is
            something to say (read_events) may be quiet for as long.
        silence: Seconds that a watch may be quiet before it is taken for dead and begun anew. The
            server gives a sign every 15 s.
        token: Sent with each call as a bearer token.
        credentials: For TLS; in clear if None.
        options: gRPC channel arguments that go before the client's own. The client receives messages of
            up to 16 MiB: a row may have 8 MiB.

    Returns:
        The client, for the event loop in which it is first used. Close it: it is an async context manager.
    """
    return Client(
        Calls(target, timeout=timeout, silence=silence, token=token, credentials=credentials, options=options or {})
    )


class Client(Sessions, Journal, Reading, Contexts):
    """A transcript server, as its callers see it. Made by connect().

    Any method may raise TranscriptError; see transcript.errors for the tree. Beside the errors that a
    method names, any may raise InvalidField, Unavailable, DeadlineExceeded and Internal, and one that takes
    a session SessionNotFound. Methods that read, and those that carry an id, are sent again on UNAVAILABLE.

    An iterator that is left before its end should be closed: `async with aclosing(client.watch(...))`.
    """

    def __init__(self, calls: Calls) -> None:
        """See connect()."""
        self._calls = calls

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection. Calls that still run raise ClientClosed."""
        await self._calls.close()
