"""Compiled modules that Python imports have stubs; ``nox -s lint`` compares them with what is there (stubtest)."""

from __future__ import annotations

import ast
from pathlib import Path

import siddhi._core

CORE = Path(siddhi._core.__file__).parent
STUBS = sorted(CORE.rglob("*.pyi"))
SOURCES = Path(__file__).parents[2] / "src" / "siddhi"


def module_of(path: Path) -> str:
    return ".".join(("siddhi", "_core", *path.relative_to(CORE).with_suffix("").parts))


def imported_from_core(tree: ast.Module) -> set[str]:
    return {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("siddhi._core.")
    }


def test_every_core_module_that_python_imports_has_a_stub() -> None:
    used = set()
    for path in SOURCES.rglob("*.py"):
        used |= imported_from_core(ast.parse(path.read_text(encoding="utf-8")))
    assert used
    assert used <= {module_of(path) for path in STUBS}
