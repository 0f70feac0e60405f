"""Many attributes, keys and states: beyond array limits the app continues or is refused."""

from __future__ import annotations

import pytest

from siddhi import SiddhiManager
from siddhi._core.aggregate.group import GroupBy
from siddhi._core.index.hash_index import KeyMap
from siddhi.errors import SiddhiAppCreationError
from siddhi.planner.problems import MOST_OF_A_KEY
from tests.kit.running import collect, running

WIDTHS = [63, 64, 65, 200]
LONG = {"group by": 63, "group by in partitions": 63, "group by of rates": 63, "aggregations": 63, "primary keys": 64}


def names(n, form="a{}", between=", "):
    return between.join(form.format(i) for i in range(n))


def text(kind, n):
    rows = f"@app:name('A') @app:playback define stream S ({names(n, 'a{} int')}, v int);"
    both = names(n, "L.a{0} == R.a{0}", " and ")
    return (
        rows
        + {
            "group by": f"from S select sum(v) as t group by {names(n)} insert into O;",
            "group by in partitions": f"partition with (v of S) begin from S select sum(v) as t group by {names(n)} "
            "insert into O; end;",
            "group by of rates": f"from S select sum(v) as t group by {names(n)} output last every 1 events insert into O;",
            "aggregations": f"define aggregation G from S select {names(n)}, sum(v) as t group by {names(n)} "
            "aggregate every sec;",
            "primary keys": f"@primaryKey({names(n, chr(39) + 'a{}' + chr(39))}) define table R ({names(n, 'a{} int')}, v int);"
            f"from S select {names(n)}, v update or insert into R set R.v = v on {names(n, 'R.a{0} == a{0}', ' and ')};"
            "from S join R on R.v > 0 select count() as t insert into O;",
            "joins": f"from S#window.length(1) as L join S#window.length(1) as R on {both} select R.v as t insert into O;",
            "joins of tables": f"define table R ({names(n, 'a{} int')}, v int); from S as L join R on {both} "
            f"select R.v as t insert into O; from S select {names(n)}, v insert into R;",
            "patterns": f"from every L=S -> R=S[{names(n, 'a{0} == L.a{0}', ' and ')}] select R.v as t insert into O;",
            "states": f"from every {names(n, 'e{0}=S[v == {0}]', ' -> ')} select e{n - 1}.v as t insert into O;",
            "order": f"from S#window.lengthBatch(3) select {names(n)}, v as t order by {names(n)} insert into O;",
            "filters": f"from S[{names(n, 'a{} >= 0', ' and ')}] select v as t insert into O;",
            "sums": f"from S#window.length(2) select {names(n, 'sum(a{0}) as s{0}')} group by v insert into O;",
            "distinct": f"from S#window.length(2) select {names(n, 'distinctCount(a{0}) as s{0}')} insert into O;",
        }[kind]
    )


def run(kind, n, *rows):
    """What comes out; a row is the last of its attributes and v, the others are 0."""
    with running(text(kind, n), manager=SiddhiManager()) as runtime:
        outputs = collect(runtime, "O")
        for time, (last, v) in enumerate(rows):
            runtime.input_handler("S").send((*[0] * (n - 1), last, v), 1000 + time)
        saved = runtime.snapshot()
        runtime.restore(saved)
        assert runtime.snapshot() == saved
    return [row[-1] for row in outputs]


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize(
    ("kind", "rows", "expected"),
    [
        ("joins", [(1, 7), (2, 8), (2, 9)], [7, 8, 8, 9]),
        ("joins of tables", [(1, 7), (2, 8), (1, 9)], [7]),
        ("patterns", [(1, 7), (2, 8), (1, 9)], [9]),
        ("order", [(3, 7), (1, 8), (2, 9)], [8, 9, 7]),
        ("order", [(None, 7), (1, 8), (-2, 9)], [9, 8, 7]),
        ("filters", [(1, 7), (-1, 8), (None, 9)], [7]),
        ("sums", [(1, 7), (2, 7), (None, 7)], [1, 3, 2]),
        ("distinct", [(1, 7), (2, 8), (2, 9)], [1, 2, 1]),
        ("states", [(0, i) for i in range(200)], None),
    ],
)
def test_the_last_of_many_attributes_is_used_as_the_first(kind, rows, expected, n):
    assert run(kind, n, *rows) == ([n - 1] if expected is None else expected)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("kind", LONG)
def test_the_error_of_a_key_with_too_many_attributes_shows_the_first_extra(kind, n):
    if n <= LONG[kind]:
        rows = [(1, 5), (2, 6), (1, 5), (None, 1), (None, 1)]
        expected = {"aggregations": [], "primary keys": [1, 2, 2, 3, 3]}.get(kind, [5, 6, 10, 1, 2])
        if kind == "aggregations":
            with running(text(kind, n), manager=SiddhiManager()):
                return
        assert run(kind, n, *rows) == expected
        return
    app = text(kind, n)
    with pytest.raises(SiddhiAppCreationError, match=rf"of more than {LONG[kind]} attributes \({n} here\)") as refused:
        SiddhiManager().create_siddhi_app_runtime(app)
    word = f"a{LONG[kind]}"
    place = app.rindex(f"'{word}'") if kind == "primary keys" else app.index(f" {word}", app.index("group by")) + 1
    assert (refused.value.code, refused.value.line, refused.value.column) == ("E320", 1, place)
    assert refused.value.hint is not None


def test_a_window_with_too_many_count_attributes_is_refused():
    app = f"define stream S ({names(65, 'a{} int')}); from S#window.frequent(2) select {names(65)} insert into O;"
    with pytest.raises(SiddhiAppCreationError, match=r"counting by more than 64 attributes") as refused:
        SiddhiManager().create_siddhi_app_runtime(app)
    assert (refused.value.code, refused.value.line) == ("E390", 1)
    assert refused.value.hint is not None


def test_the_planner_has_the_limits_of_the_engine():
    assert KeyMap([1] * MOST_OF_A_KEY).width == MOST_OF_A_KEY
    with pytest.raises(ValueError, match="parts"):
        KeyMap([1] * (MOST_OF_A_KEY + 1))
    with pytest.raises(ValueError, match=f"more than {MOST_OF_A_KEY - 1} attributes"):
        GroupBy([None] * MOST_OF_A_KEY, [0] * MOST_OF_A_KEY, [-1] * MOST_OF_A_KEY, [], False, False)
