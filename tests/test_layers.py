"""Imports go one way: from text to plan to operators to interfaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "siddhi"

LEAVES = {
    "_arrays",
    "_callables",
    "_frozen",
    "_redaction",
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
PUBLIC = PLAN | ENGINE - {"_core"} | {"frames", "io", "stores", "temporal", "testing"}

# A layer and the layers it may import besides itself and the package's public names ("siddhi" itself).
# runtime/assembly is the one place where plan and operators meet.
ALLOWED = {
    "_arrays": set(),
    "_callables": set(),
    "_frozen": set(),
    "_redaction": set(),
    "_version": set(),
    "types": set(),
    "repeats": set(),
    "event": {"_core"},
    "sandbox": set(),
    "errors": {"_redaction", "types"},
    "_core": {"_arrays", "errors"},  # inputs reject a row with the message that the sender sees
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
    "temporal": LEAVES | {"extension", "_timeline"},
    "_timeline": {"temporal"},
    "frames": PLAN | ENGINE,
    "testing": PUBLIC,
    "compat": PUBLIC,
    "cli": PUBLIC | {"spark"},  # loaded where it is asked for
    "server": PUBLIC,
    "notebook": PUBLIC,
    "spark": PUBLIC,
    "__init__": PUBLIC | {"_core", "notebook"},
    "__main__": {"cli"},
}
FACES = {
    "compat",
    "cli",
    "server",
    "notebook",
    "spark",
    "testing",
}  # they may also `import siddhi`, the public interface

CYTHON_IMPORT = re.compile(r"^\s*(?:from|cimport|import)\s+(siddhi[\w.]*)(?:\s+c?import\s+(\w+))?", re.MULTILINE)
RELATIVE = re.compile(r"^\s*from\s+(\.+)", re.MULTILINE)


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0].split(".")[0]


def package_of(path: Path) -> str:
    return ".".join(("siddhi", *path.relative_to(SOURCES).parts[:-1]))


def source_files() -> list[Path]:
    return sorted(path for suffix in ("py", "pyi", "pyx", "pxd", "pxi") for path in SOURCES.rglob(f"*.{suffix}"))


def python_imports(node: ast.AST, package: str = "siddhi") -> Iterator[tuple[str, str]]:
    """Module and first name of every import in a module of a package, relative ones as absolute.

    Imports under TYPE_CHECKING bind nothing and are left out.
    """
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.ImportFrom(module=module, names=names, level=level):
                parts = package.split(".")
                base = parts[: len(parts) - level + 1] if level else []
                yield from ((".".join([*base, *filter(None, [module])]), alias.name) for alias in names)
            case ast.Import(names=names):
                yield from ((alias.name, "") for alias in names)
        yield from python_imports(child, package)


def imported_layers(text: str, *, cython: bool) -> set[str]:
    """Layers of this package that are imported or cimported; "" stands for the package itself."""
    found = CYTHON_IMPORT.findall(text) if cython else python_imports(ast.parse(text))
    ours = [(module.split("."), name) for module, name in found if module.split(".")[0] == "siddhi"]
    return {parts[1] if len(parts) > 1 else name if name in ALLOWED else "" for parts, name in ours}


def layers_of_imports(path: Path) -> set[str]:
    return imported_layers(path.read_text(encoding="utf-8"), cython=path.suffix not in (".py", ".pyi"))


def test_every_layer_is_in_the_table() -> None:
    """A new layer: say in ALLOWED what it may import."""
    assert {layer_of(path) for path in source_files()} <= set(ALLOWED)


def test_imports_go_one_way() -> None:
    allowed = {layer: others | {layer} | ({""} if layer in FACES else set()) for layer, others in ALLOWED.items()}
    upwards = {
        path.relative_to(SOURCES).as_posix(): layers_of_imports(path) - allowed[layer_of(path)]
        for path in source_files()
    }
    assert len(upwards) > 1000
    assert {path: layers for path, layers in upwards.items() if layers} == {}


def test_relative_imports_stay_inside_their_layer() -> None:
    leaving = [
        path.relative_to(SOURCES).as_posix()
        for path in source_files()
        for dots in RELATIVE.findall(path.read_text(encoding="utf-8"))
        if len(dots) >= len(path.relative_to(SOURCES).parts)
    ]
    assert leaving == []


def test_plan_and_operators_are_combined_in_assembly_only() -> None:
    files = [path for path in source_files() if {"planner", "_core"} <= layers_of_imports(path)]
    meeting = [path.relative_to(SOURCES).as_posix() for path in files]
    assert [path for path in meeting if not path.startswith("runtime/assembly/")] == []


def test_physical_choices_are_read_from_the_plan() -> None:
    """Only what plans an app, added queries or on-demand queries applies rules; runtime, explain and faces read fields of the plan."""
    rules = "siddhi.planner.rules"
    calling = [
        path.relative_to(SOURCES).as_posix()
        for path in source_files()
        if path.suffix == ".py"
        and any(
            f"{module}.{name}".startswith(rules)
            for module, name in python_imports(ast.parse(path.read_text("utf-8")), package_of(path))
        )
    ]
    outside = [path for path in calling if not path.startswith("planner/rules/")]
    assert outside == ["planner/added.py", "planner/app.py", "planner/on_demand.py"]


# What assembly and explain look for inside expressions, and which functions answer yes or no about a plan. Both prepare
# decisions. A decision between ways of executing a plan is a rule in planner/rules and a field of the plan; what is listed
# here checks what the engine supports, translates expressions, or reads what an element is.
INSPECTIONS = {
    "planner/explain/app.py": {"walk"},
    "planner/explain/temporal.py": {"_has_state"},
    "runtime/assembly/aggregation/aggregation.py": {"conjuncts"},
    "runtime/assembly/app.py": {"has_side_effects"},
    "runtime/assembly/async_stream.py": {"_has_events"},
    "runtime/assembly/expressions.py": {"conjuncts", "disjuncts"},
    "runtime/assembly/handover.py": {"_fit", "_places_fit"},
    "runtime/assembly/join.py": {"_is_outer", "calls_python", "has_aggregate", "walk"},
    "runtime/assembly/limits.py": {"_delays_rows", "_holds_values", "_rows_return"},
    "runtime/assembly/named_window.py": {"calls_python"},
    "runtime/assembly/patterns.py": {"_is_attribute"},
    "runtime/assembly/ratelimit.py": {"_is_repeatable", "has_aggregate", "walk"},
    "runtime/assembly/selector.py": {"has_aggregate", "has_side_effects"},
    "runtime/assembly/stores/expressions.py": {"children", "conjuncts", "disjuncts"},
    "runtime/assembly/stores/output.py": {"has_aggregate"},
    "runtime/assembly/stores/selection.py": {"substitute", "walk"},
    "runtime/assembly/stores/stores.py": {"conjuncts", "has_aggregate", "substitute", "walk"},
    "runtime/assembly/tables/output.py": {"has_aggregate"},
    "runtime/assembly/tables/tables.py": {"has_aggregate"},
}


def inspections(tree: ast.Module, package: str) -> set[str]:
    """Names that a module imports from the walks over expressions, and its functions that return a bool."""
    walks = {name for module, name in python_imports(tree, package) if module == "siddhi.planner.plan.walk"}
    return walks | {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "bool"
    }


def test_assembly_and_explain_make_no_choice_of_their_own() -> None:
    found = {
        path.relative_to(SOURCES).as_posix(): names
        for path in source_files()
        if path.suffix == ".py"
        and path.relative_to(SOURCES).as_posix().startswith(("runtime/assembly/", "planner/explain/"))
        and (names := inspections(ast.parse(path.read_text("utf-8")), package_of(path)))
    }
    assert found == INSPECTIONS


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


def test_relative_imports_are_read_as_absolute_ones() -> None:
    tree = ast.parse("from ..rules import applied\nfrom .. import rules\nfrom .app import explain")
    assert list(python_imports(tree, "siddhi.planner.explain")) == [
        ("siddhi.planner.rules", "applied"),
        ("siddhi.planner", "rules"),
        ("siddhi.planner.explain.app", "explain"),
    ]


def test_text_that_resembles_an_import_is_skipped() -> None:
    text = '"""\nimport siddhi.cli\n"""\nif TYPE_CHECKING:\n    from siddhi.planner import Plan\n\nimport siddhi.io\n'
    assert imported_layers(text, cython=False) == {"io"}
