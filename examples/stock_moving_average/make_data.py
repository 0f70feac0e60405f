"""Make bars.csv from the daily bars in the PyPI package bokeh_sampledata: ``pip install bokeh_sampledata pandas``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

FIRST, LAST = "2008-01-02", "2013-02-28"
SYMBOLS = ["AAPL", "GOOG", "IBM", "MSFT"]  # each has a bar on every trading day of these years


def bars() -> pd.DataFrame:
    """Daily bars, one per symbol and trading day, in the order of the days."""
    package = find_spec("bokeh_sampledata")
    if package is None or package.origin is None:
        raise SystemExit("pip install bokeh_sampledata")
    table = pd.read_csv(Path(package.origin).with_name("_data") / "stocks.csv.gz")
    table.columns = [column.lower().replace("ticker", "symbol") for column in table.columns]
    table = table[table["symbol"].isin(SYMBOLS) & table["date"].between(FIRST, LAST)]
    assert table.groupby("date").size().eq(len(SYMBOLS)).all(), "a day without all symbols"
    return table.sort_values(["date", "symbol"])[["date", "symbol", "open", "high", "low", "close", "volume"]]


if __name__ == "__main__":
    target = Path(__file__).with_name("bars.csv")
    bars().to_csv(target, index=False, lineterminator="\n")
    print(f"{target}: {target.stat().st_size:,} bytes")
