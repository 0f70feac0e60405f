"""``siddhi fmt``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Command

WILD = "define   stream S(v int);from S select v insert into Out;"
TIDY = "define stream S (v int);\n\nfrom S\nselect v\ninsert into Out;\n"


def test_files_are_laid_out_in_place(command: Command, write: Callable[[str, str], None]) -> None:
    write("a.siddhi", WILD)
    write("b.siddhi", TIDY)
    Path("a.siddhi").chmod(0o640)
    result = command("fmt", "a.siddhi", "b.siddhi")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "changed a.siddhi\n")
    assert Path("a.siddhi").read_text(encoding="utf-8") == TIDY
    assert Path("a.siddhi").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in Path().iterdir()) == ["a.siddhi", "b.siddhi"]


def test_standard_input_is_laid_out_to_standard_output(command: Command) -> None:
    assert command("fmt", "-", stdin=WILD).stdout == TIDY


def test_check_and_diff_change_nothing(command: Command, write: Callable[[str, str], None]) -> None:
    write("a.siddhi", WILD)
    write("b.siddhi", TIDY)
    result = command("fmt", "--check", "a.siddhi", "b.siddhi")
    assert (result.exit_code, result.stderr) == (1, "would change a.siddhi\n")
    assert command("fmt", "--check", "b.siddhi").exit_code == 0
    result = command("fmt", "--diff", "a.siddhi")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:5] == [
        "--- a.siddhi",
        "+++ a.siddhi",
        "@@ -1 +1,5 @@",
        f"-{WILD}",
        "+define stream S (v int);",
    ]
    assert Path("a.siddhi").read_text(encoding="utf-8") == WILD


def test_an_app_with_an_error_is_left_as_it_is(command: Command, write: Callable[[str, str], None]) -> None:
    write("a.siddhi", "define strem S (v int);")
    result = command("fmt", "a.siddhi")
    assert result.exit_code == 1
    assert "a.siddhi: [E100] unexpected 'strem'" in result.stderr
    assert Path("a.siddhi").read_text(encoding="utf-8") == "define strem S (v int);"
