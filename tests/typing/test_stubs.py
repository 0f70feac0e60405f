"""Stubs of the core say what is there: every class, function, method and base in a stub exists."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import ModuleType

import pytest

import siddhi._core

CORE = Path(siddhi._core.__file__).parent
STUBS = sorted(CORE.rglob("*.pyi"))
SOURCES = Path(__file__).parents[2] / "src" / "siddhi"
# Python gives these to every object, or Cython to every class.
GIVEN = {"__init__", "__new__", "__reduce__", "__reduce_cython__", "__setstate_cython__", "__pyx_vtable__", "__doc__"}


def module_of(path: Path) -> str:
    return ".".join(("siddhi", "_core", *path.relative_to(CORE).with_suffix("").parts))


def imported_from_core(tree: ast.Module) -> set[str]:
    return {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("siddhi._core.")
    }


def members_of(node: ast.ClassDef) -> set[str]:
    names = set()
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            names.add(item.name)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            names.add(item.target.id)
    return names


def test_every_core_module_that_python_imports_has_a_stub() -> None:
    used = set()
    for path in SOURCES.rglob("*.py"):
        used |= imported_from_core(ast.parse(path.read_text(encoding="utf-8")))
    assert used
    assert used <= {module_of(path) for path in STUBS}


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.relative_to(CORE).as_posix())
def test_what_a_stub_says_is_there(path: Path) -> None:
    module = importlib.import_module(module_of(path))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert callable(getattr(module, node.name)), node.name
        elif isinstance(node, ast.ClassDef) and not is_protocol(node):
            check_class(module, node)


def is_protocol(node: ast.ClassDef) -> bool:
    """Whether a class is a type alone: what arguments must have."""
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def check_class(module: ModuleType, node: ast.ClassDef) -> None:
    kind = getattr(module, node.name)
    said = members_of(node)
    for name in said - GIVEN:
        assert hasattr(kind, name), f"{node.name}.{name} is in the stub only"
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    assert bases - {"IntEnum", "Protocol"} <= {base.__name__ for base in kind.__mro__}, node.name
