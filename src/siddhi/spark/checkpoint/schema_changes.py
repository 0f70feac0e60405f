"""Check whether the rows that a checkpoint buffers fit the form of the app that runs now; needs no PySpark."""

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

__all__ = ["changed_schemas", "evolved_schemas", "rows_at_risk"]


def evolved_schemas(key_range: KeyRange, fragment: KeyRange) -> tuple[list[Any], Sequence[list[Any]]]:
    """Return the input schema of a fragment in its key range, and the earlier schemas of the range.

    A schema that returns gets another id: the rows buffered before it went are those of dropped streams, later ones are not.
    """
    was, now = InputSchema.from_json(key_range.input_schema), InputSchema.from_json(fragment.input_schema)
    if was.form == now.form:
        return key_range.input_schema, key_range.earlier_schemas
    earlier = [*map(InputSchema.from_json, key_range.earlier_schemas), replace(was, assigned_id=was.schema_id)]
    schemas = [
        replace(each, dropped=tuple(s for s in each.streams if s in each.dropped or s not in now.streams)).to_json()
        for each in earlier
    ]
    return replace(now, assigned_id=f"{now.schema_id}.{len(schemas)}").to_json(), schemas


def changed_schemas(key_range: KeyRange, fragment: KeyRange) -> Iterator[str]:
    """Yield the input streams of a fragment whose attributes changed, so that buffered rows do not fit; clauses."""
    if not key_range.stateful or key_range.sub_app == fragment.sub_app:  # stateless: found by its equal input schema
        return
    was, now = _definitions(key_range), _definitions(fragment)
    before = InputSchema.from_json(key_range.input_schema).streams
    for stream in InputSchema.from_json(fragment.input_schema).streams:
        if stream in before and was[stream] != now[stream]:
            yield f"buffered rows have the schema {was[stream]}, and the stream is {now[stream]} now"


def _definitions(key_range: KeyRange) -> dict[str, str]:
    """Return ``S (k string, v int)`` by stream."""
    definitions = parse(SubApp.from_json(key_range.sub_app).text).definitions
    return {
        found.id: f"{found.id} {schema_text(found.attributes)}"
        for found in definitions
        if isinstance(found, StreamDefinition)
    }


def rows_at_risk(
    before: Sequence[KeyRange], fragments: Sequence[KeyRange], indexes: Sequence[int]
) -> Iterator[tuple[KeyRange, str]]:
    """Yield key ranges whose buffered rows a stateless query would process twice or not at all, with the reasons.

    Args:
        before: key ranges of the checkpoint.
        fragments: the fragments that run now, as new key ranges.
        indexes: index of the key range of each fragment.
    """
    here = dict(zip(indexes, fragments, strict=True))
    for index, key_range in enumerate(before):
        if key_range.retired:
            continue
        fragment = here.get(index)
        stay = () if fragment is None else fragment.names
        elsewhere = {name for at, other in here.items() if at != index for name in other.names}
        clauses = []
        for name in key_range.names:
            if name in elsewhere and name not in stay and name not in key_range.stateful:
                others = [other for other in key_range.names if other != name]
                clauses.append(f"'{name}' no longer runs with {', '.join(map(repr, others)) or 'its shards'}")
        if fragment is not None:
            clauses += _other_fillers(key_range, fragment)
        if clauses:
            yield key_range, "; ".join(clauses)


def _other_fillers(key_range: KeyRange, fragment: KeyRange) -> Iterator[str]:
    """Yield the input streams, of either form, that other queries of the fragment fill than before; clauses."""
    if not key_range.stateful or key_range.sub_app == fragment.sub_app:  # stateless: it runs all Catalyst stages itself
        return
    both = [SubApp.from_json(key_range.sub_app), SubApp.from_json(fragment.sub_app)]
    inputs = {stream for form in (key_range, fragment) for stream in InputSchema.from_json(form.input_schema).streams}
    if inputs.isdisjoint(name for part in both for name in part.outputs):
        return
    try:
        was, now = (_fillers(part) for part in both)
    except SiddhiAppError:
        return  # reported by the comparison of the elements
    for stream in sorted(inputs):
        if was.get(stream) != now.get(stream):
            names = ", ".join(map(repr, sorted({*was.get(stream, ()), *now.get(stream, ())})))
            yield f"{names} fills {stream} in the fragment of its readers in one form of the app only"


def _fillers(part: SubApp) -> dict[str, list[str]]:
    """Return the elements of a sub-app that fill each stream."""
    found: dict[str, list[str]] = {}
    for element in app_elements(plan(parse(part.text))):
        for stream in element.writes:
            found.setdefault(stream, []).append(element.name)
    return found
