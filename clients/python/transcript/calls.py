"""One server's calls: each gets its deadline, comes back as an answer or as a TranscriptError, and is let go."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

import grpc.aio

from transcript.backoff import Backoff
from transcript.channel import open_channel
from transcript.errors import ClientClosed, DeadlineExceeded, TranscriptError
from transcript.status import by_code, error_of
from transcript.v1.context_service_pb2_grpc import ContextServiceStub
from transcript.v1.error_reason_pb2 import ErrorReason
from transcript.v1.journal_service_pb2_grpc import JournalServiceStub
from transcript.v1.session_service_pb2_grpc import SessionServiceStub
from transcript.v1.transcript_service_pb2_grpc import TranscriptServiceStub

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from transcript.v1.context_service_pb2_grpc import ContextServiceAsyncStub
    from transcript.v1.journal_service_pb2_grpc import JournalServiceAsyncStub
    from transcript.v1.session_service_pb2_grpc import SessionServiceAsyncStub
    from transcript.v1.transcript_service_pb2_grpc import TranscriptServiceAsyncStub

Request = TypeVar("Request")
Response = TypeVar("Response")


class ListRequest(Protocol):
    """Asks for one page of a list."""

    page_token: str


class ListResponse(Protocol):
    """One page of a list."""

    next_page_token: str


Listing = TypeVar("Listing", bound=ListRequest)
Listed = TypeVar("Listed", bound=ListResponse)


class Calls:
    """The calls to one server, over one channel that is opened by the first of them."""

    def __init__(
        self,
        target: str,
        *,
        timeout: float,
        silence: float,
        token: str,
        credentials: grpc.ChannelCredentials | None,
        options: Mapping[str, int | str],
    ) -> None:
        """See transcript.connect."""
        self.target = target
        self.timeout = timeout
        self.silence = silence
        self.metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._credentials = credentials
        self._options = options
        self._closed = False

    @cached_property
    def _channel(self) -> grpc.aio.Channel:
        # Not before the first call: a channel belongs to the event loop that it is opened in.
        return open_channel(self.target, self._credentials, self._options)

    @cached_property
    def sessions(self) -> SessionServiceAsyncStub:
        return SessionServiceStub(self._channel)

    @cached_property
    def journal(self) -> JournalServiceAsyncStub:
        return JournalServiceStub(self._channel)

    @cached_property
    def transcript(self) -> TranscriptServiceAsyncStub:
        return TranscriptServiceStub(self._channel)

    @cached_property
    def context(self) -> ContextServiceAsyncStub:
        return ContextServiceStub(self._channel)

    async def close(self) -> None:
        """Close the channel: calls that still run raise ClientClosed."""
        self._closed = True
        if "_channel" in self.__dict__:
            await self._channel.close()

    async def unary(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - gRPC's own deadline, which the server knows of
    ) -> Response:
        """Call once; *timeout* in seconds, the client's default if None."""
        self.check_open()
        call = method(request, timeout=self.timeout if timeout is None else timeout, metadata=self.metadata)
        try:
            with self.failures():
                response = await call
        finally:
            call.cancel()
        return self._legible(response)

    async def repeated(self, method: grpc.aio.UnaryUnaryMultiCallable[Request, Response], request: Request) -> Response:
        """Call until it is answered or the client's deadline has come. For a request that carries an id."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout
        backoff = Backoff()
        earlier: TranscriptError | None = None
        while True:
            try:
                return await self.unary(method, request, timeout=deadline - loop.time())
            except TranscriptError as error:
                delay = backoff.after(error)
                if delay is None or loop.time() + delay >= deadline:
                    # That time ran out says less than what it ran out on.
                    raise (earlier if earlier and isinstance(error, DeadlineExceeded) else error) from error.__cause__
                earlier = error
                await asyncio.sleep(delay)

    async def listed(
        self, method: grpc.aio.UnaryUnaryMultiCallable[Listing, Listed], request: Listing
    ) -> AsyncGenerator[Listed, None]:
        """The pages of a list, to the last one. Their tokens are put into *request*."""
        while True:
            response = await self.unary(method, request)
            yield response
            request.page_token = response.next_page_token
            if not request.page_token:
                return

    async def stream(
        self,
        method: grpc.aio.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - gRPC's own deadline, which the server knows of
        silence: float | None = None,
    ) -> AsyncGenerator[Response, None]:
        """The messages of a stream. *timeout*: for all of it; *silence*: for each message; in seconds."""
        self.check_open()
        call = method(request, timeout=timeout, metadata=self.metadata)
        try:
            while (message := await self.read(call, silence)) is not None:
                yield message
        finally:
            # A call that is dropped while it runs is never collected (grpc/grpc#43462).
            call.cancel()

    async def read(
        self,
        call: grpc.aio.UnaryStreamCall[Request, Response] | grpc.aio.StreamStreamCall[Request, Response],
        silence: float | None = None,
    ) -> Response | None:
        """The next message of *call*; None at its end. After *silence* seconds without one the call is cancelled."""
        try:
            with self.failures():
                async with asyncio.timeout(silence):
                    message = await call.read()
        except TimeoutError:
            text = f"no message for {silence:g} s (server {self.target})"
            raise by_code(grpc.StatusCode.UNAVAILABLE, text) from None
        # The stubs say "object" for the marker of a stream's end.
        return None if message is grpc.aio.EOF else self._legible(message)  # type: ignore[return-value]

    def check_open(self) -> None:
        """Raise ClientClosed once the client is closed."""
        if self._closed:
            raise self._closed_error()

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turn what gRPC raises inside into a TranscriptError."""
        try:
            yield
        except grpc.aio.AioRpcError as error:
            raise error_of(error, self.target) from error
        except asyncio.CancelledError:
            # gRPC raises it also where not the caller was cancelled but the call, by the closing of its channel.
            task = asyncio.current_task()
            if self._closed and not (task and task.cancelling()):
                raise self._closed_error() from None
            raise

    def _legible(self, message: Response) -> Response:
        if message is None:
            # What gRPC makes of bytes that are not the message expected.
            raise by_code(grpc.StatusCode.INTERNAL, f"the answer cannot be read (server {self.target})")
        return message

    def _closed_error(self) -> ClientClosed:
        text = f"the client was closed (server {self.target})"
        return ClientClosed(ErrorReason.ERROR_REASON_UNSPECIFIED, text, code=grpc.StatusCode.CANCELLED)
