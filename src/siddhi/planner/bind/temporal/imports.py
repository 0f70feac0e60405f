"""Check where CTIs come from: an imported stream is temporal, and no CTI comes back to where it came from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from siddhi.planner.bind.annotations import only
from siddhi.planner.plan.connectors import OptionPlan
from siddhi.planner.plan.nodes import StreamPlan
from siddhi.planner.plan.temporal import AntiJoinPlan, ClipPlan, TemporalPartitionPlan, TemporalQueryPlan
from siddhi.planner.problems import close_to, creation_error, located
from siddhi.query_api.annotation import Annotation

__all__ = ["check_imports"]


def check_imports(
    streams: Mapping[str, StreamPlan],
    queries: Sequence[TemporalQueryPlan],
    partitions: Sequence[TemporalPartitionPlan] = (),
    released: Collection[str] = (),
) -> None:
    """Check where the CTIs of an app come from; ``released``: the temporal streams that classical queries read.

    Raises:
        SiddhiAppCreationError: a stream imports the CTIs of one that does not exist, is classical, or depends on it; or it
            makes CTIs, but temporal queries fill it; or the CTIs of a stream that queries fill depend on it.
    """
    givers = {f"{each.name}/{key.stream}": {key.stream} for each in partitions for key in each.keys}
    for query in queries:
        givers.setdefault(query.target, set()).update(_sources(query))
    importing = {
        stream.id: stream.temporal.advance.imported
        for stream in streams.values()
        if stream.temporal is not None
        and stream.temporal.advance is not None
        and stream.temporal.advance.imported is not None
    }
    for stream in streams.values():
        if stream.id in givers and stream.temporal is not None and stream.temporal.advance is not None:
            raise creation_error(
                "E315",
                f"temporal stream '{stream.id}' gets its CTIs from the queries that fill it, so @advance has no effect",
                _advance(stream),
                "remove @advance, or put it on the streams that the queries read",
            )
    for stream in streams.values():
        if (
            stream.temporal is not None
            and stream.async_settings is not None
            and (stream.id in givers or stream.temporal.filled)
        ):
            raise creation_error(
                "E315",
                f"temporal stream '{stream.id}' gets its rows from queries, so @async has no effect",
                stream.span,
                "remove @async, or put it on the streams that the queries read",
            )
    _refuse_cycles(queries, givers)
    _refuse_topics_that_lead_back(streams, givers, released)
    for target, other in importing.items():
        at = _advance(streams[target])
        found = streams.get(other)
        if found is None or found.temporal is None:
            temporal = [each.id for each in streams.values() if each.temporal is not None and each.id != target]
            raise creation_error(
                "E315",
                f"'import' of @advance: there is no temporal stream '{other}'",
                at,
                close_to(other, temporal) or f"declare '{other}' with @temporal(...)",
            )
        givers[target] = {other}
    filled = [stream for stream in streams.values() if stream.temporal is not None and stream.temporal.filled]
    for stream in filled:
        givers.setdefault(stream.id, set()).update(released)
    for stream in filled:
        path = _cycle(stream.id, givers)
        if path is not None:
            raise creation_error(
                "E313",
                f"classical queries fill temporal stream '{stream.id}', which gets the CTIs of the streams that classical "
                f"queries read, so that its CTIs depend on themselves: {' <- '.join(path)}",
                stream.span,
                "let the classical queries read a classical stream, and write a second query from it into this one",
            )
    for target in importing:
        path = _cycle(target, givers)
        if path is not None:
            raise creation_error(
                "E315",
                f"the CTIs of '{target}' depend on themselves: {' <- '.join(path)}",
                _advance(streams[target]),
                "import the CTIs of a stream that gets its own from outside",
            )


def _refuse_cycles(queries: Sequence[TemporalQueryPlan], givers: Mapping[str, set[str]]) -> None:
    """Refuse queries whose output comes back to them: the CTIs of their streams would wait for each other."""
    try:
        TopologicalSorter(givers).prepare()
    except CycleError as error:
        path: list[str] = error.args[1]
        last = [query for query in queries if query.target in path and not _sources(query).isdisjoint(path)][-1]
        raise creation_error(
            "E313",
            f"temporal queries can't form a cycle: the CTIs of its streams depend on themselves: {' -> '.join(name.rpartition('/')[2] for name in path)}",
            last.span,
            "insert into another stream",
        ) from None


def _refuse_topics_that_lead_back(
    streams: Mapping[str, StreamPlan], givers: Mapping[str, set[str]], released: Collection[str]
) -> None:
    """Refuse a topic of the in-memory broker by which the lifetimes of a stream come back to it: in an endless loop."""
    every = {target: set(sources) for target, sources in givers.items()}
    for stream in streams.values():
        if stream.temporal is not None and stream.temporal.filled:
            every.setdefault(stream.id, set()).update(released)
    passed = [
        (publisher, sink, receiver)
        for publisher in streams.values()
        for sink in publisher.sinks
        for receiver in streams.values()
        if sink.lifetimes
        and any(source.lifetimes and _topic(source.options) == _topic(sink.options) for source in receiver.sources)
    ]
    for publisher, _, receiver in passed:
        every.setdefault(receiver.id, set()).add(publisher.id)
    for publisher, sink, receiver in passed:
        path = [publisher.id] if publisher is receiver else _path(publisher.id, receiver.id, every)
        if path is not None:
            raise creation_error(
                "E313",
                f"topic '{_topic(sink.options)}' gives the lifetimes of temporal stream '{publisher.id}' to '{receiver.id}', "
                f"on which it depends: {' <- '.join([*path, publisher.id])}",
                sink.span,
                "publish to another topic",
            )


def _topic(options: Sequence[OptionPlan]) -> str | None:
    """Return the topic of a connector of the in-memory broker; None: the default one of sources."""
    templates = next((option.templates for option in options if option.name == "topic"), ())
    return "".join(str(part) for part in templates[0].parts) if templates else None


def _sources(query: TemporalQueryPlan) -> set[str]:
    """Return the streams whose CTIs a query works with."""
    found = {input_.source for input_ in query.inputs}
    for input_ in query.inputs:
        found |= {
            step.other for step in input_.steps if isinstance(step, (ClipPlan, AntiJoinPlan)) and step.other is not None
        }
    return found


def _cycle(stream: str, givers: Mapping[str, set[str]]) -> list[str] | None:
    """Return a path from a stream over those that give it CTIs back to itself."""
    return _path(stream, stream, givers)


def _path(stream: str, end: str, givers: Mapping[str, set[str]]) -> list[str] | None:
    """Return a path from a stream over those that give it CTIs to another one."""
    paths = [[stream]]
    seen: set[str] = set()
    while paths:
        path = paths.pop(0)
        for giver in sorted(givers.get(path[-1], ())):
            if giver == end:
                return [*path, giver]
            if giver not in seen:
                seen.add(giver)
                paths.append([*path, giver])
    return None


def _advance(stream: StreamPlan) -> Annotation:
    """Return the ``@advance`` of a stream that has one."""
    temporal = only(stream.annotations, "temporal")
    assert temporal is not None
    advance = only(temporal.annotations, "advance")
    assert advance is not None
    return located(advance, temporal)
