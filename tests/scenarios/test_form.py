"""A scenario's file is read strictly: what is not of the form is an error that says where and what would be."""

from __future__ import annotations

from textwrap import dedent

import pytest

from transcript.v1.journal_service_pb2 import AddSectionMarkerRequest, AppendEventsRequest

from .actual import actual
from .counting import CountingError, written_out
from .scenario import FormError, Scenario, load, names, parse

STEPS = "steps: [append: [userMessage: {text: Hi.}]]"
VIEWS = "views: {compact: '#1 User: Hi.'}"
CONTEXT = "context: {surface: '#1 User: Hi.'}"


def scenario(
    steps: str = STEPS, views: str = VIEWS, context: str = CONTEXT, about: str = "about: A greeting."
) -> Scenario:
    return parse("greeting", "\n".join([about, dedent(steps), dedent(views), dedent(context)]))


def test_a_scenario_is_what_its_file_says() -> None:
    """Steps are calls in proto JSON; what is expected is lines."""
    found = scenario(
        steps="""
            steps:
              - append:
                  - userMessage: {text: Hi., origin: ORIGIN_HUMAN}
                expectedLatestSequence: 0
              - mark: {label: next}
                refused: HELD_ROWS_FULL
        """,
        views="""
            views:
              compact as of 1: |
                #1 User: Hi.
                #2 ── next ──
        """,
    )

    append, mark = (step.call for step in found.steps)
    assert isinstance(append, AppendEventsRequest)
    assert append.events[0].user_message.text == "Hi."
    assert append.HasField("expected_latest_sequence")
    assert mark == AddSectionMarkerRequest(label="next")
    assert [step.refused for step in found.steps] == ["", "HELD_ROWS_FULL"]
    assert str(found.views[0]) == "compact as of 1"
    assert found.views[0].lines == ("#1 User: Hi.", "#2 ── next ──")


def test_a_step_that_repeats_numbers_its_rows() -> None:
    """One call with all the rows, `$n` counting from 1 wherever it stands."""
    call = (
        scenario(
            steps="""
            steps:
              - repeat: 2
                append:
                  - toolCall: {callId: c$n, name: ls, argumentsJson: '{"n": $n}'}
                  - toolResult: {callId: c$n}
        """
        )
        .steps[0]
        .call
    )

    assert isinstance(call, AppendEventsRequest)
    assert [row.tool_call.call_id or row.tool_result.call_id for row in call.events] == ["c1", "c1", "c2", "c2"]
    assert call.events[2].tool_call.arguments_json == '{"n": 2}'


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"about": "abuot: A greeting."}, "greeting: unknown 'abuot'; allowed: about, steps, views, context"),
        ({"about": ""}, "greeting: about is missing"),
        ({"about": "about: A.\nabout: B."}, "'about' is there twice"),
        ({"about": "about: [A.]"}, "greeting, about is a text"),
        ({"steps": "steps: {append: []}"}, "greeting: steps is a list"),
        ({"steps": "steps: [{apend: []}]"}, "step 1: a step is one of append, mark, note, reset, fork, not apend"),
        ({"steps": "steps: [{mark: {}, note: {}}]"}, "not mark and note"),
        ({"steps": "steps: [{mark: {}, repeat: 2}]"}, "step 1: unknown 'repeat'; allowed: mark, refused"),
        ({"steps": "steps: [{mark: {lable: x}}]"}, "mark: unknown 'lable'; allowed: label, source, collapseEarlier"),
        ({"steps": "steps: [{mark: {label: no}}]"}, "step 1: Failed to parse label field"),
        ({"steps": "steps: [{mark: {}, refused: FULL}]"}, "refused: FULL is no reason of error_reason.proto"),
        ({"steps": "steps: [{append: []}]"}, "step 1: append is a list of rows"),
        ({"steps": "steps: [{append: [hello]}]"}, "step 1, row 1: "),
        ({"steps": "steps: [{append: [{status: {}}, {userMesage: {}}]}]"}, 'row 2: Message type "transcript.v1.Event"'),
        ({"steps": "steps: [{append: [{status: {}}], repeat: 0}]"}, "repeat is a number, 1 or more, not 0"),
        ({"views": "views: {compat: ''}"}, "greeting, views: unknown 'compat'; allowed: compact, full, journal"),
        ({"views": "views: {compact as of 0: ''}"}, "unknown 'compact as of 0'"),
        ({"views": "views: {compact: [a]}"}, "views, compact is a text"),
        ({"context": "context: {now: ''}"}, "context: unknown 'now'; allowed: surface, conversation"),
        ({"context": "context: {surface: '… 2 more, counting on'}"}, "surface: '… 2 more, counting on' needs 2 lines"),
    ],
)
def test_what_does_not_fit_is_named(parts: dict[str, str], complaint: str) -> None:
    """A slip of the pen never makes a scenario that tests less."""
    with pytest.raises(FormError) as caught:
        scenario(**parts)

    assert complaint in str(caught.value)


@pytest.mark.parametrize("name", names())
def test_every_scenario_says_what_is_seen_now(name: str) -> None:
    """By who opens it, and by the model: a file without either would pass whatever happens."""
    found = load(name)

    assert {"compact", "surface"} <= {str(expected) for expected in (*found.views, *found.context)}


def test_lines_count_on() -> None:
    """Every number goes on by as much as it did above; what does not change stays."""
    assert written_out(["#1 a 5 of 9", "#3 a 4 of 9", "… 2 more, counting on", "end"]) == [
        *("#1 a 5 of 9", "#3 a 4 of 9", "#5 a 3 of 9", "#7 a 2 of 9", "end")
    ]
    assert written_out(["#1 call 1", "#2 ok", "#3 call 2", "#4 ok", "… 1 more pairs, counting on"]) == [
        *("#1 call 1", "#2 ok", "#3 call 2", "#4 ok", "#5 call 3", "#6 ok")
    ]


def test_lines_that_differ_otherwise_do_not_count_on() -> None:
    """Nothing is guessed."""
    with pytest.raises(CountingError, match="differ in more than their numbers"):
        written_out(["#1 call 1", "#2 ok 1", "… 1 more, counting on"])


async def test_what_is_printed_is_of_the_form() -> None:
    """Whoever writes a scenario can take over what is printed of it."""
    printed = await actual("rewind")

    found = parse("printed", f"about: Printed.\nsteps: []\n{printed}")
    lines = {expected.way: expected.lines for expected in (*found.views, *found.context)}
    assert lines["compact"][0] == "#1 User: Name a colour."
    assert lines["surface"] == ("#9 User: Name an animal.",)
    assert lines["without running prompt"] == ()
