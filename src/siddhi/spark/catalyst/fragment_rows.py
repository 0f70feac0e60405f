"""Rows of an engine fragment: of all its inputs, with shard, order and input columns; every base is read once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siddhi.planner.key_expressions import key_expression, range_conditions
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.nodes import Plan
from siddhi.spark.catalyst.expressions import SPARK_TYPES, keeps
from siddhi.spark.catalyst.frames import Base, Branch
from siddhi.spark.catalyst.stages import lowering_over
from siddhi.spark.plan.fragments import EngineFragment
from siddhi.spark.plan.key_hash import shard_of_key
from siddhi.spark.plan.naming import INPUT_STREAM
from siddhi.spark.workers.program import FragmentProgram
from siddhi.types import AttributeType

__all__ = ["TICK", "fragment_rows", "input_columns", "shard_of", "shard_of_row", "shards_of_labels", "shards_of_row"]

_FLOATING = (AttributeType.FLOAT, AttributeType.DOUBLE)
TICK = -1
"""Input number of clock ticks."""


def fragment_rows(
    fragment: EngineFragment,
    program: FragmentProgram,
    plan: Plan,
    branches: Callable[[str], Sequence[Branch]],
    sequence: int,
    positions: Mapping[str, int],
    shards: int,
    bound: Collection[str],
) -> DataFrame:
    """Return columns shard, ``__t``, source, ``__seq0..n``, place, and ``d0..n`` of the input schema.

    Args:
        branches: returns the rows of a stream.
        positions: positions of the elements in the text, by name.
        shards: number of shards.
        bound: streams that are bound.
    """
    by_base: dict[int, list[tuple[int, Branch, tuple[int, ...]]]] = {}
    bases: dict[int, Base] = {}
    for number, (stream, _) in enumerate(program.inputs):
        first = min(positions.get(e.name, -1) for e in fragment.elements if stream in e.reads)
        for branch in branches(stream):
            bases[id(branch.base)] = branch.base
            by_base.setdefault(id(branch.base), []).append((number, branch, (*branch.path, first)))
    if program.ticks:
        for stream in bound:
            (branch,) = [branch for branch in branches(stream) if branch.path == ()]
            bases[id(branch.base)] = branch.base
            by_base.setdefault(id(branch.base), []).append((TICK, branch, ()))
    paths = sorted({path for found in by_base.values() for _, _, path in found})
    frames = []
    for base_id, found in by_base.items():
        base = bases[base_id]
        made = [
            _columns(fragment, program, plan, number, branch, paths.index(path), shards)
            for number, branch, path in found
        ]
        carried = base.order(sequence)
        if len(found) == 1:
            frame = found[0][1].rows(*carried, *made[0])
        else:
            # One pass: every row becomes one row per branch that it passes.
            options = [
                F.struct(*columns) if branch.condition is None else F.when(branch.condition, F.struct(*columns))
                for (_, branch, _), columns in zip(found, made, strict=True)
            ]
            frame = base.frame.select(*carried, F.inline(F.array_compact(F.array(*options))))
        frames.append(frame)
    rows = frames[0]
    for frame in frames[1:]:
        rows = rows.unionByName(frame)
    if fragment.key is not None and fragment.key.multicasts:
        rows = rows.select(
            F.explode(F.col("shards")).alias("shard"), *(F.col(name) for name in rows.columns if name != "shards")
        )
    return rows


def _columns(
    fragment: EngineFragment,
    program: FragmentProgram,
    plan: Plan,
    number: int,
    branch: Branch,
    position: int,
    shards: int,
) -> list[Column]:
    columns_ = [column.alias(f"d{n}") for n, column in enumerate(input_columns(program, plan, number, branch))]
    if fragment.key is not None and fragment.key.multicasts:
        target = shards_of_row(fragment, program, plan, number, branch, shards, 0).alias("shards")
    else:
        target = _one_shard(fragment, program, plan, number, branch, shards).alias("shard")
    return [target, F.lit(position).alias("place"), *columns_]


def shards_of_row(
    fragment: EngineFragment, program: FragmentProgram, plan: Plan, number: int, branch: Branch, shards: int, first: int
) -> Column:
    """Return the shards of the rows of one input, as an array.

    Args:
        first: number of the fragment's first shard.
    """
    keys = () if number == TICK or fragment.key is None else fragment.key.streams[program.inputs[number][0]]
    if keys is None:
        return F.sequence(F.lit(first), F.lit(first + shards - 1))
    if keys and keys[0].labels:
        stream = program.inputs[number][0]
        return shards_of_labels(range_conditions(plan, stream, keys[0].text), branch.columns, shards, first)
    return F.array(shard_of_row(fragment, program, plan, number, branch, shards, first))


def shard_of_row(
    fragment: EngineFragment, program: FragmentProgram, plan: Plan, number: int, branch: Branch, shards: int, first: int
) -> Column:
    """Return the shard of the rows of one input, if it is one."""
    shard = _one_shard(fragment, program, plan, number, branch, shards)
    return shard + F.lit(first) if first else shard


def shards_of_labels(
    ranges: Sequence[tuple[str, TypedExpression]], columns: Sequence[Column], shards: int, first: int = 0
) -> Column:
    """Return the shards of the labels whose conditions hold, each once, as an array."""
    lower = lowering_over(columns)
    by_shard: dict[int, Column] = {}
    for label, condition in ranges:
        shard, holds = shard_of_key([label], shards), keeps(lower(condition))
        by_shard[shard] = by_shard[shard] | holds if shard in by_shard else holds
    return F.array_compact(F.array(*(F.when(holds, F.lit(first + shard)) for shard, holds in by_shard.items())))


def input_columns(program: FragmentProgram, plan: Plan, number: int, branch: Branch) -> list[Column]:
    """Return the columns of the input schema for rows of one input."""
    nothing = F.lit(None)  # shared: each column is a call of the JVM
    if number == TICK:
        return [F.lit(TICK).cast("int"), *(nothing.cast(SPARK_TYPES[AttributeType(k)]) for k in program.kinds[1:])]
    stream, indexes = program.inputs[number]
    attributes = plan.streams[stream].attributes
    filled: dict[int, Column] = {
        index: column.cast(SPARK_TYPES[attribute.type])
        for index, column, attribute in zip(indexes, branch.columns, attributes, strict=True)
    }
    if program.input_stream == INPUT_STREAM:
        filled[0] = F.lit(number).cast("int")
    return [filled.get(n, nothing).cast(SPARK_TYPES[AttributeType(kind)]) for n, kind in enumerate(program.kinds)]


def _one_shard(
    fragment: EngineFragment, program: FragmentProgram, plan: Plan, number: int, branch: Branch, shards: int
) -> Column:
    if number == TICK:
        return F.lit(0)
    if fragment.key is None:
        return _any_shard(branch, shards) if fragment.stateless else F.lit(0)
    stream = program.inputs[number][0]
    keys = fragment.key.streams[stream]
    assert keys is not None, "a multicast stream has no key"
    if not keys:
        return _any_shard(branch, shards)
    lower = lowering_over(branch.columns)
    typed = [key_expression(plan, stream, key.text) for key in keys]
    return shard_of([(lower(expression), expression) for expression in typed], shards)


def _any_shard(branch: Branch, shards: int) -> Column:
    """Return a shard that is derived from the row, so it is the same in every attempt."""
    return F.pmod(F.xxhash64(*branch.columns), F.lit(shards).cast("bigint")).cast("int")


def shard_of(keys: Sequence[tuple[Column, TypedExpression]], shards: int) -> Column:
    """Return the shard of a key; keys that are equal as text or as values have one shard."""
    texts = []
    for column, expression in keys:
        # 0.0 and -0.0 are one group with two texts; a sum with 0.0 is never -0.0.
        value = column + F.lit(0.0).cast(SPARK_TYPES[expression.type]) if expression.type in _FLOATING else column
        texts.append(value.cast("string"))
    return F.pmod(F.xxhash64(*texts), F.lit(shards).cast("bigint")).cast("int")
