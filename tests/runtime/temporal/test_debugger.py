"""Break points at temporal queries."""

from __future__ import annotations

from typing import Any

from siddhi import SiddhiManager
from siddhi.runtime.debugger import QueryTerminal, SiddhiDebugger

APP = """
@temporal(model = 'interval') define stream S (v int);
@info(name = 'shifted') from S#temporal:shift(5)[v > 1] select v insert into Mid;
@info(name = 'counted') from Mid#window.snapshot() select count() as n insert into Out;
@info(name = 'plain') from Out select n insert into Plain;
@info(name = 'last') from Out#window.length(2) select sum(n) as n insert into Sums;
"""


def stops_of(debugger: SiddhiDebugger, then: str) -> list[Any]:
    stops: list[Any] = []

    def stop(items: list[Any], query: str, terminal: QueryTerminal, same: SiddhiDebugger) -> None:
        shown = [(item.kind, item.start, item.end) if hasattr(item, "kind") else item.data for item in items]
        stops.append((query, terminal.value, *shown))
        getattr(same, then)()

    debugger.set_debugger_callback(stop)
    return stops


def test_a_temporal_query_stops_at_each_item() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(APP)
        debugger = runtime.debug()
        stops = stops_of(debugger, "play")
        debugger.acquire_break_point("shifted", "IN")
        debugger.acquire_break_point("counted", "OUT")
        handler: Any = runtime.input_handler("S")
        handler.insert(1, 4, (2,))
        handler.insert(2, 4, (1,))
        handler.cti(7)
    assert stops == [
        ("shifted", "IN", ("start", 1, None)),
        ("shifted", "IN", ("start", 2, None)),
        ("shifted", "IN", ("end", 1, 4)),
        ("shifted", "IN", ("end", 2, 4)),
        ("shifted", "IN", ("cti", 7, None)),
        ("counted", "OUT", ("start", 6, None)),
        ("counted", "OUT", ("end", 6, 9)),
        ("counted", "OUT", ("cti", 12, None)),
    ]


def test_next_steps_from_temporal_to_classical_queries() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(APP)
        debugger = runtime.debug()
        stops = stops_of(debugger, "next")
        debugger.acquire_break_point("counted", "OUT")
        handler: Any = runtime.input_handler("S")
        handler.insert(1, 4, (2,))
        handler.cti(7)
    assert ("plain", "IN", ("start", 6, None)) in stops
    assert stops[-2:] == [("last", "IN", (1,)), ("last", "OUT", (1,))]


def test_the_state_of_a_temporal_query_is_shown() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(APP)
        debugger = runtime.debug()
        handler: Any = runtime.input_handler("S")
        handler.insert(1, 40, (2,))
        handler.cti(7)
        state = debugger.query_state("counted")
    assert list(state) == ["1 Snapshot"]
    assert (6, 2**63 - 1, (2,)) in state["1 Snapshot"]


def test_statistics_and_break_points_go_together() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(APP)
        runtime.enable_statistics()
        debugger = runtime.debug()
        stops = stops_of(debugger, "play")
        debugger.acquire_break_point("counted", "IN")
        handler: Any = runtime.input_handler("S")
        handler.insert(1, 4, (2,))
        runtime.enable_statistics("OFF")
        runtime.enable_statistics("BASIC")
        handler.cti(7)
        assert runtime.statistics.queries["counted"].events == 1
    assert len(stops) == 3
