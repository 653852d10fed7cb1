"""A tool's call and its result are one card, in a line."""

from __future__ import annotations

import json

import pytest
from google.protobuf.duration_pb2 import Duration

from transcript.v1.event_pb2 import (
    Attachment,
    Thinking,
)
from transcript_terminal.outline import Outline
from transcript_terminal.outline.blocks import Outcome, ToolCard

from .rows import Journal, drawn, expected, page


def test_a_call_and_its_result_are_one_card_where_the_call_stands() -> None:
    journal = Journal()
    journal.user("Look around.")
    journal.call("a", "Bash", json.dumps({"command": "ls -la"}))
    journal.call("b", "Read", json.dumps({"file_path": "src/app.py", "limit": 40}))
    journal.call("c", "Bash", json.dumps({"command": ["git", "status"]}))
    journal.call("d", "Screenshot", json.dumps({"width": 80, "dark": True}))
    journal.call("e", "Sleep", "")
    journal.result("b", "one line", exit_code=0)
    journal.result("a", "1\n2\n3\n", duration=Duration(seconds=72))
    journal.result("c", "\nfatal: not a repository\nmore", is_error=True, exit_code=128)
    journal.result("d", attachments=[Attachment(media_type="image/png", data=b"png")])
    journal.result("e")

    assert drawn(journal.rows[1:], page(journal.rows)) == expected("""
        ⏺ Bash  ls -la  → ok, 3 lines, 1 min 12 s
        ⏺ Read  src/app.py  → ok, 1 line
        ⏺ Bash  git status  ✗ failed (exit 128): fatal: not a repository
        ⏺ Screenshot  width=80, dark=true  → ok, 1 image
        ⏺ Sleep  → ok, no output
    """)


def test_a_call_without_a_result_says_so() -> None:
    """Running, given up when the next turn began, or answered by a row that was not read."""
    journal = Journal()
    journal.user("Look.")
    journal.call("a", "Bash", '{"command": "sleep 9"}')
    journal.user("Never mind.")
    journal.call("b", "Bash", '{"command": "sleep 8"}')
    outline = Outline()
    for row in journal.rows:
        outline.add(row)
    taken = outline.settled()

    assert [block.outcome for block in taken if isinstance(block, ToolCard)] == [Outcome.NO_RESULT]
    assert [block.outcome for block in outline.in_progress() if isinstance(block, ToolCard)] == [Outcome.RUNNING]
    assert [block.outcome for block in outline.finish(running=True) if isinstance(block, ToolCard)] == [Outcome.RUNNING]
    assert "sleep 8  … no result" in drawn(journal.rows)


def test_a_result_without_its_call_stands_by_itself() -> None:
    """The call is on an earlier page; a call of this page that was given up is known by name."""
    journal = Journal()
    journal.user("Look.")
    journal.result("unknown", "1\n2")
    journal.call("a", "Bash", '{"command": "sleep 9"}')
    journal.user("Next.")
    journal.result("a", "late")

    assert drawn(journal.rows) == expected("""
        User  09:01  #1
          Look.

        ⏺ tool  → ok, 2 lines
        ⏺ Bash  sleep 9  … no result

        User  09:04  #4
          Next.

        ⏺ Bash  sleep 9  → ok, 1 line
    """)


def test_arguments_that_were_cut_are_shown_as_far_as_they_go() -> None:
    journal = Journal()
    journal.call("a", "Write", '{"path": "x", "content": "abc')

    assert drawn(journal.rows) == '⏺ Write  {"path": "x", "content": "abc  … no result'


def test_long_words_are_shortened_and_counted() -> None:
    journal = Journal()
    journal.add(thinking=Thinking(text="First thought.\n" + "More of it. " * 40))
    journal.add(thinking=Thinking(signature=b"proof"))
    journal.call("a", "Bash", json.dumps({"command": "echo " + "x" * 400}))
    journal.result("a", "out")
    lines = drawn(journal.rows).splitlines()

    assert lines[0].startswith("✻ thinking  First thought. More of it.")
    assert lines[0].endswith("…  (2 lines)")
    assert lines[1] == "✻ thinking  (not shown by the provider)"
    assert max(map(len, lines)) < 220


def test_whole_shortens_nothing() -> None:
    journal = Journal()
    journal.add(thinking=Thinking(text="First.\n\nSecond."))
    journal.call("a", "Edit", json.dumps({"file_path": "a.py", "new_string": "one\ntwo"}))
    journal.result("a", "done\nwith it\n")

    assert drawn(journal.rows, whole=True) == expected("""
        ✻ thinking  09:01  #1
          First.

          Second.

        ⏺ Edit  a.py  → ok, 2 lines
          file_path: a.py
          new_string:
            one
            two

          done
          with it
    """)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"pattern": "TODO", "path": "src"}', "TODO"),
        ('{"b": 1, "a": [1, 2]}', "b=1, a=[1, 2]"),
        ("[1, 2]", "[1, 2]"),
        ('"text"', '"text"'),
        ("{}", ""),
        ("", ""),
        ("[" * 100_000, "[" * 158 + " …"),
    ],
)
def test_the_gist_of_a_call(arguments: str, words: str) -> None:
    journal = Journal()
    journal.call("a", "Tool", arguments)

    assert drawn(journal.rows) == f"⏺ Tool  {words}  … no result".replace("Tool    ", "Tool  ")
