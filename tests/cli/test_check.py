"""``siddhi check``."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import Command

GOOD = "define stream S (price double); from S[price > 1.0] select price insert into O;"
BAD = "define stream S (price double);\nfrom S[prize > 1.0] select price insert into O;\n"
NOT_SIDDHI = "define stream S (price double\n"


def test_a_valid_app_has_no_findings(command: Command, write: Callable[[str, str], None]) -> None:
    write("good.siddhi", GOOD)
    result = command("check", "good.siddhi")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "good.siddhi: OK\n", "")


def test_an_invalid_app_is_an_error_with_its_location(command: Command, write: Callable[[str, str], None]) -> None:
    write("good.siddhi", GOOD)
    write("bad.siddhi", BAD)
    result = command("check", "bad.siddhi", "good.siddhi")
    assert result.exit_code == 1
    assert result.stdout == "good.siddhi: OK\n"
    lines = result.stderr.splitlines()
    assert lines[0].startswith("bad.siddhi: [E203]")
    assert lines[1] == "2 | from S[prize > 1.0] select price insert into O;"
    assert lines[2] == "           ^^^^^"
    assert "did you mean 'price'?" in lines[3]


def test_findings_as_json(command: Command, write: Callable[[str, str], None]) -> None:
    for name, text in (("good", GOOD), ("bad", BAD), ("not", NOT_SIDDHI)):
        write(f"{name}.siddhi", text)
    result = command("check", "--json", "good.siddhi", "bad.siddhi", "not.siddhi")
    assert result.exit_code == 1
    good, bad, syntax = json.loads(result.stdout)
    assert good == {"app": "good.siddhi", "ok": True}
    (error,) = bad["errors"]
    assert (error["code"], error["line"], error["column"]) == ("E203", 2, 7)
    assert "price" in error["hint"]
    assert not syntax["ok"]
    assert syntax["errors"][0]["code"].startswith("E1")


@pytest.mark.parametrize(
    ("app", "places"),
    [
        (
            """define stream S (price dble);
define table T (v int;
define stream U (v int);
from S[price > 1.0] select price insert into O;
from U selct v insert into P;
from U select w insert into P;""",
            [(1, "E100"), (2, "E100"), (5, "E100"), (6, "E203")],  # line 4 needs S
        ),
        (
            """define stream S (v int);
partition with (v of S) begin
    from S selct v insert into #I;
    from #I select v insert into O;
    from S select w insert into O;
end;
from O select v insert into P;
from S[v] select v insert into Q;""",
            [(3, "E100"), (5, "E203"), (8, "E311")],  # lines 4 and 7 need what is left out
        ),
        (
            """define stream S (v int);
partition with (v of S) begin
    from S selct v insert into I;
end;
from S select w insert into O;""",
            [(3, "E100"), (5, "E203")],
        ),
        (
            """define function f[python] return int { return {1: ';'} };
define strem S (v int);
-- a comment; with a semicolon
define stream T (v int);
from T select ';' as s, w insert into O""",
            [(2, "E100"), (5, "E203")],
        ),
        ("define stream S (v int); /* from S select", [(1, "E101")]),
    ],
)
def test_every_statement_is_checked(command: Command, app: str, places: list[tuple[int, str]]) -> None:
    (found,) = json.loads(command("check", "--json", "-", stdin=app).stdout)
    assert [(error["line"], error["code"]) for error in found["errors"]] == places


def test_errors_and_warnings_are_found_together(command: Command) -> None:
    found = command("check", "-", stdin=WARNED + "from S select w insert into P;")
    assert found.exit_code == 1
    assert found.stderr.count(": warning: ") == 2
    assert found.stderr.count(": [E203]") == 1


WARNED = "@asinc define stream S (v int);\n@sink(type='log', prefx='x') define stream O (v int);\nfrom S select v insert into O;"


def test_code_without_effect_is_a_warning_with_its_location(
    command: Command, write: Callable[[str, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    write("app.siddhi", WARNED)
    result = command("check", "app.siddhi")
    assert (result.exit_code, result.stdout) == (0, "app.siddhi: OK, 2 warnings\n")
    assert result.stderr.splitlines() == [
        "app.siddhi: warning: @asinc is unknown and ignored (line 1, column 0): did you mean '@async'?",
        "app.siddhi: warning: unknown option 'prefx' of sink 'log' (line 2, column 18): did you mean 'prefix'?",
    ]
    assert caplog.messages == []  # they are said once
    assert command("check", "--strict", "app.siddhi").exit_code == 1
    write("good.siddhi", GOOD)
    assert command("check", "--strict", "good.siddhi").exit_code == 0
    (found,) = json.loads(command("check", "--json", "app.siddhi").stdout)
    assert found["ok"]
    assert found["warnings"][1] == {
        "message": "unknown option 'prefx' of sink 'log'",
        "line": 2,
        "column": 18,
        "hint": "did you mean 'prefix'?",
    }


def test_playback_without_an_annotation_about_timers_is_reported_once(
    command: Command, write: Callable[[str, str], None]
) -> None:
    write("java.siddhi", "@app:name('A')\n@app:playback\n" + GOOD)
    result = command("check", "java.siddhi")
    assert (result.exit_code, result.stdout) == (0, "java.siddhi: OK\n")
    assert result.stderr.startswith(
        "java.siddhi: note: @app:playback runs all timers that an event passes at the time of that event, as Siddhi does"
    )
    assert "(line 2, column 0): timers = 'exact' runs each timer at its own time" in result.stderr
    assert result.stderr.count("\n") == 1
    assert command("check", "--strict", "java.siddhi").exit_code == 0
    assert "timers = 'exact'" in json.loads(command("check", "--json", "java.siddhi").stdout)[0]["note"]
    for timers in ("exact", "jump"):
        write("said.siddhi", f"@app:playback(timers = '{timers}') {GOOD}")
        assert command("check", "said.siddhi").stderr == ""


def test_an_app_from_standard_input(command: Command) -> None:
    assert command("check", "-", stdin=GOOD).stdout == "standard input: OK\n"
    assert "standard input: [E203]" in command("check", "-", stdin=BAD).stderr
    assert command("check", "-", "-", stdin=GOOD).exit_code == 2


def test_a_missing_or_binary_file_is_an_error(command: Command, write: Callable[[str, str], None]) -> None:
    assert command("check").exit_code == 2
    result = command("check", "none.siddhi")
    assert result.exit_code == 2
    assert "cannot read the app none.siddhi: No such file or directory" in result.stderr


def test_a_checked_app_is_not_run(command: Command, write: Callable[[str, str], None]) -> None:
    app = """define trigger T at 'start';
    define function f[python] return int { raise SystemExit("it ran") };
    from T select f(triggered_time) as x insert into O;"""
    write("app.siddhi", app)
    result = command("check", "app.siddhi")
    assert (result.stdout, result.stderr, result.exit_code) == ("app.siddhi: OK\n", "", 0)
