"""Draw the pictures of the pages on temporal events: ``python docs/pictures/draw.py``.

Each picture shows what streams of a running app show. ``tests/docs/test_pictures.py`` compares them with the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from siddhi import SiddhiManager
from siddhi.temporal import MAX, TemporalEvent, draw

METER = """
@temporal(model = 'interval') define stream Meter (consumption int);
from Meter#window.snapshot() select avg(consumption) as average insert into Averages;
from Meter#window.tumbling(30 sec, 0, 'clip') select count() as readings insert into HalfMinutes;
"""
SNAPSHOT = """
@temporal define stream Jobs (name string);
from Jobs#window.snapshot() select count() as running insert into Running;
from Jobs#window.hopping(10, 5, 0, 'clip') select count() as jobs insert into Hopping;
"""
JOIN = """
@temporal define stream Orders (id int, item string);
@temporal define stream Offers (id int, price int);
from Orders as o join Offers as p on o.id == p.id select o.item as item, p.price as price insert into Join;
from Orders#temporal:antiJoin(Offers, id == Offers.id) select item insert into AntiJoin;
from Orders#temporal:clip(Offers, id == Offers.id) select item insert into Clip;
"""
SIGNAL = """
@temporal(model = 'point') define stream Readings (value int);
from Readings#temporal:pointToSignal() select value insert into Signal;
"""
CORRECTED = """
@temporal(model = 'point', policy = 'correct', bound = '10 min') define stream Readings (value double);
from Readings#window.length(2) select avg(value) as average insert into Averages;
"""

Item = tuple[str, str, tuple[Any, ...]]
"""Stream, method of its input handler, arguments."""


def shown(app: str, items: Sequence[Item], *names: str) -> dict[str, list[TemporalEvent]]:
    """Return the items that streams show, by stream."""
    found: dict[str, list[TemporalEvent]] = {name: [] for name in names}
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        for name in names:
            runtime.add_temporal_callback(name, found[name].extend)
        for stream, method, arguments in items:
            getattr(runtime.input_handler(stream), method)(*arguments)
    return found


def without_ctis(streams: dict[str, list[TemporalEvent]]) -> dict[str, list[TemporalEvent]]:
    return {name: [item for item in items if item.kind != "cti"] for name, items in streams.items()}


def power_meter() -> str:
    items: list[Item] = [
        ("Meter", "insert", (1247649249270, 1247649262255, (200,))),
        ("Meter", "insert", (1247649213317, 1247649249270, (100,))),
        ("Meter", "cti", (1247649262255,)),
        ("Meter", "insert", (1247649262255, 1247649304987, (100,))),
        ("Meter", "cti", (MAX,)),
    ]
    return draw(without_ctis(shown(METER, items, "Meter", "Averages", "HalfMinutes"))).svg


def windows() -> str:
    items: list[Item] = [
        ("Jobs", "insert", (1, 9, ("a",))),
        ("Jobs", "insert", (4, 14, ("b",))),
        ("Jobs", "insert", (7, 9, ("c",))),
        ("Jobs", "cti", (MAX,)),
    ]
    return draw(without_ctis(shown(SNAPSHOT, items, "Jobs", "Running", "Hopping"))).svg


def two_streams() -> str:
    items: list[Item] = [
        ("Orders", "insert", (1, 20, (1, "tea"))),
        ("Offers", "insert", (4, 9, (1, 3))),
        ("Offers", "insert", (13, 24, (1, 4))),
        ("Orders", "cti", (MAX,)),
        ("Offers", "cti", (MAX,)),
    ]
    return draw(without_ctis(shown(JOIN, items, "Orders", "Offers", "Join", "AntiJoin", "Clip"))).svg


def signal() -> str:
    items: list[Item] = [
        ("Readings", "point", (1, (7,))),
        ("Readings", "point", (12, (9,))),
        ("Readings", "point", (6, (8,))),
        ("Readings", "cti", (10,)),
        ("Readings", "cti", (MAX,)),
    ]
    return draw(shown(SIGNAL, items, "Readings", "Signal")).svg


def corrected() -> str:
    items: list[Item] = [
        ("Readings", "point", (1000, (1.0,))),
        ("Readings", "point", (3000, (3.0,))),
        ("Readings", "point", (2000, (8.0,))),
    ]
    return draw(shown(CORRECTED, items, "Averages")).svg


PICTURES = {
    "power-meter.svg": power_meter,
    "windows.svg": windows,
    "two-streams.svg": two_streams,
    "signal.svg": signal,
    "corrected.svg": corrected,
}

if __name__ == "__main__":
    for name, make in PICTURES.items():
        (Path(__file__).parent / name).write_text(make(), encoding="utf-8")
