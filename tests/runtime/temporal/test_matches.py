"""Matches of rows of two streams: which row a name means, keys of many parts, and whose errors they are."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running


@pytest.mark.parametrize(
    ("operator", "low"),
    [("antiJoin", [(1, 4), (6, 10)]), ("clip", [(1, 4)])],
)
def test_the_name_of_a_stream_matched_with_itself_means_the_other_row(
    operator: str, low: list[tuple[int, int]]
) -> None:
    app = f"@temporal define stream A (v int); from A#temporal:{operator}(A, v < A.v) select v insert into O;"
    items: list[TemporalEvent] = []
    with running(app) as runtime:
        runtime.add_temporal_callback("O", items.extend)
        a: Any = runtime.input_handler("A")
        a.insert(1, 10, (1,))
        a.insert(4, 6, (9,))
        a.cti(MAX)
    found = {(item.start, item.end, item.data) for item in items if item.kind == "insert"}
    assert found == {(4, 6, (9,)), *((start, end, (1,)) for start, end in low)}


def test_joins_compare_more_attributes_than_a_key_has() -> None:
    names = [f"a{n}" for n in range(70)]
    attributes = ", ".join(f"{name} int" for name in names)
    condition = " and ".join(f"l.{name} == r.{name}" for name in names)
    app = (
        f"@temporal define stream A ({attributes}); @temporal define stream B ({attributes}); "
        f"from A as l join B as r on {condition} select l.a0 as x insert into O;"
    )
    items: list[TemporalEvent] = []
    row = tuple(range(70))
    with running(app) as runtime:
        runtime.add_temporal_callback("O", items.extend)
        a: Any = runtime.input_handler("A")
        b: Any = runtime.input_handler("B")
        a.insert(1, 5, row)
        b.insert(2, 7, row)
        b.insert(1, 9, (*row[:-1], 0))
        a.cti(MAX)
        b.cti(MAX)
    assert [item[:3] for item in items if item.kind == "insert"] == [("insert", 2, 5)]


def test_a_key_of_too_many_attributes_is_refused() -> None:
    names = ", ".join(f"a{n}" for n in range(65))
    app = f"@temporal define stream A ({names.replace(',', ' int,')} int); from A#temporal:clipByNext({names}) select a0 insert into O;"
    with (
        pytest.raises(
            SiddhiAppError, match=r"a key of more than 64 attributes \(65 here\) is not supported yet, line 1"
        ),
        running(app),
    ):
        pass


def test_the_error_of_a_row_names_the_query() -> None:
    app = """@temporal define stream A (v int); define function inverse[python] return int { return 10 // data[0] };
    @info(name = 'inverses') from A select inverse(v) as x insert into O;"""
    origins: list[str] = []
    with running(app) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: origins.append(origin))
        a: Any = runtime.input_handler("A")
        a.insert(1, 3, (0,))
        a.cti(MAX)
    assert origins == ["query 'inverses', line 2, column 29"]
