"""Rows in, blocks out, in the order of the journal: what `show` draws at once and `tail` as it lands.

A block is *settled* when no later row can change it. A tool's call waits for its result until a
later turn begins; a run of foreign records waits for the next row of another kind. So the blocks
are the same however the rows were cut into pages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from transcript.v1 import event_pb2, transcript_service_pb2
from transcript_terminal.outline.blocks import (
    Aside,
    Block,
    Earlier,
    ForeignRun,
    ForModel,
    Line,
    Message,
    Outcome,
    Request,
    Speaker,
    ToolCard,
)
from transcript_terminal.outline.cards import called, returned
from transcript_terminal.outline.facts import facts_of, is_replacement, kind_of, steers
from transcript_terminal.outline.reading import place, read, read_raw


@dataclass(slots=True)
class _Entry:
    block: Block
    turn: int
    settled: bool = True


class Outline:
    """The blocks of a run of rows."""

    def __init__(self, *, journal: bool = False) -> None:
        """Begin; *journal*: every row is shown, those made for the model too."""
        self._journal = journal
        self._entries: list[_Entry] = []
        self._turn = 0
        self._calls: dict[str, _Entry] = {}  # that wait for their result
        self._late: dict[str, ToolCard] = {}  # whose turn went by without one
        self._compacting: Line | None = None
        self._page_tip = 0
        self._open_sequences: frozenset[int] = frozenset()
        self._waiting: dict[str, _Entry] = {}
        self._subagents: dict[str, str] = {}  # their names, by id

    def open(self, info: transcript_service_pb2.PageInfo, *, with_control: bool = True) -> None:
        """Take in what a page is, before its rows; *with_control*: what lies before it gets a block."""
        self._page_tip = info.latest_sequence
        self._open_sequences = frozenset(info.open_request_sequences)
        earlier = _earlier(info) if with_control else None
        if earlier:
            self._entries.append(_Entry(earlier, 0))

    def add(self, event: event_pb2.Event) -> None:
        """Take in the next row."""
        if event.turn > self._turn:
            self._turn = event.turn
            for call_id in list(self._calls):
                self._give_up(call_id)
        if is_replacement(event):
            self._add_replacement(event)
            return
        self._retire_requests(event)
        match kind_of(event):
            case "tool_call":
                self._add_call(event)
            case "tool_result":
                self._add_result(event)
            case "human_request":
                self._add_request(event)
            case "human_response":
                self._close_request(event.human_response.request_id)
                self._add_simple(event)
            case "subagent_started":
                began = event.subagent_started
                self._subagents[began.subagent_id] = began.name
                self._add_simple(event)
            case "compaction_started":
                self._compacting = Line(**place(event), text="compacting the context …")
                self._add_simple(event)
            case "compaction_ended":
                self._compacting = None
                self._add_simple(event)
            case _:
                self._add_simple(event)

    def settled(self, *, in_order: bool = True) -> list[Block]:
        """Take out the blocks that are settled and have no unsettled one before them.

        Without *in_order* only a call that has no result yet is left, so that nothing waits for it.
        """
        taken: list[Block] = []
        kept: list[_Entry] = []
        for entry in self._entries:
            settled = entry.settled and not kept if in_order else entry.settled or isinstance(entry.block, ForeignRun)
            if settled:
                taken.append(entry.block)
            else:
                kept.append(entry)
        self._entries = kept
        return taken

    def finish(self, *, running: bool = False, has_newer: bool = False) -> list[Block]:
        """Take out all that is left; *running*: a turn runs; *has_newer*: there are rows that were not read."""
        outcome = Outcome.FURTHER_ON if has_newer else Outcome.RUNNING if running else Outcome.NO_RESULT
        for call_id in list(self._calls):
            self._give_up(call_id, outcome)
        rest = [entry.block for entry in self._entries]
        self._entries = []
        if self._compacting and running and not has_newer:
            rest.append(self._compacting)
        return rest

    def in_progress(self) -> list[Block]:
        """What is going on: calls without a result, a compaction, requests that wait for a person."""
        going = [entry.block for entry in self._calls.values()]
        if self._compacting:
            going.append(self._compacting)
        going.extend(entry.block for entry in self._waiting.values())
        return going

    def _append(self, entry: _Entry) -> None:
        if self._entries and isinstance(self._entries[-1].block, ForeignRun):
            self._entries[-1].settled = True
        self._entries.append(entry)

    def _add_simple(self, event: event_pb2.Event) -> None:
        block = read_raw(event) if self._journal else read(event)
        if isinstance(block, Message) and block.speaker is Speaker.SUBAGENT:
            block = replace(block, by=self._subagents.get(block.by) or block.by)
        if isinstance(block, ForeignRun):
            self._add_foreign(block, event.turn)
        elif block:
            self._append(_Entry(block, event.turn))

    def _add_foreign(self, block: ForeignRun, turn: int) -> None:
        last = self._entries[-1].block if self._entries and not self._journal else None
        if isinstance(last, ForeignRun) and last.format == block.format:
            types = dict(last.types)
            for name, count in block.types.items():
                types[name] = types.get(name, 0) + count
            self._entries[-1].block = replace(last, types=types)
        else:
            self._append(_Entry(block, turn, settled=False))

    def _add_call(self, event: event_pb2.Event) -> None:
        card = called(event)
        if self._journal:
            self._late[card.call_id] = replace(card, arguments_json="")
            self._append(_Entry(replace(card, outcome=Outcome.APART), event.turn))
            return
        self._give_up(card.call_id)  # a call under a used id
        self._calls[card.call_id] = entry = _Entry(card, event.turn, settled=False)
        self._append(entry)

    def _add_result(self, event: event_pb2.Event) -> None:
        call_id = event.tool_result.call_id
        entry = self._calls.pop(call_id, None)
        if entry and isinstance(entry.block, ToolCard):
            entry.block = returned(event, entry.block)
            entry.settled = True
            return
        call = self._late.pop(call_id, None)
        if call:
            call = replace(call, **place(event), elided_bytes=0)
        self._append(_Entry(returned(event, call), event.turn))

    def _give_up(self, call_id: str, outcome: Outcome = Outcome.NO_RESULT) -> None:
        entry = self._calls.pop(call_id, None)
        if entry and isinstance(entry.block, ToolCard):
            self._late[call_id] = entry.block
            entry.block = replace(entry.block, outcome=outcome)
            entry.settled = True

    def _add_request(self, event: event_pb2.Event) -> None:
        request = read(event)
        if not isinstance(request, Request):
            return
        is_open = event.sequence in self._open_sequences or event.sequence > self._page_tip
        entry = _Entry(replace(request, is_open=is_open), event.turn)
        self._close_request(request.request_id)  # a request under a used id takes the earlier one's place
        if is_open:
            self._waiting[request.request_id] = entry
        self._append(entry)

    def _close_request(self, request_id: str) -> None:
        entry = self._waiting.pop(request_id, None)
        if entry and isinstance(entry.block, Request):
            entry.block = replace(entry.block, is_open=False)

    def _retire_requests(self, event: event_pb2.Event) -> None:
        if facts_of(event).prompts and not steers(event):
            for request_id in [name for name, entry in self._waiting.items() if entry.turn < event.turn]:
                self._close_request(request_id)

    def _add_replacement(self, event: event_pb2.Event) -> None:
        """A row for the model alone. A checkpoint is shown in every view; of it, the text in the journal view."""
        if not self._journal:
            if kind_of(event) == "compaction_checkpoint":
                self._add_simple(event)
            return
        match kind_of(event):
            case "tool_call":
                block: Block = replace(called(event), outcome=Outcome.APART)
            case "tool_result":
                block = returned(event)
            case "compaction_checkpoint":
                block = Aside(**place(event), heading="checkpoint", text=event.compaction_checkpoint.text)
            case _:
                block = read_raw(event)
        place_of = event.surface.replace
        self._append(
            _Entry(
                ForModel(
                    **place(event),
                    start_sequence=place_of.start_sequence,
                    end_sequence=place_of.end_sequence,
                    block=block,
                ),
                event.turn,
            )
        )


def _earlier(info: transcript_service_pb2.PageInfo) -> Earlier | None:
    """The one control at the top: earlier sections where the page reaches the marker that hides them, else rows."""
    if info.HasField("hidden_sections") and info.hidden_sections.count:
        hidden = info.hidden_sections
        rows = info.oldest_sequence - hidden.marker_sequence
        return Earlier(rows=max(rows, 0), sections=hidden.count, labels=tuple(hidden.labels))
    if info.has_more:
        return Earlier(rows=info.oldest_sequence - 1)
    return None
