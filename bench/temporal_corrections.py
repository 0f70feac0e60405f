"""Cost of corrections: ``python bench/temporal_corrections.py``.

Events per second of apps of ``bench/apps`` in playback: uncorrected, with the events in order; and corrected, with 0 %, 1 %
and 10 % of the events late by up to ``--lateness`` ms of event time (there are 10 events per ms); and with a *backlog*: 1 % of
the events, one after another in the middle of the time, arrive at the end. In *event* mode each event is
one call of ``send``; in *batch* mode ``insert_batch`` gets tables of 10,000 events (uncorrected: ``send`` in a loop, since the
rows of a batch are processed one by one either way). A stream callback counts the output.

The best of R runs. Exit code 1 if the output with retractions applied has another number of rows, or if an app without late
events costs more than ``--factor`` times the uncorrected one.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
from pathlib import Path
from time import process_time
from typing import Any

import trades
from siddhi import Event, SiddhiManager

SCENARIOS = ("length_avg", "time_avg", "pattern")
SHARES = (0.0, 0.01, 0.1)
APPS = Path(__file__).parent / "apps"
CORRECTED = "@temporal(model = 'point', policy = 'correct', bound = '{bound}') "
BATCH = trades.BATCH_ROWS

Row = tuple[Any, ...]


def arrivals(n: int, share: float, lateness: int) -> list[tuple[int, Row]]:
    """Return time and row of each trade, in order of arrival: a share of them is late by up to `lateness` ms."""
    drawn = random.Random(1)
    found = [(row[3], row) for row in trades.rows(n)]
    if share:
        keys = [time + (drawn.uniform(0, lateness) if drawn.random() < share else 0) for time, _ in found]
        order = sorted(range(n), key=keys.__getitem__)
        found = [found[at] for at in order]
    return found


def backlog(n: int) -> list[tuple[int, Row]]:
    """Return time and row of each trade; 1 % of them, one after another in the middle, arrive at the end."""
    found = [(row[3], row) for row in trades.rows(n)]
    first, last = n // 2, n // 2 + n // 100
    return found[:first] + found[last:] + found[first:last]


def app_of(name: str, bound: int | None) -> str:
    text = (APPS / f"{name}.siddhi").read_text(encoding="utf-8")
    if "@app:playback" not in text:
        text = f"@app:playback\n{text}"
    if bound is None:
        return text
    return text.replace("define stream Trades", CORRECTED.format(bound=bound) + "define stream Trades")


def run(app: str, sent: list[tuple[int, Row]], *, batch: bool) -> tuple[float, int, dict[str, int]]:
    """Return seconds of CPU time, output rows without those retracted, and counters."""
    rows = 0
    counters: dict[str, int] = {}

    def count(events: list[Event]) -> None:
        nonlocal rows
        if len(events) == 1:
            rows += 1
        else:
            expired = sum(event.is_expired for event in events)
            rows += len(events) - 2 * expired

    tables = []
    if batch:
        names = ("symbol", "price", "volume", "ts")
        for at in range(0, len(sent), BATCH):
            piece = sent[at : at + BATCH]
            columns = dict(zip(names, map(list, zip(*(row for _, row in piece), strict=True)), strict=True))
            tables.append({**columns, "start": [time for time, _ in piece]})
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.add_callback("Out", lambda events: count(events) if len(events) > 1 or events[0].is_expired else hit())

        def hit() -> None:
            nonlocal rows
            rows += 1

        handler: Any = runtime.input_handler("Trades")
        gc.collect()
        begun = process_time()
        if batch:
            for table in tables:
                handler.insert_batch(table)
        else:
            send = handler.send
            for time, row in sent:
                send(row, time)
        seconds = process_time() - begun
        corrections = runtime._assembly.corrections
        if corrections is not None:
            core = corrections.core
            counters = {
                "late": handler.late,
                "dropped": handler.dropped,
                "replays": core.replays,
                "replayed": core.replayed,
                "logged": core.logged,
                "checkpoints": core.kept_checkpoints,
                "checkpoint bytes": core.checkpoint_bytes,
            }
    return seconds, rows, counters


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS), help="names of apps of bench/apps")
    parser.add_argument("-n", type=int, default=200_000, help="events")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--lateness", type=int, default=10, help="ms by which a late event is late at most")
    parser.add_argument("--bound", type=int, default=1000, help="bound in ms")
    parser.add_argument("--factor", type=float, default=1.3)
    options = parser.parse_args()
    failed = False
    for name in options.scenarios:
        in_order = arrivals(options.n, 0.0, 0)
        plain = [run(app_of(name, None), in_order, batch=False) for _ in range(options.runs)]
        base, want = min(seconds for seconds, _, _ in plain), plain[0][1]
        print(f"{name}: uncorrected {options.n / base / 1e6:.2f} M events/s", flush=True)
        for batch in (False, True):
            for share in (*SHARES, None):
                sent = backlog(options.n) if share is None else arrivals(options.n, share, options.lateness)
                # The backlog is late by half of the time.
                app = app_of(name, options.n if share is None else options.bound)
                runs = [run(app, sent, batch=batch) for _ in range(options.runs if share == 0 else 1)]
                seconds, rows, counters = min(runs, key=lambda one: one[0])
                wrong = rows != want
                slow = share == 0 and not batch and seconds > options.factor * base
                failed |= wrong or slow
                mode = f"{'batch' if batch else 'event'}, {'backlog' if share is None else f'{share:4.0%} late'}"
                print(
                    f"  {mode}: {options.n / seconds / 1e6:.3f} M events/s, "
                    f"{seconds / base:.2f} times the cost{' (too slow)' if slow else ''}"
                    f"{f' WRONG: {rows} rows instead of {want}' if wrong else ''}; "
                    + ", ".join(f"{key} {value}" for key, value in counters.items()),
                    flush=True,
                )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
