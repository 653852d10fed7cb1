"""Bytes that are no request at all, or one that was damaged on its way."""

from __future__ import annotations

import random

import grpc
import grpc.aio
import pytest

from .rows import end
from .specimens import METHODS, specimens
from .spoiling import INVALID, failing, is_untouched, send
from .wire import Wire, taken_apart
from .world import THOROUGH


def mutated(rng: random.Random, raw: bytes) -> bytes:
    """Bytes changed, cut, put in or taken out."""
    data = bytearray(raw or b"\x00")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0 if at < len(data):
                data[at] = rng.randrange(256)
            case 1:
                del data[at:]
            case 2:
                data[at:at] = rng.randbytes(rng.randint(1, 6))
            case 3 if at < len(data):
                del data[at]
            case _:
                data[at:at] = data[: rng.randint(0, 12)]
    return bytes(data)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "DeleteSession"])
async def test_malformed_bytes_never_trouble_the_server(ready: Wire, method):
    """Neither UNKNOWN nor INTERNAL, no word of how it is made, and it still serves."""
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    raws = [specimen.SerializeToString() for specimen in specimens(method)]
    codes = set()
    for _ in range(600 if THOROUGH else 30):
        raw = mutated(rng, rng.choice(raws))
        try:
            await send(ready, method, raw)
        except grpc.aio.AioRpcError as error:
            failure = taken_apart(error)
            codes.add(failure.code)
            assert failure.infos == 1, (seed, raw, failure)
            assert "Error" not in failure.details, (seed, raw, failure)
            assert "Traceback" not in failure.details, (seed, raw, failure)
    assert not codes & {grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNIMPLEMENTED}, seed
    await ready.append("s", end())


@pytest.mark.parametrize("method", METHODS)
async def test_bytes_that_are_no_message_are_refused_as_invalid(ready: Wire, method):
    """A cut field, a wrong wire type, a group without end, a length beyond the end."""
    for raw in (b"\x0a", b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", b"\xff" * 11, b"\x0a\x05ab"):
        failure = await failing(ready, method, raw)
        assert failure.code is INVALID, (raw, failure)
        assert failure.reason in {"INVALID_FIELD", "UNKNOWN_FIELD"}
    await is_untouched(ready)
