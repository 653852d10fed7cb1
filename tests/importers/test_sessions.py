"""Which session a log is, what it is called, and what is no log at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from transcript_importers.claude_code import NotALog, read_log
from transcript_importers.claude_code.naming import legal

from .logs import SESSION, events, kinds, of_kind, read, reply, row, said, typed, write


def info(folder: Path, *log: dict, name: str = f"{SESSION}.jsonl"):
    """The file's own session."""
    return read(folder, *log, name=name).sessions[0].info


def test_a_file_named_by_a_uuid_is_that_session(tmp_path: Path) -> None:
    """Whatever its rows name: a resumed log begins with rows of another session."""
    name = "99999999-aaaa-4bbb-8ccc-dddddddddddd"

    assert info(tmp_path, typed("Go."), name=f"{name}.jsonl").id == name


def test_files_of_one_name_and_different_sessions_do_not_mix(tmp_path: Path) -> None:
    """A name that people give is no identity."""
    one = info(tmp_path, typed("Go."), name="a/my log.jsonl")
    other = info(tmp_path, typed("Go.", sessionId="99999999-aaaa-4bbb-8ccc-dddddddddddd"), name="b/my log.jsonl")

    assert (one.id, other.id) == ("my_log-11111111", "my_log-99999999")


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("plain-1.2_3", "plain-1.2_3"),
        ("über uns/2", "s_ber_uns_2"),
        ("日本", "s_"),
        (".hidden", "s.hidden"),
    ],
)
def test_any_name_becomes_one_that_a_session_may_have(name: str, made: str) -> None:
    """1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit."""
    assert legal(name) == made


def test_long_names_stay_different() -> None:
    """Cut to the same length they would be one session."""
    one, other = legal("a" * 200), legal("a" * 201)

    assert (len(one), len(other), one == other) == (128, 128, False)


def test_a_session_is_called_what_a_person_called_it_or_else_what_the_program_did(tmp_path: Path) -> None:
    """The latest of the best kind of name."""
    prompt = typed("Please fix the parser.")
    summed = row("summary", summary="Parser fixed", leafUuid=prompt["uuid"])
    generated = row("ai-title", aiTitle="Fixing a parser")
    given = [row("custom-title", customTitle=name) for name in ("Parser", "Parser work")]

    assert info(tmp_path, prompt).title == "Please fix the parser."
    assert info(tmp_path, summed, prompt).title == "Parser fixed"
    assert info(tmp_path, prompt, generated, summed).title == "Fixing a parser"
    assert info(tmp_path, prompt, *given, generated, summed).title == "Parser work"


def test_summaries_of_other_sessions_name_nothing(tmp_path: Path) -> None:
    """They stand at a log's head, about rows of other logs."""
    other = row("summary", summary="Something else", leafUuid="99999999-aaaa-4bbb-8ccc-dddddddddddd")

    assert info(tmp_path, other, typed("Please fix the parser.")).title == "Please fix the parser."


def test_a_title_is_one_short_line(tmp_path: Path) -> None:
    """At most 200 code points, none of which breaks the line or turns its direction; emoji stay whole."""
    typed_text = "Fix\n\tthis:\x1b[31m\N{LINE SEPARATOR}\N{RIGHT-TO-LEFT OVERRIDE}now 👩\N{ZERO WIDTH JOINER}🔬"

    assert info(tmp_path, typed(typed_text)).title == "Fix this: [31m now 👩\N{ZERO WIDTH JOINER}🔬"
    assert info(tmp_path, typed("x" * 300)).title == "x" * 199 + "…"
    assert len(info(tmp_path, typed("🎉" * 300)).title) == 200


def test_labels_say_where_and_with_what_the_agent_worked(tmp_path: Path) -> None:
    """The folder where it began; the latest branch and model, and not the program's own messages."""
    log = [
        typed("Go."),
        reply(said("Done."), cwd="/home/dev/project/deeper", gitBranch="feature"),
        row("assistant", message={"model": "<synthetic>", "content": [said("No response requested.")]}, gitBranch=""),
    ]

    assert info(tmp_path, *log).labels == {
        "agent": "claude-code",
        "folder": "/home/dev/project",
        "branch": "feature",
        "model": "claude-test-1",
    }


