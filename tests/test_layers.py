"""Imports point one way: from text to plan to operators to faces, never back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "siddhi"

LEAVES = {"_version", "errors", "types", "event"}  # what every layer may name
LANGUAGE = LEAVES | {"query_api"}
PLAN = LANGUAGE | {"query_compiler", "extension", "library", "planner"}
ENGINE = LEAVES | {"_core", "extension", "runtime", "config", "persistence"}
PUBLIC = PLAN | ENGINE - {"_core"} | {"io", "stores", "temporal", "testing"}

# A layer and the layers it may import besides itself and the package's public names ("siddhi" itself).
# runtime/assembly is the one place where plan and operators meet.
ALLOWED = {
    "_version": set(),
    "types": set(),
    "event": {"types"},
    "errors": {"types"},
    "_core": {"errors"},  # a row is refused at the door, in the words its sender sees
    "query_api": {"errors", "types"},
    "query_compiler": LANGUAGE,
    "extension": LANGUAGE,
    "library": LANGUAGE | {"extension"},
    "planner": LANGUAGE | {"extension", "query_compiler"},  # annotations hold text: times, conditions
    "runtime": PLAN | ENGINE | {"io", "stores", "temporal"},
    "config": LEAVES,
    "persistence": LEAVES,
    "io": LEAVES | {"extension"},
    "stores": LEAVES | {"extension"},
    "temporal": LEAVES | {"extension"},
    "testing": PUBLIC,
    "cli": PUBLIC,
    "server": PUBLIC,
    "jupyter": PUBLIC,
    "spark": PUBLIC,
    "__init__": PUBLIC,
}
FACES = {"cli", "server", "jupyter", "spark", "testing"}  # they may also `import siddhi`: the public door

IMPORT = re.compile(r"^\s*(?:from|cimport|import)\s+siddhi(?:\.(\w+))?\b(?:\s+c?import\s+(\w+))?", re.MULTILINE)
TYPING_ONLY = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)  # binds nothing when it runs
RELATIVE = re.compile(r"^\s*from\s+(\.+)", re.MULTILINE)


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0].split(".")[0]


def source_files() -> list[Path]:
    return sorted(path for suffix in ("py", "pyi", "pyx", "pxd", "pxi") for path in SOURCES.rglob(f"*.{suffix}"))


def imported_layers(text: str) -> set[str]:
    """Layers named by import and cimport lines; "" stands for the package itself."""
    known = set(ALLOWED)
    found = IMPORT.findall(TYPING_ONLY.sub("", text))
    return {first or (second if second in known else "") for first, second in found}


@pytest.mark.parametrize("path", source_files(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_imports_point_one_way(path: Path) -> None:
    layer = layer_of(path)
    assert layer in ALLOWED, f"{layer} is a new layer: say in ALLOWED what it may import"
    allowed = ALLOWED[layer] | {layer} | ({""} if layer in FACES else set())
    assert imported_layers(path.read_text(encoding="utf-8")) <= allowed


@pytest.mark.parametrize("path", source_files(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_relative_imports_stay_inside_their_layer(path: Path) -> None:
    depth = len(path.relative_to(SOURCES).parts) - 1
    assert all(len(dots) <= depth for dots in RELATIVE.findall(path.read_text(encoding="utf-8")))


def test_plan_and_operators_meet_in_assembly_only() -> None:
    def meets(path: Path) -> bool:
        return {"planner", "_core"} <= imported_layers(path.read_text(encoding="utf-8"))

    meeting = [path.relative_to(SOURCES).as_posix() for path in source_files() if meets(path)]
    assert [path for path in meeting if not path.startswith("runtime/assembly/")] == []


@pytest.mark.parametrize(
    ("line", "layers"),
    [
        ("from siddhi.planner import plan", {"planner"}),
        ("    from siddhi._core.event cimport StreamEvent", {"_core"}),
        ("cimport siddhi._core.event as ev", {"_core"}),
        ("import siddhi.io", {"io"}),
        ("from siddhi import types", {"types"}),
        ("from siddhi import Event", {""}),
        ("import siddhi", {""}),
        ("from siddhi_other import x", set()),
        ("if TYPE_CHECKING:\n    from siddhi.planner import Plan\n\nimport siddhi.io", {"io"}),
    ],
)
def test_the_reader_of_import_lines(line: str, layers: set[str]) -> None:
    assert imported_layers(line) == layers
