"""Explain where an app would run on Spark, from its text alone; needs no PySpark and no Java."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from siddhi.errors import SiddhiAppError, SparkLoweringError
from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import Plan
from siddhi.query_api.app import SiddhiApp
from siddhi.query_compiler import parse
from siddhi.spark.plan.explain import explain_layout
from siddhi.spark.plan.fragments import CatalystStage, EngineFragment, Layout, cut
from siddhi.spark.plan.output_types import refuse_objects
from siddhi.spark.plan.state_keys import default_tasks
from siddhi.spark.plan.unsupported import refuse, refuse_stored_aggregations, warnings_of
from siddhi.spark.sources.annotations import connectors_of, foreign_of, refuse_foreign, without_connectors

__all__ = ["AppLayout", "app_layout"]


@dataclass(frozen=True, slots=True)
class AppLayout:
    """Where the parts of an app run on Spark.

    Attributes:
        plan: plan of the app.
        layout: its Catalyst stages and engine fragments.
        shards: number of shards of a fragment.
        tasks: number of tasks of a stream at its first start, without regard to cores; None: a batch, whose tasks Spark chooses.
        warnings: what limits the app, a sentence each.
        bindings: sources and sinks that Spark does not have, whose streams need a binding or a sink of the host.
        refused: what prevents the app from running.
    """

    plan: Plan
    layout: Layout
    shards: int
    tasks: int | None
    warnings: tuple[str, ...]
    bindings: tuple[SiddhiAppError, ...]
    refused: tuple[SiddhiAppError, ...]

    def to_text(self) -> str:
        """Return the layout as text, without what is refused."""
        lines = [explain_layout(self.plan, self.layout, self.shards)]
        fragments = self.layout.fragments
        if self.tasks is not None and fragments:
            most = -(-self.shards // self.tasks)
            spread = "1 shard" if most == 1 else f"at most {most} shards"
            keyed = any(not fragment.is_single for fragment in fragments)
            lines.append(f"{self.tasks} tasks{f', each with {spread} of a fragment' if keyed else ''}")
        lines += [f"warning: {text}" for text in self.warnings]
        lines += [f"note: {error.message}: {error.hint}" for error in self.bindings]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as data for JSON."""
        return {
            "app": self.plan.app.name,
            "mode": "streaming" if self.layout.streaming else "batch",
            "shards": self.shards,
            "tasks": self.tasks,
            "read_only_tables": list(self.layout.read_only),
            "steps": list(self._steps()),
            "warnings": list(self.warnings),
            "bindings": [_described(error) for error in self.bindings],
            "refused": [_described(error) for error in self.refused],
        }

    def _steps(self) -> Iterator[dict[str, Any]]:
        for step in self.layout.steps:
            if isinstance(step, CatalystStage):
                element = step.element
                yield {
                    "kind": "catalyst",
                    "form": step.form.kind.value,
                    "name": element.name,
                    "reads": list(element.reads),
                    "writes": list(element.writes),
                    "float_sums": step.form.float_sums,
                }
            else:
                yield self._fragment(step)

    def _fragment(self, fragment: EngineFragment) -> dict[str, Any]:
        blame = None if fragment.blame is None else fragment.blame.span
        return {
            "kind": "engine",
            "partitioning": fragment.partitioning.name.lower(),
            "shards": 1 if fragment.is_single else self.shards,
            "reason": fragment.reason if fragment.is_single else None,
            "line": blame.line if fragment.is_single and blame is not None else None,
            "column": blame.column if fragment.is_single and blame is not None else None,
            "inputs": {stream: _keys(fragment, stream) for stream in fragment.inputs},
            "elements": [
                {
                    "kind": element.kind.value,
                    "name": element.name,
                    "writes": list(element.writes),
                    "why": fragment.why.get(element.name, ""),
                    "notes": list(element.notes),
                }
                for element in fragment.elements
            ],
        }


def app_layout(
    app: str,
    *,
    streaming: bool = False,
    shards: int = 64,
    tasks: int | None = None,
    flush: bool = False,
    strict: bool = False,
) -> AppLayout:
    """Return where the parts of an app would run, with everything that Spark refuses of it.

    Args:
        app: SiddhiQL text.
        streaming: whether the input is a stream.
        shards, tasks: options of :class:`siddhi.spark.SparkRuntime`.
        flush: whether the end of the input advances time until no timer is left.
        strict: whether a warning is a refusal.

    Raises:
        SiddhiAppError: the app is invalid on any engine.
    """
    model = parse(app)
    found = plan(without_connectors(model))
    layout = cut(found, streaming=streaming)
    refused: list[SiddhiAppError] = []
    bindings: list[SiddhiAppError] = []
    _collect(refused, lambda: refuse(found, layout, flush=flush))
    _collect(refused, lambda: _refuse_connectors(found, model))
    _collect(refused, lambda: refuse_stored_aggregations(found, layout.fragments))
    _collect(bindings, lambda: refuse_foreign(foreign_of(model), model))
    if strict:
        _collect(refused, lambda: warnings_of(found, layout, strict=True, shards=shards))
    warned = () if strict else tuple(warnings_of(found, layout, strict=False, shards=shards))
    if streaming and tasks is None:
        tasks = default_tasks(shards, 1)
    return AppLayout(found, layout, shards, tasks, warned, tuple(bindings), tuple(refused))


def _refuse_connectors(found: Plan, model: SiddhiApp) -> None:
    """Check the sources and sinks that Spark has.

    Raises:
        SparkLoweringError: one has a wrong option, or takes a stream with an attribute of type object.
    """
    sinks = {connector.stream: None for connector in connectors_of(model) if connector.direction == "sink"}
    refuse_objects(found, sinks)


def _collect(found: list[SiddhiAppError], check: Callable[[], object]) -> None:
    """Add what a check refuses."""
    try:
        check()
    except SparkLoweringError as error:
        found.extend(error.refusals)


def _keys(fragment: EngineFragment, stream: str) -> dict[str, Any]:
    """Return where the rows of an input go."""
    if fragment.key is None:
        return {"to": "any shard" if fragment.stateless else "one shard", "by": []}
    keys = fragment.key.streams[stream]
    if keys is None:
        return {"to": "every shard", "by": []}
    if not keys:
        return {"to": "any shard", "by": []}
    return {
        "to": "the shards of its ranges" if keys[0].labels else "the shard of its key",
        "by": [k.text for k in keys],
    }


def _described(error: SiddhiAppError) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "line": error.line,
        "column": error.column,
        "hint": error.hint,
    }
