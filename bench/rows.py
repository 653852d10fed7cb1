"""The workload's rows as events, and sessions made of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

from bench.peers import Record
from transcript.v1.event_pb2 import CompactionCheckpoint, Event, ReplaceOp, Surface, UserMessage

TOOL_KINDS = ("tool_call", "tool_result")


def event_of(record: Record, *, named: bool = True) -> Event:
    """A record as an event; without its id, if it is not to be `named`."""
    event = Event(id=record["id"] if named else "")
    event.time.FromMicroseconds(int(record["ts"] * 1_000_000))
    text = record["text"]
    match record["kind"]:
        case "user":
            event.user_message.text = text
            event.user_message.origin = UserMessage.ORIGIN_HUMAN
        case "assistant":
            event.assistant_message.text = text
        case "thinking":
            event.thinking.text = text
        case "tool_call":
            event.tool_call.call_id = record["call_id"]
            event.tool_call.name = record["tool"]
            event.tool_call.arguments_json = text
        case "tool_result":
            event.tool_result.call_id = record["call_id"]
            event.tool_result.text = text
        case kind:
            raise ValueError(f"no event for a record of kind {kind}")
    return event


def checkpoint(start: int, end: int) -> Event:
    """What the model sees in place of a range of its surface."""
    replaced = Surface(replace=ReplaceOp(start_sequence=start, end_sequence=end))
    return Event(
        compaction_checkpoint=CompactionCheckpoint(text="What came before, in short. " * 100), surface=replaced
    )


def before_last_prompt(records: list[Record]) -> tuple[list[Record], list[Record]]:
    """A session cut in two: up to the latest turn, and that turn."""
    last = max(index for index, record in enumerate(records) if record["kind"] == "user")
    return records[:last], records[last:]


def tool_rows(records: Iterable[Record], count: int) -> Iterator[Event]:
    """As many tool rows as wanted, taken from a session over and over, without ids."""
    found = [event_of(record, named=False) for record in records if record["kind"] in TOOL_KINDS]
    for index in range(count):
        yield found[index % len(found)]


def plain_records(count: int, seed: int = 1, session: str = "s") -> Iterator[Record]:
    """Rows where the peers' workload is not at hand: turns of ten rows, most of them short."""
    chance = random.Random(seed)
    kinds = ("user", "thinking", *("tool_call", "tool_result", "assistant") * 2, "thinking", "assistant")
    letters = "abcdefghijklmnopqrstuvwxyz      "
    text = "".join(chance.choices(letters, k=40_000))
    for index in range(count):
        sequence = index + 1
        size = min(int(chance.lognormvariate(6, 1)) + 20, 30_000)
        begin = chance.randrange(len(text) - size)
        yield {
            "id": f"{session}-{sequence:08d}",
            "seq": sequence,
            "turn": index // len(kinds) + 1,
            "kind": kinds[index % len(kinds)],
            "ts": 1_700_000_000 + sequence,
            "text": text[begin : begin + size],
            "call_id": f"call-{sequence}",
            "tool": "bash",
        }


Records = Callable[..., Iterator[Record]]
