from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from siddhi.errors import ExtensionError
from siddhi.extension import (
    AggregatorMetadata,
    FunctionMetadata,
    Overload,
    Parameter,
    Registry,
    Repeat,
    WindowMetadata,
    builtin_registry,
    metadata_of,
    shared_registry,
)
from siddhi.extension.connectors import SourceMetadata
from siddhi.types import AttributeType

DOUBLE = AttributeType.DOUBLE


def a_function(name: str = "f", namespace: str | None = None, **changes: object) -> FunctionMetadata:
    fields: dict[str, object] = {"overloads": (Overload(),), "returns": DOUBLE, "builtin": "f"} | changes
    return FunctionMetadata(name=name, namespace=namespace, **fields)  # type: ignore[arg-type]


def an_aggregator(name: str = "f", **changes: object) -> AggregatorMetadata:
    fields: dict[str, object] = {"overloads": (Overload(),), "returns": DOUBLE, "builtin": "f"} | changes
    return AggregatorMetadata(name=name, **fields)  # type: ignore[arg-type]


def test_extensions_are_found_by_namespace_and_name() -> None:
    registry = Registry()
    plain, spaced = a_function("f"), a_function("f", "geo")
    registry.register(plain)
    registry.register(spaced)
    assert registry.function(None, "f") is plain
    assert registry.function("geo", "f") is spaced
    assert registry.function("other", "f") is None


def test_names_are_case_sensitive() -> None:
    registry = Registry()
    registry.register(a_function("f"))
    registry.register(a_function("F"))
    assert registry.function(None, "F") is not registry.function(None, "f")


def test_kinds_of_extensions_are_separate() -> None:
    registry = Registry()
    registry.register(an_aggregator("total"))
    assert registry.function(None, "total") is None
    assert registry.aggregator(None, "total") is not None
    assert registry.window(None, "total") is None
    assert registry.stream_function(None, "total") is None
    assert registry.script_language("total") is None


def test_a_taken_name_is_refused_and_its_holder_named() -> None:
    registry = Registry()
    registry.register(a_function("f", implementation=len, builtin=None))
    with pytest.raises(ExtensionError, match=r"function 'f' .*taken by function 'f' \(builtins\.len\)"):
        registry.register(a_function("f", implementation=max, builtin=None))


def test_functions_and_aggregators_share_their_names() -> None:
    registry = Registry()
    registry.register(a_function("f"))
    with pytest.raises(ExtensionError, match="taken by function 'f'"):
        registry.register(an_aggregator("f"))


def test_a_window_and_a_function_may_have_one_name() -> None:
    registry = Registry()
    registry.register(a_function("f"))
    registry.register(WindowMetadata(name="f", overloads=(Overload(),), builtin="f"))


def test_names_of_built_ins_are_taken() -> None:
    registry = Registry(builtin_registry())
    with pytest.raises(ExtensionError, match="taken by function 'cast' \\(built in\\)"):
        registry.register(a_function("cast"))


def test_replace_hides_the_earlier_definition_in_this_registry_only() -> None:
    mine, theirs = Registry(builtin_registry()), Registry(builtin_registry())
    own = a_function("cast")
    mine.register(own, replace=True)
    assert mine.function(None, "cast") is own
    assert theirs.function(None, "cast") is builtin_registry().function(None, "cast")
    assert [found for found in mine.all(FunctionMetadata) if found.name == "cast"] == [own]


def test_the_same_definition_may_be_registered_again() -> None:
    registry = Registry()
    registry.register(a_function("f", implementation=len, builtin=None))
    again = a_function("f", implementation=len, builtin=None, description="again")
    registry.register(again)
    assert registry.function(None, "f") is again


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (a_function("two words"), "is not a name"),
        (a_function("f", "2d"), "is not a name"),
        (a_function(builtin=None), "needs either 'builtin' or 'implementation'"),
        (a_function(implementation=len), "needs either 'builtin' or 'implementation'"),
        (a_function(builtin=None, implementation=3), "cannot be called"),
        (a_function(returns="double"), "'returns' must be"),
        (a_function(overloads=()), "declares no overload"),
        (a_function(overloads=(Overload((Parameter("x", frozenset()),)),)), "accepts no attribute type"),
        (a_function(overloads=(Overload((), Repeat.ZERO_OR_MORE),)), "without parameters can't repeat"),
        (an_aggregator(builtin=None, implementation=object), r"lacks add, remove, reset, value\(\)"),
    ],
)
def test_invalid_metadata_is_refused(metadata: FunctionMetadata, message: str) -> None:
    with pytest.raises(ExtensionError, match=message):
        Registry().register(metadata)


def test_names_of_connectors_may_have_hyphens() -> None:
    registry = Registry()
    metadata = SourceMetadata(name="redis-stream", builtin="redis-stream", location="redis.streams.RedisStreamSource")
    registry.register(metadata)
    assert [found.names for found in registry.all(SourceMetadata)] == [("redis-stream", "source:redis-stream")]
    with pytest.raises(ExtensionError, match="is not a name"):
        registry.register(a_function("two-words"))
    with pytest.raises(ExtensionError, match="is not a name"):
        registry.register(SourceMetadata(name="redis-", builtin="redis-"))


