"""A gRPC server that does nothing, as fast as Python's gRPC lets it: no interceptor, no log, no store.

/bare/Empty   an empty message for an empty message
/bare/Page    one message of as many bytes as asked for, streamed
"""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import grpc
import grpc.aio


async def empty(_: bytes, __: object) -> bytes:
    return b""


async def page(size: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> None:
    await context.write(bytes(int(size)))


async def serve() -> None:
    server = grpc.aio.server()
    handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "Empty": grpc.unary_unary_rpc_method_handler(empty),
        "Page": grpc.unary_stream_rpc_method_handler(page),
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("bare", handlers)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print(f"127.0.0.1:{port}", flush=True)
    await stop.wait()
    await server.stop(None)


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve())
    else:
        uvloop.run(serve())
