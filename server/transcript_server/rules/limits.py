"""Every limit of the service, once.

The same numbers stand in the comments of `proto/transcript/v1/`; a test joins the two.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# Pages.
PAGE_MESSAGES: Final = 40
"""Messages on a compact page whose size is not given."""
PAGE_ROWS: Final = 100
"""Rows on a full or journal page whose size is not given."""
PAGE_SIZE_MAX: Final = 1000
"""The largest page size; a larger one counts as this."""
COMPACT_PAGE_ROWS: Final = 1000
"""Rows past which a compact page takes no further turn."""
COMPACT_PAGE_BYTES: Final = 4 * MIB
"""Bytes, as served, past which a compact page takes no further turn."""
MESSAGE_BYTES: Final = 256 * KIB
"""A response message stays under this, unless it holds one single row."""
ELIDED_ROW_BYTES: Final = 64 * KIB
"""A row over this is paged and watched with its elidable fields cut."""
ELIDED_FIELD_BYTES: Final = 16 * KIB
"""What stays of an elidable field of such a row."""
HIDDEN_LABELS: Final = 32
"""Labels that the bar over hidden sections names."""
OPEN_REQUESTS: Final = 32
"""Waiting requests that a page names."""
LIST_SECTIONS: Final = 100
"""Sections in a response whose page size is not given."""
LIST_SESSIONS: Final = 50
"""Sessions in a response whose page size is not given."""
WATCHED_SESSIONS: Final = 200
"""Sessions that a watcher who asks for them is sent first."""

# Appends.
APPEND_ROWS: Final = 1000
APPEND_BYTES: Final = 8 * MIB
ROW_BYTES: Final = 8 * MIB
EVENT_ID_BYTES: Final = 128
HELD_ROWS: Final = 10
LINE_BYTES: Final = 16 * KIB
"""Any string of a row that has no limit of its own and may not be cut on a page: a name, an id, a line."""
ATTACHMENTS: Final = 64
REPEATED: Final = 1000
"""Entries of any other repeated field, `source_sequences` and a batch's rows among them."""
REQUEST_OPTIONS: Final = 64
LIVE_DELTA_BYTES: Final = 64 * KIB
IDLE_TIMEOUT_SECONDS: Final = 3600
"""How long a turn may lie idle when its TurnStarted does not say."""
IDLE_TIMEOUT_SECONDS_MAX: Final = 7 * 24 * 3600

# Sessions.
SESSION_ID_BYTES: Final = 128
LABEL_CODE_POINTS: Final = 120
SOURCE_CODE_POINTS: Final = 64
TITLE_CODE_POINTS: Final = 200
SESSION_LABELS: Final = 64
SESSION_LABEL_BYTES: Final = 256
"""Of a session label's key, and of its value."""

# The server.
RECEIVE_BYTES: Final = 10 * MIB
"""The largest message that the server receives."""
HEARTBEAT_SECONDS: Final = 15
"""A watcher hears at least this often how far the journal reaches."""
