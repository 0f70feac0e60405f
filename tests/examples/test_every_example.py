"""Rules for all examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from siddhi.cli.command import siddhi

EXAMPLES = Path(__file__).parents[2] / "examples"
APPS = sorted(EXAMPLES.rglob("*.siddhi"))


@pytest.mark.parametrize("app", APPS, ids=lambda path: path.name)
def test_the_app_is_valid_and_can_be_explained(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("cash", "10000.0")  # a parameter of the trading bot
    assert CliRunner().invoke(siddhi, ["check", str(app)]).exit_code == 0
    assert CliRunner().invoke(siddhi, ["explain", str(app)]).exit_code == 0
    assert CliRunner().invoke(siddhi, ["graph", str(app)]).exit_code == 0


@pytest.mark.parametrize("folder", [path for path in EXAMPLES.iterdir() if path.is_dir()], ids=lambda path: path.name)
def test_an_example_is_small_and_names_the_source_of_its_data(folder: Path) -> None:
    assert sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) < 1_500_000
    # trading reads the data of market_feed; notebooks make theirs
    assert (folder / "make_data.py").exists() or folder.name in ("trading", "notebooks")
    assert "public domain" in (folder / "README.md").read_text(encoding="utf-8")


def test_the_first_command_of_the_project_works(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    [command] = re.findall(r"&& siddhi (run .*)", text)
    monkeypatch.chdir(EXAMPLES.parent)
    result = CliRunner().invoke(siddhi, command.split())
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("{")


# These do not end or are programs of their own: tests/spark/test_pipeline.py and the tests with their names run them.
PROGRAMS = ("spark_pipeline", "http_to_sql", "market_feed", "trading", "notebooks")
FOLDERS = [path for path in EXAMPLES.iterdir() if path.is_dir() and path.name not in PROGRAMS]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_command_of_the_readme_works(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    [command] = [line.removeprefix("$ siddhi ") for line in lines if line.startswith("$ siddhi ")]
    for name in [path.name for path in folder.iterdir() if path.is_file()]:
        (tmp_path / name).symlink_to(folder / name)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(siddhi, command.split())
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("{")
