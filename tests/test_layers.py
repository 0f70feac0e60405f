"""Imports go one way: from text to plan to operators to interfaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "siddhi"

LEAVES = {
    "_callables",
    "_frozen",
    "_version",
    "errors",
    "types",
    "event",
    "repeats",
    "sandbox",
}  # what every layer may name
LANGUAGE = LEAVES | {"query_api"}
PLAN = LANGUAGE | {"query_compiler", "extension", "library", "planner"}
ENGINE = LEAVES | {"_core", "extension", "runtime", "config", "persistence"}
PUBLIC = PLAN | ENGINE - {"_core"} | {"io", "stores", "temporal", "testing"}

# A layer and the layers it may import besides itself and the package's public names ("siddhi" itself).
# runtime/assembly is the one place where plan and operators meet.
ALLOWED = {
    "_callables": set(),
    "_frozen": set(),
    "_version": set(),
    "types": set(),
    "repeats": set(),
    "event": {"_core"},
    "sandbox": set(),
    "errors": {"types"},
    "_core": {"errors"},  # inputs reject a row with the message that the sender sees
    "query_api": {"_frozen", "errors", "types"},
    "query_compiler": LANGUAGE,
    "extension": LANGUAGE,
    "library": LANGUAGE | {"extension"},
    "planner": LANGUAGE | {"extension", "query_compiler"},  # annotations hold text: times, conditions
    "runtime": PLAN | ENGINE | {"io", "stores", "temporal"},
    "config": LEAVES,
    "persistence": LEAVES,
    "io": LEAVES | {"extension"},
    "stores": LEAVES | {"extension", "io"},
    "temporal": LEAVES | {"extension"},
    "testing": PUBLIC,
    "cli": PUBLIC | {"spark"},  # loaded where it is asked for
    "server": PUBLIC,
    "jupyter": PUBLIC,
    "spark": PUBLIC,
    "__init__": PUBLIC | {"_core"},
    "__main__": {"cli"},
}
FACES = {"cli", "server", "jupyter", "spark", "testing"}  # they may also `import siddhi`, the public interface

CYTHON_IMPORT = re.compile(r"^\s*(?:from|cimport|import)\s+(siddhi[\w.]*)(?:\s+c?import\s+(\w+))?", re.MULTILINE)
RELATIVE = re.compile(r"^\s*from\s+(\.+)", re.MULTILINE)


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0].split(".")[0]


def source_files() -> list[Path]:
    return sorted(path for suffix in ("py", "pyi", "pyx", "pxd", "pxi") for path in SOURCES.rglob(f"*.{suffix}"))


def python_imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Module and first name of every import; what stands under TYPE_CHECKING binds nothing and is left out."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from ((module, alias.name) for alias in names)
            case ast.Import(names=names):
                yield from ((alias.name, "") for alias in names)
        yield from python_imports(child)


def imported_layers(text: str, *, cython: bool) -> set[str]:
    """Layers of this package that are imported or cimported; "" stands for the package itself."""
    found = CYTHON_IMPORT.findall(text) if cython else python_imports(ast.parse(text))
    ours = [(module.split("."), name) for module, name in found if module.split(".")[0] == "siddhi"]
    return {parts[1] if len(parts) > 1 else name if name in ALLOWED else "" for parts, name in ours}


def layers_of_imports(path: Path) -> set[str]:
    return imported_layers(path.read_text(encoding="utf-8"), cython=path.suffix not in (".py", ".pyi"))


@pytest.mark.parametrize("path", source_files(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    layer = layer_of(path)
    assert layer in ALLOWED, f"{layer} is a new layer: say in ALLOWED what it may import"
    allowed = ALLOWED[layer] | {layer} | ({""} if layer in FACES else set())
    assert layers_of_imports(path) - allowed == set()


@pytest.mark.parametrize("path", source_files(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_relative_imports_stay_inside_their_layer(path: Path) -> None:
    depth = len(path.relative_to(SOURCES).parts) - 1
    assert all(len(dots) <= depth for dots in RELATIVE.findall(path.read_text(encoding="utf-8")))


def test_plan_and_operators_are_combined_in_assembly_only() -> None:
    files = [path for path in source_files() if {"planner", "_core"} <= layers_of_imports(path)]
    meeting = [path.relative_to(SOURCES).as_posix() for path in files]
    assert [path for path in meeting if not path.startswith("runtime/assembly/")] == []


def test_physical_choices_are_read_from_the_plan() -> None:
    """Only what plans an app or an on-demand query applies rules; runtime, explain and faces read fields of the plan."""
    rules = "siddhi.planner.rules"
    calling = [
        path.relative_to(SOURCES).as_posix()
        for path in source_files()
        if path.suffix == ".py"
        and any(
            f"{module}.{name}".startswith(rules) for module, name in python_imports(ast.parse(path.read_text("utf-8")))
        )
    ]
    outside = [path for path in calling if not path.startswith("planner/rules/")]
    assert outside == ["planner/app.py", "planner/on_demand.py"]


@pytest.mark.parametrize(
    ("line", "layers"),
    [
        ("from siddhi.planner import plan", {"planner"}),
        ("import siddhi.io", {"io"}),
        ("from siddhi import types", {"types"}),
        ("from siddhi import Event", {""}),
        ("import siddhi", {""}),
        ("from siddhi_other import x", set()),
    ],
)
@pytest.mark.parametrize("cython", [False, True])
def test_reading_import_lines(line: str, layers: set[str], cython: bool) -> None:
    assert imported_layers(line, cython=cython) == layers


def test_reading_cimport_lines() -> None:
    assert imported_layers("    from siddhi._core.record.event cimport StreamEvent", cython=True) == {"_core"}
    assert imported_layers("cimport siddhi._core.record.event as ev", cython=True) == {"_core"}


def test_text_that_resembles_an_import_is_skipped() -> None:
    text = '"""\nimport siddhi.cli\n"""\nif TYPE_CHECKING:\n    from siddhi.planner import Plan\n\nimport siddhi.io\n'
    assert imported_layers(text, cython=False) == {"io"}