def test_metadata_is_found_in_modules_collections_and_decorated_objects() -> None:
    metadata = a_function()

    def decorated() -> None: ...

    decorated.__siddhi_extension__ = metadata  # type: ignore[attr-defined]
    assert list(metadata_of(metadata)) == [metadata]
    assert list(metadata_of(decorated)) == [metadata]
    assert list(metadata_of([decorated, metadata, 3])) == [metadata]
    for nothing in (3, "text", [1, 2], pytest):
        with pytest.raises(ExtensionError, match="declares no siddhi extension"):
            metadata_of(nothing)


class _Offers:
    """Stands for the metadata of installed packages."""

    def __init__(self, *names: str) -> None:
        self.points = [EntryPoint(name, f"offered_{name.replace('.', '_')}", "siddhi.functions") for name in names]
        self.scans = 0

    def __call__(self, *, group: str) -> list[EntryPoint]:
        self.scans += 1
        return [point for point in self.points if point.group == group]


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> _Offers:
    found = _Offers("geo", "text.upper", "broken")
    holders = {
        "offered_geo": [a_function("distance", "geo"), a_function("near", "geo")],
        "offered_text_upper": [a_function("upper", "text")],
    }

    def load(self: EntryPoint) -> object:
        if self.value not in holders:
            raise ImportError(f"no {self.value}")
        loaded.append(self.name)
        return holders[self.value]

    loaded: list[str] = []
    found.loaded = loaded  # type: ignore[attr-defined]
    monkeypatch.setattr("importlib.metadata.entry_points", found)
    monkeypatch.setattr(EntryPoint, "load", load)
    return found


def test_entry_points_are_loaded_when_their_name_is_used(offers: _Offers) -> None:
    registry = Registry(entry_points=True)
    assert offers.scans == 0
    assert registry.function("geo", "near") is not None
    assert registry.function("geo", "distance") is not None
    assert registry.function("text", "upper") is not None
    assert registry.function("text", "lower") is None
    assert (offers.scans, offers.loaded) == (1, ["geo", "text.upper"])  # type: ignore[attr-defined]


def test_entry_points_are_not_searched_for_a_registered_name(offers: _Offers) -> None:
    registry = Registry(builtin_registry(), entry_points=True)
    found = registry.called(None, "avg", FunctionMetadata, AggregatorMetadata)
    assert found is registry.aggregator(None, "avg")
    assert offers.scans == 0
    assert registry.called("geo", "near", FunctionMetadata, AggregatorMetadata) is not None


def test_a_function_that_replaces_an_aggregator_is_called_first(offers: _Offers) -> None:
    registry = Registry(builtin_registry(), entry_points=True)
    own = a_function("avg")
    registry.register(own, replace=True)
    assert registry.called(None, "avg", FunctionMetadata, AggregatorMetadata) is own
    assert offers.scans == 0


def test_a_broken_entry_point_is_named(offers: _Offers) -> None:
    with pytest.raises(ExtensionError, match="broken") as caught:
        Registry(entry_points=True).function("broken", "f")
    assert isinstance(caught.value.__cause__, ImportError)


def test_without_entry_points_nothing_is_scanned(offers: _Offers) -> None:
    assert Registry().function("geo", "near") is None
    assert offers.scans == 0


def test_without_package_extensions_none_is_loaded_or_found(offers: _Offers) -> None:
    """Not even once another app, or the same package's import, has loaded it."""
    own = a_function("own", "geo")
    shared = Registry(entry_points=True)
    manager = Registry(shared)
    manager.register(own)
    permitted = manager.without_offered({"text:upper"})
    assert permitted.function("geo", "near") is None
    assert permitted.is_offered("geo:near", FunctionMetadata)
    assert not permitted.is_offered("earth:near", FunctionMetadata)
    assert offers.loaded == []  # type: ignore[attr-defined]
    assert shared.function("geo", "near") is not None
    assert permitted.function("geo", "near") is None
    assert permitted.is_offered("geo:near", FunctionMetadata)
    assert permitted.function("geo", "own") is own
    assert permitted.function("text", "upper") is not None
    assert permitted.names(FunctionMetadata) == ["geo:own", "text:upper"]
    assert manager.names(FunctionMetadata) == ["geo:distance", "geo:near", "geo:own", "text:upper"]


def test_extensions_registered_by_an_import_belong_to_its_package(
    offers: _Offers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module of an entry point may hold decorators, which register more than it offers."""
    shared = Registry(entry_points=True)
    loads = EntryPoint.load

    def load(self: EntryPoint) -> object:
        shared.register(a_function("more", "geo"))
        return loads(self)

    monkeypatch.setattr(EntryPoint, "load", load)
    assert shared.function("geo", "near") is not None
    assert shared.function("geo", "more") is not None
    assert shared.without_offered(()).function("geo", "more") is None


def test_the_registry_of_the_process_extends_the_built_ins() -> None:
    assert shared_registry().aggregator(None, "sum") is builtin_registry().aggregator(None, "sum")
    assert shared_registry() is shared_registry()
    assert "sum" in shared_registry().names(AggregatorMetadata)
