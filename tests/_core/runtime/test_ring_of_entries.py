"""Ring buffers of compact entries, by partition: length, growth, snapshots."""

from __future__ import annotations

import pytest

from siddhi._core.runtime.ring import CompactRings
from tests.kit.running import collect, running


@pytest.mark.parametrize("stride", [1, 2, 34])
def test_a_new_ring_buffer_is_empty(stride: int) -> None:
    rings = CompactRings(stride)
    assert (rings.stride, rings.size) == (stride, 0)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 1000])
def test_a_ring_buffer_wraps_around_and_grows(length: int) -> None:
    count = 3 * length + 5
    with running(
        f"define stream S (v long); from S#window.length({length}) select sum(v) as s insert into Out;"
    ) as runtime:
        rows = collect(runtime, "Out")
        for v in range(count):
            runtime.input_handler("S").send((v,))
    assert rows == [(sum(range(max(0, v - length + 1), v + 1)),) for v in range(count)]


def test_a_ring_buffer_grows_while_it_is_wrapped() -> None:
    """Time windows hold few, then many, then few: the ring's first entry stands anywhere when it grows."""
    app = "@app:playback define stream S (v long); from S#window.time(100) select sum(v) as s, count() as n insert into Out;"
    moments = [*range(1_000, 2_000, 40), *range(2_000, 2_200), *range(2_300, 3_000, 30), *range(3_000, 3_300)]
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        for moment in moments:
            runtime.input_handler("S").send((moment,), moment)
    held = [[other for other in moments[: place + 1] if other + 100 > moment] for place, moment in enumerate(moments)]
    assert rows == [(sum(values), len(values)) for values in held]


@pytest.mark.parametrize("stop", [0, 1, 5, 64, 100])
def test_a_snapshot_starts_with_the_first_entry(stop: int) -> None:
    app = """define stream S (k string, v long);
    partition with (k of S) begin from S#window.length(7) select k, sum(v) as s insert into Out; end;"""
    events = [("ABC"[v % 3], v) for v in range(120)]
    with running(app) as runtime:
        whole = collect(runtime, "Out")
        for row in events:
            runtime.input_handler("S").send(row)
    with running(app) as runtime:
        for row in events[:stop]:
            runtime.input_handler("S").send(row)
        snapshot = runtime.snapshot()
    with running(app) as runtime:
        runtime.restore(snapshot)
        assert runtime.snapshot() == snapshot
        rest = collect(runtime, "Out")
        for row in events[stop:]:
            runtime.input_handler("S").send(row)
    assert rest == whole[stop:]
