"""``siddhi run --profile``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

APP = "define stream Trades (symbol string, price double);\nfrom Trades[price > 100.0] select symbol insert into Alerts;\n"
ROWS = "symbol,price\nA,99.0\nB,101.0\nC,102.0\n"
ARGUMENTS = ("run", "app.siddhi", "--input", "Trades=trades.csv", "--output", "Alerts=-", "--quiet")


@pytest.fixture
def files(write: Callable[[str, str], None]) -> None:
    write("app.siddhi", APP)
    write("trades.csv", ROWS)


@pytest.mark.usefixtures("files")
def test_the_profile_is_printed_to_standard_error(command: Command) -> None:
    plain = command(*ARGUMENTS)
    result = command(*ARGUMENTS, "--profile")
    assert (result.exit_code, result.stdout) == (0, plain.stdout)
    assert "3 rows in" in result.stderr
    assert "from Trades[price > 100.0]" in result.stderr
    assert "3 → 2" in result.stderr


@pytest.mark.usefixtures("files")
def test_the_profile_is_written_to_a_file(command: Command) -> None:
    assert command(*ARGUMENTS, "--profile-file", "p.html").exit_code == 0
    assert "Trades[price &gt; 100.0]" in Path("p.html").read_text("utf-8")
    assert command(*ARGUMENTS, "--profile-file", "p.json").exit_code == 0
    assert json.loads(Path("p.json").read_text("utf-8"))["exporter"] == "siddhi"


@pytest.mark.usefixtures("files")
def test_other_kinds_of_files_are_refused(command: Command) -> None:
    result = command(*ARGUMENTS, "--profile-file", "p.txt")
    assert result.exit_code == 2
    assert "ends with .html or .json" in result.stderr
