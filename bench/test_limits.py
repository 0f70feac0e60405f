"""The loops compute the same results as the engine: the recorded ones, in both modes."""

from __future__ import annotations

from dataclasses import replace

import pytest

import answers
import driver
import scenarios
import subjects
import trades

SCENARIOS = scenarios.load()
COUNTED = [scenario for scenario in SCENARIOS.values() if scenario.subscriber and subjects.has_loop(scenario)]
ONE_STREAM = [scenario for scenario in COUNTED if not scenario.second]
"""Scenarios with two streams: tables arrive in another order than single trades, so the results differ."""

RECORDED = [(scenario, "event") for scenario in COUNTED] + [(scenario, "batch") for scenario in ONE_STREAM]


def test_every_scenario_has_a_loop_or_is_worked_out_by_hand() -> None:
    assert set(subjects.LOOPS) | set(answers.ANSWERS) == set(SCENARIOS)
    assert not set(subjects.LOOPS) & set(answers.ANSWERS)


def test_every_window_has_a_scenario() -> None:
    from siddhi.extension import WindowMetadata, builtin_registry

    apps = "\n".join(scenario.app for scenario in SCENARIOS.values())
    assert [name for name in builtin_registry().names(WindowMetadata) if f"#window.{name}(" not in apps] == []


@pytest.mark.parametrize("name", answers.ANSWERS)
def test_what_is_worked_out_by_hand_is_recorded(name: str) -> None:
    scenario = SCENARIOS[name]
    assert scenario.expected is not None
    assert scenario.expected.difference(answers.answer(name, scenario.events)) is None


@pytest.mark.parametrize(("scenario", "mode"), RECORDED, ids=lambda value: getattr(value, "name", value))
def test_loop_gives_the_recorded_answer(scenario: scenarios.Scenario, mode: str) -> None:
    got = driver.answer(subjects.Loop, scenario, mode, scenario.events)
    assert scenario.expected is not None
    assert scenario.expected.difference(got) is None


def test_loop_in_batches_joins_in_their_order() -> None:
    scenario, n = SCENARIOS["join"], 40_000
    batches = driver.answer(subjects.Loop, scenario, "batch", n)
    count, latest = 0, []

    def callback(events: list[tuple[object, ...]]) -> None:
        nonlocal count, latest
        count, latest = count + len(events), events

    loop = subjects.Loop(scenario, callback)
    rows = trades.rows(n)
    for start in range(0, n, trades.BATCH_ROWS):
        for offset, send in ((0, loop.send), (1, loop.send_second)):
            assert send is not None
            for row in rows[start : start + trades.BATCH_ROWS][offset::2]:
                send(row, timestamp=row[3])
    assert batches.difference(replace(batches, outputs=count, last=loop.last_event(latest))) is None


@pytest.mark.parametrize("scenario", ONE_STREAM, ids=lambda scenario: scenario.name)
def test_modes_agree_on_any_number_of_trades(scenario: scenarios.Scenario) -> None:
    for n in (1, 999, 12_345):
        event = driver.answer(subjects.Loop, scenario, "event", n)
        assert event.difference(driver.answer(subjects.Loop, scenario, "batch", n)) is None


def test_an_answer_with_another_value_differs() -> None:
    answer = scenarios.Answer(2, (5, ["S1", 1.0, 3]))
    assert answer.difference(scenarios.Answer(2, (5, ["S1", 1.0 + 1e-12, 3]))) is None
    assert "outputs" in str(answer.difference(scenarios.Answer(1, (5, ["S1", 1.0, 3]))))
    assert "last output" in str(answer.difference(scenarios.Answer(2, (6, ["S1", 1.0, 3]))))
    assert "last output" in str(answer.difference(scenarios.Answer(2, (5, ["S1", 1.1, 3]))))
    assert "last output" in str(answer.difference(scenarios.Answer(2, (5, ["S1", 1.0, 3.0]))))
    assert "last output" in str(answer.difference(scenarios.Answer(2)))
