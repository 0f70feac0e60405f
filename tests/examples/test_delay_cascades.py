"""The delay cascades against pandas: every pattern rewritten as joins of tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from siddhi.cli.command import siddhi

FOLDER = Path(__file__).parents[2] / "examples" / "delay_cascades"
STREAMS = ["KnockOns", "Cascades", "Growing", "Stranded"]
HOUR_MS = 3600 * 1000


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("delay_cascades")
    arguments = ["run", str(FOLDER / "delay_cascades.siddhi"), "--input", f"Movements={FOLDER / 'movements.csv'}"]
    for stream in STREAMS:
        arguments += ["--output", f"{stream}={folder / stream}.parquet"]
    result = CliRunner().invoke(siddhi, [*arguments, "--timestamp", "ts"])
    assert result.exit_code == 0, result.output
    return {stream: pd.read_parquet(folder / f"{stream}.parquet") for stream in STREAMS}


@pytest.fixture(scope="module")
def movements() -> pd.DataFrame:
    """The rows, with their number as ``row``: of two at the same time, the first in the file comes first."""
    return pd.read_csv(FOLDER / "movements.csv").rename_axis("row").reset_index()


@pytest.fixture(scope="module")
def departures(movements: pd.DataFrame) -> pd.DataFrame:
    return movements[movements["kind"] == "departure"]


@pytest.fixture(scope="module")
def late_arrivals(movements: pd.DataFrame) -> pd.DataFrame:
    return movements[(movements["kind"] == "arrival") & (movements["delay"] >= 30)]


def then(found: pd.DataFrame, name: str, events: pd.DataFrame, after: str | None) -> pd.DataFrame:
    """Each row of *found* with the next of *events* of the same aircraft, its columns named ``<name>_<column>``.

    Rows without one are lost; *after* is the name of the events that come before, None where *events* are the first.
    """
    renamed = events.rename(columns=lambda column: f"{name}_{column}")
    if after is None:
        return renamed
    joined = pd.merge_asof(
        found.sort_values(f"{after}_row"),
        renamed.sort_values(f"{name}_row"),
        left_on=f"{after}_row",
        right_on=f"{name}_row",
        left_by=f"{after}_tail",
        right_by=f"{name}_tail",
        direction="forward",
        allow_exact_matches=False,
    )
    return joined.dropna(subset=f"{name}_row").astype({f"{name}_row": "int64"})


def assert_same(actual: pd.DataFrame, expected: pd.DataFrame) -> None:
    """The same rows; those that came with one event, in any order."""
    columns = list(actual.columns)
    pd.testing.assert_frame_equal(
        actual.sort_values(columns, ignore_index=True),
        expected[columns].sort_values(columns, ignore_index=True),
        check_dtype=False,
    )


def test_the_next_departure_after_a_late_arrival(
    outputs: dict[str, pd.DataFrame], late_arrivals: pd.DataFrame, departures: pd.DataFrame
) -> None:
    pairs = then(then(late_arrivals, "a", late_arrivals, None), "d", departures, "a")
    pairs = pairs[(pairs["d_ts"] - pairs["a_ts"] <= 8 * HOUR_MS) & (pairs["d_delay"] >= 30)]
    names = {"a_ts": "landed", "d_ts": "left", "a_tail": "tail", "a_delay": "arrived_late", "d_delay": "left_late"}
    assert_same(outputs["KnockOns"], pairs.rename(columns=names))
    assert outputs["KnockOns"]["left"].is_monotonic_increasing
    assert len(pairs) > 100


def test_cascades_are_chains_of_the_next_late_movement(
    outputs: dict[str, pd.DataFrame], late_arrivals: pd.DataFrame, departures: pd.DataFrame
) -> None:
    late_departures = departures[departures["delay"] >= 30]
    chains = then(late_arrivals, "a", late_arrivals, None)
    chains = then(chains, "b", late_departures, "a")
    chains = then(chains, "c", late_arrivals, "b")
    chains = then(chains, "d", late_departures, "c")
    chains = chains[chains["d_ts"] - chains["a_ts"] <= 16 * HOUR_MS]
    names = {"a_tail": "tail", "a_flight": "first", "b_flight": "second", "d_flight": "third"}
    names |= {"a_delay": "delay1", "b_delay": "delay2", "c_delay": "delay3", "d_delay": "delay4"}
    assert_same(outputs["Cascades"], chains.rename(columns=names))
    assert len(chains) > 5


def test_delays_that_grow_three_times_in_a_row(outputs: dict[str, pd.DataFrame], departures: pd.DataFrame) -> None:
    delays = departures.groupby("tail")["delay"]
    rows = departures.assign(delay1=delays.shift(2), delay2=delays.shift(1), delay3=departures["delay"])
    growing = rows[(rows["delay1"] >= 15) & (rows["delay2"] > rows["delay1"]) & (rows["delay3"] > rows["delay2"])]
    assert_same(outputs["Growing"], growing)
    assert len(growing) > 20


def test_aircraft_without_a_departure_within_12_hours(
    outputs: dict[str, pd.DataFrame], movements: pd.DataFrame, late_arrivals: pd.DataFrame, departures: pd.DataFrame
) -> None:
    very_late = late_arrivals[late_arrivals["delay"] >= 120]
    by_tail = dict(iter(departures.groupby("tail")["ts"]))
    end = movements["ts"].max()

    def stayed(row: pd.Series) -> bool:
        since = by_tail.get(row["tail"], pd.Series(dtype="int64"))
        until = row["ts"] + 12 * HOUR_MS
        return until <= end and not ((since > row["ts"]) & (since < until)).any()

    expected = very_late[very_late.apply(stayed, axis="columns")]
    names = {"dest": "at", "ts": "landed", "delay": "arrived_late"}
    assert_same(outputs["Stranded"], expected.rename(columns=names))
    assert len(expected) > 10


def test_the_data_is_in_order_of_time(movements: pd.DataFrame) -> None:
    assert movements["ts"].is_monotonic_increasing
    assert set(movements["kind"]) == {"arrival", "departure"}
