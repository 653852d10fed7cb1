"""Where turns stood as of any row, read off the indexes: what a fork goes on from, and what the model works on."""

from __future__ import annotations

from typing import Final

import apsw

from transcript.v1.event_pb2 import Event
from transcript_server.journal.sqlite.queries import each, first, only
from transcript_server.journal.sqlite.schema import BOUNDARY, HUMAN
from transcript_server.journal.sqlite.views import turn_start
from transcript_server.rules.turns import Flag, Turns

BOUNDARIES: Final = f"""
SELECT flags FROM event INDEXED BY boundary WHERE {BOUNDARY} AND key >= ? AND key <= ? ORDER BY key"""
LAST_ENDS: Final = f"""
SELECT key FROM event INDEXED BY boundary WHERE {BOUNDARY} AND flags & {Flag.ENDS:d} AND key > ? AND key <= ?
ORDER BY key DESC LIMIT 1"""
TURN_PROMPT: Final = f"""
SELECT key FROM event INDEXED BY boundary WHERE {BOUNDARY} AND flags & {Flag.PROMPT:d} AND key >= ? AND key <= ?
ORDER BY key LIMIT 1"""
LAST_PROMPTING_OR_AGENT: Final = f"""
SELECT flags FROM event INDEXED BY human
WHERE {HUMAN} AND flags & {Flag.PROMPTS | Flag.AGENT:d} AND key > ? AND key <= ?
ORDER BY key DESC LIMIT 1"""
FIRST_AGENT: Final = f"""
SELECT 1 FROM event INDEXED BY human WHERE {HUMAN} AND flags & {Flag.AGENT:d} AND key > ? AND key <= ? LIMIT 1"""
LAST_PROMPT: Final = f"""
SELECT flags, body FROM event INDEXED BY boundary WHERE {BOUNDARY} AND flags & {Flag.PROMPTS:d} AND key > ? AND key <= ?
ORDER BY key DESC LIMIT 1"""


def turns_as_of(connection: apsw.Connection, base: int, at: int) -> Turns:
    """Where turns stood once row `at` had landed."""
    start = turn_start(connection, base, at)
    turns = Turns(start=start)
    if start:
        (turns.turn,) = only(connection, "SELECT turn FROM event WHERE key = ?", (base + start,))
        bounds = (base + start, base + at)
        boundaries = [Flag(flags) for (flags,) in each(connection, BOUNDARIES, bounds)]
        for flags in boundaries:
            if Flag.DECLARES in flags:
                turns.running = True
            elif Flag.ENDS in flags:
                turns.running, turns.ended = False, True
            turns.prompted |= Flag.PROMPT in flags
        opened_by_prompt = Flag.PROMPT in boundaries[0]
        declared_or_ended = any(flags & (Flag.DECLARES | Flag.ENDS) for flags in boundaries)
        turns.declarable = opened_by_prompt and not declared_or_ended and first(connection, FIRST_AGENT, bounds) is None
    ended = first(connection, LAST_ENDS, (base, base + at))
    last = first(connection, LAST_PROMPTING_OR_AGENT, (base if ended is None else ended[0], base + at))
    turns.after_tool = last is not None and Flag.TOOL in Flag(last[0])
    return turns


def running_prompt(connection: apsw.Connection, base: int, at: int) -> int | None:
    """The prompt of the latest turn as of row `at`; none if the turn has none, or has ended (rule 25)."""
    start = turn_start(connection, base, at)
    ended = first(connection, LAST_ENDS, (base, base + at))
    if not start or (ended is not None and ended[0] > base + start):
        return None
    prompt = first(connection, TURN_PROMPT, (base + start, base + at))
    return None if prompt is None else prompt[0] - base


def last_prompt_as_of(connection: apsw.Connection, base: int, at: int) -> bytes | None:
    """A session's `last_prompt_at` as of row `at`, serialized; none if nothing had been asked."""
    row = first(connection, LAST_PROMPT, (base, base + at))
    if row is None:
        return None
    event = Event.FromString(row[1])
    return (event.time if Flag.STATED in Flag(row[0]) else event.recorded_at).SerializeToString()
