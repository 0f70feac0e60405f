"""The catalog: everything an app has defined so far, definitions first, then the streams that queries define."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from siddhi._frozen import frozen
from siddhi.errors import SiddhiAppError
from siddhi.extension.connectors import ConnectorMetadata
from siddhi.extension.metadata import ExtensionMetadata
from siddhi.extension.registry import Registry
from siddhi.planner.bind.patterns.limit import PartialMatches
from siddhi.planner.bind.permissions import Permissions
from siddhi.planner.plan.limits import AppLimits
from siddhi.planner.plan.nodes import (
    NamedWindowPlan,
    SourceKind,
    StreamOrigin,
    StreamPlan,
    TablePlan,
    TriggerPlan,
)
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import creation_error, different_schema, unknown_definition
from siddhi.query_api.definition import Attribute, FunctionDefinition
from siddhi.query_api.span import Node
from siddhi.sandbox import SandboxPolicy

if TYPE_CHECKING:
    from siddhi.planner.bind.query_parameters import QueryParameters
    from siddhi.planner.plan.aggregations import AggregationPlan

__all__ = ["Catalog", "Source"]


@frozen
class Source:
    """A source that a query can read. ``label`` is its id as written: ``S``, ``#I``, ``!S``."""

    kind: SourceKind
    label: str
    attributes: tuple[Attribute, ...]

    @property
    def what(self) -> str:
        """Kind and label, for messages."""
        return f"{self.kind.value} '{self.label}'"


class Configuration(Protocol):
    """The configuration of extensions outside the app (:class:`siddhi.config.ConfigManager`)."""

    def reference(self, name: str) -> Mapping[str, str] | None: ...

    def extension_config(self, namespace: str, name: str) -> Mapping[str, str]: ...


