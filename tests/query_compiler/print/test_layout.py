"""Layout of texts: the app stays the same, comments and variables stay, a second time changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from siddhi.errors import SiddhiParserError
from siddhi.query_compiler import parse
from siddhi.query_compiler.print.layout import format_app
from tests.query_compiler.test_recorded_apps import ACCEPTED

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/*.siddhi"))


@pytest.mark.parametrize("case", ACCEPTED[::7], ids=lambda case: case["id"])
def test_the_app_stays_the_same(case: dict[str, str]) -> None:
    formatted = format_app(case["app"], width=60)
    assert parse(formatted) == parse(case["app"])
    assert format_app(formatted, width=60) == formatted


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_comments_of_the_examples_stay(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    formatted = format_app(text)
    assert format_app(formatted) == formatted
    comments = [line for line in text.splitlines() if line.lstrip().startswith("--")]
    assert [line for line in formatted.splitlines() if line.lstrip().startswith("--")] == comments


def test_comments_and_blank_lines_stay_in_their_places() -> None:
    text = """-- first

@app:name('A')   -- its name
define stream S (v int); -- in
/* two
   lines */
define stream T (v int);



define stream U (v int);
from S -- inside
select  v insert into T;   -- behind
from T select v insert into U;
-- last"""
    assert (
        format_app(text)
        == """-- first

@app:name('A') -- its name
define stream S (v int); -- in
/* two
   lines */
define stream T (v int);

define stream U (v int);

from S -- inside
select  v insert into T; -- behind

from T
select v
insert into U;

-- last
"""
    )


def test_variables_stay() -> None:
    text = "@app:name('${name}') define stream S (v int);\nfrom S[v > ${least}]#window.time(${n} sec) select v insert into ${out};\n"
    assert format_app(text) == (
        "@app:name('${name}')\ndefine stream S (v int);\n\n"
        "from S[v > ${least}]#window.time(${n} sec) select v insert into ${out};\n"
    )


def test_scripts_stay() -> None:
    text = "define function f[python] return int {\n    # a comment; with a semicolon\n    return 1\n};\n"
    assert format_app(text) == text


def test_long_lines_are_broken_at_commas_and_operators() -> None:
    text = "define stream S (v int); from S[v > 100 and v < 2000 or v == 7] select v as first_name, v as second_name insert into O;"
    assert (
        format_app(text, width=30)
        == """define stream S (v int);

from S[v > 100 and v < 2000
    or v == 7]
select v as first_name,
    v as second_name
insert into O;
"""
    )


@pytest.mark.parametrize("text", ["define strem S (v int);", "define stream S (v ${type};"])
def test_a_text_that_is_not_siddhiql_is_refused(text: str) -> None:
    with pytest.raises(SiddhiParserError):
        format_app(text)


def test_an_empty_text_stays_empty() -> None:
    assert format_app("define stream S (v int)") == "define stream S (v int);\n"
