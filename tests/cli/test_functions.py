"""``siddhi functions``."""

from __future__ import annotations

from tests.cli.conftest import Command


def test_all_extensions_are_listed(command: Command) -> None:
    lines = command("functions").stdout.splitlines()
    assert "window                   length(int window.length)" in lines
    assert any(line.split() == ["source", "http"] for line in lines)


def test_extensions_are_described_by_name(command: Command) -> None:
    shown = command("functions", "coalesce", "TCP").stdout
    assert shown.startswith("function coalesce\n")
    assert "- `coalesce(" in shown
    assert "source tcp" in shown
    assert "sink tcp" in shown


def test_an_unknown_name_is_an_error_with_the_nearest(command: Command) -> None:
    result = command("functions", "coalesc")
    assert result.exit_code == 2
    assert "nothing is called 'coalesc': did you mean 'coalesce'?" in result.stderr
