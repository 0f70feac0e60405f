"""``--param``: values of ``${name}`` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import Command

APP = """
-- ${unused} needs no value
define stream S (k string, v int);
@info(name = 'above ${k}') from S[v > ${least} and k == ${k}] select k, v insert into Out;
"""
GIVEN = ("--param", "least=1", "--param", "k=IBM")


@pytest.fixture(autouse=True)
def _app(write: Callable[[str, str], None]) -> None:
    write("app.siddhi", APP)
    write("s.jsonl", "".join(json.dumps({"k": k, "v": v}) + "\n" for k, v in (("IBM", 1), ("IBM", 2), ("WSO2", 3))))


def test_parameters_are_filled_in_by_run(command: Command) -> None:
    result = command("run", "app.siddhi", *GIVEN, "--input", "S=s.jsonl", "--output", "Out=-", "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [{"k": "IBM", "v": 2}]


def test_parameters_are_filled_in_by_commands_that_only_read_the_app(command: Command) -> None:
    assert command("check", "app.siddhi", *GIVEN).stdout == "app.siddhi: OK\n"
    for name in ("explain", "graph"):
        assert "above IBM" in command(name, "app.siddhi", *GIVEN).stdout


@pytest.mark.parametrize("name", ["run", "check", "explain", "graph"])
def test_a_parameter_without_a_value_says_how_to_give_one(command: Command, name: str) -> None:
    result = command(name, "app.siddhi", "--param", "k=IBM")
    assert result.exit_code == 1
    assert "[E115] no value for the variable '${least}', line 4, column 37" in result.stderr
    assert "hint: add --param least=VALUE, or set the environment variable least" in result.stderr


def test_parameters_of_several_apps_are_checked_together(command: Command, write: Callable[[str, str], None]) -> None:
    write("other.siddhi", "define stream S (v int); from S[v > ${most}] select v insert into Out;")
    assert command("check", "app.siddhi", "other.siddhi", *GIVEN, "--param", "most=5").exit_code == 0
    result = command("check", "app.siddhi", "other.siddhi", *GIVEN, "--param", "mots=5")
    assert result.exit_code == 2
    assert "--param mots: no app has a parameter ${mots}; did you mean 'most'" in result.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("least", "expected name=value"),
        ("5=5", "expected name=value"),
        ("leats=5", "the app has no parameter ${leats}; did you mean 'least'"),
        ("unused=5", "the app has no parameter ${unused}"),
        ("k=it's", "parameter 'k' has a quote or line break"),
        ("least=99999999999999999999", "parameter 'least' is out of range of a long"),
    ],
)
def test_a_wrong_parameter_is_an_error_of_the_command(command: Command, given: str, message: str) -> None:
    result = command("explain", "app.siddhi", "--param", given)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
