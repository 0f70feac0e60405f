"""Whether rows that wait for an earlier form of an island are what it takes now; needs no PySpark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.planner.distribution.sub_app import SubApp
from siddhi.planner.plan.elements import app_elements
from siddhi.planner.problems import schema_text
from siddhi.query_api.definition import StreamDefinition
from siddhi.query_compiler import parse
from siddhi.spark.checkpoint.key_ranges import KeyRange
from siddhi.spark.workers.input_schema import InputSchema

__all__ = ["evolved_schemas", "other_rows", "rows_at_risk"]


def evolved_schemas(key_range: KeyRange, fragment: KeyRange) -> tuple[list[Any], Sequence[list[Any]]]:
    """The door of an island in the slot, and those that there were. One that comes again is another one: rows of streams that
    were not read in between are left behind, and those that come now are not."""
    was, now = InputSchema.from_json(key_range.input_schema), InputSchema.from_json(fragment.input_schema)
    if was.form == now.form:
        return key_range.input_schema, key_range.earlier_schemas
    earlier = [*map(InputSchema.from_json, key_range.earlier_schemas), replace(was, assigned_id=was.schema_id)]
    earlier_schemas = [
        replace(
            input_schema,
            dropped=tuple(s for s in input_schema.streams if s in input_schema.dropped or s not in now.streams),
        ).to_json()
        for input_schema in earlier
    ]
    return replace(now, assigned_id=f"{now.schema_id}.{len(earlier_schemas)}").to_json(), earlier_schemas


def other_rows(key_range: KeyRange, fragment: KeyRange) -> Iterator[str]:
    """Streams whose rows are not what they were: those that wait can't be what is wanted now."""
    if not key_range.stateful or key_range.sub_app == fragment.sub_app:  # without state, the door is the same
        return
    was, now = _schemas(key_range), _schemas(fragment)
    for stream in InputSchema.from_json(fragment.input_schema).streams:
        if stream in InputSchema.from_json(key_range.input_schema).streams and was[stream] != now[stream]:
            yield f"rows that wait are of {was[stream]}, and now it is {now[stream]}"


def _schemas(key_range: KeyRange) -> dict[str, str]:
    """``S (k string, v int)`` by stream."""
    definitions = parse(SubApp.from_json(key_range.sub_app).text).definitions
    return {
        found.id: f"{found.id} {schema_text(found.attributes)}"
        for found in definitions
        if isinstance(found, StreamDefinition)
    }


def rows_at_risk(
    before: Sequence[KeyRange], fragments: Sequence[KeyRange], indexes: Sequence[int]
) -> Iterator[tuple[KeyRange, str]]:
    """Slots whose rows, if some wait, would come twice or not at all to a query that keeps nothing and stands elsewhere now.

    Args:
        before: the slots of a checkpoint.
        islands: what runs now, as slots that are new.
        places: by island, the number of its slot.

    Returns:
        Each of the slots once, with clauses that say why.
    """
    here = dict(zip(indexes, fragments, strict=True))
    for index, key_range in enumerate(before):
        if key_range.retired:
            continue
        fragment = here.get(index)
        stay = () if fragment is None else fragment.names
        others = {name for at, other in here.items() if at != index for name in other.names}
        clauses = []
        for name in key_range.names:
            if name in others and name not in stay and name not in key_range.stateful:
                beside = [other for other in key_range.names if other != name]
                clauses.append(f"'{name}' runs apart from {', '.join(map(repr, beside)) or 'its shards'} now")
        if fragment is not None:
            clauses += _moved(key_range, fragment)
        if clauses:
            yield key_range, "; ".join(clauses)


def _moved(key_range: KeyRange, fragment: KeyRange) -> Iterator[str]:
    """Streams that come in, before or now, and are filled inside by other queries than before."""
    if (
        not key_range.stateful or key_range.sub_app == fragment.sub_app
    ):  # without state, it does all native steps itself
        return
    both = [SubApp.from_json(key_range.sub_app), SubApp.from_json(fragment.sub_app)]
    came = {stream for held in (key_range, fragment) for stream in InputSchema.from_json(held.input_schema).streams}
    if came.isdisjoint(name for part in both for name in part.outputs):
        return
    try:
        was, now = (_fillers(part) for part in both)
    except SiddhiAppError:
        return  # why will be told
    for stream in sorted(came):
        if was.get(stream) != now.get(stream):
            names = sorted({*was.get(stream, ()), *now.get(stream, ())})
            told = ", ".join(map(repr, names))
            yield f"beside what reads {stream}, it is filled by {told} in one form of the app, and not in the other"


def _fillers(part: SubApp) -> dict[str, list[str]]:
    """By stream, the elements of a part that fill it."""
    found: dict[str, list[str]] = {}
    for element in app_elements(plan(parse(part.text))):
        for stream in element.writes:
            found.setdefault(stream, []).append(element.name)
    return found
