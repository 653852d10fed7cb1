"""Lines of a log that are not one JSON object each."""

from __future__ import annotations

import json
from io import BytesIO

import pytest

from transcript_importers.claude_code.lines import _NESTING_LIMIT, RecordReader, _depth
from transcript_importers.rows import LISTED_PROBLEMS, Problems


def read(source: bytes) -> tuple[list[tuple[int, dict]], RecordReader, tuple[str, ...]]:
    """The objects with the lines that they begin on, what read them, and what it complained of."""
    problems = Problems()
    reader = RecordReader(BytesIO(source), problems)
    return [(record.line, record.value) for record in reader], reader, problems.texts()


def test_objects_are_read_in_order_with_their_lines() -> None:
    """Blank lines count as lines of the file, yet hold nothing."""
    found, reader, problems = read(b'{"a":1}\n\n{"a":2}\n  \n{"a":3}')

    assert (found, reader.lines, problems) == ([(1, {"a": 1}), (3, {"a": 2}), (5, {"a": 3})], 3, ())


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_a_row() -> None:
    """Both come from editors and other systems, and are no fault of the log."""
    found, reader, problems = read(b'\xef\xbb\xbf{"a":1}\r\n\r\n{"a":2}\r\n')

    assert (found, reader.lines, reader.unreadable, problems) == ([(1, {"a": 1}), (3, {"a": 2})], 2, 0, ())


def test_a_cut_last_line_is_reported_and_the_rest_is_read() -> None:
    """A log is written while it is read, and a crash leaves half a line."""
    found, reader, problems = read(b'{"a":1}\n{"a":"hal')

    assert (found, reader.unreadable) == ([(1, {"a": 1})], 1)
    assert problems[0].startswith("line 2: cut off")


def test_a_line_cut_inside_a_character_is_reported_once() -> None:
    """The torn bytes are no second fault beside the torn line."""
    found, reader, problems = read(b'{"a":1}\n{"a":"\xe6\x97')

    assert (found, reader.unreadable) == ([(1, {"a": 1})], 1)
    assert [problem.partition(":")[0] for problem in problems] == ["line 2"]


