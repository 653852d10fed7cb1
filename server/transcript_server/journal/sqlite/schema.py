"""The embedded store's tables, and how an older file is brought to them.

Rows of all sessions lie in one table, clustered by session and sequence: `key = session << 32 | sequence`.
`body` is the row's wire bytes. The columns beside it are an index, never a second truth: flags follow from
the row and those before it. Partial indexes keep a page's cost off the session's length; queries name them,
because the planner passes partial indexes over, and a test holds their plans.
"""

from __future__ import annotations

from typing import Final

import apsw

from transcript_server.rules.turns import Flag

# 8 KiB pages hold several rows of the usual size each; the default 4 KiB spill most of them to overflow pages.
PAGE_BYTES: Final = 8192

HUMAN: Final = f"flags & {Flag.HUMAN:d}"
KEPT: Final = f"flags & {Flag.KEPT:d}"
BOUNDARY: Final = f"flags & {Flag.OPENS | Flag.DECLARES | Flag.ENDS | Flag.PROMPTS:d}"

_FIRST: Final = f"""
CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;

-- The number that the next journal gets; none is used twice.
CREATE TABLE numbers(next INTEGER NOT NULL) STRICT;
INSERT INTO numbers VALUES (1);

-- What a caller made and may change.
CREATE TABLE session(
  number INTEGER PRIMARY KEY, owner TEXT NOT NULL, id TEXT NOT NULL, journal_id TEXT NOT NULL,
  listed_at INTEGER NOT NULL, parent TEXT NOT NULL,
  body BLOB NOT NULL, UNIQUE(owner, id)) STRICT;
CREATE INDEX session_listed ON session(owner, listed_at, number);
CREATE INDEX session_children ON session(owner, parent, listed_at, number) WHERE parent <> '';

-- Journals that nobody may see: being copied, or being taken away.
CREATE TABLE hidden(number INTEGER PRIMARY KEY, copying INTEGER NOT NULL) STRICT;

-- What every append moves, apart from the session.
CREATE TABLE head(
  number INTEGER PRIMARY KEY, tip INTEGER NOT NULL, turn INTEGER NOT NULL, start INTEGER NOT NULL,
  running INTEGER NOT NULL, ended INTEGER NOT NULL, after_tool INTEGER NOT NULL, declarable INTEGER NOT NULL,
  prompted INTEGER NOT NULL, idle_us INTEGER NOT NULL, deadline_us INTEGER, recorded_us INTEGER NOT NULL,
  messages INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, last_prompt BLOB) STRICT;
CREATE INDEX head_deadline ON head(deadline_us) WHERE deadline_us IS NOT NULL;

CREATE TABLE event(
  key INTEGER PRIMARY KEY, turn INTEGER NOT NULL, flags INTEGER NOT NULL, size INTEGER NOT NULL,
  body BLOB NOT NULL, page_body BLOB) STRICT;
CREATE INDEX human ON event(key, turn, flags, size) WHERE {HUMAN};
CREATE INDEX kept ON event(key, turn, flags, size) WHERE {KEPT};
CREATE INDEX boundary ON event(key, turn, flags) WHERE {BOUNDARY};

-- Ids of written and of held rows alike; sequence is null while held.
CREATE TABLE id(
  number INTEGER NOT NULL, event_id TEXT NOT NULL, digest BLOB NOT NULL, sequence INTEGER,
  PRIMARY KEY(number, event_id)) STRICT, WITHOUT ROWID;
CREATE TABLE held(place INTEGER PRIMARY KEY AUTOINCREMENT, number INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX held_session ON held(number, place);

CREATE TABLE marker(
  key INTEGER PRIMARY KEY, ordinal INTEGER NOT NULL, collapse INTEGER NOT NULL, label TEXT NOT NULL,
  messages_before INTEGER NOT NULL) STRICT;
CREATE INDEX collapsing ON marker(key, ordinal) WHERE collapse;

-- closed: the row that ended its waiting (response, retiring prompt, or a request that took its place).
CREATE TABLE request(
  key INTEGER PRIMARY KEY, request_id TEXT NOT NULL, turn INTEGER NOT NULL, closed INTEGER, answered INTEGER) STRICT;
CREATE INDEX request_by_id ON request(request_id, key);
CREATE INDEX request_open ON request(key, turn) WHERE closed IS NULL;

-- Summaries, for the checkpoints that cite them.
CREATE TABLE summary(key INTEGER PRIMARY KEY, compaction_id TEXT NOT NULL) STRICT;
CREATE INDEX summary_by_id ON summary(compaction_id, key);

-- Rows that stand or stood on the model's surface. pos orders them and is keyed like key. A row that left has
-- the row that took it off, and its interval's node in a relational interval tree (see rules/surface.py).
CREATE TABLE surface(
  key INTEGER PRIMARY KEY, pos INTEGER NOT NULL, left_at INTEGER, node INTEGER,
  call_id TEXT, is_result INTEGER NOT NULL) STRICT;
CREATE INDEX standing ON surface(pos) WHERE left_at IS NULL;
CREATE INDEX standing_calls ON surface(call_id, key) WHERE left_at IS NULL AND call_id IS NOT NULL;
CREATE INDEX gone ON surface(node, key, left_at) WHERE left_at IS NOT NULL;

-- Rows that emptied the surface: what stands now came after the last of them.
CREATE TABLE emptied(key INTEGER PRIMARY KEY) STRICT;
"""

# Intervals of rows that left, by where each ends and by where it begins, with what orders them: the surface as of
# an earlier row is read off these two alone.
_SECOND: Final = """
DROP INDEX gone;
CREATE INDEX gone_by_leaving ON surface(node, left_at, pos) WHERE left_at IS NOT NULL;
CREATE INDEX gone_by_landing ON surface(node, key, pos) WHERE left_at IS NOT NULL;
"""

MIGRATIONS: Final = (_FIRST, _SECOND)
"""In order; the file's user_version counts those that it has seen. A released one is never changed."""


class NewerSchema(Exception):  # noqa: N818 - says what is the case
    """A file has seen migrations that this version does not know."""


def migrate(connection: apsw.Connection) -> None:
    """Brings a file to the newest schema, each step in a transaction of its own.

    Raises:
        NewerSchema: The file was written by a newer version of the service.
    """
    version = int(connection.pragma("user_version"))
    if version > len(MIGRATIONS):
        raise NewerSchema(f"it was written by a newer version (schema {version}); upgrade the server")
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        with connection:
            connection.execute(script)
            connection.pragma("user_version", number)
