from __future__ import annotations

from pathlib import Path

import pytest

from siddhi.extension import FunctionMetadata, Registry, builtin_registry, reference_page, signature
from siddhi.library import NAMESPACES, built_in
from tests.conftest import Golden


def test_the_page_of_the_built_ins(golden: Golden) -> None:
    plain = Registry()
    for metadata in built_in():
        if metadata.namespace is None:
            plain.register(metadata)
    golden(Path(__file__).with_name("built_ins.md"), reference_page(plain))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_the_page_of_a_namespace(golden: Golden, namespace: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "functions" / f"{namespace}.md"
    golden(page, reference_page(builtin_registry(), namespace))


def test_an_empty_registry_has_an_empty_page() -> None:
    assert reference_page(Registry()) == "# Extensions\n"


def test_signatures_show_repeated_arguments() -> None:
    maximum = builtin_registry().function(None, "maximum")
    assert isinstance(maximum, FunctionMetadata)
    assert signature(maximum, maximum.overloads[0]) == "maximum(int|long|float|double arg, ...), all of one type"
