"""``siddhi query``: read files, run one on-demand query, print its rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

Write = Callable[[str, str], None]

APP = """
define stream Trades (symbol string, price double);
@primaryKey('symbol') define table Prices (symbol string, price double);
define window Last (symbol string, price double) length(2);
from Trades update or insert into Prices on Prices.symbol == symbol;
from Trades insert into Last;
"""
TRADES = "symbol,price\nIBM,100\nSUN,30\nIBM,101\nWSO2,\n"


@pytest.fixture(autouse=True)
def files(write: Write) -> None:
    write("app.siddhi", APP)
    write("trades.csv", TRADES)


def rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_rows_are_printed_as_json_lines(command: Command):
    result = command(
        "query", "app.siddhi", "from Prices select symbol, price order by symbol", "--input", "Trades=trades.csv"
    )
    assert result.exit_code == 0
    assert rows(result.stdout) == [
        {"symbol": "IBM", "price": 101.0},
        {"symbol": "SUN", "price": 30.0},
        {"symbol": "WSO2", "price": None},
    ]
    assert "Trades: 4 events in" in result.stderr
    assert "3 rows to standard output" in result.stderr


def test_windows_can_be_queried_and_files_written(command: Command):
    question = "from Last select count() as n, sum(price) as total"
    result = command(
        "query", "app.siddhi", question, "--input", "Trades=trades.csv", "--output", "answer.csv", "--quiet"
    )
    assert (result.exit_code, result.output) == (0, "")
    assert Path("answer.csv").read_text() == "n,total\n2,101.0\n"


def test_an_empty_result_prints_nothing(command: Command):
    result = command("query", "app.siddhi", "from Prices select symbol", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_objects_are_printed_as_json(command: Command, write: Write):
    write(
        "sets.siddhi",
        "define stream S (a string); define table T (a string, s object);"
        "from S select a, createSet(a) as s insert into T;",
    )
    result = command("query", "sets.siddhi", "from T select *", "--input", "S=-", "-q", stdin='{"a": "x"}\n')
    assert rows(result.stdout) == [{"a": "x", "s": ["x"]}]


def test_an_invalid_query_is_refused_before_input_is_read(command: Command):
    result = command("query", "app.siddhi", "from Prizes select symbol", "--input", "Trades=trades.csv")
    assert result.exit_code == 1
    assert "Prices" in result.stderr
    assert "events in" not in result.stderr


def test_a_failed_query_is_an_error(command: Command, write: Write):
    write(
        "fail.siddhi",
        "define function f[python] return int { raise ValueError('no luck') }; define table T (a int);",
    )
    result = command("query", "fail.siddhi", "select f() as a insert into T", "-q")
    assert result.exit_code == 5
    assert "no luck" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "Trades=trades.csv", "--output", "trades.csv"], "both input and output"),
        (["--input", "Nowhere=trades.csv"], "no stream 'Nowhere'"),
        (["--output", "answer.txt"], "expected a name ending in"),
        (["--until", "2020-01-01"], "--until requires a clock"),
    ],
)
def test_invalid_options_are_refused(command: Command, arguments: list[str], message: str):
    result = command("query", "app.siddhi", "from Prices select symbol", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_standard_input_can_be_read_only_once(command: Command):
    result = command("query", "-", "from Prices select symbol", "--input", "Trades=-", stdin=APP)
    assert result.exit_code == 2


def test_a_table_in_a_database_can_be_queried_and_changed_without_input(command: Command, write: Write):
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    write("kept.siddhi", "@store(type='rdbms', url='sqlite:///kept.db') define table T (a string, v int);")
    for question in (
        "select 'x' as a, 1 as v insert into T",
        "select 'y' as a, 2 as v insert into T",
        "update T set T.v = T.v + 5 on T.a == 'x'",
        "delete T on T.a == 'y'",
    ):
        assert command("query", "kept.siddhi", question, "-q").exit_code == 0
    assert rows(command("query", "kept.siddhi", "from T select *", "-q").stdout) == [{"a": "x", "v": 6}]
