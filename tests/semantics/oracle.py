"""A naive session: the design's rules read literally, slow and without an index.

It keeps the rows and derives everything else by folding over them, each time
from the first row. It shares nothing with the server but the contract.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import grpc

from transcript.v1.event_pb2 import AppendOp, Event, LogOnlyOp, Surface, TurnEnded

from . import surface, turns
from .facts import facts, is_human, is_message, kind, replaces
from .refused import Refused

HELD_ROWS = 10
INVALID = grpc.StatusCode.INVALID_ARGUMENT
INTERRUPTED = Event(turn_ended=TurnEnded(outcome=TurnEnded.OUTCOME_INTERRUPTED))


@dataclass(frozen=True)
class Row:
    """A row as it must be stored, and as it was sent.

    Ids and times that the server chooses are empty in `event` until they are learned.
    """

    event: Event
    sent: bytes | None = None
    as_recorded: bool = False
    token: object = field(default_factory=object)


@dataclass(frozen=True)
class Answer:
    """What an append is told."""

    sequences: list[int]
    latest_sequence: int
    rows: list[Row]


def content(event: Event) -> bytes:
    """What must be equal for an id to be the same append: the row as sent, without id and time."""
    bare = Event()
    bare.CopyFrom(event)
    bare.ClearField("id")
    bare.ClearField("time")
    return bare.SerializeToString(deterministic=True)


class Journal:
    """One session."""

    def __init__(self, rows: Iterable[Row] = (), held: Iterable[Row] = ()) -> None:
        self.rows = list(rows)
        self.held = list(held)

    def copy(self) -> Journal:
        """The same session, to try something on."""
        return Journal(self.rows, self.held)

    # What there is.

    @property
    def tip(self) -> int:
        """The last row's sequence."""
        return len(self.rows)

    def events(self, as_of: int | None = None) -> list[Event]:
        """The rows as stored, up to and including one."""
        return [row.event for row in self.rows[: self.tip if as_of is None else as_of]]

    @property
    def turns(self) -> turns.Turns:
        """How the turns stand."""
        return turns.fold(self.events())

    @property
    def message_count(self) -> int:
        """Messages of the human transcript."""
        return sum(is_message(event) for event in self.events())

    @property
    def last_prompt(self) -> Row | None:
        """The row that last_prompt_at speaks of."""
        prompts = [row for row in self.rows if facts(row.event).prompts and not replaces(row.event)]
        return prompts[-1] if prompts else None

    def usage(self) -> tuple[int, int, int]:
        """Tokens that the human transcript's replies report."""
        replies = [e.assistant_message.usage for e in self.events() if kind(e) == "assistant_message" and is_human(e)]
        return (
            sum(usage.input_tokens for usage in replies),
            sum(usage.output_tokens for usage in replies),
            sum(usage.cached_input_tokens for usage in replies),
        )

    # Appending.

    def append(self, events: Sequence[Event], *, as_recorded: bool = False, expected: int | None = None) -> Answer:
        """Rule 4, in its order. A refusal leaves the session as it was."""
        for event in events:
            check_by_itself(event)
        known = [self.known(event) for event in events]
        left = [event for event, row in zip(events, known, strict=True) if row is None]
        if left and expected is not None and expected != self.tip:
            named = {"expected_latest_sequence": str(expected), "latest_sequence": str(self.tip)}
            raise Refused(grpc.StatusCode.ABORTED, "SEQUENCE_MISMATCH", named)
        trial = self.copy()
        taken = iter(trial.take(left, as_recorded=as_recorded))
        rows = [row if row is not None else next(taken) for row in known]
        self.rows, self.held = trial.rows, trial.held
        return Answer([self.sequence_of(row) for row in rows], self.tip, rows)

    def take(self, left: Sequence[Event], *, as_recorded: bool) -> list[Row]:
        """The rows one by one; what the surface lost is judged after the last."""
        taken: list[Row] = []
        touched: set[int] = set()
        for index, event in enumerate(left):
            following = left[index + 1] if index + 1 < len(left) else None
            row = self.known(event)
            if row is None:
                row = Row(stored(event), content(event), as_recorded)
                if self.turns.running and interrupts(event, following):
                    self.write(Row(stored(INTERRUPTED)))
                if self.turns.running and facts(event).held and not replaces(event) and not as_recorded:
                    self.hold(row)
                else:
                    touched |= self.write(row)
            taken.append(row)
        standing = surface.fold(self.events())
        if touched & {row.sequence for row in standing} - surface.paired(standing):
            raise surface.bad_range(start_sequence=0, end_sequence=0)
        return taken

    def hold(self, row: Row) -> None:
        """Rule 9."""
        if len(self.held) == HELD_ROWS:
            raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "HELD_ROWS_FULL", {"limit": str(HELD_ROWS)})
        self.held.append(row)

    def write(self, row: Row) -> set[int]:
        """Puts a row at the end, and what a turn's end lets go after it; says which tool pairs it touched."""
        before = self.turns
        event = Event()
        event.CopyFrom(row.event)
        event.sequence = self.tip + 1
        event.turn = turns.ordinal(before, event)
        if kind(event) == "human_response":
            self.check_response(event.human_response.request_id)
        if kind(event) == "compaction_checkpoint":
            event.compaction_checkpoint.summary_sequence = self.summary_of(event.compaction_checkpoint.compaction_id)
        standing = surface.fold(self.events())
        touched = surface.touched_pairs(standing, surface.apply(standing, event)) if replaces(event) else set()
        surface.apply(standing, event)
        self.rows.append(replace(row, event=event))
        if kind(event) == "turn_ended" and before.running:
            held, self.held = self.held, []
            for each in held:
                self.write(each)
        return touched

    def check_response(self, request_id: str) -> None:
        """Rule 10: only a request that was made and not yet answered takes a response."""
        request = turns.requests(self.events()).get(request_id)
        if request is None or request.answered:
            raise Refused(grpc.StatusCode.FAILED_PRECONDITION, "REQUEST_NOT_OPEN", {"request_id": request_id})

    def summary_of(self, compaction_id: str) -> int:
        """Rule 18: the latest summary so far with this id; 0 for none and for an empty id."""
        found = [
            event.sequence
            for event in self.events()
            if kind(event) == "compaction_summary" and event.compaction_summary.compaction_id == compaction_id
        ]
        return found[-1] if found and compaction_id else 0

    # Ids.

    def known(self, event: Event) -> Row | None:
        """Rule 3: the row that this append already made, if any; another content is refused."""
        for row in [*self.rows, *self.held]:
            if event.id and row.event.id == event.id:
                same_time = not event.HasField("time") or event.time == row.event.time
                if row.sent == content(event) and same_time:
                    return row
                raise Refused(grpc.StatusCode.ALREADY_EXISTS, "EVENT_ID_REUSED", {"event_id": event.id})
        return None

    def sequence_of(self, row: Row) -> int:
        """Where the row stands; 0 while it is held."""
        return next((at for at, each in enumerate(self.rows, 1) if each.token is row.token), 0)

    def learn_ids(self, answer: Answer, event_ids: Sequence[str]) -> None:
        """Takes over the ids that the server minted."""
        named = {id(row.token): event_id for row, event_id in zip(answer.rows, event_ids, strict=True)}
        self.rows = [with_id(row, named.get(id(row.token))) for row in self.rows]
        self.held = [with_id(row, named.get(id(row.token))) for row in self.held]

    def learn_rows(self, events: Sequence[Event]) -> None:
        """Takes over the rows as the server keeps them, once they are known to say the same."""
        self.rows = [replace(row, event=event) for row, event in zip(self.rows, events, strict=True)]

    # Forks.

    def fork(self, through: int, source_id: str) -> Journal:
        """Rule 31. Held rows stay here."""
        copy = Journal(self.rows[:through])
        if copy.turns.running:
            copy.write(Row(stored(INTERRUPTED)))
        forked = Event()
        forked.session_forked.session_id = source_id
        forked.session_forked.sequence = through
        copy.write(Row(stored(forked)))
        return copy


