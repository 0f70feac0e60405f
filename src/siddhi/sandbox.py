"""The policy of a sandbox: which resources outside of the app its text may use, and how much it may hold.

SiddhiManager(policy=SandboxPolicy(environment={"REGION"}, sinks={"mail": ("*",)}))
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from types import MappingProxyType
from typing import Any, Final

__all__ = ["ANY", "SandboxPolicy"]

ANY: Final = "*"
"""Wildcard: stands for every name, or as a prefix for every location."""

_NAMES = ("environment", "scripts", "references", "extensions", "statistics")
_TYPES = ("sources", "sinks", "mappers", "stores")
_PREFIXES = ("folders", "app_names")
_LIMITS = (
    "max_text",
    "max_queries",
    "max_partitions",
    "max_events",
    "max_keys",
    "max_rows",
    "max_duration_ms",
    "max_threads",
    "max_record_bytes",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPolicy:
    """What the text of an app may use. ``SandboxPolicy()`` allows nothing and sets limits that fit one small app.

    An app whose text needs more is rejected when it is created, with the location in the text (E340; scripts E330; limits
    E341). In every set of names, and as the only prefix, ``"*"`` stands for all. :meth:`trusted` returns the policy that
    allows everything; it is the default of the manager.

    The policy restricts the text only: extensions registered by the host, and scripts that the policy allows, run with all
    rights of the process. CPU time is not limited. See ``docs/sandbox.md``.

    Attributes:
        environment: names of the environment variables that ``${name}`` and ``env:getEnvironmentProperty`` may read, and of
            the properties of the configuration that ``env:getSystemProperty`` and ``env:getYAMLProperty`` may read.
        scripts: languages of ``define function f[language]``. Python runs with all rights of the process.
        sources: allowed locations (prefixes of URLs, topics, files) by type of ``@source``. A URL must equal the prefix or
            continue it after a ``/``; a topic must begin with it; a file must also be in one of ``folders``.
        sinks: the same for ``@sink``. ``log`` also allows ``#log(...)``.
        mappers: the same for ``@map``. Built-in mappers are always allowed; prefixes apply to the class of ``protobuf`` and the
            schema registry of ``avro``.
        stores: the same for ``@store``.
        references: names of the manager's configuration that ``ref = 'name'`` may use. This allows the type and the location
            set there, and the text cannot override them.
        extensions: names (``namespace:name``) of extensions that may be loaded from installed packages. Extensions that the
            host registers with the manager or with a decorator are always allowed.
        folders: where files may be read and written; symbolic links are followed when the app is created.
        app_names: allowed prefixes of ``@app:name``, the name under which state is saved and restored.
        error_store: whether failed events may be stored in the manager's error store.
        statistics: allowed reporters (``console``) of ``@app:statistics``.
        max_text: maximum length of the app, and of an on-demand query, in characters.
        max_queries: maximum number of queries of the app, including those of partitions and nested ones.
        max_partitions: maximum number of partitions of the app.
        max_events: maximum size of one window, buffer, cache, counting state or output rate, in events, and the default
            limit of the partial matches of a pattern.
        max_keys: default limit of the keys of one ``group by`` or partition, of the distinct values of one group, and of the
            rows of one incremental aggregation; ``@limit`` and ``@app:limits`` can set a lower one. Groups that end with
            their window are not limited.
        max_rows: default limit of the rows of one table in memory; the same annotations can set a lower one.
        max_duration_ms: maximum time span of one window, pattern, absence or output rate, in ms.
        max_threads: maximum number of workers of all ``@async`` streams together.
        max_record_bytes: maximum memory of the records in which windows, tables, patterns and buffers of the app hold
            events, in total. The strings and objects to which records refer, and the state of aggregators, are not counted.
            An event that needs more fails with a MemoryError.

    A limit of None means no limit.

    Raises:
        TypeError: a field has another type than declared, such as a str instead of a set of str.
        ValueError: a limit is negative.
    """

    environment: Collection[str] = frozenset()
    scripts: Collection[str] = frozenset()
    sources: Mapping[str, Iterable[str]] = field(default_factory=dict, hash=False)
    sinks: Mapping[str, Iterable[str]] = field(default_factory=dict, hash=False)
    mappers: Mapping[str, Iterable[str]] = field(default_factory=dict, hash=False)
    stores: Mapping[str, Iterable[str]] = field(default_factory=dict, hash=False)
    references: Collection[str] = frozenset()
    extensions: Collection[str] = frozenset()
    folders: Iterable[str | PathLike[str]] = ()
    app_names: Iterable[str] = (ANY,)
    error_store: bool = False
    statistics: Collection[str] = frozenset()
    max_text: int | None = 100_000
    max_queries: int | None = 100
    max_partitions: int | None = 20
    max_events: int | None = 100_000
    max_keys: int | None = 100_000
    max_rows: int | None = 100_000
    max_duration_ms: int | None = 31 * 86_400_000
    max_threads: int | None = 4
    max_record_bytes: int | None = 100_000_000

    def __post_init__(self) -> None:
        for name in _NAMES:
            object.__setattr__(self, name, frozenset(_texts(name, getattr(self, name))))
        for name in _PREFIXES:
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        for name in _TYPES:
            object.__setattr__(self, name, _by_type(name, getattr(self, name)))
        if type(self.error_store) is not bool:
            raise TypeError(
                f"invalid 'error_store' of a SandboxPolicy: expected True or False, got {self.error_store!r}"
            )
        for name in _LIMITS:
            limit = getattr(self, name)
            if limit is not None and type(limit) is not int:
                raise TypeError(f"invalid '{name}' of a SandboxPolicy: expected an int or None, got {limit!r}")
            if limit is not None and limit < 0:
                raise ValueError(f"invalid '{name}' of a SandboxPolicy: expected 0 or more, got {limit}")

    @classmethod
    def trusted(cls) -> SandboxPolicy:
        """Return the policy that allows everything and limits nothing, for text that the host trusts."""
        everything: dict[str, Any] = {
            **dict.fromkeys(_NAMES, (ANY,)),
            **dict.fromkeys(_PREFIXES, (ANY,)),
            **{name: {ANY: (ANY,)} for name in _TYPES},
            **dict.fromkeys(_LIMITS, None),
        }
        return cls(**everything, error_store=True)

    def __reduce__(self) -> tuple[Callable[..., SandboxPolicy], tuple[dict[str, Any]]]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return _made, ({**values, **{name: dict(values[name]) for name in _TYPES}},)


def _made(values: dict[str, Any]) -> SandboxPolicy:
    return SandboxPolicy(**values)


def _texts(name: str, values: object) -> tuple[str, ...]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"invalid '{name}' of a SandboxPolicy: expected a set of str such as {{'...'}}, got {values!r}")
    texts = tuple(str(text) if isinstance(text, PathLike) else text for text in values)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"invalid item of '{name}' of a SandboxPolicy: expected a str, got {text!r}")
    return texts


def _by_type(name: str, values: object) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(values, Mapping):
        raise TypeError(
            f"invalid '{name}' of a SandboxPolicy: expected prefixes by type such as {{'type': ('prefix',)}}, got {values!r}"
        )
    for key in values:
        if not isinstance(key, str):
            raise TypeError(f"invalid type in '{name}' of a SandboxPolicy: expected a str, got {key!r}")
    return MappingProxyType({key: _texts(f"{name}[{key!r}]", prefixes) for key, prefixes in values.items()})
