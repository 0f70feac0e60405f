"""The documents are correct: Python blocks print what is shown, links are valid, commands exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from siddhi.extension import shared_registry

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PYTHON = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
NOX = re.compile(r"nox -s ([a-z]+)")


def identify(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def _extensions_go_again() -> Iterator[None]:
    """Take the extensions of a document out of the registry of the process, whose names other tests use too."""
    registry = shared_registry()
    before = {kind: dict(named) for kind, named in registry._extensions.items()}
    yield
    for kind, named in registry._extensions.items():
        named.clear()
        named.update(before[kind])


@pytest.mark.usefixtures("_extensions_go_again")
@pytest.mark.parametrize("document", DOCUMENTS, ids=identify)
def test_python_blocks_print_the_shown_output(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for code, output in PYTHON.findall(document.read_text(encoding="utf-8")):
        if "'rdbms'" in code or "'cdc'" in code:
            pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
        if "prometheus_client" in code or "'prometheus'" in code:
            pytest.importorskip("prometheus_client", reason="the client library of Prometheus is not installed")
        if "type = 'http" in code:
            pytest.importorskip("httptools", reason="httptools is not installed")
        exec(compile(code, str(document), "exec"), names)
        assert capsys.readouterr().out == output


@pytest.mark.parametrize("document", DOCUMENTS, ids=identify)
def test_links_are_valid(document: Path) -> None:
    links = LINK.findall(document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=identify)
def test_named_tasks_exist(document: Path) -> None:
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    tasks = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list}
    assert set(NOX.findall(document.read_text(encoding="utf-8"))) <= tasks


def test_ci_runs_the_test_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "pip install -e '.[test]' && pytest -n 2\n" in readme
    assert 'in_environment pip install -q -e ".[test]"' in ci
    assert "in_environment pytest -n 2\n" in ci


def test_every_decision_is_listed() -> None:
    listed = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    decisions = sorted(path.name for path in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert decisions == sorted(re.findall(r"\((\d{4}-[^)]+)\)", listed))
