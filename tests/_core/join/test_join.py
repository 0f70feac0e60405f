"""The parts of a join, put together by hand."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import SiddhiManager
from siddhi._core.expression.compare import make_comparison
from siddhi._core.expression.executor import make_variable
from siddhi._core.join.join import JoinStep, PassingWindow
from siddhi._core.query.entry import QueryEntry, RecordCopier
from siddhi._core.query.output import QueryOutput
from siddhi._core.query.projection import Projection
from siddhi._core.record.event import EventPool, Layout, TypeCode
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.lookup import EmptySearchable, Searchable
from siddhi._core.stream.callback import StreamCallback
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.window.base import Window
from siddhi._core.window.length import LengthWindow
from siddhi._core.window.lookup import EventIndex, IndexProbe, NumberedEvents, WindowScan

ALL = 2**64 - 1


class Side:
    """A stream (k string, v int) with a window of n events."""

    def __init__(self, app: AppContext, slot: int, length: int) -> None:
        self.slot = slot
        self.layout = Layout(["k", "v"], [TypeCode.STRING, TypeCode.INT])
        self.junction = StreamJunction(app, "LR"[slot], self.layout)
        self.pool = EventPool(self.layout)
        self.window = LengthWindow(app, self.pool, length)
        self.window.make_state(0)
        self.numbered = NumberedEvents(self.window)
        copier = RecordCopier(self.layout, self.pool, [0, 1])
        self.junction.subscribe(QueryEntry(app, (), copier, self.window, self.junction, ALL))

    def variable(self, position: int) -> Any:
        return make_variable(self.layout, position, self.slot)


class Join:
    """Two sides that look each other up, on ``k`` by an index or on ``v`` by a scan."""

    def __init__(self, lengths: tuple[int, int], *, indexed: bool, outer: bool = False) -> None:
        app = AppContext("test")
        self.sides = [Side(app, slot, length) for slot, length in enumerate(lengths)]
        position = 0 if indexed else 1
        operands = [side.variable(position) for side in self.sides]
        searches: list[Searchable] = []
        for side in self.sides:
            if indexed:
                index = EventIndex((operands[side.slot],), side.slot, False)
                side.numbered.add_index(index)
                searches.append(IndexProbe(side.numbered, index, (operands[1 - side.slot],), side.slot))
            else:
                searches.append(WindowScan(side.window, side.slot, make_comparison("==", *operands)))
        columns = tuple(side.variable(position) for side in self.sides for position in (0, 1))
        layout = Layout(["lk", "lv", "rk", "rv"], [executor.type for executor in columns])
        target = StreamJunction(app, "O", layout)
        self.rows: list[tuple[Any, ...]] = []
        note = lambda events: self.rows.extend(event.data for event in events)  # noqa: E731
        target.subscribe(StreamCallback(app, target.pool, layout, "O", note))
        selection = Projection(app, target.pool, columns, None, QueryOutput(app, target.pool, layout, target))
        for side in self.sides:
            step = JoinStep(app, side.slot, searches[1 - side.slot], side.numbered, outer, False, None)
            step.next = selection
            side.window.next = step

    def send(self, slot: int, *rows: tuple[str | None, int]) -> None:
        self.sides[slot].junction.send_rows([(0, row) for row in rows])


@pytest.mark.parametrize("indexed", [True, False])
def test_matches_are_in_the_order_of_insertion(indexed: bool) -> None:
    join = Join((3, 2), indexed=indexed)
    join.send(0, ("a", 1), ("b", 2), ("a", 1), ("a", 1))
    join.send(1, ("a", 1))
    assert join.rows == [("a", 1, "a", 1)] * 2


def test_expired_events_are_removed_from_the_index() -> None:
    join = Join((2, 2), indexed=True)
    for number in range(100):
        join.send(0, (f"k{number % 7}", number), (None, number))
    left = join.sides[0]
    assert len(left.numbered) == 2
    assert len(left.numbered.indexes[0]) == 1
    assert left.pool.alive == 2


def test_null_keys_are_stored_and_never_match() -> None:
    join = Join((2, 2), indexed=True, outer=True)
    join.send(0, (None, 1))
    join.send(1, (None, 2))
    assert join.rows == [(None, 1, None, None), (None, None, None, 2)]
    assert len(join.sides[0].numbered) == 1


def test_an_empty_window_has_no_matches() -> None:
    assert EmptySearchable(1).slot == 1


def test_an_index_reads_one_of_two_event_slots() -> None:
    side = Side(AppContext("test"), 0, 1)
    with pytest.raises(ValueError, match="slot 0 or 1"):
        EventIndex((side.variable(0),), 2, False)
    with pytest.raises(ValueError, match="1 to 15 parts"):
        EventIndex((), 0, False)


def test_a_window_that_keeps_no_events_cannot_be_searched() -> None:
    app = AppContext("test")
    window = Window(app, EventPool(Layout(["v"], [TypeCode.INT])))
    assert not window.is_searchable
    with pytest.raises(TypeError, match="Window cannot be searched"):
        WindowScan(window, 0)


def test_a_stream_without_window_has_no_matches() -> None:
    app = AppContext("test")
    layout = Layout(["v"], [TypeCode.INT])
    source, target = StreamJunction(app, "S", layout), StreamJunction(app, "O", layout)
    rows: list[tuple[Any, ...]] = []
    note = lambda events: rows.extend(event.data for event in events)  # noqa: E731
    target.subscribe(StreamCallback(app, target.pool, layout, "O", note))
    window = PassingWindow(app, None)
    columns = (make_variable(layout, 0),)
    window.next = Projection(app, target.pool, columns, None, QueryOutput(app, target.pool, layout, target))
    source.subscribe(QueryEntry(app, (), None, window, source, ALL))
    source.send_rows([(1, (5,)), (2, (6,))])
    assert rows == [(5,), (6,)]


BATCHED = """@app:playback define stream S (k string, v int); define stream R (k string);
    define function f[python] return bool { return 1 // (3 - data[0]) is not None };
    from S#window.lengthBatch(1) as a join R#window.length(1) as b on a.k == b.k%s select a.v as v insert into Out;"""


def told_by_batches(condition: str, steps: list[tuple[Any, ...]], restart: int | None = None) -> list[Any]:
    """Return the values emitted; before one of the steps the app is restored from a snapshot."""
    got: list[Any] = []
    manager = SiddhiManager()
    runtime = None
    for place, (stream, *row) in enumerate(steps):
        if runtime is None or place == restart:
            snapshot = None if runtime is None else runtime.snapshot()
            if runtime is not None:
                runtime.shutdown()
            runtime = manager.create_siddhi_app_runtime(BATCHED % condition)
            runtime.add_callback("Out", lambda events: got.extend(event.data[0] for event in events))
            runtime.handle_exception_with(lambda error, origin, events: None)
            runtime.start()
            if snapshot is not None:
                runtime.restore(snapshot)
        runtime.input_handler(stream).send(tuple(row), timestamp=place + 1)
    manager.shutdown()
    return got


@pytest.mark.parametrize("restart", [1, 2])
def test_batches_emitted_before_a_snapshot_are_found_after_it(restart: int) -> None:
    steps = [("S", "a", 1), ("S", "a", 2), ("R", "a")]
    assert told_by_batches("", steps, restart) == told_by_batches("", steps) == [1, 2]


def test_a_failed_batch_does_not_emit_earlier_batches_again() -> None:
    steps = [("R", "a"), ("S", "a", 1), ("S", "a", 2), ("S", "a", 3), ("S", "a", 4)]
    assert told_by_batches(" and f(a.v)", steps) == [1, 2, 4]
