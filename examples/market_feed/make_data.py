"""Make bars.csv: the year from July 2008 of the stock example beside this one."""

from __future__ import annotations

import csv
from pathlib import Path

FIRST, LAST = "2008-07-01", "2009-06-30"

if __name__ == "__main__":
    here = Path(__file__).parent
    with (here.parent / "stock_moving_average" / "bars.csv").open(encoding="utf-8", newline="") as source:
        head, *rows = csv.reader(source)
    with (here / "bars.csv").open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(row for row in rows if FIRST <= row[0] <= LAST)
