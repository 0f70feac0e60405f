"""On-demand queries: reads, changes, reentrance, and errors."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import (
    DeadlockError,
    LimitExceededError,
    NotRunningError,
    OnDemandQueryCreationError,
    SiddhiParserError,
)
from siddhi.runtime import on_demand
from tests.kit.apps import CHUNK_WINDOWS, CLOCK_WINDOWS, CLOCKLESS_WINDOWS, SHARED_WINDOWS
from tests.kit.running import running

ROWS = [("a", 1, 1.5), ("b", 2, 2.5), ("a", 3, 3.5), ("c", 4, None)]


@pytest.fixture
def runtime() -> Iterator[SiddhiAppRuntime]:
    with SiddhiManager() as manager:
        app = """
            define stream I (s string, v int, d double);
            @index('s') define table T (s string, v int, d double);
            @primaryKey('s') define table K (s string, v int);
            define function twice[python] return int { return data[0] * 2 };
            from I insert into T;
            """
        with manager.create_siddhi_app_runtime(app) as runtime:
            for row in ROWS:
                runtime.input_handler("I").send(row)
            yield runtime


def ask(runtime: SiddhiAppRuntime, text: str) -> list[tuple[Any, ...]]:
    return [event.data for event in runtime.query(text)]


# --- finding


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("from T", ROWS),
        ("from T select *", ROWS),
        ("from T on s == 'a' select v", [(1,), (3,)]),
        ("from T on T.s == 'a' and v > 1 select s, v", [("a", 3)]),
        ("from T as t on t.v > 3 select t.s as name", [("c",)]),
        ("from T on v > 100 select s", []),
        ("from T on v > 100 select count() as n", []),
        ("from T on d is null select s", [("c",)]),
        ("from T select v * 2 + 1 as w limit 2", [(3,), (5,)]),
        ("from T select v limit 2 offset 1", [(2,), (3,)]),
        ("from T select v limit 0", []),
        ("from T on v > 1 select v having v > 2 limit 1", [(3,)]),
        ("from T select sum(v) as t limit 1", [(10,)]),
        ("from T on v == 2 select twice(v) as w", [(4,)]),
        ("from T select count() as n, sum(v) as t, max(d) as m", [(4, 10, 3.5)]),
        ("from T select s, sum(v) as t group by s", [("a", 4), ("b", 2), ("c", 4)]),
        ("from T select s, sum(v) as t group by s having t > 3", [("a", 4), ("c", 4)]),
        ("from T select s, v group by s having v < 3", [("b", 2)]),
        ("from T select count() as n having n < 3", []),
        ("from T select sum(v) as t having t < 7", []),
        ("from T select s, count() as n group by s having n < 2", [("b", 1), ("c", 1)]),
        ("from T select s, count() as n group by s having n < 2 limit 1", [("b", 1)]),
        ("from T select s, count() as n group by s having n < 2 order by s desc limit 1", [("c", 1)]),
        ("from T select s group by s having count() < 2", [("b",), ("c",)]),
        ("from T select s, sum(v) as t group by s having max(v) > 2 and t < 5", [("a", 4), ("c", 4)]),
        ("from T select s, sum(v) as t group by s order by t, s desc limit 2", [("b", 2), ("c", 4)]),
        ("from T select s order by v desc", [("c",), ("a",), ("b",), ("a",)]),
        ("from T select s, v order by s desc, v desc limit 2 offset 1", [("b", 2), ("a", 3)]),
        ("from T select s having v > 2", [("a",), ("c",)]),
        ("from T select s, v order by v offset 3", [("c", 4)]),
        ("from T select s order by v limit 10 offset 9", []),
        ("from T on (K.s == 'x') in K select s", []),
    ],
)
def test_find(runtime: SiddhiAppRuntime, text: str, rows: list[tuple[Any, ...]]) -> None:
    assert ask(runtime, text) == rows
    # The second time the compiled query is used again, with nothing of the first left in it.
    assert ask(runtime, text) == rows


def test_rows_have_names_and_no_timestamp(runtime: SiddhiAppRuntime) -> None:
    (event,) = runtime.query("from T on v == 2 select s as name, v order by d")
    assert event.timestamp == -1
    assert not event.is_expired
    assert event.to_dict() == {"name": "b", "v": 2}


def test_groups_of_an_earlier_query_are_cleared(runtime: SiddhiAppRuntime) -> None:
    text = "from T select s, sum(v) as t group by s"
    runtime.query(text)
    runtime.query("delete T on T.s == 'a'")
    assert ask(runtime, text) == [("b", 2), ("c", 4)]
    runtime.input_handler("I").send(("a", 7, 0.0))
    assert ask(runtime, text) == [("b", 2), ("c", 4), ("a", 7)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("from W", [("b", 2), ("c", 3)]),
        ("from W on v > 2 select s", [("c",)]),
        ("from W as w on w.s == 'b' select w.v as n", [(2,)]),
        ("from W select sum(v) as t, count() as n", [(5, 2)]),
        ("from W select s order by v desc limit 1", [("c",)]),
        ("from W on v > 100 select s", []),
    ],
)
def test_a_named_window_is_queried_like_a_table(text: str, rows: list[tuple[Any, ...]]) -> None:
    app = """
        define stream I (s string, v int); define window W (s string, v int) length(2);
        from I insert into W; from W select sum(v) as t insert into O;
        """
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        sums: list[int] = []
        runtime.add_callback("O", lambda events: sums.extend(event[0] for event in events))
        for row in (("a", 1), ("b", 2), ("c", 3)):
            runtime.input_handler("I").send(row)
        assert ask(runtime, text) == rows
        assert ask(runtime, text) == rows
        runtime.input_handler("I").send(("d", 4))
        # Asking changes nothing for the queries that read the window.
        assert sums == [1, 3, 5, 7]


@pytest.mark.parametrize("window", [*CLOCKLESS_WINDOWS, *CHUNK_WINDOWS, *SHARED_WINDOWS, *CLOCK_WINDOWS])
@pytest.mark.parametrize("join", ["", "from S join W on S.i == W.i select W.i, W.l insert all events into J;"])
def test_a_query_changes_nothing_that_the_app_emits_later(window: str, join: str) -> None:
    app = f"""
        @app:playback define stream S (i int, l long, t string); define window W (i int, l long, t string) {window};
        define stream J (i int, l long); from S insert into W; from W select * insert all events into O;
        {join}
        """
    states = []
    emitted: list[list[object]] = []
    for asks in (False, True):
        with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
            rows: list[object] = []
            emitted.append(rows)
            for name in ("W", "O", "J"):
                runtime.add_callback(
                    name, lambda events, rows=rows: rows.append([(e.timestamp, e.is_expired, e.data) for e in events])
                )
            for number in range(12):
                runtime.input_handler("S").send(
                    (number % 3, 1000 + 170 * number, "ab"[number % 2]), 1000 + 170 * number
                )
                if asks:
                    before = runtime.snapshot()
                    for query in ("from W", "from W on i > 0 select i", "from W select sum(i) as t, count() as n"):
                        runtime.query(query)
                    assert runtime.snapshot() == before
            runtime.advance_clock(20_000)
            states.append(runtime.snapshot())
    assert emitted[0] == emitted[1]
    assert states[0] == states[1]


# --- changing


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("select 'z' as s, 9 as v, 0.5 as d insert into T", [*ROWS, ("z", 9, 0.5)]),
        ("delete T on T.s == 'a'", [ROWS[1], ROWS[3]]),
        ("delete T on s == 'a'", [ROWS[1], ROWS[3]]),
        ("delete T on T.v > 1 and T.v < 4", [ROWS[0], ROWS[3]]),
        ("select 'a' as k delete T on T.s == k", [ROWS[1], ROWS[3]]),
        ("update T set T.v = T.v + 10 on T.s == 'b'", [ROWS[0], ("b", 12, 2.5), *ROWS[2:]]),
        ("update T set v = 10 on s == 'b'", [ROWS[0], ("b", 10, 2.5), *ROWS[2:]]),
        ("select 'b' as k, 7 as n update T set T.v = n on T.s == k", [ROWS[0], ("b", 7, 2.5), *ROWS[2:]]),
        ("select 'b' as s, 7 as v update T on T.s == s", [ROWS[0], ("b", 7, 2.5), *ROWS[2:]]),
        (
            "select 'b' as s, 7 as v, 0.0 as d update or insert into T set T.v = T.v + v on T.s == s",
            [ROWS[0], ("b", 9, 2.5), *ROWS[2:]],
        ),
        ("select 'n' as s, 7 as v, 0.0 as d update or insert into T on T.s == s", [*ROWS, ("n", 7, 0.0)]),
    ],
)
def test_change(runtime: SiddhiAppRuntime, change: str, left: list[tuple[Any, ...]]) -> None:
    assert runtime.query(change) == []
    assert ask(runtime, "from T select *") == left


def test_a_change_can_be_repeated(runtime: SiddhiAppRuntime) -> None:
    for _ in range(3):
        runtime.query("update T set T.v = T.v + 1 on T.s == 'b'")
    assert ask(runtime, "from T on s == 'b' select v") == [(5,)]


def test_a_taken_key_is_reported_and_not_raised(runtime: SiddhiAppRuntime) -> None:
    errors: list[str] = []
    runtime.handle_exception_with(lambda error, *_: errors.append(str(error)))
    for _ in range(2):
        assert runtime.query("select 'z' as s, 9 as v insert into K") == []
    assert ask(runtime, "from K select *") == [("z", 9)]
    assert len(errors) == 1


# --- from where it is asked


def test_a_callback_can_query_during_a_chunk(runtime: SiddhiAppRuntime) -> None:
    counts: list[Any] = []
    runtime.add_callback("I", lambda _: counts.extend(ask(runtime, "from T select count() as n")))
    runtime.input_handler("I").send(("x", 1, 1.0))
    runtime.input_handler("I").send(("y", 1, 1.0))
    assert counts == [(5,), (6,)]


def test_a_function_in_a_query_can_run_the_same_query() -> None:
    asked: list[Any] = []

    from siddhi.extension import function
    from siddhi.types import AttributeType

    @function("depth", args=(AttributeType.INT,), returns=AttributeType.INT)
    def depth(value: int) -> int:
        if len(asked) < 2:
            asked.append(value)
            return 1 + sum(row[0] for row in ask(runtime, text))
        return 0

    text = "from T select depth(v) as n"
    with SiddhiManager() as manager:
        manager.set_extension("depth", depth)
        app = "define stream I (v int); define table T (v int); from I insert into T;"
        with manager.create_siddhi_app_runtime(app) as runtime:
            runtime.input_handler("I").send((7,))
            assert ask(runtime, text) == [(2,)]
    assert asked == [7, 7]


def test_threads_can_query_while_events_are_processed(runtime: SiddhiAppRuntime) -> None:
    wrong: list[Any] = []
    ready = threading.Barrier(4)

    def watch() -> None:
        ready.wait()
        seen = 0
        for _ in range(200):
            (row,) = ask(runtime, "from T on s == 'n' select count() as n") or [(0,)]
            if row[0] < seen:
                wrong.append(row)
            seen = row[0]

    threads = [threading.Thread(target=watch) for _ in range(3)]
    for thread in threads:
        thread.start()
    ready.wait()
    for i in range(500):
        runtime.input_handler("I").send(("n", i, 0.0))
    for thread in threads:
        thread.join()
    assert wrong == []
    assert ask(runtime, "from T on s == 'n' select count() as n") == [(500,)]


def test_the_cache_of_queries_is_limited(runtime: SiddhiAppRuntime) -> None:
    for i in range(on_demand.KEPT + 20):
        assert ask(runtime, f"from T on v == {i} select v") == [(i,)] * (1 <= i <= 4)
    assert len(runtime._on_demand._kept) == on_demand.KEPT


def test_result_types_are_known_without_running(runtime: SiddhiAppRuntime) -> None:
    assert runtime.query_types("from T select s, sum(v) as t, d") == [("s", "string"), ("t", "long"), ("d", "double")]
    assert runtime.query_types("from T on v > 1") == [("s", "string"), ("v", "int"), ("d", "double")]
    assert runtime.query_types("delete T on T.v == 1") == []
    assert len(ask(runtime, "from T")) == 4


def test_tables_are_listed(runtime: SiddhiAppRuntime) -> None:
    assert list(runtime.table_definitions) == ["T", "K"]
    assert [attribute.name for attribute in runtime.table_definitions["K"].attributes] == ["s", "v"]


# --- errors


@pytest.mark.parametrize(
    "text",
    [
        "from I select *",
        "from X select *",
        "from T select zz",
        "from T on zz > 1 select s",
        "from T on s == 1 select s",
        "from T select nofun(v) as x",
        "select 1 as s insert into T",
        "select 'a' as s, 1 as v, 1.0 as d insert into I",
        "delete T",
        "update T on T.s == 'a'",
        "from T on v > 1 within '2020' per 'days' select s",
    ],
)
def test_invalid_queries_are_refused(runtime: SiddhiAppRuntime, text: str) -> None:
    with pytest.raises(OnDemandQueryCreationError):
        runtime.query(text)


def test_text_that_is_no_query_is_a_parser_error(runtime: SiddhiAppRuntime) -> None:
    with pytest.raises(SiddhiParserError):
        runtime.query("from T selec s")


def test_an_error_shows_the_location(runtime: SiddhiAppRuntime) -> None:
    with pytest.raises(OnDemandQueryCreationError, match="prize") as caught:
        runtime.query("from T select prize")
    assert "^^^^^" in str(caught.value)


def test_a_failed_query_is_raised_and_leaks_nothing() -> None:
    app = """
        define stream I (v int); define table T (v int);
        define function check[python] return int {
            if data[0] == 0:
                raise ValueError('zero')
            return data[0]
        };
        from I insert into T;
        """
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        for v in (1, 0, 2):
            runtime.input_handler("I").send((v,))
        text = "from T select sum(check(v)) as t"
        with pytest.raises(OnDemandQueryCreationError, match="zero") as caught:
            runtime.query(text)
        assert isinstance(caught.value.__cause__, RuntimeError)
        runtime.query("delete T on T.v == 0")
        assert ask(runtime, text) == [(3,)]


def test_a_query_beyond_the_limit_of_a_table_raises_an_error() -> None:
    app = "@limit(rows = '1') define table T (v int);"
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.query("select 1 as v insert into T")
        for _ in range(2):
            with pytest.raises(LimitExceededError, match="holds 1 rows"):
                runtime.query("select 2 as v insert into T")
        assert ask(runtime, "from T select v") == [(1,)]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_query_that_waits_for_a_callback_raises_a_deadlock_error(compiled: bool) -> None:
    app = "define stream S (v int); define table T (v int);"
    text = "from T select v"
    errors: list[BaseException | None] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:

        def ask_in_a_thread(_: object) -> None:
            with ThreadPoolExecutor(1) as pool:
                errors.append(pool.submit(runtime.query, text).exception())

        if compiled:
            runtime.query(text)
        runtime.add_callback("S", ask_in_a_thread)
        runtime.input_handler("S").send((1,))
    assert [type(error) for error in errors] == [DeadlockError]


def test_an_app_that_is_not_running_refuses_queries() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime("define table T (v int); define stream S (v int);")
        with pytest.raises(NotRunningError, match="not started"):
            runtime.query("from T")
        with runtime:
            assert runtime.query("from T") == []
        with pytest.raises(NotRunningError, match="shut down"):
            runtime.query("from T")


@pytest.mark.parametrize("type_", ["double", "float"])
def test_nan_is_ordered_after_all_numbers_and_null_after_nan(type_: str) -> None:
    text = (
        f"define stream S (v {type_}); define table T (v {type_}); from S insert into T; from S#window.lengthBatch(6) "
    )
    with running(text + "select v order by v desc insert into O;") as runtime:
        out: list[str] = []
        runtime.add_callback("O", lambda events: out.extend(str(event.data[0]) for event in events))
        for value in (3.0, math.nan, 1.0, None, math.nan, -1.0):
            runtime.input_handler("S").send((value,))
        ascending = [str(event.data[0]) for event in runtime.query("from T select v order by v")]
    assert out == ["nan", "nan", "3.0", "1.0", "-1.0", "None"]
    assert ascending == ["-1.0", "1.0", "3.0", "nan", "nan", "None"]
