"""The registries of extensions: one per manager, based on that of the process, which is based on the built-ins.

Names are case-sensitive and unique: a second registration is rejected with an error that names the first. Installed
packages can provide extensions through entry points. They are searched when a name is not registered, and only entry points
called like the namespace, the name, or ``namespace.name`` are loaded.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from siddhi._callables import asynchronous_methods, is_generator_function
from siddhi.errors import ExtensionError
from siddhi.extension.connectors import (
    ConnectorMetadata,
    DistributionStrategyMetadata,
    SinkMapperMetadata,
    SinkMetadata,
    SourceMapperMetadata,
    SourceMetadata,
    StoreMetadata,
)
from siddhi.extension.metadata import (
    AggregatorMetadata,
    ExtensionMetadata,
    FunctionMetadata,
    IncrementalAggregatorMetadata,
    ScriptLanguageMetadata,
    StreamFunctionMetadata,
    StreamProcessorMetadata,
    WindowMetadata,
)
from siddhi.types import AttributeType

__all__ = ["ENTRY_POINT_GROUPS", "Registry", "builtin_registry", "metadata_of", "shared_registry"]

ENTRY_POINT_GROUPS: dict[type[ExtensionMetadata], str] = {
    FunctionMetadata: "siddhi.functions",
    AggregatorMetadata: "siddhi.aggregators",
    IncrementalAggregatorMetadata: "siddhi.incremental_aggregators",
    StreamFunctionMetadata: "siddhi.stream_functions",
    StreamProcessorMetadata: "siddhi.stream_processors",
    WindowMetadata: "siddhi.windows",
    ScriptLanguageMetadata: "siddhi.script_languages",
    SourceMetadata: "siddhi.sources",
    SourceMapperMetadata: "siddhi.source_mappers",
    SinkMetadata: "siddhi.sinks",
    SinkMapperMetadata: "siddhi.sink_mappers",
    DistributionStrategyMetadata: "siddhi.distribution_strategies",
    StoreMetadata: "siddhi.stores",
}
"""The entry point group of each kind of extension."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CONNECTOR_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*\Z")  # it stands in quotes: type = 'http-call'
_CALLED_ALIKE: tuple[tuple[type[ExtensionMetadata], ...], ...] = (
    (FunctionMetadata, AggregatorMetadata),
    (FunctionMetadata, IncrementalAggregatorMetadata),
    (StreamFunctionMetadata, StreamProcessorMetadata),
)
_M = TypeVar("_M", bound=ExtensionMetadata)
_K = TypeVar("_K", bound=ConnectorMetadata)


