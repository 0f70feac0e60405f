"""The figures of a profile: one per clause, input and callback."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from siddhi._core.runtime.sampler import Meter, Node
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.profile.clauses import Clause

__all__ = ["Figure", "Stack", "Tree", "figures_of", "name_of", "stacks_of"]


@dataclass(frozen=True, slots=True)
class Figure:
    """What a profile says about one clause of a query, one input, or one callback.

    Attributes:
        owner: the query, as ``partition/query`` inside a partition; of an input or a callback the stream, of a callback of a
            query "".
        kind: ``input`` (a stream that is sent into: rows and columns become records), ``trigger``, ``partition`` (its keys), ``from``
            (the query takes events over), ``filter``, ``function`` (a stream function), ``window``, ``join``, ``pattern``,
            ``select`` (with group by, having and order by), ``window, select`` (one operator), ``output``, ``aggregation``,
            ``callback``; ``outside`` (CPU time that nothing of the app took).
        text: the clause as the user wrote it, or the name of the callback.
        seconds: time that it took, with its Python functions, without the clauses after it.
        share: of the time of the app and outside of it, 0 to 1; those of all figures add up to 1.
        events_in, events_out: events that came in and went out. Exact for inputs, and if every unit was measured in detail;
            else scaled. None: not known.
        python: seconds in functions written in Python, by name of the function; part of ``seconds``.
        calls: calls of these functions, by name.
        state_bytes: size of its state, as in a snapshot, at the end; None: it has none.
        keys: groups or partition keys at the end; None: it has none.
        partial_matches: partial matches of a pattern at the end; None: other clauses.
        span: where it stands in the text of the app; None: nowhere.
    """

    owner: str
    kind: str
    text: str
    seconds: float
    share: float
    events_in: int | None
    events_out: int | None
    python: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    state_bytes: int | None = None
    keys: int | None = None
    partial_matches: int | None = None
    span: Span | None = None

    @property
    def selectivity(self) -> float | None:
        """Events out per event in; None: not known."""
        return None if not self.events_in or self.events_out is None else self.events_out / self.events_in

    @property
    def python_seconds(self) -> float:
        """Seconds in functions written in Python."""
        return sum(self.python.values())

    @property
    def nanoseconds_per_event(self) -> float | None:
        """Time per incoming event; None: there was none."""
        return self.seconds * 1e9 / self.events_in if self.events_in else None


@dataclass(frozen=True, slots=True)
class Stack:
    """Time of one path of the call tree: the names from the outermost to the innermost, and the seconds of the innermost."""

    names: tuple[str, ...]
    seconds: float


@dataclass(slots=True)
class _Time:
    own: float = 0.0
    python: dict[str, float] = field(default_factory=dict)
    calls: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return self.own + sum(self.python.values())

    def add(self, other: _Time) -> None:
        self.own += other.own
        for name, seconds in other.python.items():
            self.python[name] = self.python.get(name, 0.0) + seconds
            self.calls[name] = self.calls.get(name, 0.0) + other.calls[name]


@dataclass(slots=True)
class Tree:
    """A call tree whose times are scaled.

    Attributes:
        root: of the tree.
        totals: ticks of all units by the id of the meter they begin with: what the nodes inside have to add up to.
        counts: by which counts of events are multiplied, for units at the end that no measured one stands for.
        seconds: per tick.
    """

    root: Node
    totals: Mapping[int, float]
    counts: float
    seconds: float

    def branches(self) -> Iterator[tuple[Node, float]]:
        """Yield the nodes where units begin, each with the seconds of a tick inside it."""
        for node in self.root.children:
            if node.meter is None:
                yield node, self.seconds  # of spans that are nested very deep
                continue
            found, total = _sum(node), self.totals.get(id(node.meter))
            yield node, self.seconds * (1.0 if total is None or found <= 0 or total <= 0 else total / found)


def _sum(node: Node) -> float:
    return node.ticks + sum(_sum(child) for child in node.children)


OUTSIDE = "outside"
"""Kind of the figure that has the CPU time which nothing of the app took."""


def figures_of(tree: Tree, clauses: list[Clause], lines: list[str], seconds: float) -> tuple[Figure, ...]:
    """Return the figures of a call tree; the app's lock must be held.

    Args:
        tree: the call tree.
        clauses: what was measured.
        lines: of the app's text.
        seconds: CPU time that the figures have to add up to; what the app did not take is in the last one.
    """
    times: dict[int, _Time] = {}
    meters: dict[int, Meter] = {}
    own = {id(meter) for clause in clauses for meter in clause.meters()}
    for node, scale in tree.branches():
        _gather(node, None, scale, times, meters, own)
    measured = sum(time.seconds for time in times.values())
    outside = max(0.0, seconds - measured)
    total = measured + outside or 1.0
    found = []
    for clause in clauses:
        time = _Time()
        for meter in clause.meters():
            time.add(times.pop(id(meter), _Time()))
        if clause.site is not None:
            entered: float = clause.site.rows
            if not entered and not time.seconds:
                continue
        else:
            entered = clause.meter.events_in * tree.counts
        left: float | None = clause.meter.events_out if clause.kind == "output" else None
        if clause.follows is not None:
            left = clause.follows.meter.events_in
        found.append(
            Figure(
                clause.owner,
                clause.kind,
                _text(clause, lines),
                time.seconds,
                time.seconds / total,
                round(entered),
                None if left is None else round(left * tree.counts),
                time.python,
                {name: round(calls * tree.counts) for name, calls in time.calls.items()},
                clause.state_bytes(),
                clause.keys(),
                clause.partial_matches(),
                clause.spans[0] if clause.spans else None,
            )
        )
    callbacks: dict[tuple[str, str], tuple[float, float]] = {}
    for key, time in times.items():
        meter = meters[key]
        label = name_of(meter)
        where = meter.key[1] or "" if isinstance(meter.key, tuple) else ""
        seconds, events = callbacks.get((where, label), (0.0, 0.0))
        callbacks[where, label] = (seconds + time.seconds, events + meter.events_in * tree.counts)
    found += [
        Figure(where, "callback", label, seconds, seconds / total, round(events), None)
        for (where, label), (seconds, events) in callbacks.items()
    ]
    found.append(Figure("", OUTSIDE, "outside of siddhi", outside, outside / total, None, None))
    return tuple(found)


def _gather(
    node: Node,
    clause: Meter | None,
    scale: float,
    times: dict[int, _Time],
    meters: dict[int, Meter],
    own: Collection[int],
) -> None:
    """Add the times of a node, and of those inside it, to those of its clause; ``own``: ids of the meters of clauses."""
    meter = node.meter
    if meter is not None:
        # The clause of a stream function has the kind of the function that it calls.
        if meter.kind == "function" and clause is not None and id(meter) not in own:
            time = times.setdefault(id(clause), _Time())
            name = name_of(meter)
            time.python[name] = time.python.get(name, 0.0) + node.ticks * scale
            time.calls[name] = time.calls.get(name, 0.0) + node.calls
        else:
            times.setdefault(id(meter), _Time()).own += node.ticks * scale
            meters[id(meter)] = meter
            clause = meter
    for child in node.children:
        _gather(child, clause, scale, times, meters, own)


def name_of(meter: Meter) -> str:
    """Return the name of a function, callback or clause in the call tree."""
    if meter.kind == "callback" and isinstance(meter.key, tuple):
        function = meter.key[2]
        owner = getattr(function, "__self__", None)
        if type(owner).__name__ == "SinkRuntime":
            return f"sink of {meter.key[1]}"
        if function == ():  # of a collector, which calls nothing
            return "collect()"
        return str(getattr(function, "__qualname__", None) or repr(function))
    return str(meter.key)


def _text(clause: Clause, lines: list[str]) -> str:
    texts = [text_of(span, lines) for span in clause.spans]
    return " ".join(text for text in texts if text) or clause.owner


def text_of(span: Span, lines: list[str]) -> str:
    """Return a part of a text in one line."""
    if span.line < 1 or span.end_line > len(lines):
        return ""
    taken = lines[span.line - 1 : span.end_line]
    if not taken:
        return ""
    taken = [*taken]
    taken[-1] = taken[-1][: span.end_column]
    taken[0] = taken[0][span.column :]
    return " ".join(" ".join(line.split()) for line in taken)


def stacks_of(tree: Tree, clauses: list[Clause], texts: Callable[[Clause], str]) -> tuple[Stack, ...]:
    """Return the paths of a call tree, with the time of the innermost frame of each."""
    labels = {id(meter): texts(clause) for clause in clauses for meter in clause.meters()}
    found: list[Stack] = []

    def visit(node: Node, above: tuple[str, ...], scale: float) -> None:
        meter = node.meter
        names = above
        if meter is not None:
            names = (*above, labels.get(id(meter)) or f"{meter.kind} {name_of(meter)}")
            if node.ticks > 0:
                found.append(Stack(names, node.ticks * scale))
        for child in reversed(node.children):
            visit(child, names, scale)

    for node, scale in reversed([*tree.branches()]):
        visit(node, (), scale)
    return tuple(found)
