"""Prompts that a person queued while the agent worked."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from transcript.v1.event_pb2 import UserMessage

from .logs import calls, events, gave, kinds, of_kind, queue, read, reply, row, said, typed

NOTICE = "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>"


def messages(folder: Path, *log: dict) -> list[tuple[str, str]]:
    """The user messages of a log: text and origin."""
    found = of_kind(events(read(folder, *log)), "user_message")
    return [(one.text, UserMessage.Origin.Name(one.origin).removeprefix("ORIGIN_")) for one in found]


def attached(prompt: object, **fields: object) -> dict:
    """An attachment with a prompt that a turn absorbed."""
    return row("attachment", attachment={"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **fields})


ABSORBED = {"reason": "absorbed_mid_turn"}


@pytest.mark.parametrize(
    "told",
    [
        [queue("remove")],
        [queue("remove", "stop that")],
        [queue("remove", "stop that", **ABSORBED)],
        [queue("remove", "stop that", **ABSORBED), attached("stop that", origin={"kind": "human"})],
        [attached("stop that", origin={"kind": "human"}), queue("remove", "stop that", **ABSORBED)],
        [attached([said("stop that")]), queue("remove", **ABSORBED)],
    ],
    ids=["old", "with words", "with reason", "queue first", "attachment first", "attachment with blocks first"],
)
def test_an_absorbed_prompt_steers_and_is_there_once(tmp_path: Path, told: list[dict]) -> None:
    """Every version tells it otherwise, newer ones twice and in either order."""
    log = [typed("Go."), reply(calls("t1")), queue("enqueue", "stop that"), *told, gave("t1"), reply(said("Stopped."))]

    assert messages(tmp_path, *log) == [("Go.", "HUMAN"), ("stop that", "STEERING")]


def test_a_prompt_that_waited_for_the_turns_end_is_there_once(tmp_path: Path) -> None:
    """Its user row follows the queue's."""
    log = [typed("Go."), queue("enqueue", "and then?"), reply(said("Done.")), queue("dequeue"), typed("and then?")]

    assert messages(tmp_path, *log) == [("Go.", "HUMAN"), ("and then?", "HUMAN")]


@pytest.mark.parametrize(
    "taken_back",
    [
        queue("popAll", "never mind"),
        queue("popAll"),
        queue("remove", "never mind", reason="cancelled"),
        queue("remove", "never mind", reason="agent_stopped"),
    ],
)
def test_a_prompt_that_was_taken_back_was_never_said(tmp_path: Path, taken_back: dict) -> None:
    """It stays in the journal as what it is: a record of the queue."""
    log = [typed("Go."), queue("enqueue", "never mind"), taken_back, queue("remove")]

    assert messages(tmp_path, *log) == [("Go.", "HUMAN")]
    assert kinds(events(read(tmp_path, *log))) == ["user_message", *["foreign_record"] * 3]


def test_a_slash_command_that_leaves_the_queue_was_run(tmp_path: Path) -> None:
    """The model was not told; a path is no command."""
    log = [queue("enqueue", "/mcp"), queue("remove"), queue("enqueue", "/etc/hosts is wrong"), queue("remove")]

    assert messages(tmp_path, *log) == [("/etc/hosts is wrong", "STEERING")]


def test_of_several_waiting_prompts_an_old_log_means_the_first_typed_one(tmp_path: Path) -> None:
    """Notifications wait in the same queue, and come as user rows of their own, with or without a word of the queue."""
    log = [
        typed("Go."),
        queue("enqueue", NOTICE),
        queue("enqueue", "first"),
        queue("enqueue", "second"),
        queue("remove"),
        typed(NOTICE),
        queue("remove"),
    ]

    assert messages(tmp_path, *log) == [
        ("Go.", "HUMAN"),
        ("first", "STEERING"),
        (NOTICE, "AUTOMATION"),
        ("second", "STEERING"),
    ]


def test_a_prompt_that_came_with_other_words_has_left_the_queue(tmp_path: Path) -> None:
    """The program may add to what was queued, images for instance."""
    log = [
        queue("enqueue", "look at this"),
        queue("enqueue", "faster"),
        queue("dequeue"),
        typed("look at this [Image #1]"),
        queue("remove"),
    ]

    assert messages(tmp_path, *log) == [("look at this [Image #1]", "HUMAN"), ("faster", "STEERING")]


def test_an_absorbed_notification_does_not_start_a_turn(tmp_path: Path) -> None:
    """The model sees it; a user message in the middle of a turn would begin another one."""
    log = [typed("Go."), attached(NOTICE, commandMode="task-notification"), queue("remove", NOTICE, **ABSORBED)]

    assert kinds(events(read(tmp_path, *log))) == ["user_message", "system_message", "foreign_record"]


def test_a_waiting_notification_that_an_old_log_removed_is_not_guessed_at(tmp_path: Path) -> None:
    """It may still come as a user row."""
    log = [queue("enqueue", NOTICE), queue("remove"), typed(NOTICE)]

    assert messages(tmp_path, *log) == [(NOTICE, "AUTOMATION")]


@pytest.mark.parametrize("queue_first", [True, False])
def test_images_of_an_absorbed_prompt_are_not_lost(tmp_path: Path, queue_first: bool) -> None:
    """The queue has only words."""
    data = base64.b64encode(b"\x89PNG").decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    told = [queue("remove", "like this", **ABSORBED), attached([said("like this"), image])]
    found = of_kind(events(read(tmp_path, *(told if queue_first else reversed(told)))), "user_message")

    assert [one.text for one in found if one.text] == ["like this"]
    assert [attachment.data for one in found for attachment in one.attachments] == [b"\x89PNG"]


def test_an_attachment_without_a_prompt_is_kept_as_it_is(tmp_path: Path) -> None:
    """Some are told by reference alone."""
    assert kinds(events(read(tmp_path, attached(None)))) == ["foreign_record"]
