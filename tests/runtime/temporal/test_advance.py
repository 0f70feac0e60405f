"""CTIs that come from other streams, or with the shutdown."""

from __future__ import annotations

from typing import Any

from siddhi import SiddhiAppRuntime
from siddhi.temporal import MAX
from tests.kit.running import running

STREAMS = """
@temporal define stream Fast (id int);
@temporal(policy = 'drop', @advance(import = '{other}')) define stream Slow (id int, name string);
from Fast#temporal:shift(10) select id insert into Later;
from Fast as f join Slow as s on f.id == s.id select f.id as id, s.name as name insert into Out;
"""


def shown(runtime: SiddhiAppRuntime) -> list[tuple[Any, ...]]:
    items: list[tuple[Any, ...]] = []
    runtime.add_temporal_callback("Out", lambda new: items.extend((i.kind, i.start, i.end, i.data) for i in new))
    return items


def handler_of(runtime: SiddhiAppRuntime, stream: str) -> Any:
    return runtime.input_handler(stream)


def test_imported_ctis_hold_for_both_streams() -> None:
    with running(STREAMS.format(other="Fast")) as runtime:
        items, fast, slow = shown(runtime), handler_of(runtime, "Fast"), handler_of(runtime, "Slow")
        slow.insert(1, 20, (1, "one"))
        fast.insert(3, 5, (1,))
        fast.cti(6)
        assert slow.cti_time == 6
        slow.insert(5, 20, (1, "late"))
        assert slow.dropped == 1
        slow.cti(9)  # by hand, too
        fast.cti(8)
        assert slow.cti_time == 9
    assert items == [("insert", 3, 5, (1, "one")), ("cti", 6, None, None), ("cti", 8, None, None)]


def test_ctis_of_queries_are_imported() -> None:
    with running(STREAMS.format(other="Later")) as runtime:
        fast, slow = handler_of(runtime, "Fast"), handler_of(runtime, "Slow")
        fast.cti(6)
        assert slow.cti_time == 16


def test_imports_work_after_a_restore() -> None:
    with running(STREAMS.format(other="Fast")) as runtime:
        handler_of(runtime, "Fast").cti(6)
        state = runtime.snapshot()
    with running(STREAMS.format(other="Fast")) as runtime:
        runtime.restore(state)
        slow = handler_of(runtime, "Slow")
        assert slow.cti_time == 6
        handler_of(runtime, "Fast").cti(7)
        assert slow.cti_time == 7


def test_a_shutdown_ends_the_input() -> None:
    app = """@temporal(@advance(shutdown = '{}')) define stream S (id int);
    from S select id insert into Out;"""
    ended = [("insert", 1, 5, (1,)), ("insert", 2, MAX, (2,)), ("cti", MAX, None, None)]
    for value, expected in (("true", ended), ("false", [])):
        with running(
            app.format(value) if value == "true" else app.replace("(@advance(shutdown = '{}'))", "")
        ) as runtime:
            items, s = shown(runtime), handler_of(runtime, "S")
            s.insert(1, 5, (1,))
            s.insert(2, MAX, (2,))
        assert items == expected
