"""`python -m transcript_server`: the server alone, without the `transcript` command."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from transcript_server.app import Config, serve
from transcript_server.journal.sqlite.store import StoreUnusable


def main() -> int:
    """Serves until SIGINT or SIGTERM; prints `grpc HOST:PORT` when ready."""
    parser = argparse.ArgumentParser(prog="transcript_server", description="Serves transcripts over gRPC.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the embedded store")
    parser.add_argument("--grpc", default="127.0.0.1:50051", help="host:port on loopback; port 0 picks a free one")
    arguments = parser.parse_args()
    try:
        serve(Config(data=arguments.data, grpc=arguments.grpc), lambda address: print(f"grpc {address}", flush=True))  # noqa: T201
    except (ValueError, OSError, StoreUnusable) as error:
        parser.exit(1, f"{error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
