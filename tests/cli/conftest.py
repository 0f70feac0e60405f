"""The command as a function, and the files it is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from siddhi.cli.command import siddhi

Command = Callable[..., Result]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """``command("run", ..., stdin=...)`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(siddhi, arguments, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], None]:
    """``write("trades.csv", text)`` in the same folder."""

    def to_file(name: str, text: str) -> None:
        (tmp_path / name).write_text(text, encoding="utf-8")

    return to_file
