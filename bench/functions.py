"""Functions of namespaces: ``python -m bench.functions [NAMESPACE]...`` in the checkout.

Nanoseconds of processor time per event of each worked example that reads attributes: one evaluation of its executor by row
(*row*), in a stream of rows given as one batch (*batch*), and the difference of the latter to a query that only passes an
attribute on (*net*). The best of R rounds.
"""

from __future__ import annotations

import argparse
from time import process_time
from typing import Any

import siddhi
from siddhi.library import NAMESPACES
from tests.kit.functions import Example, examples, stream_of

EVENTS = 4096


def seconds(app: siddhi.App, columns: dict[str, Any], repeat: int) -> float:
    """Return the least time of a batch."""
    best = float("inf")
    for _ in range(repeat):
        started = process_time()
        app.input_handler("S").send_batch(columns)
        best = min(best, process_time() - started)
    return best


def rows_seconds(app: siddhi.App, row: tuple[Any, ...], repeat: int) -> float:
    """Return the least time of as many rows."""
    best = float("inf")
    send = app.input_handler("S").send
    for _ in range(repeat):
        started = process_time()
        for _ in range(EVENTS):
            send(row)
        best = min(best, process_time() - started)
    return best


def measure(example: Example, repeat: int) -> tuple[float, float, float]:
    """Return nanoseconds per event: by rows, by batch, and by batch without the function."""
    stream = stream_of([example])
    columns = {name: [value] * EVENTS for (name, _), value in zip(example.attributes, example.values, strict=True)}
    found = []
    for selected in (example.lifted, example.attributes[0][0]):
        with siddhi.run(f"{stream} from S select {selected} as x insert into O;") as app:
            app.add_batch_callback("O", lambda _batch: None)  # without a receiver nothing would be evaluated
            found.append(seconds(app, columns, repeat))
            if selected == example.lifted:
                rows = rows_seconds(app, tuple(example.values), max(1, repeat // 3))
    scale = 1e9 / EVENTS
    return rows * scale, found[0] * scale, found[1] * scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("namespaces", nargs="*", default=list(NAMESPACES), metavar="NAMESPACE")
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    print(f"{'ns per event':44} {'rows':>8} {'batch':>8} {'net':>8}")
    for namespace in options.namespaces:
        seen = set()
        for example in examples(namespace):
            if example.attributes and example.metadata.full_name not in seen:
                seen.add(example.metadata.full_name)
                rows, batch, plain = measure(example, options.repeat)
                print(f"{example.metadata.full_name:44} {rows:8.0f} {batch:8.0f} {batch - plain:8.0f}")


if __name__ == "__main__":
    main()
