"""``siddhi explain``."""

from __future__ import annotations

from collections.abc import Callable

from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.query_compiler import parse
from tests.cli.conftest import Command

APP = "define stream S (price double); from S[price > 1.0]#window.length(5) select avg(price) as a insert into O;"


def test_the_plan_is_printed(command: Command, write: Callable[[str, str], None]) -> None:
    write("app.siddhi", APP)
    result = command("explain", "app.siddhi")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.rstrip("\n") == explain(plan(parse(APP))).rstrip("\n")
    assert command("explain", "-", stdin=APP).stdout == result.stdout


def test_an_invalid_app_is_an_error_with_its_location(command: Command) -> None:
    for text in ("define stream S (price double", "define stream S (price double); from S[prize > 1.0] insert into O;"):
        result = command("explain", "-", stdin=text)
        assert result.exit_code == 1
        assert result.stderr.startswith("[E")
        assert "^" in result.stderr
