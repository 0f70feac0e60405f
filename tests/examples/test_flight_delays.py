"""The flight example against pandas: every window computed from its definition."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from siddhi.cli.command import siddhi

FOLDER = Path(__file__).parents[2] / "examples" / "flight_delays"
STREAMS = ["AirportDelays", "Alerts", "CarrierAlerts", "DailyCancellations"]
DAY_MS = 24 * 3600 * 1000
MIDNIGHT_MS = 5 * 3600 * 1000  # in New York, standard time


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("flight_delays")
    arguments = ["run", str(FOLDER / "flight_delays.siddhi"), "--input", f"Flights={FOLDER / 'flights.csv'}"]
    for stream in STREAMS:
        arguments += ["--output", f"{stream}={folder / stream}.parquet"]
    result = CliRunner().invoke(siddhi, [*arguments, "--timestamp", "ts"])
    assert result.exit_code == 0, result.output
    assert "Flights: 13,101 events in" in result.stderr
    return {stream: pd.read_parquet(folder / f"{stream}.parquet") for stream in STREAMS}


@pytest.fixture(scope="module")
def flights() -> pd.DataFrame:
    table = pd.read_csv(FOLDER / "flights.csv")
    table["time"] = pd.to_datetime(table["ts"], unit="ms")
    return table


@pytest.fixture(scope="module")
def departures(flights: pd.DataFrame) -> pd.DataFrame:
    return flights.dropna(subset="dep_delay").reset_index(drop=True)


def rolling(departures: pd.DataFrame, key: str, span: str) -> pd.DataFrame:
    """With each departure, the departures of its group not older than the span, itself included."""
    parts = [
        group.set_index("time")["dep_delay"].rolling(span, closed="right").agg(["mean", "count"]).set_axis(group.index)
        for _, group in departures.groupby(key)
    ]
    table = pd.concat(parts).sort_index().set_axis(["avg_delay", "departures"], axis="columns")
    return departures[["ts", key]].join(table)


def assert_same(actual: pd.DataFrame, expected: pd.DataFrame) -> None:
    expected = expected[list(actual.columns)].reset_index(drop=True)
    pd.testing.assert_frame_equal(actual, expected, check_dtype=False, rtol=1e-12)


def test_delay_per_airport_over_the_last_hour(outputs: dict[str, pd.DataFrame], departures: pd.DataFrame) -> None:
    assert_same(outputs["AirportDelays"], rolling(departures, "origin", "1h"))


def test_airport_alerts_are_the_delays_above_the_threshold(
    outputs: dict[str, pd.DataFrame], departures: pd.DataFrame
) -> None:
    delays = rolling(departures, "origin", "1h")
    assert_same(outputs["Alerts"], delays[(delays["departures"] >= 10) & (delays["avg_delay"] > 60.0)])
    assert len(outputs["Alerts"]) == 565


def test_carrier_alerts_use_the_time_of_the_event(outputs: dict[str, pd.DataFrame], departures: pd.DataFrame) -> None:
    delays = rolling(departures, "carrier", "3h")
    assert_same(outputs["CarrierAlerts"], delays[(delays["departures"] >= 20) & (delays["avg_delay"] > 90.0)])


def test_cancellations_are_emitted_at_the_end_of_their_day(
    outputs: dict[str, pd.DataFrame], flights: pd.DataFrame
) -> None:
    cancelled = flights[flights["dep_delay"].isna()]
    day = (cancelled["ts"] - MIDNIGHT_MS) // DAY_MS
    over = (day + 1) * DAY_MS + MIDNIGHT_MS <= flights["ts"].max()
    groups = cancelled[over].groupby([day[over], "origin"], sort=False)
    expected = groups.agg(last_ts=("ts", "last"), cancelled=("ts", "size"), miles=("distance", "sum"))
    assert_same(outputs["DailyCancellations"], expected.reset_index("origin"))
    assert outputs["DailyCancellations"]["cancelled"].sum() > 500  # the storm is in it


def test_the_data_is_in_order_of_departure(flights: pd.DataFrame) -> None:
    assert flights["ts"].is_monotonic_increasing
