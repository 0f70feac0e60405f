"""The bench of temporal events runs, and the results of all its queries are those that numpy computes."""

from __future__ import annotations

import pytest

import temporal


def test_every_query_has_the_expected_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert temporal.main(["--rows", "3000", "--repeat", "1", "--growth"]) == 0
    assert capsys.readouterr().out.count("\n") == 1 + len(temporal.SCENARIOS)


def test_wrong_results_are_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = temporal.SCENARIOS["filter"]
    wrong = temporal.Scenario(scenario.query, scenario.rows, lambda streams: -1)
    monkeypatch.setitem(temporal.SCENARIOS, "filter", wrong)
    arguments = ["--rows", "1000", "--repeat", "1", "--growth", "--query", "filter", "--mode", "batch"]
    assert temporal.main(arguments) == 1
    assert "not -1" in capsys.readouterr().out


def test_cost_that_grows_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rows", "1000", "--repeat", "1", "--largest", "1000", "--query", "--growth", "join"]
    assert temporal.main([*arguments, "--factor", "1.5", "--random-factor", "1.5"]) == 0
    assert temporal.main([*arguments, "--factor", "0.5"]) == 1
    assert "0.5 allowed" in capsys.readouterr().out
