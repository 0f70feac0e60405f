from __future__ import annotations

import pytest

from siddhi.errors import DuplicateAnnotationError, DuplicateDefinitionError, SiddhiAppValidationError
from siddhi.query_compiler import parse

S = "define stream S (a int, b string)"
T = "define table T (a int)"
W = "define window S (a int, b string) length(1)"
TRIGGER = "define trigger S at 'start'"
FUNCTION = "define function S[js] return int {}"
AGGREGATION = "define aggregation S from X select a aggregate every sec"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{S}; {S}", 1),
        (f"{T}; {T}; {T}", 1),
        (f"{S}; {W}", 2),
        (f"{W}; {S}", 2),
        (f"{S}; {W}; {S}", 2),
        ("define stream S (triggered_time long); " + TRIGGER, 2),
        (f"{S}; {FUNCTION}", 2),
        (f"{S}; define stream s (a long)", 2),
    ],
)
def test_definitions_that_may_share_a_name(text, kept):
    assert len(parse(text).definitions) == kept


@pytest.mark.parametrize(
    "text",
    [
        f"{S}; define stream S (a int)",
        f"{S}; define stream S (b string, a int)",
        f"@foo {S}; {S}",
        f"{S}; define table S (a int, b string)",
        f"{T}; define table T (a long)",
        f"{W}; {W}",
        f"{S}; define window S (a int) length(1)",
        f"{T}; define window T (a int) length(1)",
        f"{TRIGGER}; {TRIGGER}",
        f"{S}; {TRIGGER}",
        f"{FUNCTION}; {FUNCTION}",
        f"{AGGREGATION}; {AGGREGATION}",
        f"{S}; {AGGREGATION}",
        f"{TRIGGER}; define table S (triggered_time long)",
    ],
)
def test_definitions_that_may_not_share_a_name(text):
    with pytest.raises(DuplicateDefinitionError, match="of this name is already defined in line 1") as caught:
        parse(text)
    assert caught.value.code == "E204"
    assert caught.value.column > 0


QUERY = "from S select a insert into O"


@pytest.mark.parametrize(
    "text",
    [
        f"@info(name='q') {QUERY}; @info(name='q') {QUERY}",
        f"@info(name='q') {QUERY}; @Info(Name='q') partition with (a of S) begin {QUERY} end",
    ],
)
def test_duplicate_query_names_are_refused(text):
    with pytest.raises(SiddhiAppValidationError, match=r"duplicate (query|partition) name 'q'") as caught:
        parse(f"{S}; {text}")
    assert caught.value.code == "E208"


def test_query_names_of_partitions_may_repeat_names_of_the_app():
    inner = f"@info(name='q') {QUERY}"
    app = parse(f"{S}; @info(name='q') {QUERY}; partition with (a of S) begin {inner} end; @info(x='q') {QUERY}")
    assert len(app.executions) == 3


@pytest.mark.parametrize(
    "text",
    [
        f"@app:name('a') @app:Name('b') {S}",
        f"{S}; @info(name='a') @info(name='b') {QUERY}",
    ],
)
def test_annotations_that_may_occur_once(text):
    with pytest.raises(DuplicateAnnotationError, match="duplicate annotation @"):
        parse(text)


@pytest.mark.parametrize(("first", "known"), [(AGGREGATION, "an aggregation"), (TRIGGER, "a trigger")])
def test_the_error_of_a_repeated_definition_has_the_right_article(first, known):
    with pytest.raises(
        DuplicateDefinitionError, match=f"the table 'S' can't be defined: {known} of this name is already defined"
    ):
        parse(f"{first}; define table S (a int)")