def test_bytes_that_are_not_utf_8_are_replaced_and_said() -> None:
    """One bad byte must not cost the row."""
    found, reader, problems = read(b'{"a":"caf\xe9"}\n')

    assert (found, reader.unreadable) == ([(1, {"a": "caf\N{REPLACEMENT CHARACTER}"})], 0)
    assert problems == ("line 1: bytes that are not UTF-8, from byte 10 on, were replaced",)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"// Source: a page", "a comment"),
        (b"# a heading", "a comment"),
        (b'"just a text"', "a JSON string, not an object"),
        (b"42", "a number, not an object"),
        (b"[1]", "a JSON array, not an object"),
        (b"null", "null, not an object"),
        (b"plain words", "not JSON"),
        (b'{"a":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_line_that_is_no_object_is_passed_over_with_the_reason(line: bytes, why: str) -> None:
    """Rows before and after it are read."""
    found, reader, problems = read(b'{"a":1}\n' + line + b'\n{"a":2}\n')

    assert (found, reader.lines, reader.unreadable) == ([(1, {"a": 1}), (3, {"a": 2})], 3, 1)
    assert problems == (f"line 2: {why}",)


def test_pretty_printed_objects_one_after_the_other_are_read() -> None:
    """Some tools lay a log out for people."""
    found, reader, problems = read(b'{\n  "a": {\n    "b": "}"\n  }\n}\n{\n  "a": [\n    {"b": 1}\n  ]\n}\n')

    assert (found, reader.lines) == ([(1, {"a": {"b": "}"}}), (6, {"a": [{"b": 1}]})], 10)
    assert (reader.unreadable, problems) == (0, ())


def test_the_inside_of_a_cut_pretty_printed_object_is_no_row() -> None:
    """Once the log is whole these lines belong to one object: read alone they would be rows that vanish."""
    found, reader, problems = read(b'{"a":1}\n{\n  "b": [\n    {"type": "user"}\n')

    assert (found, reader.lines, reader.unreadable) == ([(1, {"a": 1})], 4, 3)
    assert len(problems) == 1
    assert problems[0].startswith("line 2: cut off")


def test_a_line_cut_between_two_values_does_not_swallow_the_next_row() -> None:
    """Such a line looks like the first one of a pretty-printed object."""
    found, reader, problems = read(b'{"a":1,\n{"a":2}\n{"a":3}\n')

    assert (found, reader.unreadable) == ([(2, {"a": 2}), (3, {"a": 3})], 1)
    assert problems[0].startswith("line 1: cut off")


def test_objects_glued_together_on_a_line_are_read() -> None:
    """Two writers, or a lost line end."""
    found, reader, problems = read(b'{"a":1}{"a":2} {"a":3}\n{"a":4}{"a":"hal\n')

    assert found == [(1, {"a": 1}), (1, {"a": 2}), (1, {"a": 3}), (2, {"a": 4})]
    assert (reader.lines, reader.unreadable, len(problems)) == (2, 1, 1)


def test_a_row_glued_to_a_cut_one_is_saved() -> None:
    """After a crash the next run goes on writing on the same line."""
    whole = b'{"type":"user","sessionId":"s","message":{"type":"x"}}'
    found, reader, problems = read(b'{"type":"user","message":{"type":"y","t":"hal' + whole + b"\n")

    assert found == [(1, {"type": "user", "sessionId": "s", "message": {"type": "x"}})]
    assert (reader.unreadable, len(problems)) == (1, 1)


def test_half_a_surrogate_pair_and_nan_do_no_harm() -> None:
    """Python reads both; neither is JSON that anybody else would."""
    found, _, problems = read(rb'{"a":"\ud800","b":NaN}')

    assert (found, problems) == ([(1, {"a": "\ud800", "b": "NaN"})], ())


def test_of_many_problems_some_are_listed_and_the_rest_counted() -> None:
    """A broken file may have millions."""
    _, reader, problems = read(b"no\n" * 1000)

    assert (reader.unreadable, len(problems)) == (1000, LISTED_PROBLEMS + 1)
    assert problems[-1] == f"and {1000 - LISTED_PROBLEMS} more"


def test_many_broken_lines_take_time_in_proportion() -> None:
    """Every one of these could begin an object that ends on a later line."""
    _, reader, _ = read(b"{\n" * 10_000 + b'{"a":"\n' * 10_000)

    assert reader.unreadable == 20_000


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b'{"a":"', rb"said \"x\" "),
        (b'{"a":"', rb"\\ "),
        (b'{"a":"', b"no quote "),
        (b'{"a":[', b'"said", '),
    ],
)
def test_a_long_cut_line_takes_time_in_proportion(begin: bytes, piece: bytes, end: bytes) -> None:
    """A log that is being written ends inside a text full of quotes; in quadratic time 1 MB would take an hour."""
    found, reader, problems = read(b'{"a":1}\n' + begin + piece * ((1 << 20) // len(piece)) + end)

    assert (found, reader.lines, reader.unreadable) == ([(1, {"a": 1})], 2, 1)
    assert problems[0].startswith("line 2: cut off")


@pytest.mark.parametrize(
    ("line", "depth"),
    [
        ("{", 1),
        ('{"a": [', 2),
        ("}]", -2),
        ('"a": 1,', 0),
        (r'"a{\"{": {', 1),
        (r'{"a\\": "{"', 1),
        ('{"a": "', None),
        (r'{"a": "\"', None),
        (r'{"a": "b\\\"', None),
        ('{"a": "b\\', None),
        ('"', None),
    ],
)
def test_brackets_inside_texts_open_nothing(line: str, depth: int | None) -> None:
    """And of a line that ends inside a text nobody can say what is open."""
    assert _depth(line) == depth


def test_many_glued_objects_take_time_in_proportion() -> None:
    """A writer that ends no line at all: 10,000 rows, 10 MB."""
    text = "x" * 1000
    line = " ".join(f'{{"a":{number},"t":"{text}"}}' for number in range(10_000)).encode()
    found, reader, problems = read(line + b"\n")

    assert found == [(1, {"a": number, "t": text}) for number in range(10_000)]
    assert (reader.lines, reader.unreadable, problems) == (1, 0, ())


def nested(depth: int, inside: str = "1") -> str:
    """An object of so many levels, objects and lists in turn."""
    pairs = [('{"a":', "}") if level % 2 == 0 else ("[", "]") for level in range(depth)]
    return "".join(opens for opens, _ in pairs) + inside + "".join(closes for _, closes in reversed(pairs))


@pytest.mark.parametrize("over", [1, 729, 5_000])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_row_is_nested_as_deep_as_the_limit_and_no_deeper(over: int, end: str) -> None:
    """Over it Python may read a value that it cannot write again, or not even read it."""
    deepest = nested(_NESTING_LIMIT)
    found, reader, problems = read(f'{deepest}\n{{"a":1}}\n{nested(_NESTING_LIMIT + over)}{end}'.encode())

    assert found == [(1, json.loads(deepest)), (2, {"a": 1})]
    assert (reader.lines, reader.unreadable, problems) == (3, 1, ("line 3: nested too deeply",))


def test_many_brackets_beside_each_other_are_not_deep() -> None:
    """Nor are those in a text."""
    value = {"a": [[{}]] * 5_000, "b": "[{" * 5_000}
    found, _, problems = read(json.dumps(value).encode())

    assert (found, problems) == ([(1, value)], ())


def test_a_deep_object_glued_to_others_costs_only_itself() -> None:
    """What stands before it on the line is read, and so are the lines around."""
    found, reader, problems = read(f'{{"a":1}}{nested(985)}\n{{"a":2}}\n'.encode())

    assert (found, reader.unreadable) == ([(1, {"a": 1}), (2, {"a": 2})], 1)
    assert problems == ("line 1: nested too deeply",)


def test_a_deep_pretty_printed_object_costs_only_itself() -> None:
    """It is read as one, and passed over as one."""
    deep = json.dumps(json.loads(nested(300)), indent=1)
    found, reader, problems = read(f'{{"a":1}}\n{deep}\n{{"a":2}}\n'.encode())

    assert [value for _, value in found] == [{"a": 1}, {"a": 2}]
    assert (reader.unreadable, problems) == (len(deep.splitlines()), ("line 2: nested too deeply",))


def test_how_far_the_file_has_been_read_is_told() -> None:
    """For a bar that moves."""
    source = b'{"a":1}\n{"a":2}\n'
    reader = RecordReader(BytesIO(source), Problems())
    places = [reader.done_bytes for _ in reader]

    assert places == [8, 16]