class Registry:
    """Extensions by kind, namespace and name.

    Args:
        base: the registry to search for names that are not registered here.
        entry_points: whether to search the entry points of installed packages.
    """

    def __init__(self, base: Registry | None = None, *, entry_points: bool = False) -> None:
        self._base = base
        self._entry_points = entry_points
        self._extensions: dict[type[ExtensionMetadata], dict[tuple[str | None, str], ExtensionMetadata]] = {
            kind: {} for kind in ENTRY_POINT_GROUPS
        }
        self._offered: dict[type[ExtensionMetadata], list[Any]] = {}
        self._loaded: dict[type[ExtensionMetadata], set[tuple[str | None, str]]] = {
            kind: set() for kind in ENTRY_POINT_GROUPS
        }

    def register(self, metadata: ExtensionMetadata, *, replace: bool = False) -> None:
        """Add an extension; with ``replace`` it replaces (or hides) one of the same name.

        Raises:
            ExtensionError: the metadata is inconsistent, or the name is taken.
        """
        kind = type(metadata)
        if kind not in self._extensions:
            raise ExtensionError(f"{kind.__name__} is not a kind of extension")
        _check(metadata)
        if not replace:
            holder = self._holder(metadata)
            if holder is not None and not _same_origin(holder, metadata):
                raise ExtensionError(
                    f"{metadata.title} '{metadata.full_name}' cannot be registered: the name is taken by "
                    f"{holder.title} '{holder.full_name}' ({_origin(holder)}); choose another name"
                )
        self._extensions[kind][metadata.namespace, metadata.name] = metadata

    def find(self, kind: type[_M], namespace: str | None, name: str) -> _M | None:
        """Return the extension of this kind and name, or None."""
        found = self._found(kind, namespace, name, None)
        return found if isinstance(found, kind) else None

    def without_offered(self, allowed: Iterable[str]) -> Registry:
        """Return a view of this registry in which extensions of installed packages exist only if ``allowed`` names them."""
        return _Permitted(self, frozenset(allowed))

    def is_offered(self, full_name: str, *kinds: type[ExtensionMetadata]) -> bool:
        """Return whether an installed package provides an extension of one of these kinds and this name; load nothing."""
        namespace, _, name = full_name.rpartition(":")
        here = self._entry_points and any(
            (namespace or None, name) in self._loaded[kind] or self._offering(kind, namespace or None, name)
            for kind in kinds
        )
        return here or (self._base is not None and self._base.is_offered(full_name, *kinds))

    def _found(
        self, kind: type[ExtensionMetadata], namespace: str | None, name: str, allowed: frozenset[str] | None
    ) -> ExtensionMetadata | None:
        """Find like :meth:`find`; of extensions of installed packages only those whose full name is in ``allowed``.

        ``allowed`` None allows all.
        """
        may_load = allowed is None or (name if namespace is None else f"{namespace}:{name}") in allowed
        found = None
        if may_load or (namespace, name) not in self._loaded[kind]:
            found = self._own(kind, namespace, name)
        if found is None and self._base is not None:
            found = self._base._found(kind, namespace, name, allowed)
        if found is None and self._entry_points and may_load:
            self._load_offered(kind, namespace, name)
            found = self._extensions[kind].get((namespace, name))
        return found

    def _of(self, kind: type[ExtensionMetadata]) -> dict[tuple[str | None, str], ExtensionMetadata]:
        """Return the extensions of a kind that are registered here."""
        return self._extensions[kind]

    def _own(self, kind: type[ExtensionMetadata], namespace: str | None, name: str) -> ExtensionMetadata | None:
        """Return the extension of a kind and name that is registered here, or None."""
        return self._of(kind).get((namespace, name))

    def called(self, namespace: str | None, name: str, *kinds: type[ExtensionMetadata]) -> ExtensionMetadata | None:
        """Return the extension of this name and one of these kinds, which share their names, or None.

        Entry points are searched only if none of the kinds has the name: that takes milliseconds.
        """
        for allowed in (frozenset[str](), None):
            for kind in kinds:
                found = (
                    self._found(kind, namespace, name, allowed)
                    if allowed is not None
                    else self.find(kind, namespace, name)
                )
                if found is not None:
                    return found
        return None

    def function(self, namespace: str | None, name: str) -> FunctionMetadata | None:
        """Return the scalar function of this name, or None."""
        return self.find(FunctionMetadata, namespace, name)

    def aggregator(self, namespace: str | None, name: str) -> AggregatorMetadata | None:
        """Return the attribute aggregator of this name, or None."""
        return self.find(AggregatorMetadata, namespace, name)

    def incremental_aggregator(self, namespace: str | None, name: str) -> IncrementalAggregatorMetadata | None:
        """Return the incremental aggregator of this name, or None."""
        return self.find(IncrementalAggregatorMetadata, namespace, name)

    def stream_function(self, namespace: str | None, name: str) -> StreamFunctionMetadata | None:
        """Return the stream function or processor of this name, or None."""
        function = self.find(StreamFunctionMetadata, namespace, name)
        return function if function is not None else self.find(StreamProcessorMetadata, namespace, name)

    def window(self, namespace: str | None, name: str) -> WindowMetadata | None:
        """Return the window of this name, or None."""
        return self.find(WindowMetadata, namespace, name)

    def script_language(self, name: str) -> ScriptLanguageMetadata | None:
        """Return the script language of this name, or None; unlike other names it is case-insensitive (``[Python]``)."""
        return self.find(ScriptLanguageMetadata, None, name) or self.find(ScriptLanguageMetadata, None, name.lower())

    def connector(self, kind: type[_K], name: str) -> _K | None:
        """Return the source, sink, mapper, strategy or store called ``name`` or ``namespace:name``, or None."""
        namespace, _, plain = name.rpartition(":")
        return self.find(kind, namespace if namespace not in ("", kind.default_namespace) else None, plain)

    def all(self, kind: type[_M]) -> Iterator[_M]:
        """Yield every extension of this kind that is registered here or in a base, including loaded entry points."""
        if self._base is not None:
            for found in self._base.all(kind):
                if (found.namespace, found.name) not in self._of(kind):
                    yield found
        for existing in self._of(kind).values():
            if isinstance(existing, kind):
                yield existing

    def names(self, *kinds: type[ExtensionMetadata]) -> list[str]:
        """Return the full names of all extensions of these kinds, sorted."""
        return sorted({metadata.full_name for kind in kinds for metadata in self.all(kind)})

    def _holder(self, metadata: ExtensionMetadata) -> ExtensionMetadata | None:
        """Return the extension that has the name, or None. Kinds with the same call syntax share their names."""
        kind = type(metadata)
        kinds = dict.fromkeys((kind, *(other for alike in _CALLED_ALIKE if kind in alike for other in alike)))
        registry: Registry | None = self
        while registry is not None:
            for other in kinds:
                existing = registry._own(other, metadata.namespace, metadata.name)
                if existing is not None:
                    return existing
            registry = registry._base
        return None

    def _load_offered(self, kind: type[ExtensionMetadata], namespace: str | None, name: str) -> None:
        """Load the entry points that may provide this name, each of them once."""
        for entry_point in self._offering(kind, namespace, name):
            self._offered[kind].remove(entry_point)
            before = {kind: set(existing) for kind, existing in self._extensions.items()}
            try:
                for metadata in metadata_of(entry_point.load()):
                    self.register(metadata)
            except Exception as error:
                raise ExtensionError(f"entry point '{entry_point.group}: {entry_point}' cannot be loaded") from error
            finally:
                # Includes the extensions that decorators registered during the import of the module.
                for each, existing in self._extensions.items():
                    self._loaded[each] |= set(existing) - before[each]

    def _offering(self, kind: type[ExtensionMetadata], namespace: str | None, name: str) -> list[Any]:
        """Return the entry points that may provide this name and are not loaded yet."""
        if kind not in self._offered:
            # Reading the metadata of all installed packages takes milliseconds, so do it only if a name is missing.
            from importlib.metadata import entry_points

            self._offered[kind] = list(entry_points(group=ENTRY_POINT_GROUPS[kind]))
        wanted = {name} if namespace is None else {namespace, f"{namespace}.{name}"}
        return [point for point in self._offered[kind] if point.name in wanted]


