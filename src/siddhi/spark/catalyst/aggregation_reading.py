"""Read incremental aggregations that the engine runs, in batch: every shard emits its rows at the end of its input."""

from __future__ import annotations

import dataclasses

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siddhi._frozen import replace
from siddhi.planner.plan.aggregations import AggregationPlan
from siddhi.query_api.annotation import Annotation, Element
from siddhi.query_api.app import AnyDefinition
from siddhi.query_api.definition import AggregationDefinition, Duration
from siddhi.query_compiler import parse, to_siddhiql
from siddhi.spark.catalyst.lowering import BatchLowering
from siddhi.spark.plan.fragments import EngineFragment, Layout
from siddhi.spark.workers.program import FragmentProgram, OutputShape, union_columns

__all__ = ["asking", "fragment_of", "read_from_fragment"]

_ALL = "-9000000000000000000L, 9000000000000000000L"
_LEFT_OUT = ("purge", "store", "partitionbyid")
"""Annotations, in lower case, that hide rows from readers or store them where other workers do."""


def fragment_of(layout: Layout, name: str) -> EngineFragment | None:
    """Return the fragment that runs an aggregation; None: Catalyst does."""
    return next((fragment for fragment in layout.fragments if name in fragment.names), None)


def read_from_fragment(
    lowering: BatchLowering, fragment: EngineFragment, aggregation: AggregationPlan, duration: Duration
) -> DataFrame:
    """Return all rows of an aggregation; a group is in one shard, so nothing is merged."""
    program = asking(lowering.program(fragment), aggregation, duration)
    assert program.answer is not None
    columns_read = zip(program.answer.union_indexes, aggregation.attributes, strict=True)
    return lowering.run_fragment(fragment, program).select(
        *(F.col(f"c{index}").alias(a.name) for index, a in columns_read)
    )


def asking(program: FragmentProgram, aggregation: AggregationPlan, duration: Duration) -> FragmentProgram:
    """Return a program that emits the rows of an aggregation at the end, and nothing else.

    Args:
        program: program of the fragment with the aggregation.
        aggregation: aggregation to read.
        duration: duration of the buckets.
    """
    types = tuple(attribute.type for attribute in aggregation.attributes)
    union, (indexes,) = union_columns([types])
    return dataclasses.replace(
        program,
        text=_kept_whole(program.text),
        outputs=(),
        union_types=tuple(map(str, union)),
        on_demand=f"from `{aggregation.id}` within {_ALL} per '{duration.name.lower()}' select *",
        answer=OutputShape(aggregation.id, tuple(map(str, types)), indexes),
    )


def _kept_whole(text: str) -> str:
    """Return an app whose aggregations keep all rows, in memory."""
    app = parse(text)
    kept: list[AnyDefinition] = []
    for definition in app.definitions:
        if isinstance(definition, AggregationDefinition):
            annotations = tuple(a for a in definition.annotations if a.name.lower() not in _LEFT_OUT)
            off = Annotation("purge", (Element("enable", "false"),))
            kept.append(replace(definition, annotations=(*annotations, off)))
        else:
            kept.append(definition)
    return to_siddhiql(replace(app, definitions=tuple(kept)))