def interrupts(event: Event, following: Event | None) -> bool:
    """Rule 8: whether the row ends the turn that is running."""
    if kind(event) == "turn_started":
        return True
    prompt_of_the_next = following is not None and kind(following) == "turn_started"
    steering = event.user_message.origin == event.user_message.ORIGIN_STEERING
    return kind(event) == "user_message" and not steering and not replaces(event) and prompt_of_the_next


def with_id(row: Row, event_id: str | None) -> Row:
    """The row under the id that it was given."""
    if event_id is None or row.event.id:
        return row
    event = Event()
    event.CopyFrom(row.event)
    event.id = event_id
    return replace(row, event=event)


def stored(event: Event) -> Event:
    """The row as it is stored, but for sequence, turn, times and a minted id."""
    row = Event()
    row.CopyFrom(event)
    if not row.HasField("surface"):
        row.surface.CopyFrom(Surface(append=AppendOp()) if facts(row).surfaces else Surface(log_only=LogOnlyOp()))
    if kind(row) == "section_marker":
        marker = row.section_marker
        marker.label = unicodedata.normalize("NFC", marker.label)
        marker.source = unicodedata.normalize("NFC", marker.source)
        marker.collapse_earlier = marker.collapse_earlier if marker.HasField("collapse_earlier") else True
        row.fallback = f"— Section: {marker.label} —" if marker.label else "— Section —"
    return row


def check_by_itself(event: Event) -> None:
    """Rule 4 (0), as far as random histories go: what a kind may do to the surface, and the closed marker."""
    if not kind(event):
        raise Refused(INVALID, "UNKNOWN_KIND")
    output_only = ("sequence", "recorded_at", "turn", "fallback", "elided_bytes")
    if any(name in output_only for name in (each.name for each, _ in event.ListFields())):
        raise Refused(INVALID, "INVALID_FIELD")
    if kind(event) == "section_marker" and (event.HasField("surface") or event.source_sequences):
        raise Refused(INVALID, "INVALID_FIELD")
    operation = event.surface.WhichOneof("op")
    if event.HasField("surface") and operation is None:
        raise Refused(INVALID, "INVALID_FIELD")
    if operation in {"append", "replace"} and not facts(event).surfaces:
        raise Refused(INVALID, "BAD_SURFACE_OP")
    if kind(event) == "compaction_checkpoint" and operation != "replace":
        raise Refused(INVALID, "BAD_SURFACE_OP")
