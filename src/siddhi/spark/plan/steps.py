"""The steps of a layout: Catalyst stages and engine fragments."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from siddhi.planner.distribution.distribution import Element
from siddhi.spark.plan.catalyst_forms import CatalystForm
from siddhi.spark.plan.keys import FragmentKey

__all__ = ["CatalystStage", "EngineFragment", "Layout", "Partitioning", "Step"]


@dataclass(frozen=True, slots=True)
class CatalystStage:
    """A query or aggregation that runs as a Catalyst plan."""

    element: Element
    form: CatalystForm

    @property
    def inputs(self) -> tuple[str, ...]:
        """The streams it reads."""
        return self.element.reads

    @property
    def produced(self) -> tuple[str, ...]:
        """The streams it fills."""
        return self.element.writes


class Partitioning(Enum):
    """How the rows of a fragment are distributed."""

    UNSPECIFIED = "anywhere"
    HASH = "shards"
    SINGLE = "one shard"


@dataclass(slots=True, eq=False)
class EngineFragment:
    """Elements that run together in engines, one engine per shard.

    Attributes:
        elements: elements in text order.
        inputs: streams that come from outside.
        key: key of the rows; None: one shard, or any shard if ``stateless``.
        stateless: whether any shard may take a row, in any order.
        why: why the engine runs each element.
        reason: why the fragment has one shard, if it has.
        blame: the element that causes this.
        ordered: outputs whose rows carry the order of their input rows.
    """

    elements: list[Element]
    inputs: tuple[str, ...] = ()
    key: FragmentKey | None = None
    stateless: bool = False
    why: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    blame: Element | None = None
    ordered: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its elements."""
        return tuple(element.name for element in self.elements)

    @property
    def produced(self) -> tuple[str, ...]:
        """The streams that its elements fill, each once."""
        return tuple(dict.fromkeys(name for element in self.elements for name in element.writes))

    @property
    def partitioning(self) -> Partitioning:
        """How its rows are distributed."""
        if self.stateless:
            return Partitioning.UNSPECIFIED
        return Partitioning.SINGLE if self.key is None else Partitioning.HASH

    @property
    def is_single(self) -> bool:
        """Whether all rows go to one shard."""
        return self.partitioning is Partitioning.SINGLE


Step = CatalystStage | EngineFragment


@dataclass(frozen=True, slots=True)
class Layout:
    """Steps in the order of the data flow. ``bound``: streams that are bound although queries may fill them."""

    steps: tuple[Step, ...]
    read_only: tuple[str, ...]
    streaming: bool = False
    bound: frozenset[str] = frozenset()

    @property
    def fragments(self) -> tuple[EngineFragment, ...]:
        """The engine fragments, in the order of the data flow."""
        return tuple(step for step in self.steps if isinstance(step, EngineFragment))

    @property
    def catalyst_stages(self) -> tuple[CatalystStage, ...]:
        """The Catalyst stages, in the order of the data flow."""
        return tuple(step for step in self.steps if isinstance(step, CatalystStage))