class Catalog:
    """The definitions of one app. Dictionaries keep build order."""

    def __init__(
        self,
        registry: Registry,
        filled: Iterable[str] = (),
        properties: Mapping[str, str] | None = None,
        config: Configuration | None = None,
        policy: SandboxPolicy | None = None,
    ) -> None:
        """Create an empty catalog.

        Args:
            registry: the extensions of the manager.
            filled: the streams that queries insert into, for hints about those that are read too early.
            properties: settings of the system that runs the app, such as ``aggTimeZone``.
            config: the configuration of extensions.
            policy: the sandbox policy of the app; None: trusted.
        """
        self.permissions = Permissions(SandboxPolicy.trusted() if policy is None else policy)
        self.registry = self.permissions.registry(registry)
        self.filled = frozenset(filled)
        self.properties = {} if properties is None else dict(properties)
        self._config = config
        self.parameters: QueryParameters | None = None  # of an on-demand query
        self.streams: dict[str, StreamPlan] = {}
        self.tables: dict[str, TablePlan] = {}
        self.windows: dict[str, NamedWindowPlan] = {}
        self.aggregations: dict[str, AggregationPlan] = {}
        self.triggers: dict[str, TriggerPlan] = {}
        self.functions: dict[str, FunctionDefinition] = {}
        self.inner: dict[str, StreamPlan] | None = None
        """Inner streams of the partition that is being planned; None outside partitions."""
        self.reads_lifetimes = False
        """Whether the classical query that is being planned reads a stream with lifetimes, or one that is corrected."""
        self.resources: Counter[str] = Counter()
        """How often the app registers a resource with ``env:resourceIdentifier``, by group."""
        self.app_is_named = False
        """Whether the app has a name; an app without one gets a new random name each time."""
        self.partial_matches = PartialMatches()
        """Default limit of partial matches of a pattern."""
        self.limits = AppLimits()
        """Default limits of keys, values and rows."""
        self.time_zone: str | None = None
        """Time zone of the buckets of aggregations; None: that of the system."""
        self.warnings: list[AppWarning] = []
        """Warnings found so far."""
        self._anonymous = 0

    def reference(self, name: str) -> Mapping[str, str] | None:
        """Return the elements of ``ref = 'name'``, or None where the configuration has no such reference."""
        return None if self._config is None else self._config.reference(name)

    def system_properties(self, function: str) -> Mapping[str, str]:
        """Return what a function of ``env`` reads: the settings of the extension of its name, then those of the system."""
        own = {} if self._config is None else self._config.extension_config("env", function)
        return {**self.properties, **own}

    def extension_config(self, metadata: ConnectorMetadata) -> Mapping[str, str]:
        """Return the configuration of an extension."""
        namespace = metadata.namespace or metadata.default_namespace
        return {} if self._config is None else self._config.extension_config(namespace, metadata.name)

    def note_use(self, metadata: ExtensionMetadata) -> None:
        """Record a warning if an extension is deprecated."""
        if metadata.deprecated is not None:
            self.note(AppWarning(f"{metadata.title} '{metadata.full_name}' is deprecated", hint=metadata.deprecated))

    def note(self, warning: AppWarning) -> None:
        """Record a warning, once."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    def source(self, name: str, at: Node, *, is_inner: bool = False, is_fault: bool = False) -> Source:
        """Return the source that ``from name`` reads: a window, else a stream, else a table, else an aggregation.

        Raises:
            SiddhiAppCreationError: the name is not defined yet.
        """
        if is_inner:
            label = f"#{name}"
            inner = self.inner if self.inner is not None else self.streams
            if label in inner:
                kind = SourceKind.INNER if self.inner is not None else SourceKind.STREAM
                return Source(kind, label, inner[label].attributes)
            known = [key for key in inner if key.startswith("#")]
            unknown = unknown_definition("inner stream", label, known, at)
            if self.inner is None and label in self.filled:
                unknown.hint = (
                    f"inner stream '{label}' is visible only inside its partition: "
                    "insert into a stream without '#' to read it elsewhere"
                )
                raise unknown
            raise self._too_early(label, unknown)
        if is_fault:
            label = f"!{name}"
            if label in self.streams:
                return Source(SourceKind.FAULT, label, self.streams[label].attributes)
            hint = f"define stream '{name}' with @OnError(action='stream')" if name in self.streams else None
            raise creation_error("E312", f"fault stream '{label}' is not defined", at, hint)
        if name in self.windows:
            return Source(SourceKind.WINDOW, name, self.windows[name].attributes)
        if name in self.streams:
            stream = self.streams[name]
            self.reads_lifetimes |= stream.temporal is not None or stream.correction is not None
            return Source(SourceKind.STREAM, name, stream.attributes)
        if name in self.tables:
            return Source(SourceKind.TABLE, name, self.tables[name].attributes)
        if name in self.aggregations:
            return Source(SourceKind.AGGREGATION, name, self.aggregations[name].attributes)
        raise self._too_early(name, unknown_definition("stream, table or window", name, self.source_names(), at))

    def _too_early(self, label: str, error: SiddhiAppError) -> SiddhiAppError:
        """Add a hint if a later query fills the stream."""
        if label in self.filled:
            error.hint = f"a later query inserts into '{label}': move it before this one, or define the stream"
        return error

    def source_names(self) -> list[str]:
        """Return the names of all sources outside partitions."""
        return [*self.streams, *self.windows, *self.tables, *self.aggregations]

    def is_taken(self, name: str) -> bool:
        """Return whether a stream, window, table or aggregation has this id."""
        return name in self.streams or name in self.windows or name in self.tables or name in self.aggregations

    def insert_target(
        self, name: str, columns: Iterable[Attribute], at: Node, *, is_inner: bool
    ) -> tuple[SourceKind, str]:
        """Return kind and label of the target of ``insert into name``; define the stream if it does not exist.

        Raises:
            DuplicateDefinitionError: the target has a different schema.
            SiddhiAppCreationError: the target belongs to an aggregation.
        """
        columns = tuple(columns)
        self.refuse_owned(name, at)
        if is_inner and self.inner is not None:
            kind, label, holders = SourceKind.INNER, f"#{name}", self.inner
        else:
            kind, label, holders = SourceKind.STREAM, f"#{name}" if is_inner else name, self.streams
            if label in self.windows:
                kind = SourceKind.WINDOW
            elif label in self.tables:
                kind = SourceKind.TABLE
        existing: StreamPlan | TablePlan | NamedWindowPlan | None
        if kind is SourceKind.WINDOW:
            existing = self.windows[label]
        elif kind is SourceKind.TABLE:
            existing = self.tables[label]
        else:
            existing = holders.get(label)
        if existing is None:
            attributes = tuple(Attribute(column.name, column.type) for column in columns)
            holders[label] = StreamPlan(id=label, attributes=attributes, origin=StreamOrigin.INFERRED, span=at.span)
        elif not same_schema(existing.attributes, columns):
            raise different_schema(f"{kind.value} '{label}'", existing.attributes, columns, at)
        return kind, label

    def refuse_owned(self, name: str, at: Node) -> None:
        """Reject a query that writes to an aggregation.

        Raises:
            SiddhiAppCreationError: the target is an aggregation, or one of its tables.
        """
        owner = name if name in self.aggregations else self.tables[name].owner if name in self.tables else None
        if owner is not None:
            raise creation_error(
                "E325",
                f"'{name}' can be written only by aggregation '{owner}'",
                at,
                f"send events to stream '{self.aggregations[owner].input.source}' instead",
            )

    def anonymous_stream(self) -> str:
        """Return a new name for the hidden stream of an anonymous query; the name is not a valid identifier."""
        self._anonymous += 1
        return f"anonymous-{self._anonymous}"


def same_schema(left: Iterable[Attribute], right: Iterable[Attribute]) -> bool:
    """Return whether names, order and types of the attributes are equal."""
    return [(a.name, a.type) for a in left] == [(b.name, b.type) for b in right]
