"""A self join processes a chunk event by event: first the left side, then the right one."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime
from tests.kit.running import collect, running
from tests.runtime.test_joins import chunks_of

STREAM = "@app:playback define stream A (price int);"
PAIRS = "select x.price as l, y.price as r"


def send(runtime: SiddhiAppRuntime, *prices: int, at: int = 1) -> None:
    """Send a chunk."""
    runtime.input_handler("A").send_events([Event(at + i, (price,)) for i, price in enumerate(prices)])


@pytest.mark.parametrize(
    "query",
    [
        "from A#window.length(2) as x join A#window.length(2) as y on x.price < y.price select * insert into O;",
        """partition with (true of A) begin
           from A#window.length(2) as x join A#window.length(2) as y on x.price < y.price select * insert into O; end;""",
        """partition with (true of A) begin from A select price insert into #I;
           from #I#window.length(2) as x join #I#window.length(2) as y on x.price < y.price select * insert into O; end;""",
    ],
)
def test_an_event_matches_the_previous_one_of_its_chunk(query: str) -> None:
    with running(STREAM + query.replace("select *", PAIRS)) as runtime:
        rows = collect(runtime, "O")
        send(runtime, 1)
        send(runtime, 2, 3, 4)
    assert rows == [(1, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize(
    ("marks", "expected"),
    [((" unidirectional", ""), [(2, 1), (3, 1), (3, 2)]), (("", " unidirectional"), [(1, 2), (2, 3)])],
)
def test_the_marked_side_triggers_for_each_event_of_a_chunk(marks: tuple[str, str], expected: list[Any]) -> None:
    query = f"""from A#window.length(2) as x{marks[0]} join A#window.length(2) as y{marks[1]} on x.price != y.price
                {PAIRS} insert into O;"""
    with running(STREAM + query) as runtime:
        rows = collect(runtime, "O")
        send(runtime, 1, 2, 3)
    assert rows == expected


def test_output_of_each_side_is_a_separate_chunk() -> None:
    query = """@info(name = 'q') from A#window.length(3) as x join A#window.length(3) as y select count() as n insert into O;
               @info(name = 'after') from O select n, count() as m insert into P;"""
    with running(STREAM + query) as runtime:
        rows = collect(runtime, "P")
        send(runtime, 1, 2)
    # 1: left finds none, right 1; 2: left 1, right 2.
    assert rows == [(1, 1), (2, 2), (4, 3)]


def test_output_of_a_chunk_is_emitted_after_the_chunk() -> None:
    # The 2 that comes back for the 1 comes behind the 9 that was sent with the 1.
    query = """@info(name = 'q') from A#window.length(2) as x join A#window.length(2) as y unidirectional
               on x.price == 1 and y.price == 1 or x.price == 9 and y.price == 2
               select x.price + y.price as price insert into A;"""
    with running(STREAM + query) as runtime:
        fed_back = chunks_of(runtime)
        send(runtime, 1, 9)
    assert fed_back == [([(2,)], []), ([(11,)], [])]


def test_events_of_a_self_joined_named_window_are_separate_chunks() -> None:
    query = f"""define window W (price int) lengthBatch(2); from A insert into W;
                @info(name = 'q') from W as x join W as y {PAIRS} insert into O;"""
    with running(STREAM + query) as runtime:
        chunks = chunks_of(runtime)
        send(runtime, 1, 2)
    assert chunks == [([(1, 1), (1, 2)], []), ([(2, 1), (2, 2)], [])]


def test_rows_of_a_batch_equal_single_events() -> None:
    query = f"from A#window.length(2) as x join A#window.length(2) as y on x.price <= y.price {PAIRS} insert into O;"
    batched: list[Any] = []
    with running(STREAM + query) as runtime:
        runtime.add_batch_callback("O", lambda batch: batched.extend(zip(*batch.to_pydict().values(), strict=True)))
        runtime.input_handler("A").send_batch({"price": [1, 2, 3], "at": [5, 5, 5]}, timestamp="at")
    with running(STREAM + query) as runtime:
        rows = collect(runtime, "O")
        for price in (1, 2, 3):
            send(runtime, price, at=5)
    assert [row[-2:] for row in batched] == rows


def test_an_event_that_fails_ends_its_chunk_and_clears_the_buffer() -> None:
    query = """define function f[python] return int { if data[0] == 3: raise ValueError("three")
return data[0] };
        from A#window.length(2) as x join A#window.length(2) as y on x.price == y.price select f(x.price) as p insert into O;"""
    with running(STREAM + query) as runtime:
        failed: list[Any] = []
        runtime.handle_exception_with(lambda error, *_: failed.append(error))
        rows = collect(runtime, "O")
        send(runtime, 1, 3)
        send(runtime, 5, at=5)
    assert rows == [(5,)]
    assert len(failed) == 1
