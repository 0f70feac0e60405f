"""Classical queries on temporal streams: they get released rows in order of start."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi.temporal import MAX
from tests.kit.running import running

S = "@temporal define stream S (id int, value int);"
TABLE = "define table T (id int, value int);"


def put_out_of_order(handler: Any) -> None:
    """Insert rows that start at 5, 1 and 7, and CTIs at 6 and 8."""
    handler.insert(5, 9, (2, 20))
    handler.insert(1, 4, (1, 10))
    handler.cti(6)
    handler.insert(7, 8, (1, 11))
    handler.cti(8)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("from S[value > 10] select id, value insert into T;", [(2, 20), (1, 11)]),
        ("from S insert into T;", [(1, 10), (2, 20), (1, 11)]),
        ("partition with (id of S) begin from S insert into T; end;", [(1, 10), (2, 20), (1, 11)]),
        ("from S insert into T; from S[value == 11] delete T on T.id == id;", [(2, 20)]),
        ("from S[id == 2] insert into T; from S[value == 11] update T set T.value = value on T.id == 2;", [(2, 11)]),
        ("from S select id, value update or insert into T on T.id == id;", [(1, 11), (2, 20)]),
    ],
)
def test_a_plain_query_changes_a_table_in_order_of_start(query: str, rows: list[tuple[int, int]]) -> None:
    with running(f"{S} {TABLE} {query}") as runtime:
        put_out_of_order(runtime.input_handler("S"))
        assert [event.data for event in runtime.query("from T select *")] == rows


def test_a_plain_query_fills_a_named_window_in_order_of_start() -> None:
    got: list[Any] = []
    app = f"{S} define window W (id int, value int) length(2) output all events; from S insert into W;"
    with running(f"{app} from W select sum(value) as total insert into O;") as runtime:
        runtime.add_callback("O", lambda events: got.extend((each.timestamp, *each.data) for each in events))
        put_out_of_order(runtime.input_handler("S"))
    assert got == [(1, 10), (5, 30), (7, 31)]


def test_classical_queries_know_the_start_and_not_the_end() -> None:
    got: list[Any] = []
    query = "from every e1 = S -> e2 = S select eventStart(e1) as a, eventStart() as b, eventEnd() as c insert into O;"
    with running(f"{S} {query}") as runtime:
        runtime.add_callback("O", lambda events: got.extend(each.data for each in events))
        put_out_of_order(runtime.input_handler("S"))
    assert got == [(1, 5, None), (5, 7, None)]


@pytest.mark.parametrize("settings", [{"enabled": False}, {"idle_time": 10, "increment": 10}])
def test_the_clock_follows_the_events_alone(settings: dict[str, Any]) -> None:
    with (
        running(f"{S} from S#window.time(5) select id insert into O;") as runtime,
        pytest.raises(ValueError, match="has temporal streams"),
    ):
        runtime.enable_playback(**settings)


def test_moving_the_clock_sends_ctis_to_all_inputs() -> None:
    app = f"@app:playback(timers = 'exact') {S} {S.replace('S (', 'R (')} from S#window.time(5) select count() as n insert all events into O;"
    with running(app + "from R select id insert into P;") as runtime:
        got: list[Any] = []
        runtime.add_callback("O", lambda events: got.extend((each.timestamp, each.data[0]) for each in events))
        handler: Any = runtime.input_handler("S")
        handler.insert(3, 9, (1, 1))
        handler.insert(1, 9, (2, 2))
        runtime.advance_clock(4)
        assert (got, runtime.now, handler.cti_time) == ([(1, 1), (3, 2)], 4, 4)
        runtime.advance_clock(7)
        assert got[2:] == [(6, 1)]
        handler.insert(9, 10, (3, 3))
        runtime.advance_to_end()
        assert got[3:] == [(8, 0), (9, 1), (14, 0)]
        assert handler.cti_time == MAX
        assert runtime.input_handler("R").cti_time == MAX  # type: ignore[union-attr]
