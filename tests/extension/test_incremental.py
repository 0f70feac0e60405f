"""Incremental aggregators: declarations, and declarations that are refused."""

from __future__ import annotations

import pytest

from siddhi import SiddhiManager, extension
from siddhi.errors import ExtensionError
from siddhi.extension import (
    BaseAttribute,
    IncrementalAttributeAggregator,
    Parameter,
    Registry,
    builtin_registry,
    reference_page,
)
from siddhi.query_api import Attribute
from siddhi.types import AttributeType

DOUBLE, INT = AttributeType.DOUBLE, AttributeType.INT


def total(x: Attribute) -> IncrementalAttributeAggregator:
    """The sum."""
    return IncrementalAttributeAggregator((BaseAttribute("T", DOUBLE, "sum", x.name),), "T")


def test_a_declaration_has_base_attributes_and_a_result() -> None:
    registry = Registry()
    assert (
        extension.incremental_aggregator("my:total", args=(DOUBLE,), returns=DOUBLE, registry=registry)(total) is total
    )
    found = registry.incremental_aggregator("my", "total")
    assert found is not None
    assert (found.implementation, found.description) == (total, "The sum.")
    (parameter,) = found.overloads[0].parameters
    assert (parameter.name, parameter.types, parameter.attribute_only) == ("x", frozenset({DOUBLE}), True)
    assert registry.aggregator("my", "total") is None


def test_the_namespace_incrementalaggregator_is_removed() -> None:
    registry = Registry()
    extension.incremental_aggregator("incrementalAggregator:total", args=(DOUBLE,), returns=DOUBLE, registry=registry)(
        total
    )
    found = registry.incremental_aggregator(None, "total")
    assert found is not None
    assert found.names == ("total", "incrementalAggregator:total")
    for name in found.names:
        SiddhiManager().set_extension(name, total)


def test_names_of_functions_and_built_ins_are_taken() -> None:
    registry = Registry(builtin_registry())
    declare = {"args": (DOUBLE,), "returns": DOUBLE, "registry": registry}
    for taken, holder in (("sum", "incremental aggregator 'sum'"), ("coalesce", "function 'coalesce'")):
        with pytest.raises(ExtensionError, match=f"taken by {holder}"):
            extension.incremental_aggregator(taken, **declare)(total)
    extension.incremental_aggregator("total", **declare)(total)
    with pytest.raises(ExtensionError, match="taken by incremental aggregator 'total'"):
        extension.function("total", **declare)(lambda x: x)

    @extension.aggregator("total", **declare)  # a query calls this one
    class Total:
        def add(self, x: float) -> None: ...
        def remove(self, x: float) -> None: ...
        def reset(self) -> None: ...
        def value(self) -> float:
            return 0.0


def test_invalid_declarations_are_refused() -> None:
    registry = Registry()

    def declare(**more: object) -> None:
        extension.incremental_aggregator("my:f", registry=registry, **{"args": (DOUBLE,), "returns": DOUBLE, **more})(
            total
        )  # type: ignore[arg-type]

    with pytest.raises(ExtensionError, match=r"declared with 2 argument\(s\)"):
        declare(args=(DOUBLE, INT))
    with pytest.raises(ExtensionError, match="'returns' must be an attribute type"):
        declare(returns="double")
    with pytest.raises(ExtensionError, match="argument 'p' must accept attributes"):
        declare(args=(Parameter("p", frozenset({DOUBLE}), dynamic=False),))


def test_the_reference_page_has_them() -> None:
    registry = Registry()
    extension.incremental_aggregator("my:total", args=((INT, DOUBLE),), returns=DOUBLE, registry=registry)(total)
    page = reference_page(registry)
    assert "## Incremental aggregators\n\n### my:total\n\nThe sum.\n\n- `my:total(int|double x)` → double\n" in page
