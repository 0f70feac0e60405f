"""``siddhi explain``."""

from __future__ import annotations

import json
from collections.abc import Callable

from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.query_compiler import parse
from siddhi.spark.app_layout import app_layout
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


def test_the_layout_on_spark_is_printed_without_starting_it(command: Command) -> None:
    result = command("explain", "-", "--engine", "spark", "--streaming", "--shards", "8", stdin=APP)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == app_layout(APP, streaming=True, shards=8).to_text() + "\n"
    shown = command("explain", "-", "--engine", "spark", "--format", "json", stdin=APP)
    assert json.loads(shown.stdout) == app_layout(APP).to_dict()


def test_what_spark_refuses_is_an_error_after_the_layout(command: Command) -> None:
    result = command("explain", "-", "--engine", "spark", stdin=f"define trigger T at 'start'; {APP}")
    assert result.exit_code == 1
    assert result.stdout.startswith("app without name on Spark, batch\n")
    assert result.stderr.startswith("[E401] trigger 'T' fires at start")


def test_options_of_spark_need_its_engine(command: Command) -> None:
    for options, message in (
        (["--streaming"], "--streaming needs --engine spark"),
        (["--format", "json"], "--format needs --engine spark"),
        (["--engine", "spark", "--tasks", "65"], "--tasks must not exceed the number of --shards, 64"),
    ):
        result = command("explain", "-", *options, stdin=APP)
        assert (result.exit_code, message in result.stderr) == (2, True)
