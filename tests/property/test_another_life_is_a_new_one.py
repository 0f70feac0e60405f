"""An app that is started again after a shutdown has the outputs of a new app."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from tests.kit.apps import Outputs, apps, run_batches, run_rows, send_rows, table_of, timelines


@given(app=apps(rates=True), before=timelines(), events=timelines(), ways=st.data())
def test_a_restarted_app_has_no_earlier_state(
    app: str, before: list[Any], events: list[Any], ways: st.DataObject
) -> None:
    batches = ways.draw(st.booleans(), label="in batches")
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(app)
        outputs = Outputs().watch(runtime, batches=batches)
        with runtime:
            send_rows(runtime, before)
            if ways.draw(st.booleans(), label="looked at closely"):
                runtime.enable_statistics("DETAIL")
        for seen in [*outputs.events.values(), *outputs.calls.values()]:
            seen.clear()
        with runtime:
            if batches:
                runtime.input_handler("S").send_batch(table_of(events), timestamp="event time")
            else:
                send_rows(runtime, events)
    assert outputs == (run_batches(app, [events], batches=True) if batches else run_rows(app, events))


@given(app=apps(rates=True), before=timelines(), events=timelines())
def test_state_restored_after_a_restart_continues(app: str, before: list[Any], events: list[Any]) -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(app)
        outputs = Outputs().watch(runtime)
        with runtime:
            send_rows(runtime, before)
            state = runtime.snapshot()
        runtime.restore(state)
        with runtime:
            assert runtime.snapshot() == state
            send_rows(runtime, events)
    assert outputs == run_rows(app, [*before, *events])
