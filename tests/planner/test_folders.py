"""Inside of ``siddhi.planner`` imports point one way: everything reads the plan, and the modules beside the folders put them
together."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.test_layers import SOURCES, python_imports

PLANNER = SOURCES / "planner"
LEAVES = {"problems"}

# A folder and what of siddhi.planner it may import besides itself.
ALLOWED = {
    "plan": set(),
    "rules": {"plan"},
    "bind": LEAVES | {"plan"},
    "distribution": {"plan"},
    "explain": LEAVES | {"plan", "distribution"},
}
# A module beside the folders, and what of siddhi.planner it may import.
ALLOWED_BESIDE = {
    "problems": set(),
    "warnings": LEAVES | {"plan"},
    "app": LEAVES | {"plan", "bind", "rules", "warnings"},
    "added": {"plan", "bind", "rules", "warnings"},
    "on_demand": {"plan", "bind", "rules"},
    "key_expressions": {"plan", "distribution", "app"},
    "compatibility": {"plan", "distribution", "app"},
}


def imported(path: Path) -> set[str]:
    """Folders and modules of the planner that a file imports."""
    found = set()
    for module, name in python_imports(ast.parse(path.read_text(encoding="utf-8"))):
        parts = module.split(".")
        if parts[:2] == ["siddhi", "planner"]:
            found.add(parts[2] if len(parts) > 2 else name)
    return found


def test_every_folder_is_in_the_list() -> None:
    assert {path.relative_to(PLANNER).parts[0] for path in PLANNER.rglob("*/*.py")} == set(ALLOWED)


def test_every_module_is_in_the_list() -> None:
    assert {path.stem for path in PLANNER.glob("*.py")} - {"__init__"} == set(ALLOWED_BESIDE)


@pytest.mark.parametrize("path", sorted(PLANNER.rglob("*/*.py")), ids=lambda path: path.relative_to(PLANNER).as_posix())
def test_imports_between_folders_go_one_way(path: Path) -> None:
    folder = path.relative_to(PLANNER).parts[0]
    assert imported(path) - ALLOWED[folder] - {folder} == set()


@pytest.mark.parametrize("path", sorted(PLANNER.glob("*.py")), ids=lambda path: path.name)
def test_imports_between_modules_go_one_way(path: Path) -> None:
    assert imported(path) - ALLOWED_BESIDE.get(path.stem, set()) == set()


def module_of(path: Path) -> str:
    return ".".join(("siddhi", *path.relative_to(SOURCES).with_suffix("").parts)).removesuffix(".__init__")


def test_modules_of_the_planner_have_no_import_cycle() -> None:
    paths = {module_of(path): path for path in PLANNER.rglob("*.py")}
    left: dict[str, set[str]] = {}
    for name, path in paths.items():
        found = python_imports(ast.parse(path.read_text(encoding="utf-8")))
        left[name] = {other for module, thing in found for other in (module, f"{module}.{thing}")} & paths.keys()
    while done := [name for name, others in left.items() if not others & left.keys()]:
        for name in done:
            del left[name]
    assert sorted(left) == []
