"""What the text of an app may touch outside of the app itself.

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
"""In place of a name or prefix: all of them."""

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
    """What the text of an app may touch. ``SandboxPolicy()`` lets it touch nothing, and sets limits that fit one small app.

    What the text asks for beyond it is refused when the app is created, with its place (E340; scripts E330; limits E341).
    In every set of names, and as the only prefix, ``"*"`` stands for all. :meth:`trusted` is the policy that allows
    everything: the manager's where it is given none.

    The boundary is that of the text: extensions that the host registers, and scripts that the policy allows, run with all
    rights of the process, and computing time is not limited. ``docs/sandbox.md`` says more.

    Attributes:
        environment: names of environment variables that ``${name}`` may stand for.
        scripts: languages of ``define function f[language]``. Python runs with all rights of the process.
        sources: prefixes of places (URL, topic, file) by type of ``@source``. A URL must begin with the prefix and go on, if
            at all, behind a ``/``; a topic must begin with it; a file must also be in one of ``folders``.
        sinks: the same of ``@sink``. ``log`` also allows ``#log(...)``.
        mappers: the same of ``@map``; built-in mappers touch nothing and are always allowed.
        stores: the same of ``@store``.
        references: names of the configuration that ``ref = 'name'`` may stand for. The type and the place that the
            configuration gives are allowed with it, and the text can't replace them.
        extensions: names (``namespace:name``) of extensions that may be loaded from installed packages. What the host
            registers with the manager or with a decorator is allowed.
        folders: where files may be read and written; symbolic links are followed when the app is created.
        app_names: prefixes of ``@app:name``, by which state is saved and found again.
        error_store: whether events that failed may be kept in the manager's error store.
        statistics: reporters (``console``) of ``@app:statistics``.
        max_text: characters of the app, and of an on-demand query.
        max_queries: queries of the app, those of partitions and inner ones included.
        max_partitions: partitions of the app.
        max_events: events that one window, buffer, cache, counting state or output rate may be told to hold, and partial
            matches that a pattern may hold where it does not say a lower number.
        max_keys: keys that one ``group by`` or partition may hold, and distinct values of one group, where the text does not
            say a lower number with ``@limit`` or ``@app:limits``. What a window ends by itself is left alone, and so are
            incremental aggregations.
        max_rows: rows that one table in memory may hold, likewise.
        max_duration_ms: time that one window, pattern, absence or output rate may be told to span, in ms.
        max_threads: workers of all ``@async`` streams together.
        max_record_bytes: memory of the records in which windows, tables, patterns and buffers of the app hold events, all
            together; texts and objects, to which they point, and the state of aggregates are not counted. An event that
            needs more fails with a MemoryError.

    A limit that is None does not limit.

    Raises:
        TypeError: a field is of another type than declared; a text in place of a set of texts, for instance.
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
            raise TypeError(f"'error_store' of a SandboxPolicy is True or False, not {self.error_store!r}")
        for name in _LIMITS:
            limit = getattr(self, name)
            if limit is not None and type(limit) is not int:
                raise TypeError(f"'{name}' of a SandboxPolicy is an int or None, not {limit!r}")
            if limit is not None and limit < 0:
                raise ValueError(f"'{name}' of a SandboxPolicy must be 0 or more, not {limit}")

    @classmethod
    def trusted(cls) -> SandboxPolicy:
        """The policy that allows everything and limits nothing: for text that its host vouches for."""
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
        raise TypeError(f"'{name}' of a SandboxPolicy holds several texts: write {{'...'}}, not {values!r}")
    texts = tuple(str(text) if isinstance(text, PathLike) else text for text in values)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"'{name}' of a SandboxPolicy holds texts, not {text!r}")
    return texts


def _by_type(name: str, values: object) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(values, Mapping):
        raise TypeError(f"'{name}' of a SandboxPolicy holds prefixes by type: {{'type': ('prefix',)}}, not {values!r}")
    for key in values:
        if not isinstance(key, str):
            raise TypeError(f"a type in '{name}' of a SandboxPolicy is a text, not {key!r}")
    return MappingProxyType({key: _texts(f"{name}[{key!r}]", prefixes) for key, prefixes in values.items()})
