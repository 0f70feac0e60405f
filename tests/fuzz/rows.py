"""Rows of hostile values: each is refused with an error of siddhi's that changes nothing, or comes out as it went in."""

from __future__ import annotations

import random
from typing import Any

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiError
from tests.fuzz.values import HOSTILE, FallenError, fitting, same

__all__ = ["attempt"]

KINDS = ["string", "int", "long", "float", "double", "bool", "object"]
QUERIES = [
    "",
    "from S#window.length(2) select k0, count() as n group by k0 insert into Counts;",
    "from S#window.sort(3, k0) select k0 insert all events into Sorted;",
    "from S select distinctCount(k0) as n, minForever(k0) as low group by k1 insert into Least;",
    "from S as a join S#window.length(3) as b on a.k0 == b.k0 select a.k0 as k insert into Joined;",
    "from every a=S -> b=S[k0 == a.k0] select a.k0 as k insert into Found;",
    "@primaryKey('k0') define table T (k0 {0}, k1 {1}); from S select k0, k1 update or insert into T set T.k1 = k1 on T.k0 == k0;",
    "@index('k0') define table T (k0 {0}, k1 {1}); from S select k0, k1 insert into T; from S delete T on T.k0 > k0;",
    "partition with (k0 of S) begin from S select k0, count() as n insert into Parts; end;",
    "from S select convert(k0, 'string') as a, convert(k1, 'double') as b, coalesce(k0, k0) as c insert into Functions;",
]

NO_ROW = (5, 6, 7, 8, 10, 11)
"""The ways in which what is sent may be no row at all, nor a timestamp: a TypeError says so."""


def attempt(chance: random.Random) -> None:
    """An app of some types, rows for it."""
    kinds = [chance.choice(KINDS) for _ in range(chance.randrange(2, 5))]
    attributes = ", ".join(f"k{place} {kind}" for place, kind in enumerate(kinds))
    query = chance.choice(QUERIES).replace("{0}", kinds[0]).replace("{1}", kinds[1])
    app = f"@app:playback define stream S ({attributes}); from S select * insert into Out; {query}"
    with SiddhiManager() as manager:
        try:
            runtime = manager.create_siddhi_app_runtime(app)
        except SiddhiError:
            return
        seen: list[tuple[Any, ...]] = []
        runtime.add_callback("Out", lambda events: seen.extend(event.data for event in events))
        runtime.handle_exception_with(lambda error, origin, events: None)
        runtime.start()
        for clock in range(1000, 1006):
            _send(chance, runtime, kinds, seen, clock)


def _send(
    chance: random.Random, runtime: SiddhiAppRuntime, kinds: list[str], seen: list[tuple[Any, ...]], clock: int
) -> None:
    handler = runtime.input_handler("S")
    row = [chance.choice(HOSTILE) if chance.random() < 0.4 else fitting(chance, kind) for kind in kinds]
    if chance.random() < 0.1:
        row = row[: chance.randrange(len(row))] if chance.random() < 0.5 else [*row, None]
    good = [fitting(chance, kind) for kind in kinds]
    columns = [chance.choice(HOSTILE) for _ in row]
    seen.clear()
    ways = [
        lambda: handler.send(row, clock),
        lambda: handler.send(tuple(row), clock),
        lambda: handler.send({f"k{place}": value for place, value in enumerate(row)}, clock),
        lambda: handler.send(Event(clock, tuple(row))),
        lambda: handler.send_events([Event(clock, tuple(good)), Event(clock, tuple(row))]),
        lambda: handler.send(chance.choice(HOSTILE), clock),
        lambda: handler.send_events(chance.choice(HOSTILE)),
        lambda: handler.send_events([Event(clock, tuple(good)), chance.choice(HOSTILE)]),
        lambda: handler.send_batch(chance.choice(HOSTILE)),
        lambda: handler.send_batch({f"k{place}": [value] for place, value in enumerate(row)}, timestamp=[clock]),
        lambda: handler.send_batch({f"k{place}": column for place, column in enumerate(columns)}, timestamp=[clock]),
        lambda: handler.send(good, chance.choice([value for value in HOSTILE if type(value) is not int])),
    ]
    number = chance.randrange(len(ways))
    try:
        ways[number]()
    except SiddhiError:
        assert not seen, f"rejected, but emitted: {seen!r}"
    except FallenError:
        assert not seen, f"failed, but emitted: {seen!r}"
    except TypeError:
        assert number in NO_ROW, "what has the shape of a row is refused with an EventError"
        assert not seen, f"rejected, but emitted: {seen!r}"
    else:
        if number in (0, 1, 2, 3, 4, 9, 10) and len(row) == len(kinds):
            sent = next(zip(*columns, strict=True)) if number == 10 else row
            got = seen[-1]
            assert all(map(same, kinds, sent, got)), f"{sent!r} came out as {got!r}"
    seen.clear()
    handler.send(good, clock)
    assert len(seen) == 1, f"a valid row after it emitted {seen!r}"
    assert all(map(same, kinds, good, seen[0])), f"{good!r} came out as {seen[0]!r}"
