"""Inside of ``siddhi.spark`` imports point one way, too: from the plan to the workers to DataFrames to queries."""

from __future__ import annotations

import ast

import pytest

from tests.test_layers import SOURCES, python_imports

SPARK = SOURCES / "spark"
LEAVES = {"_compat", "failures", "file_systems", "files", "query_settings", "spans"}

# A folder and what of siddhi.spark it may import besides itself.
ALLOWED = {
    "plan": set(),
    "workers": {"plan"},
    "catalyst": LEAVES | {"plan", "workers"},
    "sources": LEAVES | {"plan", "workers", "catalyst"},
    "sinks": LEAVES | {"plan", "catalyst", "sources"},
    "checkpoint": LEAVES | {"plan", "workers", "catalyst"},
    "streaming": LEAVES | {"plan", "workers", "catalyst", "sources", "sinks", "checkpoint"},
}


def folders_of_imports(text: str) -> set[str]:
    found = set()
    for module, name in python_imports(ast.parse(text)):
        parts = module.split(".")
        if parts[:2] == ["siddhi", "spark"]:
            found.add(parts[2] if len(parts) > 2 else name)
    return found


def test_every_folder_is_in_the_list():
    assert {path.parent.name for path in SPARK.glob("*/*.py")} == set(ALLOWED)


@pytest.mark.parametrize("path", sorted(SPARK.glob("*/*.py")), ids=lambda path: path.relative_to(SPARK).as_posix())
def test_imports_between_folders_go_one_way(path):
    folder = path.parent.name
    assert folders_of_imports(path.read_text(encoding="utf-8")) - ALLOWED[folder] - {folder} == set()


@pytest.mark.parametrize("path", sorted((SPARK / "plan").glob("*.py")), ids=lambda path: path.name)
def test_planning_needs_no_pyspark(path):
    modules = {module for module, _ in python_imports(ast.parse(path.read_text(encoding="utf-8")))}
    assert not [module for module in modules if module.split(".")[0] in ("pyspark", "py4j")]
