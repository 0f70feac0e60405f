from __future__ import annotations

from typing import Any

import pytest

from siddhi import extension
from siddhi.errors import ExtensionError
from siddhi.extension import Parameter, Registry, Repeat, builtin_registry
from siddhi.io import AsyncSink, Sink, SinkMapper, Source, SourceMapper
from siddhi.query_api import Attribute
from siddhi.stores import RecordTable
from siddhi.types import AttributeType

DOUBLE, INT, STRING = AttributeType.DOUBLE, AttributeType.INT, AttributeType.STRING


def test_a_function_is_registered_and_stays_callable() -> None:
    registry = Registry()

    @extension.function("geo:distance", args=(DOUBLE,) * 4, returns=DOUBLE, registry=registry)
    def distance(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
        """How far apart."""
        return abs(lat1 - lat2) + abs(lon1 - lon2)

    found = registry.function("geo", "distance")
    assert found is not None
    assert found.implementation is distance
    assert distance(0.0, 0.0, 3.0, 4.0) == 7.0
    assert found.description == "How far apart."
    assert [parameter.name for parameter in found.overloads[0].parameters] == ["lat1", "lon1", "lat2", "lon2"]


def test_arguments_may_be_types_sets_of_types_or_parameters() -> None:
    registry = Registry()
    given = Parameter("b", frozenset({STRING}), dynamic=False)

    @extension.function("f", args=((INT, DOUBLE), given), returns=INT, registry=registry)
    def f(a: float, b: str) -> int: ...

    found = registry.function(None, "f")
    assert found is not None
    first, second = found.overloads[0].parameters
    assert (first.name, first.types) == ("a", frozenset({INT, DOUBLE}))
    assert second is given


def test_the_last_argument_may_repeat() -> None:
    registry = Registry()

    @extension.function("f", args=(INT,), repeat=Repeat.ONE_OR_MORE, returns=INT, registry=registry)
    def f(*values: int) -> int: ...

    with pytest.raises(ExtensionError, match="does not accept"):

        @extension.function("g", args=(INT,), repeat=Repeat.ONE_OR_MORE, returns=INT, registry=registry)
        def g(value: int) -> int: ...


def test_an_aggregator_is_a_class_with_four_methods() -> None:
    registry = Registry()

    @extension.aggregator("product", args=(DOUBLE,), returns=DOUBLE, registry=registry)
    class Product:
        def __init__(self) -> None:
            self.product = 1.0

        def add(self, value: float) -> None:
            self.product *= value

        def remove(self, value: float) -> None:
            self.product /= value

        def reset(self) -> None:
            self.product = 1.0

        def value(self) -> float:
            return self.product

    found = registry.aggregator(None, "product")
    assert found is not None
    assert found.implementation is Product
    assert found.overloads[0].parameters[0].name == "value"


def test_a_stream_function_names_the_attributes_it_appends() -> None:
    registry = Registry()

    @extension.stream_function("split", args=(STRING,), appends={"head": STRING, "tail": STRING}, registry=registry)
    def split(text: str) -> tuple[str, str]: ...

    found = registry.stream_function(None, "split")
    assert found is not None
    assert found.appends == (Attribute("head", STRING), Attribute("tail", STRING))


def test_invalid_declarations_are_refused() -> None:
    registry = Registry()
    with pytest.raises(ExtensionError, match="declared with 2 argument"):
        extension.function("f", args=(INT, INT), returns=INT, registry=registry)(lambda a: a)
    with pytest.raises(ExtensionError, match="declared with 0 argument"):
        extension.function("f", returns=INT, registry=registry)(lambda a: a)
    with pytest.raises(ExtensionError, match="requires keyword arguments"):
        extension.function("f", returns=INT, registry=registry)(lambda *, a: a)
    with pytest.raises(ExtensionError, match="is not an attribute type: 'int'"):
        extension.function("f", args=("int",), returns=INT, registry=registry)(lambda a: a)  # type: ignore[arg-type]
    with pytest.raises(ExtensionError, match="is not an attribute type: 3"):
        extension.function("f", args=(3,), returns=INT, registry=registry)(lambda a: a)  # type: ignore[arg-type]
    with pytest.raises(ExtensionError, match="empty namespace"):
        extension.function(":f", returns=INT, registry=registry)(lambda: 1)
    with pytest.raises(ExtensionError, match="cannot be called"):
        extension.function("f", returns=INT, registry=registry)(3)  # type: ignore[type-var]
    with pytest.raises(ExtensionError, match="lacks remove, reset"):

        @extension.aggregator("total", args=(INT,), returns=INT, registry=registry)
        class Total:
            def add(self, value: int) -> None: ...
            def value(self) -> int: ...

    with pytest.raises(ExtensionError, match="appends an attribute twice"):
        extension.stream_function("s", appends=(Attribute("x", INT), Attribute("x", INT)), registry=registry)(
            lambda: (1, 2)
        )
    assert list(registry.all(extension.FunctionMetadata)) == []


def test_without_a_registry_all_managers_of_the_process_use_it() -> None:
    @extension.function("test_decorators:answer", returns=INT)
    def answer() -> int:
        return 42

    assert Registry(extension.shared_registry()).function("test_decorators", "answer") is not None


@pytest.mark.parametrize(
    ("declare", "base", "message"),
    [
        (extension.sink, Sink, r"sink 'mine': class '.*Mine' does not implement connect, init, publish\(\)"),
        (
            extension.source,
            Source,
            r"source 'mine': class '.*Mine' does not implement connect, init, pause, resume\(\)",
        ),
        (extension.sink, AsyncSink, r"class '.*Mine' does not implement send\(\)"),
        (extension.source_mapper, SourceMapper, r"class '.*Mine' does not implement map\(\)"),
        (extension.sink_mapper, SinkMapper, r"class '.*Mine' does not implement map_event\(\)"),
        (
            extension.store,
            RecordTable,
            r"class '.*Mine' does not implement add, compile_condition, connect, find, init\(\)",
        ),
    ],
)
def test_a_connector_must_implement_the_methods_of_its_base(declare: Any, base: type, message: str):
    with pytest.raises(ExtensionError, match=message):

        @declare("mine", registry=Registry(builtin_registry()))
        class Mine(base):  # type: ignore[misc]
            """Implements nothing."""
