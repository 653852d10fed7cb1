"""Writes the Python code of the contract into clients/python/transcript/v1.

Runs in an environment of its own (`make generate`): generated code refuses a runtime older than
the generator that wrote it, so an old generator serves every client. With `--check` nothing is
written: the run fails if what lies in the folder is not what the contract gives.
"""

from __future__ import annotations

import importlib.resources
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-not-found]  # not in the project's environment

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
PACKAGE = Path("transcript") / "v1"
GENERATED = ROOT / "clients" / "python" / PACKAGE


def generate(out: Path) -> int:
    """Runs protoc over the whole contract; returns its exit code."""
    plugins = Path(sys.executable).parent
    return int(
        protoc.main(
            [
                "protoc",
                f"-I{PROTO}",
                f"-I{importlib.resources.files('grpc_tools') / '_proto'}",
                f"--python_out={out}",
                f"--grpc_python_out={out}",
                f"--plugin=protoc-gen-mypy={plugins / 'protoc-gen-mypy'}",
                f"--plugin=protoc-gen-mypy_grpc={plugins / 'protoc-gen-mypy_grpc'}",
                f"--mypy_out=quiet:{out}",
                f"--mypy_grpc_out=quiet:{out}",
                *sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto")),
            ]
        )
    )


def contents(folder: Path) -> dict[str, bytes]:
    """The generated files of a folder; hand-written ones beside them are left out."""
    return {path.name: path.read_bytes() for path in folder.glob("*_pb2*")}


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        if code := generate(Path(scratch)):
            return code
        wanted, found = contents(Path(scratch) / PACKAGE), contents(GENERATED)
    stale = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if "--check" in arguments:
        for name in stale:
            print(f"out of date: {(GENERATED / name).relative_to(ROOT)}", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        target = GENERATED / name
        if name in wanted:
            # Renamed into place, so that a program that imports meanwhile finds the old file or the new one.
            target.with_suffix(".new").write_bytes(wanted[name])
            target.with_suffix(".new").replace(target)
        else:
            target.unlink()
        print(f"{'wrote' if name in wanted else 'removed'} {target.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
