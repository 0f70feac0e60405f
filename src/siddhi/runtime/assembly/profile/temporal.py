"""Clauses of the temporal queries of an app → probes between their operators that measure them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from siddhi._core.snapshot.format import SnapshotWriter
from siddhi._core.temporal.probe import AllPatches, LifetimeSampling, TemporalClauseProbe, TemporalPatches
from siddhi.planner.plan.temporal import AlterLifetimePlan, TemporalFilterPlan, TemporalQueryPlan, TemporalStepPlan
from siddhi.query_api.input import AnonymousInput, JoinInput, SingleInput, WindowHandler
from siddhi.query_api.span import Node

if TYPE_CHECKING:
    from siddhi._core.temporal.lifetime import TemporalOperator
    from siddhi.query_api.query import Query
    from siddhi.runtime.assembly.profile.clauses import Clause, Probes
    from siddhi.runtime.assembly.temporal import TemporalNetwork

__all__ = ["TemporalProbes"]

_Described = tuple[str, tuple[Node | None, ...]]
"""Kind of a clause, and its nodes in the text."""


class TemporalProbes:
    """The probes of the temporal queries of a profiled app, which stand between operators in detailed bursts.

    Args:
        network: the app's temporal operators.
        plans: of its temporal queries.
        probes: of its classical queries; it gets the clauses.
    """

    def __init__(self, network: TemporalNetwork, plans: Sequence[TemporalQueryPlan], probes: Probes) -> None:
        self._network = network
        self._probes = probes
        self._by_operator: dict[int, Clause] = {}
        self._outputs: dict[str, Clause] = {}
        self._sampling = LifetimeSampling(probes.sampler)
        for plan in plans:
            self._add(plan, probes.text_of(plan.span))
        probes.sampler.set_patches(AllPatches([probes.patches, TemporalPatches(self._find)]))

    def _add(self, plan: TemporalQueryPlan, text: Query | None) -> None:
        operators = self._network.queries[plan.name]
        for (kind, nodes), operator in zip(_clauses(plan, text), operators, strict=True):
            clause = self._clause(plan.name, kind, nodes)
            clause.size = lambda operator=operator: self._size(operator)
            self._by_operator[id(operator)] = clause
        output = self._outputs[plan.name] = self._clause(plan.name, "output", () if text is None else (text.output,))
        for operator in operators:
            targets = [self._by_operator.get(id(target)) for target, _ in operator.targets]
            self._by_operator[id(operator)].follows = next((found for found in targets if found is not None), output)

    def _clause(self, query: str, kind: str, nodes: Sequence[Node | None]) -> Clause:
        return self._probes.clause(query, kind, *(None if node is None else node.span for node in nodes))

    def _size(self, operator: TemporalOperator) -> int | None:
        """Return the bytes of the state of an operator, without the lifetimes and rows, which operators share."""
        self._network.lifetimes.save(SnapshotWriter())  # gives the lifetimes the numbers by which the state names them
        writer = SnapshotWriter()
        try:
            operator.save(writer)
        except (TypeError, ValueError, OverflowError):
            return None
        return len(writer.getvalue())

    def _find(self) -> list[TemporalClauseProbe]:
        """Return a probe for each place where one stands, as the operators are connected now."""
        network, found = self._network, []
        places = network.places()
        for query, output in self._outputs.items():
            for source, target, number in places:
                clause = self._by_operator.get(id(target))
                if clause is None or clause.owner != query:
                    clause = output if network.leaves(query, source, target) else None
                if clause is not None:
                    found.append(
                        TemporalClauseProbe(
                            network.context, network.lifetimes, self._sampling, clause.meter, source, target, number
                        )
                    )
        return found


def _clauses(plan: TemporalQueryPlan, text: Query | None) -> Iterator[_Described]:
    """Yield kind and nodes of the clause of each operator of a query, as the network makes them."""
    sides = () if text is None else _sides(text)
    selector = None if text is None else text.selector
    last: list[Node | None] = [selector]
    for number, input_ in enumerate(plan.inputs):
        handlers = list(sides[number].handlers) if number < len(sides) else []
        steps = [*_steps(input_.steps, [one for one in handlers if not isinstance(one, WindowHandler)])]
        if plan.join is None and plan.window is None:
            # The last filters are a part of the selection.
            while steps and steps[-1][0] == "filter":
                last.insert(0, steps.pop()[1][0])
        yield from steps
        last += [one for one in handlers if isinstance(one, WindowHandler)]
    if plan.join is not None:
        yield "join, select", (None if text is None else text.input, *last)
    elif plan.window is not None:
        yield "window, select", tuple(last)
    else:
        yield "filter, select" if len(last) > 1 else "select", tuple(last)


def _steps(steps: Sequence[TemporalStepPlan], handlers: list[Node]) -> Iterator[_Described]:
    """Yield the clauses of the steps of a stream: those of its handlers, one each; #temporal:pointToSignal has two."""
    handler: Node | None = None
    signal = False  # the step before made an endless lifetime, which the next one clips
    for step in steps:
        if not signal:
            handler = handlers.pop(0) if handlers else None
        signal = isinstance(step, AlterLifetimePlan) and step.duration is None and step.span is None
        yield "filter" if isinstance(step, TemporalFilterPlan) else "function", (handler,)


def _sides(text: Query) -> tuple[SingleInput | AnonymousInput, ...]:
    if isinstance(text.input, JoinInput):
        return (text.input.left, text.input.right)
    return (text.input,) if isinstance(text.input, SingleInput | AnonymousInput) else ()
