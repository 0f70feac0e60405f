"""Plans of aggregations: base values, retention, and reads."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.planner.distribution.statements import Statements
from siddhi.planner.plan.aggregations import AggregationPlan, BaseKind, OutputKind
from siddhi.planner.plan.nodes import JoinPlan
from siddhi.planner.plan.time import duration_named, kept_duration, time_range
from siddhi.query_api.definition import Duration
from siddhi.query_compiler import parse
from tests.kit.planning import STREAM, planned, query, refused

DAY = 86_400_000


def aggregation(select: str, rest: str = "aggregate every sec, min", annotation: str = "") -> AggregationPlan:
    text = f"define stream S (i int, l long, f float, d double, b bool, s string, o object);\n{annotation}"
    return planned(f"{text} define aggregation A from S select {select} {rest};").aggregations["A"]


def stored(plan: AggregationPlan) -> list[str]:
    return [f"{attribute.name} {attribute.type.value}" for attribute in plan.stored]


# --- what is kept


def test_base_values_are_shared() -> None:
    plan = aggregation("sum(i) as a, avg(i) as b, count() as c, avg(d) as e, count(s) as g")
    assert stored(plan) == ["AGG_TIMESTAMP long", "AGG_SUM_i long", "AGG_COUNT long", "AGG_SUM_d double"]
    assert [(output.kind, output.position, output.count) for output in plan.outputs] == [
        (OutputKind.STORED, 1, 0),
        (OutputKind.MEAN, 1, 2),
        (OutputKind.STORED, 2, 0),
        (OutputKind.MEAN, 3, 2),
        (OutputKind.STORED, 2, 0),
    ]


def test_types_of_the_output() -> None:
    plan = aggregation(
        "sum(i) as si, sum(l) as sl, sum(f) as sf, avg(i) as ai, count() as n, min(f) as lo, max(i) as hi, "
        "distinctCount(s) as ds, stdDev(f) as sd, b, s as t, l * 2 as twice"
    )
    assert [(attribute.name, attribute.type.value) for attribute in plan.attributes] == [
        ("AGG_TIMESTAMP", "long"),
        ("si", "long"),
        ("sl", "long"),
        ("sf", "double"),
        ("ai", "double"),
        ("n", "long"),
        ("lo", "float"),
        ("hi", "int"),
        ("ds", "long"),
        ("sd", "double"),
        ("b", "bool"),
        ("t", "string"),
        ("twice", "long"),
    ]


def test_with_aggregate_by_rows_have_the_time_of_their_events() -> None:
    plan = aggregation("s, b as lastB, sum(i) as t", "group by s, i aggregate by l every min, sec")
    assert stored(plan) == [
        "AGG_TIMESTAMP long",
        "AGG_EVENT_TIMESTAMP long",
        "s string",
        "i int",
        "lastB bool",
        "AGG_SUM_i long",
        "AGG_LAST_EVENT_TIMESTAMP long",
    ]
    assert (plan.first_group, plan.last, plan.by and plan.by.name) == (2, 6, "l")
    assert [base.kind for base in plan.base_values] == [BaseKind.LATEST, BaseKind.SUM]
    assert aggregation("s, sum(i) as t", "group by s aggregate by l every sec, min").last is None


def test_durations_are_sorted_and_ranges_are_filled() -> None:
    assert aggregation("i", "aggregate every year, sec, hour").durations == (
        Duration.SECONDS,
        Duration.HOURS,
        Duration.YEARS,
    )
    plan = aggregation("i", "aggregate every minutes ... months")
    assert plan.durations == (Duration.MINUTES, Duration.HOURS, Duration.DAYS, Duration.MONTHS)
    assert plan.tables == ("A_MINUTES", "A_HOURS", "A_DAYS", "A_MONTHS")


def test_a_stream_may_be_defined_after_its_aggregation() -> None:
    text = "define aggregation A from S select sum(x) as t aggregate every sec, min; define stream S (x int);"
    assert planned(text).aggregations["A"].input.source == "S"


def test_a_batch_is_checked_for_aggregations() -> None:
    text = """define stream S (x int); define stream Q (x int);
        define aggregation A from S select sum(x) as t aggregate every sec, min;
        from S join A within '2017-**-** **:**:**' per 'min' select t insert into O;"""
    batches = {batch.stream: batch for batch in planned(text).batches}
    assert not batches["S"].columnar
    assert "aggregation A writes 'A'" in batches["S"].reason
    assert batches["Q"].columnar


def test_the_time_zone_is_a_property_of_the_system() -> None:
    app = parse(f"{STREAM} define aggregation A from S select sum(i) as t aggregate every hour ... year;")
    assert plan(app).aggregations["A"].zone == "GMT"
    assert plan(app, properties={"aggTimeZone": "Asia/Colombo"}).aggregations["A"].zone == "Asia/Colombo"
    for properties, message in (
        ({"aggTimeZone": "Asia/Nowhere"}, "unknown time zone 'Asia/Nowhere' in the property aggTimeZone"),
        ({"aggTimeZone": "../etc"}, "unknown time zone '../etc' in the property aggTimeZone"),
        ({"partitionById": "true"}, "kept in memory"),
    ):
        with pytest.raises(SiddhiAppError, match=message):
            plan(app, properties=properties)


def test_the_app_says_its_time_zone_before_the_system_does() -> None:
    text = f"{STREAM} define aggregation A from S select sum(i) as t aggregate every hour ... year;"
    app = parse(f"@app:aggTimeZone('America/New_York') {text}")
    for properties in ({}, {"aggTimeZone": "Asia/Colombo"}):
        assert plan(app, properties=properties).aggregations["A"].zone == "America/New_York"
    for annotation in ("('Mars/Olympus')", "('../etc')", "", "('GMT', 'UTC')", "(zone = 'GMT')"):
        with pytest.raises(SiddhiAppError, match="time zone") as caught:
            plan(parse(f"\n @app:aggTimeZone{annotation} {text}"))
        assert caught.value.line == 2


def test_the_zone_of_the_system_is_not_set_by_the_app() -> None:
    text = f"{STREAM} define aggregation A from S select sum(i) as t aggregate every hour ... year;"
    zone = {"aggTimeZone": "Asia/Colombo"}

    def said(app: str, properties: dict[str, str]) -> str:
        planned = plan(parse(app), properties=properties)
        return Statements(planned).of(planned.app.definitions[-1])

    assert said(text, zone) == said(text, {})
    assert said(f"@app:aggTimeZone('Asia/Colombo') {text}", {}) == f"{said(text, {})}\nbuckets begin in Asia/Colombo"


def test_nodes_that_share_an_aggregation_are_distinguished() -> None:
    definition = "@store(type = 'rdbms', url = 'sqlite://') define aggregation A from S select sum(i) as t aggregate by l every sec, min;"
    app = parse(f"{STREAM} {definition}")
    planned = plan(app, properties={"partitionById": "true", "shardId": "one"})
    assert planned.aggregations["A"].shard == "one"
    table = planned.tables["A_SECONDS"]
    assert [attribute.name for attribute in table.attributes[:3]] == [
        "AGG_TIMESTAMP",
        "SHARD_ID",
        "AGG_EVENT_TIMESTAMP",
    ]
    assert table.store is not None
    assert table.store_indexes == ((0,), (2,))
    assert plan(app).aggregations["A"].shard is None
    with pytest.raises(SiddhiAppError, match="missing 'shardId' of aggregation 'A', which several nodes share"):
        plan(app, properties={"partitionById": "true"})
    alone = parse(f"{STREAM} @PartitionById(enable = 'false') {definition}")
    assert plan(alone, properties={"shardId": "one"}).aggregations["A"].shard is None
    assert plan(alone, properties={"partitionById": "true", "shardId": "one"}).aggregations["A"].shard == "one"


# --- purging


def test_rows_are_kept_for_a_while_by_default() -> None:
    purge = aggregation("i", "aggregate every sec ... year").purge
    assert purge is not None
    assert purge.interval_ms == 900_000
    assert purge.retention_ms == (120_000, DAY, 30 * DAY, 366 * DAY, None, None)


def test_retention_can_be_set() -> None:
    annotation = "@purge(enable='true', interval='5 min', @retentionPeriod(sec='10 min', minutes='all'))"
    purge = aggregation("i", annotation=annotation).purge
    assert purge is not None
    assert (purge.interval_ms, purge.retention_ms) == (300_000, (600_000, None))
    assert aggregation("i", annotation="@purge(enable='false')").purge is None


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("@purge(enable='perhaps')", "must be 'true' or 'false'"),
        ("@purge(interval='soon')", "invalid duration 'soon' for 'interval' of @purge"),
        ("@purge(@retentionPeriod(sec='1 min'))", "the minimum is 2 minutes"),
        ("@purge(@retentionPeriod(min='1 hour'))", "the minimum is 120 minutes"),
        (
            "@purge(@retentionPeriod(day='1 year'))",
            "aggregation 'A' has no duration 'day', which @retentionPeriod names",
        ),
        ("@purge(@retentionPeriod(fortnight='1 year'))", "unknown duration 'fortnight' in @retentionPeriod"),
        ("@PrimaryKey('i')", "@PrimaryKey is not allowed on an aggregation"),
        ("@store(type='nowhere')", "'nowhere'"),
        ("@PartitionById(enable='true')", "kept in memory"),
        ("@persistedAggregation(enable='true')", "not supported yet"),
    ],
)
def test_invalid_annotations_are_refused(annotation: str, message: str) -> None:
    error = refused(f"{annotation} define aggregation A from S select sum(i) as t aggregate every sec, min;")
    assert message in error.message


@pytest.mark.parametrize("value", ["false", "FALSE", " false "])
def test_persistence_that_is_not_enabled_is_an_ordinary_aggregation(value: str) -> None:
    text = "define aggregation A from S select sum(i) as t aggregate every sec, min;"
    found = planned(f"{STREAM} @persistedAggregation(enable='{value}') {text}")
    assert found.warnings == ()
    assert found.aggregations["A"].durations == planned(STREAM + text).aggregations["A"].durations


# --- refusals


@pytest.mark.parametrize(
    ("definition", "code", "message"),
    [
        ("from X select i", "E312", "stream 'X'"),
        ("from T select i", "E312", "stream 'T'"),
        ("from S select nothing", "E203", "unknown attribute 'nothing'"),
        ("from S select i as AGG_TIMESTAMP", "E205", "'AGG_TIMESTAMP'"),
        ("from S select l as i group by i", "E205", "duplicate attribute 'i' in the rows of aggregation 'A'"),
        ("from S select i group by o", "E207", "object"),
        ("from S select sum(s) as t", "E207", "'sum' of an aggregation does not accept a string"),
        ("from S select stdDev(i) as t", "E207", "'stdDev' of an aggregation does not accept an int"),
        ("from S select distinctCount(o) as t", "E207", "'distinctCount' of an aggregation does not accept an object"),
        ("from S select sum(i, l) as t", "E325", "exactly one attribute"),
        ("from S select sum(i + 1) as t", "E325", "not an expression"),
        ("from S select sum(i) + 1 as t", "E325", "an aggregation can't select an expression over aggregators"),
        ("from S select minForever(i) as t", "E325", "incrementally"),
    ],
)
def test_invalid_definitions_are_refused(definition: str, code: str, message: str) -> None:
    error = refused(f"define table T (i int); define aggregation A {definition} aggregate every sec, min;")
    assert error.code == code
    assert message in error.message


def test_a_range_goes_from_fine_to_coarse_durations() -> None:
    for durations in ("hour ... sec", "hour ... hour"):
        error = refused(f"define aggregation A from S select i aggregate every {durations};")
        assert "must be finer than the end" in error.message


def test_duplicate_ids_are_refused() -> None:
    definition = "define aggregation A from S select i aggregate every sec, min;"
    for other in ("define stream A (i int);", "define table A_SECONDS (i int);", definition):
        assert refused(other + definition).code == "E204"


def test_only_the_aggregation_writes_its_tables() -> None:
    definition = "define aggregation A from S select i aggregate every sec, min;"
    for output in ("insert into A", "insert into A_SECONDS", "delete A_MINUTES on A_MINUTES.i == i"):
        error = refused(f"{definition} from S select i {output};")
        assert "can be written only by aggregation 'A'" in error.message


# --- reading


def test_a_join_selects_the_rows_it_reads() -> None:
    text = """define aggregation A from S select s, sum(i) as t group by s aggregate every sec, hour;
        from A join S as q on A.s == q.s within '2017-06-01 04:**:**' per 'Hours' select t insert into O;"""
    found = query(text).input
    assert isinstance(found, JoinPlan)
    assert found.reading is not None
    assert found.reading.range == (1_496_289_600_000, 1_496_293_200_000)
    assert found.reading.duration is Duration.HOURS


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ("", "missing 'within' for aggregation 'A'"),
        ("within '2017' per 'sec'", "invalid time range '2017' in 'within'"),
        ("within true, false per 'sec'", "takes a long or a string"),
        ("within 5L per 'sec'", "a single value of 'within' must be a string"),
        ("within 5L, 5L per 'sec'", "is empty"),
        ("within 5L, 6L per 5", "takes a string"),
        ("within 5L, 6L per 'week'", "invalid duration 'week' for 'per'"),
        ("within 5L, 6L per 'min'", "per min: the aggregate values for MINUTES granularity cannot be provided"),
        ("within A.t, 6L per 'sec'", "not in scope"),
    ],
)
def test_invalid_reads_of_an_aggregation_in_a_join_are_refused(reading: str, message: str) -> None:
    text = "define aggregation A from S select sum(i) as t aggregate every sec, hour;"
    error = refused(f"{text} from S join A {reading} select t insert into O;")
    assert message in error.message


@pytest.mark.parametrize("source", ["A[t > 1L]", "A#window.length(1)"])
def test_handlers_of_an_aggregation_are_refused(source: str) -> None:
    text = "define aggregation A from S select sum(i) as t aggregate every sec, hour;"
    refused(f"{text} from S join {source} as a within 5L, 6L per 'sec' select t insert into O;")


def test_texts_of_per() -> None:
    assert [duration_named(word) for word in ("SEC", "second", "Minutes", "hours", " day ", "month", "years")] == [
        Duration.SECONDS,
        Duration.SECONDS,
        Duration.MINUTES,
        Duration.HOURS,
        Duration.DAYS,
        Duration.MONTHS,
        Duration.YEARS,
    ]
    assert kept_duration(Duration.HOURS, (Duration.SECONDS, Duration.HOURS), "A") == 1


def ms(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=timezone.utc).timestamp()) * 1000  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2016-02-29 23:59:59", ms(2016, 2, 29, 23, 59, 59), ms(2016, 3, 1)),
        ("2016-02-29 23:59:**", ms(2016, 2, 29, 23, 59), ms(2016, 3, 1)),
        ("2016-02-29 23:**:**", ms(2016, 2, 29, 23), ms(2016, 3, 1)),
        ("2016-02-29 **:**:**", ms(2016, 2, 29), ms(2016, 3, 1)),
        ("2016-02-** **:**:**", ms(2016, 2, 1), ms(2016, 3, 1)),
        ("2016-12-** **:**:**", ms(2016, 12, 1), ms(2017, 1, 1)),
        ("2016-**-** **:**:**", ms(2016, 1, 1), ms(2017, 1, 1)),
        ("2016-**-** **:**:** +05:30", ms(2015, 12, 31, 18, 30), ms(2016, 12, 31, 18, 30)),
        ("2016-03-** **:**:** -01:00", ms(2016, 3, 1, 1), ms(2016, 4, 1, 1)),
    ],
)
def test_ranges_with_wildcards(text: str, start: int, end: int) -> None:
    assert time_range(text) == (start, end)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2016",
        "2016-02-30 **:**:**",
        "2016-13-** **:**:**",
        "2016-**-01 **:**:**",
        "****-**-** **:**:**",
        "2016-02-01 **:05:**",
        "2016-02-01 04:05:50 0530",
        "2016-02-01 04:05:50 +25:30",
    ],
)
def test_invalid_ranges_are_refused(text: str) -> None:
    with pytest.raises(
        ValueError,
        match=r": write 'yyyy-MM-dd HH:mm:ss', with \*\* for trailing parts that are open \('2017-06-01 \*\*:\*\*:\*\*', '2017-\*\*-\*\* \*\*:\*\*:\*\*'\), and append an offset '\+HH:mm' if the time is not GMT",
    ):
        time_range(text)


@pytest.mark.parametrize(
    ("values", "which"),
    [(("2016-02-29 23:59:59", None), "second "), ((None, 1), "first "), ((None, None), "first "), ((None,), "")],
)
def test_null_is_refused_as_the_end_of_a_range(values: tuple[object, ...], which: str) -> None:
    with pytest.raises(ValueError, match=f"the {which}value of 'within' is null"):
        time_range(*values)


@given(st.text(max_size=30), st.just(()) | st.tuples(st.none() | st.text(max_size=30) | st.integers()))
def test_any_text_is_a_range_or_an_error(first: str, others: tuple[str | int | None, ...]) -> None:
    with suppress(ValueError):
        start, end = time_range(first, *others)
        assert start < end