class _Permitted(Registry):
    """A view of a registry in which extensions of installed packages exist only if their full name is allowed."""

    def __init__(self, base: Registry, allowed: frozenset[str]) -> None:
        super().__init__(base)
        self._allowed = allowed

    def find(self, kind: type[_M], namespace: str | None, name: str) -> _M | None:
        found = self._found(kind, namespace, name, self._allowed)
        return found if isinstance(found, kind) else None

    def all(self, kind: type[_M]) -> Iterator[_M]:
        return (found for found in super().all(kind) if self.find(kind, found.namespace, found.name) is found)


class _BuiltIns(Registry):
    """The built-ins. Connectors are loaded when one is looked up, and each namespace when one of its names is: most apps use
    few of them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._has_connectors = False
        # Import by name: the library imports this package, so it can't be imported here statically.
        self._library = importlib.import_module("siddhi.library")
        self._namespaces = set(self._library.NAMESPACES)  # those that are not loaded yet
        for metadata in self._library.built_in_calls():
            self.register(metadata)

    def _of(self, kind: type[ExtensionMetadata]) -> dict[tuple[str | None, str], ExtensionMetadata]:
        if issubclass(kind, ConnectorMetadata):
            if not self._has_connectors:
                with self._lock:
                    if not self._has_connectors:
                        self._add(self._library.built_in_connectors())
                        self._has_connectors = True
        else:
            for namespace in sorted(self._namespaces):
                self._load(namespace)
        return self._extensions[kind]

    def _own(self, kind: type[ExtensionMetadata], namespace: str | None, name: str) -> ExtensionMetadata | None:
        if issubclass(kind, ConnectorMetadata):
            return super()._own(kind, namespace, name)
        if namespace is not None and namespace in self._namespaces:
            self._load(namespace)
        return self._extensions[kind].get((namespace, name))

    def _load(self, namespace: str) -> None:
        with self._lock:
            if namespace in self._namespaces:
                self._add(self._library.built_in_namespace(namespace))
                self._namespaces.discard(namespace)

    def _add(self, found: Iterable[ExtensionMetadata]) -> None:
        for metadata in found:
            _check(metadata)
            self._extensions[type(metadata)][metadata.namespace, metadata.name] = metadata


@cache
def builtin_registry() -> Registry:
    """Return the registry of the built-ins."""
    return _BuiltIns()


@cache
def shared_registry() -> Registry:
    """Return the registry of the process: built-ins, decorated extensions, and those of installed packages."""
    return Registry(builtin_registry(), entry_points=True)


def metadata_of(source: Any) -> Iterable[ExtensionMetadata]:
    """Return the metadata in an object: metadata, a decorated object, or a module or collection of these.

    Raises:
        ExtensionError: the object contains no metadata.
    """
    if isinstance(source, ExtensionMetadata):
        return (source,)
    declared = getattr(source, "__siddhi_extension__", None)
    if isinstance(declared, ExtensionMetadata):
        return (declared,)
    members = vars(source).values() if hasattr(source, "__path__") or hasattr(source, "__file__") else source
    if not isinstance(members, Iterable) or isinstance(members, (str, bytes)):
        raise ExtensionError(f"{source!r} declares no siddhi extension")
    found: dict[int, ExtensionMetadata] = {}
    for member in members:
        declared = member if isinstance(member, ExtensionMetadata) else getattr(member, "__siddhi_extension__", None)
        if isinstance(declared, ExtensionMetadata):
            found[id(declared)] = declared
    if not found:
        raise ExtensionError(f"{source!r} declares no siddhi extension")
    return found.values()


def _check(metadata: ExtensionMetadata) -> None:
    """Check that metadata is complete and consistent.

    Raises:
        ExtensionError: it is not.
    """
    what = f"{metadata.title} '{metadata.full_name}'"
    for part in (metadata.name,) if metadata.namespace is None else (metadata.namespace, metadata.name):
        pattern = _CONNECTOR_NAME if isinstance(metadata, ConnectorMetadata) else _NAME
        if not pattern.match(part):
            raise ExtensionError(f"{what}: '{part}' is not a name (letters, digits and _; not beginning with a digit)")
    if (metadata.builtin is None) == (metadata.implementation is None):
        raise ExtensionError(f"{what} needs either 'builtin' or 'implementation'")
    if metadata.implementation is not None and not callable(metadata.implementation):
        raise ExtensionError(f"{what}: the implementation {metadata.implementation!r} cannot be called")
    waits = list(asynchronous_methods(metadata.implementation))
    is_awaited = isinstance(metadata, StreamFunctionMetadata) and metadata.awaiting is not None
    if waits and not is_awaited:
        raise ExtensionError(
            f"{what} can't be asynchronous, since the engine does not await {' and '.join(waits)}(); it awaits stream functions "
            "only: see siddhi.extension.stream_function"
        )
    if type(metadata) in (FunctionMetadata, StreamFunctionMetadata) and is_generator_function(metadata.implementation):
        raise ExtensionError(
            f"{what} can't be a generator, since the engine does not iterate over it: {metadata.implementation!r}; return the "
            "values"
        )
    if isinstance(metadata, AggregatorMetadata) and metadata.implementation is not None:
        missing = [name for name in ("add", "remove", "reset", "value") if not hasattr(metadata.implementation, name)]
        if missing:
            raise ExtensionError(f"{what}: {metadata.implementation!r} lacks {', '.join(missing)}()")
    with_objects = isinstance(metadata, (StreamProcessorMetadata, WindowMetadata)) and metadata.builtin is None
    if with_objects and not hasattr(metadata.implementation, "process"):
        raise ExtensionError(f"{what}: {metadata.implementation!r} lacks process()")
    if isinstance(metadata, (FunctionMetadata, AggregatorMetadata, IncrementalAggregatorMetadata)) and not (
        isinstance(metadata.returns, AttributeType) or callable(metadata.returns)
    ):
        raise ExtensionError(f"{what}: 'returns' must be an attribute type or a function, not {metadata.returns!r}")
    if isinstance(metadata, ConnectorMetadata) and metadata.implementation is not None:
        missing = [name for name in metadata.methods if not hasattr(metadata.implementation, name)]
        if missing:
            raise ExtensionError(f"{what}: {metadata.implementation!r} lacks {', '.join(missing)}()")
        abstract = [name for name in dir(metadata.implementation) if _is_abstract(metadata.implementation, name)]
        if abstract:
            class_ = getattr(metadata.implementation, "__qualname__", metadata.implementation)
            raise ExtensionError(f"{what}: class '{class_}' does not implement {', '.join(abstract)}()")
    if not metadata.overloads and not isinstance(metadata, (ScriptLanguageMetadata, ConnectorMetadata)):
        raise ExtensionError(f"{what} declares no overload (use an empty Overload() for no parameters)")
    for overload in metadata.overloads:
        names = [parameter.name for parameter in overload.parameters]
        for parameter in overload.parameters:
            if not parameter.types or not all(isinstance(type_, AttributeType) for type_ in parameter.types):
                raise ExtensionError(f"{what}: parameter '{parameter.name}' accepts no attribute type")
        if not names and (overload.repeat is not type(overload.repeat).NO):
            raise ExtensionError(f"{what}: an overload without parameters can't repeat its last one")


def _is_abstract(implementation: object, name: str) -> bool:
    return bool(getattr(getattr(implementation, name, None), "__isabstractmethod__", False))


def _same_origin(holder: ExtensionMetadata, metadata: ExtensionMetadata) -> bool:
    """Return whether the same definition is registered again, as by a reloaded module or notebook cell."""
    if type(holder) is not type(metadata) or holder.implementation is None or metadata.implementation is None:
        return holder is metadata
    return _origin(holder) == _origin(metadata)


def _origin(metadata: ExtensionMetadata) -> str:
    """Return where an extension comes from, for error messages."""
    if metadata.implementation is None:
        return "built in"
    implementation = metadata.implementation
    module = getattr(implementation, "__module__", None)
    return f"{module}.{getattr(implementation, '__qualname__', type(implementation).__qualname__)}"
