"""Extreme times: whatever an event or an app says when something happens, it is refused, or time passes and goes on."""

from __future__ import annotations

import contextlib
import random
import re
from typing import Any

from siddhi import Event, SiddhiManager
from siddhi.errors import SiddhiError

__all__ = ["attempt"]

BORDERS = [
    0,
    1,
    10**9,
    10**12,
    10**13,
    10**15,
    10**18,
    2**31,
    2**32,
    2**53,
    2**61,
    2**62,
    2**63,
    2**64,
    253_402_300_800_000,
]
SPANS = [
    "1 millisec",
    "1 sec",
    "1 min",
    "1 hour",
    "1 day",
    "1 month",
    "1 year",
    "100 years",
    "100000000 years",
]
NUMBERS = ["1", "4611686018427387903L"]
"""What a window takes, too, where others need a unit of time."""
PARTS = [
    "from S#window.time({span}) select k, count() as n insert all events into O;",
    "from S#window.timeBatch({span}) select k, count() as n insert into O;",
    "from S#window.externalTime(at, {span}) select k, sum(v) as n insert into O;",
    "from S#window.externalTimeBatch(at, {span}) select k, sum(v) as n insert into O;",
    "from S#window.externalTimeBatch(at, {span}, 0, {span}) select k, sum(v) as n insert into O;",
    "from S#window.session({span}, k) select k, count() as n insert into O;",
    "from S#window.delay({span}) select k insert into O;",
    "from S#window.timeLength({span}, 2) select k, count() as n insert all events into O;",
    "from S#window.cron('0 0 0 1 1 ? *') select k insert into O;",
    "define trigger T at every {span}; from T select triggered_time as t insert into O;",
    "define trigger T at '0 0 0 29 2 ?'; from T select triggered_time as t insert into O;",
    "from S select k output last every {span} insert into O;",
    "from S select k, count() as n output snapshot every {span} insert into O;",
    "from every a=S -> not S for {span} select a.k as k insert into O;",
    "from every a=S -> b=S within {span} select a.k as k insert into O;",
    "from not S for {span} -> b=S select b.k as k insert into O;",
    "define aggregation A from S select k, sum(v) as n group by k aggregate by at every sec...year;",
    "define aggregation A from S select k, sum(v) as n group by k aggregate every sec...year;",
    "partition with (k of S) begin from S#window.time({span}) select k, count() as n insert into O; end;",
    "from S#window.time({span}) as a join S#window.length(2) as b on a.k == b.k select a.k as k insert into O;",
]
ASKS = [
    "from A within {a}L, {b}L per 'seconds' select *",
    "from A within {a}L, {b}L per 'years' select *",
    "from A within '2020-**-** **:**:**' per 'hours' select *",
]


def attempt(chance: random.Random) -> None:
    """An app with one or two parts that know time, and events of all times."""
    parts = chance.sample(PARTS, chance.choice([1, 1, 2]))
    defined = [part.split()[1] for part in parts if part.startswith("define")]
    if len(set(defined)) < len(defined):
        parts.pop()  # two of one name
    statements = []
    for number, part in enumerate(parts):
        statements += re.split("(?<=;) (?=from )", part.replace("into O;", f"into O{number};"))
    statements.sort(key=lambda statement: not statement.startswith("define"))
    text = "\n".join(part.format(span=chance.choice(SPANS + NUMBERS * ("#window" in part))) for part in statements)
    timers = chance.choice(["", "(timers = 'exact')"])
    app = f"@app:playback{timers} define stream S (k string, v long, at long);\n{text}"
    try:
        _try(chance, app)
    except BaseException as error:
        raise AssertionError(f"the app was:\n{app}") from error


def _try(chance: random.Random, app: str) -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(app)
        failed: list[BaseException] = []
        runtime.handle_exception_with(lambda error, origin, events: failed.append(error))
        runtime.start()
        handler = runtime.input_handler("S")
        moment = _moment(chance)
        for _ in range(chance.randrange(1, 8)):
            moment = _moment(chance) if chance.random() < 0.4 else moment + chance.choice([0, 1, 1000, -1000])
            row: tuple[Any, ...] = (chance.choice("ab"), chance.choice([1, 2**63 - 1]), _moment(chance))
            with contextlib.suppress(SiddhiError):
                way = chance.randrange(4)
                if way == 0:
                    handler.send(row, moment)
                elif way == 1:
                    handler.send_events([Event(moment, row), Event(moment + 1, row)])
                elif way == 2:
                    columns = {"k": [row[0]] * 2, "v": [row[1]] * 2, "at": [row[2]] * 2}
                    handler.send_batch(columns, timestamp=[moment, moment + 1])
                else:
                    with contextlib.suppress(ValueError):  # beyond the times there are
                        runtime.advance_clock(moment)
        if runtime.aggregation_definitions:
            ask = chance.choice(ASKS).format(a=chance.choice(BORDERS) // 2, b=chance.choice(BORDERS) // 2)
            with contextlib.suppress(SiddhiError):
                runtime.query(ask)
        state = runtime.snapshot()
        runtime.restore(state)
        assert runtime.snapshot() == state
        runtime.shutdown()
        for error in failed:
            assert isinstance(error, (SiddhiError, ValueError, OverflowError)), repr(error)


def _moment(chance: random.Random) -> int:
    """A time in ms: of our days, or about a border."""
    if chance.random() < 0.5:
        return 1_600_000_000_000 + chance.randrange(10**9)
    return chance.choice([1, 1, -1]) * chance.choice(BORDERS) + chance.choice([-1000, -1, 0, 1, 1000])
