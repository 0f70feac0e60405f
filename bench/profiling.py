"""What a profile costs, what of the time it finds, and whether it names a slow clause: ``python bench/profiling.py``.

1. Cost: CPU time with a profile, by the mean of that without one before and after it. A run has many pieces; what counts is the
   sum over the pieces of the median of all runs, so that a piece during which others used the machine does not count.
   Noise: the same for the two runs without a profile.
2. Shares: the time of all figures, by the CPU time of the thread that sends: what the app did, and what was outside of it.
   Inside: the time of all clauses, inputs and callbacks, by that of the thread. Rows have a loop of Python around them, which
   no clause can contain: the time of the same loop with a function that does nothing is subtracted. That call need not be as
   fast as the call of send(), which matters where a row takes 0.1 µs; so only batches have a limit here.
3. Planted: one of several clauses calls a slow function; it has to be the first one of 20 profiles out of 20.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

import siddhi
from siddhi.runtime.app import SiddhiAppRuntime

APPS = ("filter_project", "length_avg", "chain10", "partition_length_avg", "join", "pattern")
PLANTED = """
define function slow[python] return double { return float(sum(range(1000)) * 0 + data[0]) };
define stream Trades (symbol string, price double, volume long, ts long);
@info(name = 'a') from Trades[A]#window.length(20) select symbol, B as x, sum(volume) as total group by symbol having C insert into Mid;
@info(name = 'b') from Mid[D]#window.lengthBatch(5) select symbol, E as y insert into Out;
"""
PLACES = {
    "A": ("a", "filter", "{} > 0.0", "price"),
    "B": ("a", "window, select", "{}", "price"),
    "C": ("a", "window, select", "{} > 0.0", "x"),
    "D": ("b", "filter", "{} > 0.0", "x"),
    "E": ("b", "select", "{}", "x"),
}
LIMIT = 0.03
FOUND = (0.95, 1.05)
SECONDS = 0.2  # of CPU time that a run takes
ROUNDS = 20


def trades(number: int) -> tuple[list[tuple[str, float, int]], dict[str, np.ndarray]]:
    """Return rows, and the same as columns."""
    random = np.random.default_rng(7)
    symbols = np.array([f"S{k}" for k in random.integers(0, 100, number)], dtype=object)
    columns = {
        "symbol": symbols,
        "price": random.random(number) * 100,
        "volume": random.integers(1, 1000, number),
        "ts": np.arange(number) // 10 + 1_700_000_000_000,
    }
    return list(zip(*(column.tolist() for column in columns.values()), strict=True)), columns


def measure(
    app: SiddhiAppRuntime, send: Callable[[], None], idle: Callable[[], None], runs: int
) -> tuple[float, float, float, float, float]:
    """Return CPU seconds without a profile, the noise and the cost of a profile as parts of them, and the parts of the CPU
    time that all figures have, and those of the app: medians over the runs. *idle* is what of *send* is not the app's."""
    before, profiled, after, shares, inside = [], [], [], [], []
    pieces = 2 + int(SECONDS / min(timed(send) for _ in range(5)))
    gc.disable()
    for _ in range(runs):
        before.append([timed(send) for _ in range(pieces)])
        with app.profile() as profile:
            profiled.append([timed(send) for _ in range(pieces)])
        after.append([timed(send) for _ in range(pieces)])
        total = sum(profiled[-1])
        shares.append(sum(figure.seconds for figure in profile.figures) / total)
        inside.append(profile.measured_seconds / (total - sum(timed(idle) for _ in range(pieces))))
        gc.collect()
    gc.enable()
    first, second, third = (float(np.median(times, axis=0).sum()) for times in (before, profiled, after))
    return first, third / first - 1, 2 * second / (first + third) - 1, median(shares), median(inside)


def timed(send: Callable[[], None]) -> float:
    begun = time.thread_time()
    send()
    return time.thread_time() - begun


def overhead(apps: tuple[str, ...], events: int, runs: int) -> bool:
    """Print the cost of a profile for several apps and what it finds; return whether all are within the limits."""
    _, columns = trades(events)
    rows, _ = trades(events // 10)
    nothing: list[object] = []
    good = True
    print(f"{'app':24} {'mode':6} {'plain':>10} {'noise':>7} {'cost':>7} {'shares':>7} {'inside':>7}")
    for name in apps:
        text = Path(__file__).with_name("apps").joinpath(f"{name}.siddhi").read_text(encoding="utf-8")
        with siddhi.App(text) as app:
            handlers = [app[stream] for stream in ("Trades", "Trades2") if stream in app]
            app.add_batch_callback("Out", lambda batch: None)

            def send_rows(handlers: list[siddhi.InputHandler] = handlers) -> None:  # type: ignore[assignment]
                for handler in handlers:
                    send = handler.send
                    for row in rows:
                        send(row)

            def loop(handlers: list[siddhi.InputHandler] = handlers) -> None:  # type: ignore[assignment]
                for _ in handlers:
                    send = nothing.count
                    for row in rows:
                        send(row)

            def send_columns(handlers: list[siddhi.InputHandler] = handlers) -> None:  # type: ignore[assignment]
                for handler in handlers:
                    handler.send_batch(columns)

            for mode, send, idle in (("rows", send_rows, loop), ("batch", send_columns, lambda: None)):
                plain, noise, cost, shares, inside = measure(app, send, idle, runs)
                good = good and cost <= LIMIT and FOUND[0] <= shares <= FOUND[1]
                good = good and (mode == "rows" or FOUND[0] <= inside <= FOUND[1])
                print(f"{name:24} {mode:6} {plain * 1e3:8.1f}ms {noise:7.1%} {cost:7.1%} {shares:7.1%} {inside:7.1%}")
    return good


def planted() -> bool:
    """Print how often the slow clause was named first; return whether it always was."""
    rows, columns = trades(3000)
    named = 0
    for number in range(ROUNDS):
        letter = "ABCDE"[number % len(PLACES)]
        text = PLANTED
        for other, (_, _, form, argument) in PLACES.items():
            call = form.format(f"slow({argument})" if other == letter else argument)
            for before in ("[{}]", "select symbol, {} as", "having {} insert"):
                text = text.replace(before.format(other), before.format(call))
        owner, kind = PLACES[letter][:2]
        with siddhi.App(text) as app:
            app.add_batch_callback("Out", lambda batch: None)
            with app.profile() as profile:
                if number % 2:
                    app["Trades"].send_batch(columns)
                else:
                    for row in rows:
                        app["Trades"].send(row)
            first = profile.hottest[0]
            named += (first.owner, first.kind) == (owner, kind) and bool(first.python)
    print(f"planted slow clause named first: {named} of {ROUNDS}")
    return named == ROUNDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--apps", nargs="*", default=APPS, choices=APPS, help="those to measure")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=31)
    options = parser.parse_args()
    return 0 if overhead(tuple(options.apps), options.events, options.runs) & planted() else 1


if __name__ == "__main__":
    sys.exit(main())
