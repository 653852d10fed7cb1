"""A page that comes again while a session is followed: its rows are drawn once."""

from __future__ import annotations

import json

import pytest

from transcript.v1.event_pb2 import AssistantMessage, Event
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import CaughtUp, EventBatch, PageInfo, View, WatchResponse
from transcript_terminal.following import Following
from transcript_terminal.output import Output

ANOTHER = "the session has another journal now; from here on it is shown"


def rows(*sequences: int, by: str = "said") -> WatchResponse:
    events = [Event(sequence=n, id=f"{by}{n}", assistant_message=AssistantMessage(text=f"{by} {n}")) for n in sequences]
    return WatchResponse(events=EventBatch(events=events))


def page(*sequences: int, journal_id: str = "j1", by: str = "said", whole: bool = True) -> WatchResponse:
    message = rows(*sequences, by=by)
    message.page.CopyFrom(
        PageInfo(oldest_sequence=sequences[0], newest_sequence=sequences[-1], has_more=True, journal_id=journal_id)
    )
    if whole:
        message.caught_up.CopyFrom(CaughtUp(latest_sequence=sequences[-1]))
    return message


def followed(*messages: WatchResponse, as_json: bool = False) -> None:
    session = Session(id="s", title="Followed", journal_id="j1")
    following = Following(Output(), session, View.VIEW_FULL, as_json=as_json)
    for message in messages:
        following.take(message)
    following.close()


@pytest.mark.parametrize("whole", [True, False], ids=["after a caught_up", "before the first caught_up"])
def test_a_page_of_the_same_journal_adds_what_is_new_and_is_not_announced(
    capsys: pytest.CaptureFixture[str], whole: bool
) -> None:
    followed(page(1, 2, whole=whole), page(1, 2, 3), rows(4))
    out, err = capsys.readouterr()

    assert [line.strip() for line in out.splitlines() if line.strip().startswith("said")] == [
        "said 1",
        "said 2",
        "said 3",
        "said 4",
    ]
    assert out.count("Followed") == 1
    assert out.count("earlier rows") <= 1
    assert err == ""


def test_json_gives_the_rows_of_a_page_that_comes_again_once(capsys: pytest.CaptureFixture[str]) -> None:
    followed(page(1, 2), page(1, 2, 3), rows(4), as_json=True)
    out, err = capsys.readouterr()

    assert [json.loads(line)["sequence"] for line in out.splitlines()] == ["1", "2", "3", "4"]
    assert err == ""


def test_another_journal_is_announced_and_drawn_from_its_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    followed(page(1, 2), page(1, journal_id="j2", by="new"), rows(2, by="new"))
    out, err = capsys.readouterr()

    for text in ("said 1", "said 2", "new 1", "new 2"):
        assert out.count(text) == 1
    assert err.splitlines() == [ANOTHER]


def test_json_of_another_journal_is_rows_alone_and_announced_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    followed(page(1, 2), page(1, journal_id="j2", by="new"), page(1, 2, journal_id="j2", by="new"), as_json=True)
    out, err = capsys.readouterr()

    assert [json.loads(line)["id"] for line in out.splitlines()] == ["said1", "said2", "new1", "new2"]
    assert err.splitlines() == [ANOTHER]
