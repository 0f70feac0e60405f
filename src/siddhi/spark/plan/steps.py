"""What an app is cut into: native steps, and islands of elements that run together in engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from siddhi.planner.distribution.distribution import Element
from siddhi.spark.plan.catalyst_forms import CatalystForm
from siddhi.spark.plan.keys import FragmentKey

__all__ = ["CatalystStage", "EngineFragment", "Layout", "Partitioning", "Step"]


@dataclass(frozen=True, slots=True)
class CatalystStage:
    """A query or aggregation that is a Catalyst plan."""

    element: Element
    form: CatalystForm

    @property
    def inputs(self) -> tuple[str, ...]:
        """What it reads."""
        return self.element.reads

    @property
    def produced(self) -> tuple[str, ...]:
        """What it puts out."""
        return self.element.writes


class Partitioning(Enum):
    """Over what the rows of an island are spread."""

    UNSPECIFIED = "anywhere"
    HASH = "shards"
    SINGLE = "one shard"


@dataclass(slots=True, eq=False)
class EngineFragment:
    """What runs together in engines, one per shard.

    Attributes:
        elements: in text order.
        inputs: streams that come in from outside.
        key: what its rows are spread by; None: one shard, or any where ``stateless``.
        stateless: rows may be taken in any order, anywhere.
        why: per element, why the engine runs it.
        reason: why there is one shard, where there is.
        blame: the element that forces one shard.
        ordered: streams that leave it with the order of the rows they come of, for those who need to know it.
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
        """What its elements put out, each once."""
        return tuple(dict.fromkeys(name for element in self.elements for name in element.writes))

    @property
    def partitioning(self) -> Partitioning:
        """Over what its rows are spread."""
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
    """Steps in the order of the flow. ``bound``: streams that get rows from outside although queries may fill them."""

    steps: tuple[Step, ...]
    read_only: tuple[str, ...]
    streaming: bool = False
    bound: frozenset[str] = frozenset()

    @property
    def fragments(self) -> tuple[EngineFragment, ...]:
        """The engine islands, in the order of the flow."""
        return tuple(step for step in self.steps if isinstance(step, EngineFragment))

    @property
    def catalyst_stages(self) -> tuple[CatalystStage, ...]:
        """The native steps, in the order of the flow."""
        return tuple(step for step in self.steps if isinstance(step, CatalystStage))
