"""eventEnd() in the selection of a query that fills an interval stream."""

from __future__ import annotations

from typing import Any

from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running

APP = """@temporal(model = 'edge') define stream S (id int);
from S[id < 9] select id, eventStart() as since, eventEnd() as until having id != 7 insert into O;"""


def test_a_row_contains_the_end_with_which_it_closes() -> None:
    items: list[TemporalEvent] = []
    with running(APP) as runtime:
        runtime.add_temporal_callback("O", items.extend)
        s: Any = runtime.input_handler("S")
        for start, id_ in [(1, 1), (2, 2), (3, 7), (4, 9)]:
            s.start_edge(start, (id_,))
        s.insert(4, 6, (3,))
        s.end_edge(1, 9, (1,))
        s.end_edge(3, 5, (7,))
        for cti in (7, 9, MAX):
            s.cti(cti)
    assert items == [
        ("insert", 4, 6, (3, 4, 6)),
        ("cti", 7, None, None),
        ("insert", 1, 9, (1, 1, 9)),
        ("cti", 9, None, None),
        ("insert", 2, MAX, (2, 2, MAX)),
        ("cti", MAX, None, None),
    ]


def test_rows_that_are_open_survive_a_restore() -> None:
    items: list[TemporalEvent] = []
    with running(APP) as first, running(APP) as second:
        s: Any = first.input_handler("S")
        s.start_edge(1, (1,))
        s.insert(2, 8, (2,))
        s.cti(5)
        second.add_temporal_callback("O", items.extend)
        second.restore(first.snapshot())
        s = second.input_handler("S")
        s.end_edge(1, 6, (1,))
        s.cti(9)
    assert items == [("insert", 1, 6, (1, 1, 6)), ("insert", 2, 8, (2, 2, 8)), ("cti", 9, None, None)]


def test_having_reads_the_start_and_the_end() -> None:
    items: list[TemporalEvent] = []
    windows: list[TemporalEvent] = []
    app = """@temporal(model = 'interval') define stream S (id int);
    from S select id having eventEnd() - eventStart() > 4 insert into O;
    from S#window.snapshot() select count() as n having eventStart() > 3 insert into W;"""
    with running(app) as runtime:
        runtime.add_temporal_callback("O", items.extend)
        runtime.add_temporal_callback("W", windows.extend)
        s: Any = runtime.input_handler("S")
        s.insert(1, 9, (1,))
        s.insert(5, 7, (2,))
        s.cti(MAX)
    assert items[:-1] == [("insert", 1, 9, (1,))]
    assert windows[:-1] == [("insert", 5, 7, (2,)), ("insert", 7, 9, (1,))]
