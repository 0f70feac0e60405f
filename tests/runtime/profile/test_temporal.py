"""Profiles of temporal queries: figures of their clauses, and operators that are connected as before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import siddhi
from siddhi.runtime.profile.figures import Figure
from siddhi.temporal import MAX

APP = """@app:name('meters')
define function slow[python] return int { return sum(range(2000)) };
@temporal(model = 'interval') define stream Meter (id int, used int);
@temporal(model = 'interval') define stream Price (id int, price double);
@info(name = 'high') from Meter[used > 20]#temporal:shift(5)[id < 90] select id, used insert into High;
@info(name = 'avgs') from High#window.tumbling(1 sec) select id, avg(used) as average group by id insert into Averages;
@info(name = 'costs') from Meter#temporal:toPoint() as m join Price as p on m.id == p.id select m.id, used * price as cost
insert into Costs;
partition with (id of Meter) begin @info(name = 'own') from Meter select id, used insert into Own; end;
@info(name = 'signal') from Meter#temporal:pointToSignal() select used, used as s insert into Signals;
"""
N = 400


@pytest.fixture
def app() -> Iterator[siddhi.App]:
    with siddhi.App(APP) as running:
        yield running


def feed(app: siddhi.App) -> None:
    meter, price = app["Meter"], app["Price"]
    price.insert(0, MAX, (7, 1.5))
    for number in range(N // 2):
        meter.insert(number * 10, number * 10 + 500, (number % 100, number % 50))
        if number % 50 == 49:
            meter.cti(number * 10)
    rest = np.arange(N // 2, N)
    meter.insert_batch(
        {"id": rest % 100, "used": rest % 50, "at": rest * 10, "to": rest * 10 + 500}, start="at", end="to"
    )
    for each in (meter, price):
        each.cti(MAX)


def flows(profile: Any) -> dict[tuple[str, str], list[tuple[str, int | None, int | None]]]:
    found: dict[tuple[str, str], list[tuple[str, int | None, int | None]]] = {}
    for figure in profile.figures:
        found.setdefault((figure.owner, figure.kind), []).append((figure.text, figure.events_in, figure.events_out))
    return found


def test_each_clause_counts_the_lifetimes_that_reach_it(app: siddhi.App) -> None:
    costs: list[Any] = []
    app.on("Costs", costs.extend)
    with app.profile(every=1) as profile:
        feed(app)
    found = flows(profile)
    used, high = [n % 50 for n in range(N)], [n for n in range(N) if n % 50 > 20]
    assert found["Meter", "input"][0][1] == N
    assert found["high", "filter"] == [("[used > 20]", N, len(high))]
    assert found["high", "function"] == [("#temporal:shift(5)", len(high), len(high))]
    kept = sum(n % 100 < 90 for n in high)
    assert found["high", "filter, select"] == [("[id < 90] select id, used", len(high), kept)]
    assert found["high", "output"] == [("insert into High", kept, kept)]
    assert found["avgs", "window, select"][0][1] == kept
    assert found["costs", "join, select"][0][1] == N + 1
    assert found["costs", "output"][0][2] == len(costs) == sum(n % 100 == 7 for n in range(N))
    assert [text for text, *_ in found["signal", "function"]] == ["#temporal:pointToSignal()"] * 2
    assert found["signal", "select"][0][2] == len(used)
    assert found["partition_0/own", "select"][0][2] == N
    assert found["Costs", "callback"][0][1] == len(costs)
    assert "| function: " in app.explain(analyze=True)
    assert "costs<br/>" in app.explain("mermaid", analyze=True)


def test_operators_are_connected_as_before_afterwards(app: siddhi.App) -> None:
    network: Any = app._assembly.temporal
    before, crossings = network.places(), network.crossings("high")
    app.enable_statistics("basic")
    with app.profile():
        feed(app)
        assert len(network.places()) > len(before)
        app.enable_statistics("off")
        app.enable_statistics("basic")
        entries, exits = network.crossings("high")
        assert (len(entries), len(exits)) == (len(crossings[0]), len(crossings[1]))
    app.enable_statistics("off")
    assert network.places() == before


def test_a_profile_changes_no_output() -> None:
    found = []
    for is_profiled in (False, True):
        with siddhi.App(APP) as app:
            streams = ("High", "Averages", "Costs", "Own", "Signals")
            app.collect(*streams)
            if is_profiled:
                with app.profile():
                    feed(app)
            else:
                feed(app)
            found.append({name: batch.to_dicts() for name, batch in app.drain().items()})
    assert found[0] == found[1]
    assert all(found[0].values())


def test_a_slow_function_is_the_hottest_clause() -> None:
    with siddhi.App(APP.replace("used as s", "slow(used) as s")) as app, app.profile() as profile:
        feed(app)
    hottest: Figure = profile.hottest[0]
    assert (hottest.owner, hottest.kind) == ("signal", "select")
    assert hottest.python_seconds > 0.8 * hottest.seconds
    assert "slow" in profile.advice()[0]
