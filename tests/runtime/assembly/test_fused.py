"""A fused plan of window and selection is built as one operator."""

from __future__ import annotations

import pytest

from tests.kit.running import collect, running

STREAM = "@app:playback define stream S (k string, v int, at long);"


@pytest.mark.parametrize(
    ("window", "events", "expected"),
    [
        ("length(2)", [(0, 1), (0, 2), (0, 4)], [1, 3, 6]),
        ("time(10)", [(0, 1), (9, 2), (10, 4)], [1, 3, 6]),
        ("time(1 sec)", [(0, 1), (999, 2), (1_000, 4)], [1, 3, 6]),
        ("externalTime(at, 10)", [(0, 1), (9, 2), (10, 4)], [1, 3, 6]),
        ("externalTime(at, 1 sec)", [(0, 1), (999, 2), (1_000, 4)], [1, 3, 6]),
        ("lengthBatch(2)", [(0, 1), (0, 2), (0, 4), (0, 8)], [3, 12]),
        ("timeBatch(10)", [(0, 1), (9, 2), (10, 4), (20, 0)], [3, 4]),
        ("timeBatch(10, 5)", [(0, 1), (4, 2), (5, 4), (15, 0)], [3, 4]),
        ("timeBatch(10, false)", [(0, 1), (9, 2), (10, 4), (20, 0)], [3, 4]),
        ("timeBatch(10, 5, false)", [(0, 1), (4, 2), (5, 4), (15, 0)], [3, 4]),
    ],
)
def test_the_window_size_is_passed_on(window: str, events: list[tuple[int, int]], expected: list[int]) -> None:
    with running(f"{STREAM} from S#window.{window} select sum(v) as s insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        for at, v in events:
            runtime.input_handler("S").send(("A", v, 1_000 + at), 1_000 + at)
    assert rows == [(s,) for s in expected]


def test_it_reads_the_cells_of_the_stream() -> None:
    attributes = ", ".join(f"a{number} int" for number in range(70))
    app = f"define stream S ({attributes}); from S[a1 > 0]#window.length(2) select a69, sum(a65) as s group by a69 insert into Out;"
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        for turn in range(3):
            runtime.input_handler("S").send(tuple(turn % 2 if number == 69 else number + turn for number in range(70)))
    assert rows == [(0, 65), (1, 66), (0, 67)]


def test_other_queries_of_the_stream_get_the_same_events() -> None:
    app = f"""{STREAM} from S#window.length(2) select sum(v) as s insert into Sums;
    from S#window.length(2) select v insert expired events into Gone;"""
    with running(app) as runtime:
        sums, gone = collect(runtime, "Sums"), collect(runtime, "Gone")
        for v in (1, 2, 4):
            runtime.input_handler("S").send(("A", v, 0), v)
    assert (sums, gone) == ([(1,), (3,), (6,)], [(1,)])
