"""A restored app continues as if it had not been interrupted."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from tests.kit.apps import Outputs, apps, run_rows, send_rows, timelines


@given(app=apps(rates=True), events=timelines(), data=st.data())
def test_a_restored_app_continues(app: str, events: list[Any], data: st.DataObject) -> None:
    middle = data.draw(st.integers(0, len(events)))
    outputs = Outputs()
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs.watch(runtime)
        send_rows(runtime, events[:middle])
        snapshot = runtime.snapshot()
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs.watch(runtime)
        runtime.restore(snapshot)
        assert runtime.snapshot() == snapshot
        send_rows(runtime, events[middle:])
    assert outputs == run_rows(app, events)


@given(app=apps(rates=True), events=timelines(), data=st.data())
def test_a_snapshot_changes_nothing(app: str, events: list[Any], data: st.DataObject) -> None:
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        outputs = Outputs().watch(runtime)
        for event in events:
            runtime.snapshot()
            send_rows(runtime, [event])
    assert outputs == run_rows(app, events)


@given(app=apps(rates=True), events=timelines(), later=timelines(most=10), data=st.data())
def test_a_restore_returns_an_app_to_its_earlier_state(
    app: str, events: list[Any], later: list[Any], data: st.DataObject
) -> None:
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        send_rows(runtime, events)
        snapshot = runtime.snapshot()
        first = Outputs().watch(runtime)
        send_rows(runtime, later)
        runtime.restore(snapshot)
        seen = {name: list(rows) for name, rows in first.events.items()}
        send_rows(runtime, later)
    assert {name: rows[len(seen[name]) :] for name, rows in first.events.items()} == seen
