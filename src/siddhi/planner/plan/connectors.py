"""The plan of sources, sinks and stores."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from siddhi._frozen import field, frozen
from siddhi.extension.connectors import (
    DistributionStrategyMetadata,
    SinkMapperMetadata,
    SinkMetadata,
    SourceMapperMetadata,
    SourceMetadata,
    StoreMetadata,
)
from siddhi.query_api.span import Span

__all__ = [
    "AttributeMappingPlan",
    "CachePlan",
    "DistributionPlan",
    "OptionPlan",
    "SinkErrorAction",
    "SinkPlan",
    "SourceErrorAction",
    "SourcePlan",
    "StoreErrorAction",
    "StorePlan",
    "TemplatePlan",
]


class SinkErrorAction(Enum):
    """``on.error`` of a sink."""

    LOG = "LOG"
    WAIT = "WAIT"
    RETRY = "RETRY"
    STREAM = "STREAM"
    STORE = "STORE"


class SourceErrorAction(Enum):
    """``on.mapping.error`` of a source."""

    LOG = "LOG"
    STREAM = "STREAM"
    STORE = "STORE"


class StoreErrorAction(Enum):
    """``on.error`` of a store. LOG has the same meaning as RETRY."""

    RETRY = "RETRY"
    LOG = "LOG"
    STORE = "STORE"


@frozen
class TemplatePlan:
    """A template: texts, and positions of the attributes between them.

    ``is_value``: the template is an attribute's value itself, not its text.
    """

    parts: tuple[str | int, ...]
    is_value: bool = False

    @property
    def is_static(self) -> bool:
        """Whether the template contains no attribute."""
        return not any(isinstance(part, int) for part in self.parts)


@frozen
class OptionPlan:
    """``name = 'text'``. ``templates`` has one item, or one per destination if one sink client serves them all."""

    name: str
    templates: tuple[TemplatePlan, ...]


@frozen
class AttributeMappingPlan:
    """One element of ``@attributes``; ``transport`` is the property after ``trp:``, None for a value of the mapper."""

    name: str
    position: int
    mapping: str
    transport: str | None = None


@frozen(kw_only=True)
class SourcePlan:
    """``@source``. ``lifetimes``: a temporal stream gets lifetimes by it, besides rows."""

    source: SourceMetadata
    options: tuple[OptionPlan, ...]
    mapper: SourceMapperMetadata
    mapper_options: tuple[OptionPlan, ...] = ()
    mappings: tuple[AttributeMappingPlan, ...] = ()
    config: Mapping[str, str] = field(default_factory=dict)
    on_mapping_error: SourceErrorAction = SourceErrorAction.STORE
    app_is_named: bool = True  # an app without a name gets a new random name each time
    lifetimes: bool = False
    span: Span | None = None


@frozen(kw_only=True)
class DistributionPlan:
    """``@distribution``. ``clients`` are the options of each destination; one client can serve all of them."""

    strategy: DistributionStrategyMetadata
    options: tuple[OptionPlan, ...]
    destinations: int
    clients: tuple[tuple[OptionPlan, ...], ...]


@frozen(kw_only=True)
class SinkPlan:
    """``@sink``.

    ``action``: name of an additional attribute at the end, which says of each row of a corrected stream whether it is an
    insert or a delete; None: the sink gets the attributes of its stream. ``lifetimes``: a temporal stream publishes lifetimes
    by it, besides rows.
    """

    sink: SinkMetadata
    options: tuple[OptionPlan, ...]
    mapper: SinkMapperMetadata
    mapper_options: tuple[OptionPlan, ...] = ()
    payloads: tuple[tuple[str, TemplatePlan], ...] = ()
    on_error: SinkErrorAction = SinkErrorAction.LOG
    distribution: DistributionPlan | None = None
    action: str | None = None
    lifetimes: bool = False
    config: Mapping[str, str] = field(default_factory=dict)
    span: Span | None = None


@frozen
class CachePlan:
    """``@cache``; times in ms."""

    size: int
    policy: str
    retention_ms: int | None = None
    purge_ms: int | None = None


@frozen(kw_only=True)
class StorePlan:
    """``@store``."""

    store: StoreMetadata
    options: tuple[OptionPlan, ...]
    on_error: StoreErrorAction = StoreErrorAction.RETRY
    cache: CachePlan | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    app_is_named: bool = True  # an app without a name gets a new random name each time
    span: Span | None = None
