from __future__ import annotations

import pytest

from siddhi.query_api import Span
from siddhi.query_compiler.source import Source

TEXT = "one\r\ntwo\n\nfour"


@pytest.mark.parametrize(
    ("begin", "end", "span"),
    [
        (0, 3, Span(1, 0, 1, 3)),
        (0, 0, Span(1, 0, 1, 0)),
        (5, 8, Span(2, 0, 2, 3)),
        (5, 9, Span(2, 0, 3, 0)),
        (6, 12, Span(2, 1, 4, 2)),
        (10, 14, Span(4, 0, 4, 4)),
        (14, 14, Span(4, 4, 4, 4)),
    ],
)
def test_lines_count_from_one_and_columns_from_zero(begin, end, span):
    assert Source(TEXT).span(begin, end) == span


def test_an_error_contains_text_and_location():
    error = Source(TEXT).error("bad", 5, 8, code="E199", hint="better")
    assert (error.source, error.span, error.code, error.hint) == (TEXT, Span(2, 0, 2, 3), "E199", "better")
