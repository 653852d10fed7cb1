"""Where a server listens: on loopback alone, as long as callers have no identity."""

from __future__ import annotations

import pytest

from transcript_server.app import Config, Serving, loopback, serving


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("127.0.0.1:50051", "127.0.0.1", 50051),
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("127.1.2.3:65535", "127.1.2.3", 65535),
        ("localhost:1", "localhost", 1),
        ("[::1]:1", "[::1]", 1),
    ],
)
def test_an_address_on_loopback_is_taken(address: str, host: str, port: int) -> None:
    """Of either family, by number or by name."""
    assert loopback(address) == (host, port)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0:50051",
        "[::]:50051",
        "192.168.1.5:50051",
        "10.0.0.1:0",
        "[fe80::1]:1",
        "[2001:db8::1]:1",
        "[::ffff:10.0.0.1]:1",
        "example.com:50051",
        "localhost.example.com:1",
        "127.0.0.1.example.com:1",
        "*:50051",
    ],
)
def test_an_address_that_others_reach_is_refused(address: str) -> None:
    """In words that say why."""
    with pytest.raises(ValueError, match="is not on loopback; without authentication the server listens on 127"):
        loopback(address)


@pytest.mark.parametrize(
    "address",
    ["", ":", ":50051", "127.0.0.1", "127.0.0.1:", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:http", "unix:/tmp/x"],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """No host is any host, and that is refused first of all."""
    with pytest.raises(ValueError, match="is not host:port"):
        loopback(address)


async def test_a_server_that_others_could_reach_makes_nothing(config: Config) -> None:
    """Neither a store nor a socket."""
    with pytest.raises(ValueError, match="not on loopback"):
        async with serving(Config(data=config.data, grpc="0.0.0.0:0")):
            pass
    assert not config.data.exists()


async def test_a_port_that_is_taken_is_refused_and_the_store_is_let_go(server: Serving, config: Config) -> None:
    """Two servers on one port would share its calls by chance."""
    other = Config(data=config.data.with_name("other"), grpc=server.address)
    with pytest.raises(OSError, match=f"cannot listen on {server.address}; is another server running there"):
        async with serving(other):
            pass
    async with serving(Config(data=other.data, grpc="127.0.0.1:0")) as third:
        assert third.address != server.address
