"""Structure of the source: size of folders, direction of imports, unique names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "siddhi" / "_core"
SUFFIXES = {".py", ".pyi", ".pyx", ".pxd", ".pxi"}
MOST_FILES = 35

# Each package of the core, behind those that it may import.
PACKAGES = (
    "record",
    "snapshot",
    "index",
    "runtime",
    "expression",
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
)
PUBLIC = (
    "siddhi",
    "siddhi.config.manager",
    "siddhi.config.yaml",
    "siddhi.errors",
    "siddhi.extension",
    "siddhi.io",
    "siddhi.persistence",
    "siddhi.stores.expression",
    "siddhi.stores.queryable",
    "siddhi.stores.record_table",
)
IMPORT = re.compile(r"^ *from siddhi\._core\.(\w+)\.(\w+) c?import ", re.MULTILINE)
DEFINITION = re.compile(r"^(?:cdef |cpdef )?(?:packed )?(?:class|struct|union|enum) (\w+)", re.MULTILINE)


def core_files() -> list[Path]:
    return sorted(path for path in CORE.rglob("*") if path.suffix in {".pyx", ".pxd", ".pxi"})


def unit_of(path: Path) -> str:
    """Package and module of a file; an included file belongs to the one module of its package that includes it."""
    if path.suffix != ".pxi":
        return f"{path.parent.name}.{path.stem}"
    (owner,) = (m for m in path.parent.glob("*.pyx") if f'include "{path.name}"' in m.read_text(encoding="utf-8"))
    return f"{path.parent.name}.{owner.stem}"


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


def test_a_public_name_has_one_meaning_in_all_public_modules() -> None:
    things: dict[str, set[int]] = defaultdict(set)
    for name in PUBLIC:
        module = import_module(name)
        classes = [name for name, thing in vars(module).items() if isinstance(thing, type) and name[0] != "_"]
        for exported in getattr(module, "__all__", classes):
            things[exported].add(id(getattr(module, exported)))
    assert len(things) > 50
    # That of extensions describes an argument, that of stores stands for its value: both were public before this rule.
    assert [name for name, found in things.items() if len(found) > 1] == ["Parameter"]


# What an operator asks its neighbours about blocks is one question (runtime/operator.pxd); these were many.
OLD_QUESTIONS = ("takes_blocks", "is_silent", "keeps", "reads", "takes_pairs", "choose_blocks")
OLD_QUESTION = re.compile(rf"^ +cdef (?:inline )?(?:bint|uint64_t) (?:{'|'.join(OLD_QUESTIONS)})\(", re.MULTILINE)
# Access through a neighbour to a third object: self.output.target.n, entry.forward.sink.builder
LOOK_THROUGH = re.compile(
    r"\.(?:output|forward|inserts|inner|selector|pattern)\.(?:target|sink|next|output|junction)\.\w+"
)
OPERATORS = ("stream", "window", "query", "join", "pattern", "table", "rollup", "python")


def operator_files() -> list[Path]:
    return [path for path in core_files() if path.parent.name in OPERATORS]


def test_an_operator_has_one_query_for_block_capabilities() -> None:
    asked = [
        path.name for path in operator_files() if "bind_blocks(self, BlockTraits*" in path.read_text(encoding="utf-8")
    ]
    assert len(asked) > 10
    assert [path.name for path in core_files() if OLD_QUESTION.search(path.read_text(encoding="utf-8"))] == []


def test_operators_do_not_access_attributes_of_neighbours() -> None:
    found = {path.name: LOOK_THROUGH.findall(path.read_text(encoding="utf-8")) for path in operator_files()}
    assert {name: chains for name, chains in found.items() if chains} == {}
