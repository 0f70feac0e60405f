"""``send_batch`` has exactly the results of sending its rows one at a time."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.kit.apps import apps, pieces_of, run_batches, run_rows, timelines


@given(app=apps(), events=timelines(), data=st.data())
def test_batches_have_the_output_of_rows(app: str, events: list[Any], data: st.DataObject) -> None:
    pieces = data.draw(pieces_of(events))
    assert run_batches(app, pieces) == run_rows(app, events)


@given(app=apps(), events=timelines(), data=st.data())
def test_batch_callbacks_get_the_events_of_stream_callbacks(app: str, events: list[Any], data: st.DataObject) -> None:
    pieces = data.draw(pieces_of(events))
    rows = run_rows(app, events).events
    assert run_batches(app, pieces, batches=True).events == rows
    assert run_rows(app, events, batches=True).events == rows


@given(app=apps(), events=timelines(most=8), data=st.data())
def test_batches_longer_than_a_block_have_the_output_of_rows(app: str, events: list[Any], data: st.DataObject) -> None:
    # 256 rows make a block.
    many = [type(event)(event.timestamp + 4_000 * turn, event.values) for turn in range(70) for event in events]
    assert run_batches(app, [many] if many else [], batches=True).events == run_rows(app, many).events
