"""Structure of the source: size of folders, direction of imports, unique names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "siddhi" / "_core"
SUFFIXES = {".py", ".pyi", ".pyx", ".pxd", ".pxi"}
MOST_FILES = 35
LONGEST_NAME = 70  # characters of the name of a test

# Each package of the core, behind those that it may import.
PACKAGES = (
    "record",
    "snapshot",
    "index",
    "runtime",
    "expression",
    "function",
    "columnar",
    "stream",
    "aggregate",
    "python",
    "window",
    "query",
    "join",
    "table",
    "pattern",
    "rollup",
    "temporal",
    "awaiting",
    "correction",
    "profile",
)
PUBLIC = (
    "siddhi",
    "siddhi.config",
    "siddhi.errors",
    "siddhi.event",
    "siddhi.extension",
    "siddhi.io",
    "siddhi.persistence",
    "siddhi.query_api",
    "siddhi.query_compiler",
    "siddhi.sandbox",
    "siddhi.spark",
    "siddhi.stores",
    "siddhi.testing.connectors",
    "siddhi.types",
)
# Public before the rule of unique names. Nodes of expressions: the text of an app, and what a store compiles. Parameter:
# that of an extension describes an argument, that of a store stands for its value.
SHARED_NAMES = {"And", "Attribute", "Constant", "Expression", "IsNull", "Not", "Or", "Parameter"}
IMPORT = re.compile(r"^ *from siddhi\._core\.(\w+)\.(\w+) c?import ", re.MULTILINE)
DEFINITION = re.compile(r"^(?:cdef |cpdef )?(?:packed )?(?:class|struct|union|enum) (\w+)", re.MULTILINE)


def core_files() -> list[Path]:
    return sorted(path for path in CORE.rglob("*") if path.suffix in {".pyx", ".pxd", ".pxi"})


def unit_of(path: Path) -> str:
    """Package and module of a file; an included file belongs to the one module of its package that includes it."""
    if path.suffix != ".pxi":
        return f"{path.parent.name}.{path.stem}"
    files = [*path.parent.glob("*.pyx"), *path.parent.glob("*.pxi")]
    (owner,) = (file for file in files if f'include "{path.name}"' in file.read_text(encoding="utf-8"))
    return unit_of(owner)


def imports() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for path in core_files():
        unit = unit_of(path)
        found[unit] |= {".".join(pair) for pair in IMPORT.findall(path.read_text(encoding="utf-8"))} - {unit}
    return found


def reached(unit: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    left = list(graph[unit])
    while left:
        other = left.pop()
        if other not in seen:
            seen.add(other)
            left.extend(graph.get(other, ()))
    return seen


def folders() -> Iterator[Path]:
    for root in ("src", "tests", "bench"):
        yield from (path for path in sorted((ROOT / root).rglob("*")) if path.is_dir() and path.name != "__pycache__")


def test_every_package_of_the_core_is_in_the_list() -> None:
    assert sorted(PACKAGES) == sorted(path.name for path in CORE.iterdir() if path.is_dir() and path.name[0] != "_")


def test_packages_of_the_core_import_in_one_direction() -> None:
    upwards = [
        f"{unit} imports {other}"
        for unit, others in imports().items()
        for other in others
        if PACKAGES.index(other.split(".")[0]) > PACKAGES.index(unit.split(".")[0])
    ]
    assert upwards == []


def test_modules_of_the_core_have_no_import_cycle() -> None:
    graph = imports()
    assert len(graph) > len(PACKAGES)
    assert [unit for unit in graph if unit in reached(unit, graph)] == []


def test_imports_within_the_core_have_the_form_that_these_tests_read() -> None:
    other = re.compile(
        r"^ *(?:c?import siddhi\._core|from (?:siddhi\._core|\.)(?!\.\w+\.\w+ c?import )).*", re.MULTILINE
    )
    found = {path.name: other.findall(path.read_text(encoding="utf-8")) for path in core_files()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_folders_have_a_limited_number_of_files() -> None:
    sizes = {path: sum(file.suffix in SUFFIXES for file in path.iterdir()) for path in folders()}
    assert {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > MOST_FILES} == {}


def test_classes_and_structs_of_the_core_have_unique_names() -> None:
    units: dict[str, set[str]] = defaultdict(set)
    for path in core_files():
        for name in DEFINITION.findall(path.read_text(encoding="utf-8")):
            units[name].add(unit_of(path))
    assert len(units) > 100
    assert {name: sorted(found) for name, found in units.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_lists_its_names(name: str) -> None:
    module = import_module(name)
    assert [exported for exported in module.__all__ if not hasattr(module, exported)] == []
    assert len(module.__all__) == len(set(module.__all__))


@pytest.mark.parametrize("package", [name for name in PUBLIC if name != "siddhi"])  # which imports on first use
def test_a_public_package_lists_what_it_imports_from_its_modules(package: str) -> None:
    module = import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(package + ".")
        for alias in node.names
    }
    assert imported - set(module.__all__) == set()


def test_a_public_name_has_one_meaning_in_all_public_modules() -> None:
    things: dict[str, set[int]] = defaultdict(set)
    for name in PUBLIC:
        module = import_module(name)
        for exported in module.__all__:
            things[exported].add(id(getattr(module, exported)))
    assert len(things) > 150
    assert {name for name, found in things.items() if len(found) > 1} == SHARED_NAMES


def test_names_of_tests_are_short() -> None:
    name = re.compile(r"^ *(?:async )?def test_(\w+)", re.MULTILINE)
    names = [
        found
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for found in name.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(names) > 1000
    assert [found for found in names if len(found) > LONGEST_NAME] == []


# Block capabilities of an operator are one method (runtime/operator.pxd). These were separate ones.
OLD_METHODS = ("takes_blocks", "is_silent", "keeps", "reads", "takes_pairs", "choose_blocks")
OLD_METHOD = re.compile(rf"^ +cdef (?:inline )?(?:bint|uint64_t) (?:{'|'.join(OLD_METHODS)})\(", re.MULTILINE)
# Access through a neighbour to a third object: self.output.target.n, entry.forward.sink.builder
LOOK_THROUGH = re.compile(
    r"\.(?:output|forward|inserts|inner|selector|pattern)\.(?:target|sink|next|output|junction)\.\w+"
)
OPERATORS = ("stream", "window", "query", "awaiting", "join", "pattern", "table", "rollup", "python", "temporal")


def operator_files() -> list[Path]:
    return [path for path in core_files() if path.parent.name in OPERATORS]


def test_an_operator_has_one_query_for_block_capabilities() -> None:
    asked = [
        path.name for path in operator_files() if "bind_blocks(self, BlockTraits*" in path.read_text(encoding="utf-8")
    ]
    assert len(asked) > 10
    assert [path.name for path in core_files() if OLD_METHOD.search(path.read_text(encoding="utf-8"))] == []


def test_operators_do_not_access_attributes_of_neighbours() -> None:
    found = {path.name: LOOK_THROUGH.findall(path.read_text(encoding="utf-8")) for path in operator_files()}
    assert {name: chains for name, chains in found.items() if chains} == {}
