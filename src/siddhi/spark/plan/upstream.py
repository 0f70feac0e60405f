"""Find the sources of a stream, through everything in between."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from siddhi.planner.plan.nodes import Plan
from siddhi.spark.plan.steps import EngineFragment, Layout, Step

__all__ = ["is_fed", "require_fed", "sources_above", "tables_above", "unfed", "unread"]


def sources_above(plan: Plan, layout: Layout, stream: str, *, bound: Collection[str] = ()) -> list[str]:
    """Return the streams that a stream comes from and that no query fills, and those that are bound, in text order.

    A stream that is bound or filled by a trigger is its own source, too.
    """
    elements = [element for fragment in layout.fragments for element in fragment.elements]
    elements += [step.element for step in layout.catalyst_stages]
    found: set[str] = set()
    met: set[str] = set()
    pending = [stream]
    while pending:
        name = pending.pop().removeprefix("!")
        if name in met:
            continue
        met.add(name)
        producers = [element for element in elements if name in element.writes or f"!{name}" in element.writes]
        if name in bound or name in plan.triggers or not producers:
            found.add(name)
        pending += [read for element in producers for read in element.reads]
    return [name for name in plan.streams if name in found]


def tables_above(layout: Layout, streams: Iterable[str], *, elements: Collection[str] = ()) -> list[str]:
    """Return the read-only tables on the way to some streams; a fragment needs the tables of all its elements.

    Args:
        layout: layout of the app.
        streams: streams that are wanted.
        elements: names of elements that are wanted.
    """
    wanted = {stream.removeprefix("!") for stream in streams}
    found: set[str] = set()
    taken: list[Step] = []
    more = True
    while more:
        more = False
        for step in layout.steps:
            own = step.elements if isinstance(step, EngineFragment) else [step.element]
            made = {stream.removeprefix("!") for stream in step.produced}
            if step in taken or not (made & wanted or any(element.name in elements for element in own)):
                continue
            taken.append(step)
            wanted.update(stream.removeprefix("!") for stream in step.inputs)
            found.update(table for element in own for table in element.tables)
            more = True
    return [name for name in layout.read_only if name in found]


def is_fed(plan: Plan, layout: Layout, stream: str, bound: Collection[str]) -> bool:
    """Return whether bound streams or triggers can fill a stream."""
    return any(name in bound or name in plan.triggers for name in sources_above(plan, layout, stream, bound=bound))


def require_fed(plan: Plan, layout: Layout, stream: str, bound: Collection[str]) -> None:
    """Check that a stream can have rows.

    Raises:
        ValueError: none of its sources is bound.
    """
    if is_fed(plan, layout, stream, bound):
        return
    above = sources_above(plan, layout, stream)
    if above == [stream]:
        raise ValueError(f"stream '{stream}' is not bound, and no query fills it: bind it")
    raise ValueError(f"no source of '{stream}' is bound: bind {' or '.join(above)}")


def unfed(plan: Plan, layout: Layout) -> list[str]:
    """Return the streams that no query fills."""
    made = {stream for fragment in layout.fragments for stream in fragment.produced}
    made |= {stream for step in layout.catalyst_stages for stream in step.element.writes}
    return [name for name in plan.streams if name not in made and not name.startswith("!")]


def unread(plan: Plan, layout: Layout) -> list[str]:
    """Return the streams that queries fill and nothing reads."""
    elements = [element for fragment in layout.fragments for element in fragment.elements]
    elements += [step.element for step in layout.catalyst_stages]
    read = {name for element in elements for name in element.reads}
    made = dict.fromkeys(name for element in elements for name in element.writes)
    return [name for name in made if name not in read and name in plan.streams]
