"""@limit and @app:limits: valid settings, and errors with their location."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.planner.plan.limits import Expiry, KeyLimitPlan, OnFull, RowLimitPlan
from siddhi.planner.plan.nodes import PartitionPlan, Plan, QueryPlan
from siddhi.query_compiler import parse
from siddhi.sandbox import SandboxPolicy

STREAM = "define stream S (k string, v int);\n"
GROUPED = "from S select k, sum(v) as total group by k insert into Out;"


def limit_of(app: str) -> KeyLimitPlan | None:
    query = plan(parse(app)).executions[-1]
    assert isinstance(query, QueryPlan)
    return query.limit


def test_a_query_has_its_own_limit() -> None:
    found = limit_of(f"{STREAM}@limit(keys = '10', ttl = '1 hour', on.full = 'drop_oldest') {GROUPED}")
    drop = OnFull.DROP_OLDEST
    assert found == KeyLimitPlan(keys=10, ttl_ms=3_600_000, on_full=drop, values_on_full=drop)


def test_the_limits_of_the_app_apply_to_queries_without_their_own() -> None:
    found = limit_of(f"@app:limits(keys = '10', on.full = 'log') {STREAM}{GROUPED}")
    assert found == KeyLimitPlan(keys=10, on_full=OnFull.LOG, annotation="@app:limits")


def test_a_query_overrides_single_settings_of_the_app() -> None:
    app = f"@app:limits(keys = '10', ttl = '1 min', on.full = 'log') {STREAM}@limit(keys = '20') {GROUPED}"
    assert limit_of(app) == KeyLimitPlan(keys=20, ttl_ms=60_000, on_full=OnFull.LOG, values_on_full=OnFull.LOG)


def test_a_query_that_limits_values_takes_the_key_limit_of_the_app() -> None:
    app = f"""@app:limits(keys = '1', on.full = 'drop_oldest') {STREAM}@limit(values = '2', on.full = 'log')
    from S select k, distinctCount(v) as n group by k insert into Out;"""
    assert limit_of(app) == KeyLimitPlan(
        keys=1,
        values=2,
        on_full=OnFull.DROP_OLDEST,
        annotation="@app:limits",
        values_on_full=OnFull.LOG,
        values_annotation="@limit",
    )
    shown = explain(plan(parse(app)))
    assert "at most 1 keys, then drop" in shown
    assert "at most 2 distinct values per group, then" in shown


WINDOW = "define window W (k string, v int) {}; from S insert into W;"


def test_app_limits_skip_elements_that_cannot_be_limited() -> None:
    app = f"""@app:limits(keys = '5') {STREAM}{WINDOW.format("length(3) output expired events")}
    from W select k, sum(v) as total group by k insert into Out;"""
    assert limit_of(app) is None


@pytest.mark.parametrize(
    ("window", "expiry"),
    [
        ("length(3)", Expiry.IN_ORDER),
        ("timeBatch(1 sec)", Expiry.IN_ORDER),
        ("sort(3, v)", Expiry.BY_KEY),
        ("length(3) output current events", Expiry.NEVER),
    ],
)
def test_readers_of_named_windows_are_limited(window: str, expiry: Expiry) -> None:
    app = f"""@app:limits(keys = '5') {STREAM}{WINDOW.format(window)}
    from W[v > 0] select k, sum(v) as total group by k insert into Out;"""
    limit = limit_of(app)
    assert limit is not None
    assert (limit.keys, limit.expiry) == (5, expiry)


@pytest.mark.parametrize(
    ("query", "limited"),
    [
        ("from S#window.length(3) as a join S#window.time(1 sec) as b on a.k == b.k", True),
        ("from S#window.length(3) as a left outer join S#window.time(1 sec) as b on a.k == b.k", False),
        ("from S#window.length(3) as a unidirectional join S#window.time(1 sec) as b on a.k == b.k", False),
        ("from S#window.lengthBatch(3) as a join S#window.time(1 sec) as b on a.k == b.k", False),
        ("from S#window.length(3) as a join W as b on a.k == b.k", False),
        ("from S#window.length(3) as a join T as b on a.k == b.k", False),
        ("from S#window.length(3) as a join S#window.time(1 sec) as b on a.v > currentTimeMillis()", False),
    ],
)
def test_rows_that_may_leave_otherwise_than_they_came_are_not_limited(query: str, limited: bool) -> None:
    app = f"""{STREAM}define table T (k string, v int); {WINDOW.format("length(3)")}
    @limit(keys = '5') {query} select a.k as k, count() as n group by a.k insert into Out;"""
    if limited:
        limit = limit_of(app)
        assert limit is not None
        assert limit.expiry is Expiry.BY_KEY
        return
    with pytest.raises(SiddhiAppError, match="rejected rows can't be recognized") as caught:
        plan(parse(app))
    assert caught.value.code == "E328"


@pytest.mark.parametrize("handler", ["#log('x')", "[v in T]", "[v > currentTimeMillis()]"])
def test_readers_that_may_filter_a_row_otherwise_later_are_not_limited(handler: str) -> None:
    condition = handler.replace("v in T", "(T.v == v) in T")
    app = f"""{STREAM}define table T (k string, v int); {WINDOW.format("length(3)")}
    @limit(keys = '5') from W{condition} select k, count() as n group by k insert into Out;"""
    with pytest.raises(SiddhiAppError, match="rejected rows can't be recognized"):
        plan(parse(app))


def test_a_policy_refuses_joins_whose_groups_may_not_end_with_their_rows() -> None:
    app = f"""{STREAM}define table T (k string, v int);
    from S#window.length(3) as a join T on a.k == T.k select a.k as k, count() as n group by a.k insert into Out;"""
    with pytest.raises(SiddhiAppError, match=r"remove the limit with SandboxPolicy\(max_keys=None\)"):
        plan(parse(app), policy=SandboxPolicy())
    assert plan(parse(app), policy=SandboxPolicy(max_keys=None)).executions


