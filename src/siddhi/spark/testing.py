"""Test kit: compare the results of an app on Spark with those of the embedded engine."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from siddhi import Event, SiddhiManager
from siddhi._frozen import replace
from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import OnErrorAction, PartitionPlan
from siddhi.query_compiler import parse, to_siddhiql
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from siddhi.spark.runtime import SparkRuntime

__all__ = ["Row", "assert_parity", "bind_rows", "differences", "oracle", "singles_of"]

Row = tuple[str, int, tuple[object, ...]]
"""A stream, an event time in ms, and the values."""
_TIME, _ORDER = "_ts", "_n"
_FILL = "_rows_of_"


def oracle(
    app: str,
    rows: Sequence[Row],
    outputs: Sequence[str],
    *,
    flush: bool = False,
    until: int | None = None,
    tables: Mapping[str, Sequence[tuple[object, ...]]] | None = None,
) -> dict[str, list[tuple[object, ...]]]:
    """Return what the embedded engine emits, event time first, for rows sent one by one in the order of time.

    Rows of one ms go in the order of their streams in the app, then as given; timers fire at their own time.

    Args:
        app: SiddhiQL text.
        rows: rows to send.
        outputs: streams to collect.
        flush: whether time advances until no timer is left.
        until: time (ms) at which the clock ends.
        tables: rows of read-only tables.
    """
    runtime = SiddhiManager().create_siddhi_app_runtime(_filling(app, tables) if tables else app)
    runtime.enable_playback(True, timers="exact")
    positions = {stream: n for n, stream in enumerate(runtime.plan.streams)}
    found: dict[str, list[tuple[object, ...]]] = {stream: [] for stream in outputs}
    errors: list[Exception] = []

    def taking(rows_of: list[tuple[object, ...]]) -> Callable[[list[Event]], None]:
        return lambda events: rows_of.extend((event.timestamp, *event.data) for event in events)

    for stream in outputs:
        runtime.add_callback(stream, taking(found[stream]))
    handler_distribution = {
        stream.id for stream in runtime.plan.streams.values() if stream.on_error is OnErrorAction.STREAM
    }
    handler_distribution.update(f"table '{name}'" for name in runtime.plan.tables if name not in (tables or {}))

    def note(error: Exception, origin: str, _: Sequence[object]) -> None:
        if origin not in handler_distribution:
            errors.append(error)

    runtime.handle_exception_with(note)
    with runtime:
        for table, own_rows in (tables or {}).items():
            for row in own_rows:
                runtime.input_handler(f"{_FILL}{table}").send(row)  # without time, so the clock stays
        for stream, time, values_ in sorted(rows, key=lambda row: (row[1], positions[row[0]])):
            runtime.input_handler(stream).send(values_, time)
        if until is not None:
            runtime.advance_clock(until)
        if flush:
            runtime.advance_to_end()
    if errors:
        raise errors[0]
    return found


def _filling(app: str, tables: Iterable[str]) -> str:
    """Return the app with a stream and a query that fill each of these tables."""
    model = parse(app)
    defined = plan(model).tables
    for table in tables:
        columns = ", ".join(f"`{a.name}` {a.type}" for a in defined[table].attributes)
        more = parse(f"define stream `{_FILL}{table}` ({columns}); from `{_FILL}{table}` insert into `{table}`;")
        model = replace(
            model,
            definitions=(*model.definitions, *more.definitions),
            executions=(*model.executions, *more.executions),
        )
    return to_siddhiql(model)


def bind_rows(
    runtime: SparkRuntime,
    spark: SparkSession,
    rows: Sequence[Row],
    tables: Mapping[str, Sequence[tuple[object, ...]]] | None = None,
) -> None:
    """Bind streams to rows; the order of the rows is the sequence of those of one ms."""
    by_stream: dict[str, list[tuple[object, ...]]] = {}
    for number, (stream, time, values) in enumerate(rows):
        by_stream.setdefault(stream, []).append((*values, time, number))
    for stream, own_rows in by_stream.items():
        names = {a.name.lower() for a in runtime.plan.streams[stream].attributes}
        at, order = _unlike(_TIME, names), _unlike(_ORDER, names)
        schema = [*_schema(runtime, stream), f"{at} bigint", f"{order} bigint"]
        runtime.bind(stream, spark.createDataFrame(own_rows, ", ".join(schema)), timestamp=at, sequence=[order])
    for table, table_rows in (tables or {}).items():
        columns = ", ".join(f"`{a.name}` {SPARK_TYPES[a.type]}" for a in runtime.plan.tables[table].attributes)
        runtime.bind_table(table, spark.createDataFrame(list(table_rows), columns))


def _unlike(name: str, names: Collection[str]) -> str:
    while name in names:
        name += "_"
    return name


def _schema(runtime: SparkRuntime, stream: str) -> list[str]:
    return [f"`{a.name}` {SPARK_TYPES[a.type]}" for a in runtime.plan.streams[stream].attributes]


def assert_parity(
    app: str,
    rows: Sequence[Row],
    spark: SparkSession,
    *,
    outputs: Sequence[str] | None = None,
    shards: Sequence[int] = (3,),
    prefer: Sequence[str] = ("native", "engine"),
    end_of_input: str = "hold",
    tables: Mapping[str, Sequence[tuple[object, ...]]] | None = None,
) -> None:
    """Assert that Spark emits what the embedded engine does, as multisets of event time and row.

    Args:
        app: SiddhiQL text.
        rows: rows to send.
        spark: the session.
        outputs: streams to compare; None: those that queries fill.
        shards: numbers of shards to run with.
        prefer: values of ``prefer`` to run with.
        end_of_input: ``'hold'`` or ``'flush'``.
        tables: rows of read-only tables.
    """
    from siddhi.spark.runtime import SparkRuntime

    compared = list(outputs) if outputs is not None else _filled(app)
    wanted = oracle(app, rows, compared, flush=end_of_input == "flush", tables=tables)
    for way in prefer:
        for number in shards:
            runtime = SparkRuntime(app, spark, shards=number, prefer=way, end_of_input=end_of_input)
            bind_rows(runtime, spark, rows, tables)
            given = runtime.run(compared, meta=True)
            for stream, frame in given.items():
                got = [(row[-1], *row[:-1]) for row in (tuple(found) for found in frame.collect())]
                difference = differences(wanted[stream], got, singles_of(runtime, stream), exact=way == "engine")
                if difference is not None:
                    where = f"stream {stream}, prefer={way}, shards={number}"
                    raise AssertionError(f"{where}: {difference}\n{runtime.explain()}")


def _filled(app: str) -> list[str]:
    made = plan(parse(app))
    queries = [q for e in made.executions for q in (e.queries if isinstance(e, PartitionPlan) else (e,))]
    return [s for s in dict.fromkeys(q.output.target for q in queries) if s in made.streams]


def singles_of(runtime: SparkRuntime, stream: str) -> tuple[int, ...]:
    """Return the positions of single-precision numbers in a row that begins with event time."""
    attributes = runtime.plan.streams[stream].attributes
    return tuple(n for n, a in enumerate(attributes, 1) if a.type is AttributeType.FLOAT)


def differences(
    want: Sequence[tuple[object, ...]],
    got: Sequence[tuple[object, ...]],
    singles: Sequence[int] = (),
    *,
    exact: bool = False,
) -> str | None:
    """Return the first difference between two multisets of rows, or None; floating-point numbers are compared to 1e-9.

    Args:
        want: expected rows.
        got: actual rows.
        singles: positions of single-precision numbers, which engines give in their shortest digits.
        exact: whether floating-point numbers must be equal to the last bit.
    """
    left, right = (Counter(_shown(row, singles) for row in rows) for rows in (want, got))
    if left == right:
        return None
    missing, extra = sorted((left - right).elements(), key=repr), sorted((right - left).elements(), key=repr)
    rest = list(extra)
    for row in missing:
        match = next((other for other in rest if not exact and _close(row, other)), None)
        if match is None:
            return f"{len(missing)} missing, such as {row}; {len(extra)} too many, such as {extra[:1]}"
        rest.remove(match)
    return f"{len(rest)} too many, such as {rest[0]}" if rest else None


def _shown(row: tuple[object, ...], singles: Sequence[int]) -> tuple[object, ...]:
    """Return a row in which NaN equals itself, and 0.0 differs from -0.0, and true from 1."""
    shown: list[object] = []
    for position, value in enumerate(row):
        if isinstance(value, float):
            single = struct.unpack("<f", struct.pack("<f", value))[0] if position in singles else value
            shown.append(("float", repr(single)))
        else:
            shown.append((type(value).__name__, value))
    return tuple(shown)


def _close(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return len(one) == len(other) and all(map(_close_value, one, other))


def _close_value(one: object, other: object) -> bool:
    if one == other:
        return True
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        return False
    return one[0] == other[0] == "float" and math.isclose(float(one[1]), float(other[1]), rel_tol=1e-9, abs_tol=1e-12)
