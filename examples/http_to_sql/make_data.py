"""Make bars.jsonl from the bars of the example stock_moving_average: one line per day, a list of its bars."""

from __future__ import annotations

import csv
import json
from itertools import groupby
from pathlib import Path

FIRST = "2012-01-01"


def days() -> list[list[dict[str, object]]]:
    """The bars of each day from the first one on."""
    source = Path(__file__).parents[1] / "stock_moving_average" / "bars.csv"
    with source.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["date"] >= FIRST]
    return [
        [
            {"date": date, "symbol": row["symbol"], "close": float(row["close"]), "volume": int(row["volume"])}
            for row in bars
        ]
        for date, bars in groupby(rows, key=lambda row: row["date"])
    ]


if __name__ == "__main__":
    target = Path(__file__).with_name("bars.jsonl")
    target.write_text("".join(json.dumps(day, separators=(",", ":")) + "\n" for day in days()), encoding="utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes")