def test_an_unsupported_limit_of_a_policy_is_refused_with_a_hint() -> None:
    app = f"""{STREAM}{WINDOW.format("length(3) output expired events")}
    from W select k, maxForever(v) as top group by k insert into Out;"""
    with pytest.raises(SiddhiAppError, match=r"remove the limit with SandboxPolicy\(max_keys=None\)"):
        plan(parse(app), policy=SandboxPolicy())
    assert plan(parse(app), policy=SandboxPolicy(max_keys=None)).executions


def test_the_app_does_not_limit_queries_without_keyed_state() -> None:
    app = f"@app:limits(keys = '10', values = '5', ttl = '1 min') {STREAM}from S select k insert into Out;"
    assert limit_of(app) is None


def test_the_ttl_of_an_app_excludes_groups_that_end_with_their_window() -> None:
    app = f"@app:limits(ttl = '1 min') {STREAM}{GROUPED.replace('from S', 'from S#window.length(5)')}"
    assert limit_of(app) is None


@pytest.mark.parametrize(
    ("annotation", "query", "code", "column", "words"),
    [
        ("@limit(keys = '0')", GROUPED, "E315", 0, "'keys' of @limit must be a positive number, not '0'"),
        ("@limit(keyz = '1')", GROUPED, "E315", 7, "did you mean 'keys'?"),
        ("@limit('1')", GROUPED, "E315", 7, "unknown element '1' in @limit"),
        ("@limit(ttl = 'soon')", GROUPED, "E315", 0, "invalid duration 'soon' for 'ttl' of @limit"),
        ("@limit(keys = '1', on.full = 'drop')", GROUPED, "E315", 0, "'error', 'drop_oldest' or 'log', not 'drop'"),
        ("@limit(on.full = 'log')", GROUPED, "E315", 0, "@limit sets no limit"),
        (
            "@limit(keys = '1')",
            "from S select k insert into Out;",
            "E328",
            0,
            "'keys' of @limit has no effect: the query has no 'group by'",
        ),
        ("@limit(values = '1')", GROUPED, "E328", 0, "the query counts no distinct values"),
        (
            "@limit(ttl = '1 sec')",
            GROUPED.replace("from S", "from S#window.time(1 sec)"),
            "E328",
            0,
            "the state of a key ends when its last row leaves the window",
        ),
        (
            "@limit(values = '1', on.full = 'drop_oldest')",
            "from S select distinctCount(k) as n insert into Out;",
            "E328",
            0,
            "use on.full = 'error' or 'log'",
        ),
        (
            "@limit(ttl = '1 sec')",
            GROUPED.replace("from S", "from S#window.delay(1 sec)").replace(
                "insert", "output snapshot every 1 sec insert"
            ),
            "E328",
            0,
            "every row of window 'delay', and they never expire: keys can't be limited",
        ),
        (
            "@limit(keys = '1')",
            "from S#window.lengthBatch(2)#log('x') select k, sum(v) as total group by k insert expired events into Out;",
            "E328",
            0,
            "insert the rows into a stream",
        ),
        (
            "@limit(keys = '1')",
            "from S#window.expressionBatch('count() < 3') select k, sum(v) as total group by k insert into Out;",
            "E328",
            0,
            "insert the rows into a stream",
        ),
        (
            "@limit(keys = '1')",
            "from every a=S -> b=S[b.k == a.k] select a.k as k insert into Out;",
            "E328",
            0,
            "max.partial.matches",
        ),
        (
            "@limit(keys = '1')",
            (
                "from S#window.length(3) as a full outer join S#window.length(3) as b on a.k == b.k select a.k as k, count() as n "
                "group by a.k insert into Out;"
            ),
            "E328",
            0,
            "insert the rows into a stream",
        ),
    ],
)
def test_an_invalid_limit_is_refused_with_its_location(
    annotation: str, query: str, code: str, column: int, words: str
) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        plan(parse(f"{STREAM}{annotation} {query}"))
    assert caught.value.code == code
    assert (caught.value.line, caught.value.column) == (2, column)
    assert words in str(caught.value)