def test_a_label_is_cut_at_a_character(tmp_path: Path) -> None:
    """256 bytes at most."""
    folder = info(tmp_path, typed("Go.", cwd="/" + "ü" * 200)).labels["folder"]

    assert folder == "/" + "ü" * 127


def test_the_end_of_copied_rows_is_where_a_session_was_forked(tmp_path: Path) -> None:
    """A resumed log repeats the old session's rows as they were; a forked one says where they come from."""
    old = "99999999-aaaa-4bbb-8ccc-dddddddddddd"
    resumed = [typed("Go.", sessionId=old), typed("Go on."), typed("And on.")]
    forked = [typed("Go.", forkedFrom={"sessionId": old, "messageUuid": "m"}), typed("Go on.")]

    for log in (resumed, forked):
        found = events(read(tmp_path, *log))
        assert kinds(found)[:3] == ["user_message", "session_forked", "user_message"]
        assert [one.session_id for one in of_kind(found, "session_forked")] == [old]


def test_rows_of_a_session_that_come_back_are_no_second_fork(tmp_path: Path) -> None:
    """Some logs were put together by hand."""
    log = [typed("Go."), typed("Go on.", sessionId="other"), typed("And on.")]

    assert kinds(events(read(tmp_path, *log))).count("session_forked") == 1


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (bytes(range(256)) * 40, "binary data, not lines of JSON"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "binary data, not lines of JSON"),
        (b"Dear diary,\ntoday I wrote no JSON.\n", "not one line holds a JSON object"),
        (b'[{"type": "user"}]', "a JSON array, not one JSON object per line"),
        (b'[\n  {"type":"user","uuid":"u","sessionId":"s"}\n]\n', "a JSON array, not one JSON object per line"),
        (b'{"type":"session_meta","payload":{"id":"x"}}\n', "the first has payload, type"),
        (b'{"type":"user","content":"hi"}\n' * 3, "the first has content, type"),
        (b"{}", "the first has no keys"),
    ],
)
def test_what_is_no_log_is_refused_with_the_reason(tmp_path: Path, content: bytes, why: str) -> None:
    """Nothing is made up from it."""
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(content)

    with pytest.raises(NotALog) as refused:
        read_log(path)
    assert why in str(refused.value)


def test_a_log_that_does_not_name_its_session_yet_waits_until_it_does(tmp_path: Path) -> None:
    """A made-up name would change as the log grows."""
    snapshot = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"messageId": "m"}}
    path = write(tmp_path, snapshot, name="mine.jsonl")

    with pytest.raises(NotALog, match="names its session"):
        read_log(path)
    assert read(tmp_path, snapshot, typed("Go."), name="mine.jsonl").sessions[0].info.id == "mine-11111111"
    assert read(tmp_path, snapshot).sessions[0].info.id == SESSION


def test_rows_without_a_uuid_are_told_apart_by_what_they_say_and_how_often(tmp_path: Path) -> None:
    """Equal ones are numbered, so that none is lost and none changes its id as the log grows."""
    one = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"a": 1}}
    other = {**one, "messageId": "n"}
    found = events(read(tmp_path, typed("Go."), one, other, one))
    ids = [event.id for event in found if event.HasField("foreign_record")]

    assert len(set(ids)) == 3
    assert ids[2] == ids[0].replace(":0", "~2:0")
    assert [json.loads(record.json) for record in of_kind(found, "foreign_record")] == [one, other, one]


def test_ids_are_short_and_plain_whatever_stands_in_the_log(tmp_path: Path) -> None:
    """At most 128 bytes, none of them a control character."""
    found = events(read(tmp_path, *(typed("Go.", uuid=uuid) for uuid in ("x" * 500, "tab\there", "ü", " "))))

    assert all(len(event.id.encode()) <= 128 and event.id.isprintable() for event in found)
    assert len({event.id for event in found}) == 4
