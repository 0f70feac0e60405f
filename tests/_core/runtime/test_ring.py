"""Ring buffers of records: first in, first out, through growth, wrap-around and snapshots."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from tests.kit.running import collect, running


@given(length=st.integers(1, 40), count=st.integers(0, 200), stop=st.integers(0, 200))
def test_the_first_record_is_removed_first(length: int, count: int, stop: int) -> None:
    app = (
        f"define stream S (v int, t string); from S#window.length({length}) select v, t insert expired events into Out;"
    )
    held: deque[tuple[int, str]] = deque()
    expected = []
    snapshot = None
    rows: list[tuple[object, ...]] = []
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        for v in range(count):
            if v == stop:
                snapshot = runtime.snapshot()
                break
            row = (v, f"t{v}")
            runtime.input_handler("S").send(row)
            held.append(row)
            if len(held) > length:
                expected.append(held.popleft())
    assert rows == expected
    if snapshot is not None:
        with running(app) as runtime:
            runtime.restore(snapshot)
            rows = collect(runtime, "Out")
            for v in range(stop, stop + len(held) + length):
                runtime.input_handler("S").send((v, "new"))
        assert rows[: len(held)] == list(held)