def test_a_key_limit_of_the_app_is_refused_for_unsupported_windows() -> None:
    with pytest.raises(
        SiddhiAppError, match="the limit of @app:limits on keys is not supported for query 'q': expired rows return"
    ):
        plan(
            parse(
                "@app:limits(keys = '5') define stream S (k string, v int); "
                "define window W (k string, v int) length(3) output expired events; "
                "from S insert into W; @info(name = 'q') from W select k, maxForever(v) as n group by k insert into Out;"
            )
        )


@pytest.mark.parametrize("element", ["rows = '1'", "on.full = 'log'", "table.row = '1'"])
def test_unknown_elements_of_the_app_are_refused(element: str) -> None:
    with pytest.raises(SiddhiAppError, match="@app:limits"):
        plan(parse(f"@app:limits({element}) {STREAM}{GROUPED}"))


def test_explain_shows_the_limit() -> None:
    shown = explain(plan(parse(f"{STREAM}@limit(keys = '10', ttl = '1 min', on.full = 'drop_oldest') {GROUPED}")))
    assert "at most 10 keys, then drop the oldest; drop keys unused for 60000 ms" in shown


@pytest.mark.parametrize(
    ("app", "code", "words"),
    [
        ("@limit(keys = '1') define stream T (k string);", "E315", "is not allowed on the definition of 'T'"),
        ("@limit(keys = '1') define window W (k string) length(3);", "E315", "is not allowed on the definition of 'W'"),
        ("@limit(keys = '1') define table T (k string);", "E315", "the elements are rows, on.full here"),
        ("@limit(on.full = 'log') define table T (k string);", "E315", "@limit sets no limit"),
        (
            "@limit(keys = '1', ttl = '1 sec') partition with (k of S) begin from S select k insert into Out; end;",
            "E315",
            "@purge(enable = 'true'",
        ),
        (
            "@limit(keys = '1') partition with (v > 1 as 'many' of S) begin from S select k insert into Out; end;",
            "E328",
            "the ranges fix the number of keys",
        ),
    ],
)
def test_a_limit_that_does_not_fit_its_element_is_refused(app: str, code: str, words: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        plan(parse(STREAM + app))
    assert caught.value.code == code
    assert (caught.value.line, words in str(caught.value)) == (2, True)


def test_explain_shows_limits_of_tables_and_partitions() -> None:
    shown = explain(
        plan(
            parse(
                f"@app:limits(table.rows = '5', partition.keys = '6', on.full = 'log') {STREAM}"
                "define table T (k string); @limit(rows = '7', on.full = 'drop_oldest') define table U (k string);"
                "partition with (k of S) begin from S select k insert into Out; end;"
            )
        )
    )
    assert "table T (k string) [at most 5 rows, then drop the event and log]" in shown
    assert "table U (k string) [at most 7 rows, then drop the oldest]" in shown
    assert "at most 6 keys, then drop the event and log" in shown


def under(policy: SandboxPolicy, app: str) -> Plan:
    return plan(parse(app), policy=policy)


def test_a_policy_limits_elements_without_limits() -> None:
    app = (
        f"{STREAM}define table T (k string); {GROUPED} from S select k insert into T;"
        "partition with (k of S) begin from S select k insert into In; end;"
    )
    found = under(SandboxPolicy(max_keys=7, max_rows=8), app)
    query, _, partition = found.executions
    assert isinstance(query, QueryPlan)
    assert isinstance(partition, PartitionPlan)
    assert query.limit == KeyLimitPlan(keys=7, annotation="SandboxPolicy")
    assert partition.limit == KeyLimitPlan(keys=7, annotation="SandboxPolicy")
    assert found.tables["T"].limit == RowLimitPlan(rows=8, annotation="SandboxPolicy")
    assert limit_of(STREAM + GROUPED) is None


def test_a_policy_does_not_limit_groups_that_end_with_their_window() -> None:
    app = (
        "define window W (k string, v int) length(3); from S insert into W;"
        "from W select k, sum(v) as n group by k insert into Out;"
        "from S#window.length(3) select distinctCount(k) as n insert into Kinds;"
    )
    for execution in under(SandboxPolicy(), STREAM + app).executions:
        assert isinstance(execution, QueryPlan)
        assert execution.limit is None


@pytest.mark.parametrize(
    ("app", "code"),
    [
        ("@limit(keys = '8') " + GROUPED, "E341"),
        ("@limit(values = '8') from S select distinctCount(k) as n insert into Out;", "E341"),
        ("@limit(rows = '9') define table T (k string);", "E341"),
        ("@limit(keys = '8') partition with (k of S) begin from S select k insert into In; end;", "E341"),
        (
            (
                "define window W (k string, v int) length(3) output expired events; "
                "from W select k, maxForever(v) as n group by k insert into Out;"
            ),
            "E328",
        ),
    ],
)
def test_a_limit_above_the_policy_is_refused(app: str, code: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        under(SandboxPolicy(max_keys=7, max_rows=8), STREAM + app)
    assert (caught.value.code, caught.value.line) == (code, 2)


def test_the_limits_of_the_app_are_checked_by_the_policy() -> None:
    with pytest.raises(SiddhiAppError) as caught:
        under(SandboxPolicy(max_keys=7), f"@app:limits(keys = '8') {STREAM}{GROUPED}")
    assert (caught.value.code, caught.value.line) == ("E341", 1)
