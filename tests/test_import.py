"""Import costs: modules loaded by an import, by public names and by a running app."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys

import pytest

import siddhi

HEAVY = {"lark", "numpy", "pandas", "pyarrow", "pyspark", "sqlalchemy", "yaml"}
"""Packages that a process loads only for what needs them."""


def run(code: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(code: str) -> set[str]:
    """Names of the modules that a fresh process has loaded after *code*."""
    return set(run(f"{code}\nimport sys; print(*sys.modules)").split())


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.split(".")[0] == "siddhi"}


def packages(modules: set[str]) -> set[str]:
    """Layers of this package among the modules."""
    return {name.split(".")[1] for name in ours(modules) if "." in name}


def test_import_loads_only_the_package_itself():
    before, after = loaded(""), loaded("import siddhi")
    assert ours(after) == {"siddhi", "siddhi._version"}
    assert after - before - {"__future__"} == ours(after)


def test_access_to_the_event_loads_only_its_module():
    modules = loaded("from siddhi import Event")
    assert packages(modules) == {"_core", "_redaction", "_version", "errors"}
    assert len(ours(modules)) <= 11
    assert not modules & HEAVY


def test_access_to_the_manager_loads_no_planner():
    modules = loaded("from siddhi import SiddhiManager")
    assert not packages(modules) & {"planner", "query_compiler", "extension", "library", "io", "stores", "cli", "spark"}
    assert "siddhi.runtime.assembly" not in modules
    assert len(ours(modules)) <= 116
    assert not modules & HEAVY


def test_planning_queries_loads_no_connectors_and_searches_no_packages():
    text = "define stream S (a int); from S#window.length(3) select avg(a) as m, default(a, 1) as p insert into T;"
    modules = loaded(
        f"from siddhi.planner.app import plan; from siddhi.query_compiler import parse; plan(parse({text!r}))"
    )
    assert "siddhi.library.windows" in modules
    assert {"siddhi.library.connectors", "importlib.metadata"} & modules == set()


def test_an_app_loads_no_optional_package():
    modules = loaded("import siddhi; siddhi.run('define stream S (a int); from S select a insert into T;').shutdown()")
    assert {"planner", "query_compiler", "runtime"} <= packages(modules)
    assert not packages(modules) & {"cli", "spark"}
    assert not modules & HEAVY


def test_a_public_name_is_the_class_itself_and_resolved_once():
    code = f"import siddhi\nfor name in {siddhi.__all__!r}: assert getattr(siddhi, name) is vars(siddhi)[name], name"
    run(code)
    assert siddhi.Event is sys.modules["siddhi._core.record.user_event"].Event


def test_type_checkers_and_processes_find_a_name_in_the_same_module():
    tree = ast.parse(inspect.getsource(siddhi))
    checked = next(statement for statement in tree.body if isinstance(statement, ast.If))
    imports = {
        name.asname or name.name: one.module
        for one in checked.body
        if isinstance(one, ast.ImportFrom)
        for name in one.names
    }
    assert imports == siddhi._MODULES


def test_a_star_import_has_all_public_names():
    assert run(f"from siddhi import *; print(all(name in globals() for name in {siddhi.__all__!r}))") == "True\n"


@pytest.mark.parametrize("package", sorted(siddhi._PACKAGES))
def test_a_public_module_can_be_imported_alone(package):
    run(f"import siddhi; siddhi.{package}")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'siddhi' has no attribute 'Manager'"):
        _ = siddhi.Manager
    assert not hasattr(siddhi, "spark_session")


def test_an_app_runs_in_a_process_that_only_imported_the_package():
    code = """
import siddhi
with siddhi.run("define stream S (a int); from S[a > 1] select a insert into T;") as app:
    app.add_callback("T", lambda events: print([event.data for event in events]))
    app.input_handler("S").send((2,))
"""
    assert run(code) == "[(2,)]\n"


def test_a_pickled_event_is_read_by_a_process_that_imported_nothing():
    data = pickle.dumps(siddhi.Event(5, (1, "x")))
    assert run(f"import pickle; event = pickle.loads({data!r}); print(event.timestamp, event.data)") == "5 (1, 'x')\n"
