"""What every call passes: errors become statuses, and one line of log is written.

A service raises `Refusal`; here, and nowhere else, it becomes a canonical code with one ErrorInfo. Anything
unforeseen reaches the client as INTERNAL with a fixed text and a request id, and the log with its traceback.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from transcript.v1 import error_reason_pb2
from transcript_server.rules.errors import DOMAIN, VIOLATIONS, Refusal
from transcript_server.services.calls import Call, current_call
from transcript_server.services.draining import draining

# A status travels in headers, of which HTTP/2 peers take some 8 KiB: a long text is cut, and the rest left out.
MESSAGE_BYTES: Final = 600
METADATA_BYTES: Final = 200
VIOLATION_BYTES: Final = 160
QUIET_SECONDS: Final = 0.1
"""How long no call may have come before a server that drains stops listening."""

_OWN: Final = f"/{DOMAIN}."
_log = logging.getLogger("transcript.rpc")
_Behavior = Callable[[Any, Any], Awaitable[Any]]


class Interceptor(grpc.aio.ServerInterceptor):
    """Wraps every method of every service, reflection and health included."""

    def __init__(self) -> None:
        self._wrapped: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        self._under_way = 0
        self._calls = 0
        self._last_call = 0.0
        self._draining = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def drain(self, seconds: float) -> None:
        """Refuses new calls with DRAINING, until those under way have finished and none came for a moment.

        What is on its way when a server stops is cut by grpc itself, without a reason: so it stops in silence.

        Args:
            seconds: How long this may take at most.
        """
        self._draining = True
        until = time.monotonic() + seconds
        # Silence is what is waited for, and nothing tells of it.
        while (now := time.monotonic()) < until and (self._calls or now < self._last_call + QUIET_SECONDS):  # noqa: ASYNC110
            await asyncio.sleep(QUIET_SECONDS / 4)

    async def finished(self) -> None:
        """Waits until no handler runs: `grpc.aio` returns from `stop` before its handlers do."""
        await self._idle.wait()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        method = handler_call_details.method
        if method in self._wrapped:
            return self._wrapped[method]
        handler = await continuation(handler_call_details)
        # A method that does not exist has no handler to wrap; its name is the client's and is not kept.
        if handler is not None:
            self._wrapped[method] = handler = self._wrap(handler, method)
        return handler

    def _wrap(self, handler: grpc.RpcMethodHandler[Any, Any], method: str) -> grpc.RpcMethodHandler[Any, Any]:
        sides = (handler.request_streaming, handler.response_streaming)
        kind = "_".join("stream" if streaming else "unary" for streaming in sides)
        behavior = getattr(handler, kind)
        make = getattr(grpc, f"{kind}_rpc_method_handler")
        if inspect.isasyncgenfunction(behavior):
            behavior = _writing(behavior)

        async def wrapped(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            return await self._serve(behavior, method, request, context)

        made: grpc.RpcMethodHandler[Any, Any] = make(wrapped, handler.request_deserializer, handler.response_serializer)
        return made

    async def _serve(
        self, behavior: _Behavior, method: str, request: Any, context: grpc.aio.ServicerContext[Any, Any]
    ) -> Any:
        call = Call(context, _request_id(context))
        current_call.set(call)
        started = time.perf_counter()
        code, reason = "OK", ""
        # Tools' services, health above all, are served to the end, and their open calls are not waited for.
        own = method.startswith(_OWN)
        self._under_way += 1
        self._calls += own
        self._last_call = time.monotonic()
        self._idle.clear()
        try:
            if own and self._draining:
                raise draining()
            return await behavior(request, context)
        except Refusal as refusal:
            code, reason = refusal.code, refusal.reason_name
            return await _abort(context, refusal)
        except asyncio.CancelledError:
            code = "CANCELLED"
            raise
        except grpc.aio.AbortError:
            code = str(context.code())
            raise
        except Exception:  # noqa: BLE001 - a client is told of nothing else
            code, reason = "INTERNAL", "INTERNAL"
            _log.exception("unforeseen", extra={"call": {"method": method, "request_id": call.request_id}})
            return await _abort(context, _internal(call.request_id))
        finally:
            self._under_way -= 1
            self._calls -= own
            if not self._under_way:
                self._idle.set()
            _log.info(
                "call",
                extra={
                    "call": {
                        "method": method,
                        "code": code,
                        "reason": reason,
                        "ms": round((time.perf_counter() - started) * 1000, 3),
                        "received_bytes": call.received_bytes,
                        "sent_bytes": call.sent_bytes,
                        "request_id": call.request_id,
                        **call.facts,
                    }
                },
            )


class JsonLines(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "call", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _writing(generate: Callable[[Any, Any], Any]) -> _Behavior:
    """A handler that yields its answers, as one that writes them: all are served alike."""

    async def write(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        async for response in generate(request, context):
            await context.write(response)

    return write


def _request_id(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """The client's own `x-request-id`, or a new one."""
    for key, value in context.invocation_metadata() or ():
        if key == "x-request-id" and isinstance(value, str) and value.isascii() and 0 < len(value) <= 128:
            return value
    return uuid.uuid4().hex


def _internal(request_id: str) -> Refusal:
    return Refusal(
        error_reason_pb2.ERROR_REASON_INTERNAL,
        f"unforeseen failure; the server's log has it under request {request_id}",
        {"request_id": request_id},
    )


async def _abort(context: grpc.aio.ServicerContext[Any, Any], refusal: Refusal) -> None:
    message = _cut(refusal.message, MESSAGE_BYTES)
    status = status_pb2.Status(code=grpc.StatusCode[refusal.code].value[0], message=message)
    info = error_details_pb2.ErrorInfo(
        reason=refusal.reason_name,
        domain=DOMAIN,
        metadata={key: _cut(value, METADATA_BYTES) for key, value in refusal.metadata.items()},
    )
    status.details.append(_packed(info))
    if refusal.violations:
        bad_request = error_details_pb2.BadRequest(
            field_violations=[
                error_details_pb2.BadRequest.FieldViolation(
                    field=_cut(violation.field, VIOLATION_BYTES),
                    description=_cut(violation.description, VIOLATION_BYTES),
                )
                for violation in refusal.violations[:VIOLATIONS]
            ]
        )
        status.details.append(_packed(bad_request))
    # Raises, and must be awaited: an abort that is not lets the handler go on and answer OK.
    await context.abort_with_status(rpc_status.to_status(status))


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")


def _packed(message: Any) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
