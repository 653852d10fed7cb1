"""One append inside the writing transaction: rule 4 from step (a) on, and all that its rows change."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import apsw

from transcript.v1 import error_reason_pb2
from transcript.v1.event_pb2 import Event
from transcript_server.journal.journal import Appended
from transcript_server.journal.sqlite import requests
from transcript_server.journal.sqlite.heads import LAST_SEQUENCE, Head, TurnExpired, timestamp, write_head
from transcript_server.journal.sqlite.queries import each, first, only
from transcript_server.journal.sqlite.sessions import list_at
from transcript_server.journal.sqlite.surfaces import SurfaceChanges
from transcript_server.rules import limits
from transcript_server.rules.elision import page_form
from transcript_server.rules.errors import Refusal
from transcript_server.rules.intake import Draft, mint_id, server_row
from transcript_server.rules.turns import Flag, Landing, Plan, interruption, plan

INSERT_EVENT: Final = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)"
LAST_MARKER: Final = "SELECT ordinal FROM marker WHERE key > ? AND key <= ? ORDER BY key DESC LIMIT 1"
SUMMARY: Final = """
SELECT key FROM summary INDEXED BY summary_by_id WHERE compaction_id = ? AND key > ? AND key <= ?
ORDER BY key DESC LIMIT 1"""
FIND_ID: Final = "SELECT digest, sequence FROM id WHERE number = ? AND event_id = ?"
HELD: Final = "SELECT body FROM held INDEXED BY held_session WHERE number = ? ORDER BY place"
MAX_TOKENS: Final = (1 << 63) - 1


class Append:
    """Appends rows to one session.

    Args:
        connection: Inside the writing transaction.
        head: The session's head; moved along, and stored at the end.
        now_us: Microseconds since 1970.
        idle_us: How long a turn may lie idle that does not say.
    """

    def __init__(self, connection: apsw.Connection, head: Head, now_us: int, idle_us: int) -> None:
        self._connection = connection
        self._head = head
        self._now_us = now_us
        self._idle_us = idle_us
        self._surface = SurfaceChanges(connection, head.base)
        self._held = self._held_rows() if head.turns.running else []

    def rows(self, drafts: Sequence[Draft], *, expected: int | None = None, as_recorded: bool = False) -> Appended:
        """Appends what a caller sent, all or none (rule 4, from step (a) on).

        Raises:
            TurnExpired: All rows are recorded already, and the running turn is to be ended before that is answered.
            Refusal: As the rules say; nothing is written.
        """
        fresh = self._set_aside(drafts)
        expired = self._head.expired(self._now_us)
        landed: dict[int | None, int] = {}
        if fresh:
            if expected is not None and expected != self._head.tip:
                raise _mismatch(expected, self._head.tip)
            fresh = self._once(drafts, fresh)
            self._complete([drafts[index].event for index in fresh])
            planned = self._carry_out([(index, drafts[index].event) for index in fresh], drafts, expired, as_recorded)
            landed = {landing.origin: landing.sequence for landing in planned.landings}
        elif expired:
            raise TurnExpired(self._head.number)
        return Appended(
            # What was set aside, or is held, is looked up as things stand now: this append may have let it go.
            sequences=[landed.get(index) or self._sequence_of(draft.event.id) for index, draft in enumerate(drafts)],
            latest_sequence=self._head.tip,
            event_ids=[draft.event.id for draft in drafts],
        )

    def interrupt(self) -> None:
        """Ends the running turn as interrupted, if it still lies past its deadline."""
        if self._head.expired(self._now_us):
            self._carry_out([], (), expired=True, as_recorded=False)

    def server_rows(self, events: Sequence[Event]) -> None:
        """Appends rows that the service itself writes."""
        for event in events:
            server_row(event)
        self._complete(events)
        self._carry_out([(-1, event) for event in events], (), expired=False, as_recorded=True)

    def _set_aside(self, drafts: Sequence[Draft]) -> list[int]:
        """The indexes of the rows that are not recorded yet (step (a)).

        Raises:
            Refusal: EVENT_ID_REUSED if an id was used for other content.
        """
        fresh = []
        for index, draft in enumerate(drafts):
            event_id = draft.event.id
            found = self._find_id(event_id) if draft.named else None
            if found is None:
                fresh.append(index)
                continue
            digest, sequence = found
            if digest != draft.digest or (
                draft.event.HasField("time") and draft.event.time != self._recorded(event_id, sequence).time
            ):
                raise _id_reused(event_id)
        return fresh

    def _once(self, drafts: Sequence[Draft], fresh: Sequence[int]) -> list[int]:
        """Of rows that are not recorded yet, those that are not the same as an earlier one (part of step (c)).

        Raises:
            Refusal: EVENT_ID_REUSED if two with one id have other content.
        """
        first_uses: dict[str, Draft] = {}
        once = []
        for index in fresh:
            draft = drafts[index]
            use = first_uses.setdefault(draft.event.id, draft) if draft.named else draft
            if use is draft:
                once.append(index)
            elif use.digest != draft.digest or not _same_time(draft.event, use.event, self._now_us):
                raise _id_reused(draft.event.id)
        return once

    def _complete(self, events: Sequence[Event]) -> None:
        """Gives rows what their writer left out: an id, a time."""
        for event in events:
            if not event.id:
                event.id = mint_id(self._now_us, os.urandom(10))
            if not event.HasField("time"):
                event.time.CopyFrom(timestamp(self._now_us))

    def _carry_out(
        self, events: Sequence[tuple[int, Event]], drafts: Sequence[Draft], expired: bool, as_recorded: bool
    ) -> Plan:
        head = self._head
        planned = plan(
            head.turns,
            head.tip,
            events,
            held=self._held,
            expired=expired,
            as_recorded=as_recorded,
            write_turn_ended=self._turn_ended,
        )
        if planned.overfull:
            raise Refusal(
                error_reason_pb2.ERROR_REASON_HELD_ROWS_FULL,
                f"{limits.HELD_ROWS} rows are held until the running turn ends; wait for it",
                {"limit": limits.HELD_ROWS},
            )
        if planned.landings:
            head.recorded_us = max(head.recorded_us, self._now_us)
        self._write_rows(planned.landings, as_recorded)
        self._surface.check()
        self._write_ids(planned, drafts)
        self._write_held(planned)
        head.turns = planned.turns
        head.deadline_us = self._deadline()
        write_head(self._connection, head)
        return planned

    def _write_rows(self, landings: Sequence[Landing], as_recorded: bool) -> None:
        recorded_at = timestamp(self._head.recorded_us)
        rows = []
        for landing in landings:
            event = landing.event
            event.sequence, event.turn = landing.sequence, landing.turn
            event.recorded_at.CopyFrom(recorded_at)
            self._take(landing)
            if landing.kind.prompts and Flag.HUMAN in landing.flags:
                self._head.last_prompt = (event.time if as_recorded else recorded_at).SerializeToString()
                list_at(self._connection, self._head)
            body = event.SerializeToString()
            shown = page_form(event, len(body))
            page_body = None if shown is None else shown.SerializeToString()
            key = self._head.base | landing.sequence
            rows.append((key, landing.turn, int(landing.flags), len(page_body or body), body, page_body))
        self._connection.executemany(INSERT_EVENT, rows)
        self._head.tip += len(landings)

    def _take(self, landing: Landing) -> None:
        """What a landing row changes beside the journal."""
        connection, head, event, sequence = self._connection, self._head, landing.event, landing.sequence
        self._surface.take(event, sequence)
        match landing.kind.name:
            case "section_marker":
                marker = event.section_marker
                ordinal = 1 + self._last_marker()
                row = (head.base | sequence, ordinal, marker.collapse_earlier, marker.label, head.messages)
                connection.execute("INSERT INTO marker VALUES (?, ?, ?, ?, ?)", row)
            case "turn_started":
                timeout = event.turn_started.idle_timeout
                # Rounded up, so that the shortest is not taken for none.
                head.idle_us = timeout.seconds * 1_000_000 + -(-timeout.nanos // 1000) or self._idle_us
            case "human_request":
                requests.take_request(connection, head.base, sequence, landing.turn, event)
            case "human_response":
                requests.take_response(connection, head.base, sequence, event)
            case "compaction_summary" if event.compaction_summary.compaction_id:
                summary = (head.base | sequence, event.compaction_summary.compaction_id)
                connection.execute("INSERT INTO summary VALUES (?, ?)", summary)
            case "compaction_checkpoint":
                event.compaction_checkpoint.summary_sequence = self._summary(event.compaction_checkpoint.compaction_id)
            case "assistant_message" if Flag.HUMAN in landing.flags:
                usage = event.assistant_message.usage
                head.input_tokens = min(head.input_tokens + usage.input_tokens, MAX_TOKENS)
                head.output_tokens = min(head.output_tokens + usage.output_tokens, MAX_TOKENS)
                head.cached_tokens = min(head.cached_tokens + usage.cached_input_tokens, MAX_TOKENS)
        if Flag.RETIRES in landing.flags:
            requests.retire(connection, head.base, sequence, landing.turn)
        head.messages += Flag.MESSAGE in landing.flags

    def _write_ids(self, planned: Plan, drafts: Sequence[Draft]) -> None:
        number = self._head.number
        taken: list[tuple[int, str, bytes, int | None]] = [
            (number, row.event.id, _digest(drafts, row.origin), row.sequence)
            for row in planned.landings
            if not self._was_held(row)
        ]
        taken += [(number, event.id, drafts[index].digest, None) for event, index in planned.held if index is not None]
        self._connection.executemany("INSERT INTO id VALUES (?, ?, ?, ?)", taken)

    def _write_held(self, planned: Plan) -> None:
        number = self._head.number
        let_go = [(row.sequence, number, row.event.id) for row in planned.landings if self._was_held(row)]
        if let_go:
            self._connection.execute("DELETE FROM held WHERE number = ?", (number,))
            self._connection.executemany("UPDATE id SET sequence = ? WHERE number = ? AND event_id = ?", let_go)
        asked = [(number, event.SerializeToString()) for event, index in planned.held if index is not None]
        if asked:
            self._connection.executemany("INSERT INTO held(number, body) VALUES (?, ?)", asked)

    def _deadline(self) -> int | None:
        """When the running turn has lain idle too long; none while none runs, or while it waits for a person."""
        head = self._head
        if not head.turns.running or requests.waits_in_turn(self._connection, head.base, head.turns.start):
            return None
        return self._now_us + head.idle_us

    def _turn_ended(self) -> Event:
        event = server_row(interruption())
        self._complete([event])
        return event

    def _was_held(self, landing: Landing) -> bool:
        return any(landing.event is event for event in self._held)

    def _held_rows(self) -> list[Event]:
        return [Event.FromString(body) for (body,) in each(self._connection, HELD, (self._head.number,))]

    def _find_id(self, event_id: str) -> tuple[bytes, int | None] | None:
        return first(self._connection, FIND_ID, (self._head.number, event_id))

    def _sequence_of(self, event_id: str) -> int:
        found = self._find_id(event_id)
        return found[1] or 0 if found else 0

    def _recorded(self, event_id: str, sequence: int | None) -> Event:
        """A row that was taken before: written, or held."""
        if sequence is None:
            return next(event for event in self._held if event.id == event_id)
        (body,) = only(self._connection, "SELECT body FROM event WHERE key = ?", (self._head.base | sequence,))
        return Event.FromString(body)

    def _summary(self, compaction_id: str) -> int:
        """The latest summary of a compaction so far; 0 if there is none."""
        bounds = (compaction_id, self._head.base, self._head.base | LAST_SEQUENCE)
        row = first(self._connection, SUMMARY, bounds)
        return 0 if row is None else row[0] - self._head.base

    def _last_marker(self) -> int:
        row = first(self._connection, LAST_MARKER, (self._head.base, self._head.base | LAST_SEQUENCE))
        return 0 if row is None else row[0]


def _digest(drafts: Sequence[Draft], origin: int | None) -> bytes:
    """A row's hash; of one that the server wrote there is none, so that its id can never be met again."""
    return b"" if origin is None or origin < 0 else drafts[origin].digest


def _same_time(event: Event, first: Event, now_us: int) -> bool:
    """Rule 3's clause on `time`, for two rows of one append."""
    return not event.HasField("time") or event.time == (first.time if first.HasField("time") else timestamp(now_us))


def _id_reused(event_id: str) -> Refusal:
    return Refusal(
        error_reason_pb2.ERROR_REASON_EVENT_ID_REUSED,
        f"event id {event_id} was used for other content; give the new row an id of its own",
        {"event_id": event_id},
    )


def _mismatch(expected: int, latest: int) -> Refusal:
    return Refusal(
        error_reason_pb2.ERROR_REASON_SEQUENCE_MISMATCH,
        f"the journal ends at {latest}, not at {expected}; read what came, decide, and retry",
        {"expected_latest_sequence": expected, "latest_sequence": latest},
    )
