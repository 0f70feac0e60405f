"""The stock example against pandas: every window computed from its definition."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from siddhi.cli.command import siddhi

FOLDER = Path(__file__).parents[2] / "examples" / "stock_moving_average"
STREAMS = ["Averages", "Breakouts", "Months"]


@pytest.fixture(scope="module", params=[[], ["--timestamp", "date"]], ids=["now", "event time"])
def outputs(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("stock_moving_average")
    arguments = ["run", str(FOLDER / "moving_average.siddhi"), "--input", f"Bars={FOLDER / 'bars.csv'}"]
    for stream in STREAMS:
        arguments += ["--output", f"{stream}={folder / stream}.csv"]
    result = CliRunner().invoke(siddhi, [*arguments, *request.param])
    assert result.exit_code == 0, result.output
    return {stream: pd.read_csv(folder / f"{stream}.csv") for stream in STREAMS}


@pytest.fixture(scope="module")
def bars() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "bars.csv")


@pytest.fixture(scope="module")
def averages(bars: pd.DataFrame) -> pd.DataFrame:
    """With each bar, plain and weighted means over its symbol's last 20 bars, itself included."""
    table = bars[["date", "symbol", "close"]].assign(turnover=bars["close"] * bars["volume"], volume=bars["volume"])
    sums = table.groupby("symbol")[["close", "turnover", "volume"]].rolling(20, min_periods=1)
    means = sums.mean().reset_index(level="symbol", drop=True).sort_index()
    return table[["date", "symbol", "close"]].assign(
        average=means["close"], weighted=means["turnover"] / means["volume"]
    )


def assert_same(actual: pd.DataFrame, expected: pd.DataFrame) -> None:
    expected = expected[list(actual.columns)].reset_index(drop=True)
    pd.testing.assert_frame_equal(actual, expected, check_dtype=False, rtol=1e-9)


def test_moving_averages(outputs: dict[str, pd.DataFrame], averages: pd.DataFrame) -> None:
    assert_same(outputs["Averages"], averages)


def test_breakouts_are_the_closes_above_the_average(outputs: dict[str, pd.DataFrame], averages: pd.DataFrame) -> None:
    above = averages[averages["close"] > averages["average"] * 1.1]
    above = above.assign(percent_above=(above["close"] / above["average"] - 1) * 100)
    assert_same(outputs["Breakouts"], above)
    assert len(above) == 94


def test_months_have_21_bars_per_symbol(outputs: dict[str, pd.DataFrame], bars: pd.DataFrame) -> None:
    whole = bars[: len(bars) // 84 * 84]
    groups = whole.groupby([np.arange(len(whole)) // 84, "symbol"], sort=False)
    expected = groups.agg(
        date=("date", "last"),
        high=("high", "max"),
        low=("low", "min"),
        close=("close", "last"),
        volume=("volume", "sum"),
    )
    assert_same(outputs["Months"], expected.reset_index("symbol"))


def test_every_day_has_every_symbol(bars: pd.DataFrame) -> None:
    symbols = sorted(set(bars["symbol"]))
    assert bars["symbol"].tolist() == symbols * (len(bars) // len(symbols))
    assert bars["date"].is_monotonic_increasing


def test_the_embedded_form_prints_the_same_breakouts(averages: pd.DataFrame) -> None:
    result = subprocess.run(
        [sys.executable, str(FOLDER / "run.py")], capture_output=True, text=True, check=True, timeout=120
    )
    rows = [ast.literal_eval(line) for line in result.stdout.splitlines()]
    above = averages[averages["close"] > averages["average"] * 1.1]
    assert [row[:3] for row in rows] == list(zip(above["date"], above["symbol"], above["close"], strict=True))
    assert [row[3] for row in rows] == pytest.approx(above["average"].tolist(), rel=1e-9)
