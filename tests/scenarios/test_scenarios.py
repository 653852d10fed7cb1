"""Each scenario on a real server: what readers and the model are given is what its file says."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from transcript import Client

from .differing import Differences
from .playing import play
from .reading import bar_lines, context_lines, live_lines, recall, see
from .scenario import Scenario, load, names, parse
from .watching import Watcher, watching

DOCS = Path(__file__).parents[2] / "docs" / "scenarios.md"


@pytest.fixture(params=names())
def scenario(request: pytest.FixtureRequest) -> Scenario:
    """Each file of this folder."""
    return load(request.param)


async def test_readers_are_shown_what_the_file_says(client: Client, scenario: Scenario) -> None:
    """The outline of each view, line for line; `as of` a row: what a reader was given then."""
    moments = [moment async for moment in play(client, scenario)]
    now = moments[-1]
    by_tip = {moment.tip: moment for moment in moments if moment.session_id == now.session_id}

    differences = Differences(scenario)
    for expected in scenario.views:
        moment = by_tip.get(expected.as_of or now.tip)
        assert moment, f"{scenario.name}.yaml, {expected}: no step ends with that row; steps end with {[*by_tip][1:]}"
        differences.compare(str(expected), expected.lines, moment.seen[expected.way].lines(running=moment.running))
    differences.fail_if_any()


async def test_the_model_is_sent_what_the_file_says(client: Client, scenario: Scenario) -> None:
    """The model's surface, now and as of rows: each row a line, in the surface's order."""
    async for moment in play(client, scenario):
        session_id = moment.session_id

    differences = Differences(scenario)
    for expected in scenario.context:
        events = await recall(client, session_id, expected.way, as_of=expected.as_of)
        differences.compare(str(expected), expected.lines, context_lines(events))
    differences.fail_if_any()


async def test_rule_21_as_of_a_row_is_what_was_given_then(client: Client, scenario: Scenario) -> None:
    """What everybody was given after each step is given again at the end, as of the row that was the last one then."""
    moments = [moment async for moment in play(client, scenario)]

    differences = Differences(scenario)
    for moment in moments[1:]:  # of the empty session there is no row to ask for
        for way, seen in moment.seen.items():
            again = await see(client, moment.session_id, way, as_of=moment.tip)
            if again != seen:
                differences.note(f"{way} as of {moment.tip} is not what it was:")
                differences.compare(way, *(one.lines(running=moment.running) for one in (seen, again)))
        for way, events in moment.context.items():
            recalled = await recall(client, moment.session_id, way, as_of=moment.tip)
            if recalled != events:
                differences.note(f"{way} as of {moment.tip} is not what it was:")
                differences.compare(way, context_lines(events), context_lines(recalled))
    differences.fail_if_any()


async def test_rule_27_live_equals_replay(client: Client, scenario: Scenario) -> None:
    """After every step, who watched from the first row on has the lines and the bar that a reader is given."""
    async with AsyncExitStack() as stack:
        watchers: dict[str, Watcher] = {}
        async for moment in play(client, scenario):
            if moment.session_id not in watchers:
                watchers[moment.session_id] = await stack.enter_async_context(watching(client, moment.session_id))
            watcher = watchers[moment.session_id]
            await watcher.reach(moment.tip)

            differences = Differences(scenario)
            replay = moment.seen["everything"].lines(running=moment.running)
            differences.compare(
                f"everything, watched up to {moment.tip}", replay, live_lines(watcher.events, running=moment.running)
            )
            differences.compare(
                f"bar, watched up to {moment.tip}", bar_lines(moment.seen["full"].bar), bar_lines(watcher.bar)
            )
            differences.fail_if_any()


async def test_the_example_of_the_docs_is_true(client: Client) -> None:
    """Who writes a scenario begins with it."""
    text = DOCS.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    example = parse("example", text)

    await test_readers_are_shown_what_the_file_says(client, example)
