"""Matches of two patterns: the same for all blocks and restarts, at the end of a growing file, of bounded size."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.io.file.matches import LONGEST_DELIMITER, Matches, compiled

pytest.importorskip("re2")

PATTERNS = {
    "both": ("<+", ">|^e"),
    "begin": ("^b|<", None),
    "end": (None, r"\be|>"),
}


def matches(kind: str, offset: int = 0, before: bytes = b"", largest: int = 1000) -> Matches:
    begin, end = PATTERNS[kind]
    return Matches(
        offset,
        before,
        None if begin is None else compiled("source 'file'", "begin.regex", begin),
        None if end is None else compiled("source 'file'", "end.regex", end),
        largest,
    )


def expected(kind: str, text: str) -> list[str]:
    begin, end = PATTERNS[kind]
    if end is None:
        pattern = rf"(?:{begin})[\s\S]*?(?=(?:{begin})|\Z)"
    elif begin is None:
        pattern = rf"[\s\S]*?(?:{end})"
    else:
        pattern = rf"(?>{begin})[\s\S]*?(?:{end})".replace("<+", "<+(?!<)").replace("(?>", "(?:")
    return [found[0] for found in re.finditer(pattern, text, re.MULTILINE | re.ASCII)]


CONTENT = st.text(alphabet="<>be \né", max_size=40)
KINDS = st.sampled_from(sorted(PATTERNS))


@given(
    kind=KINDS,
    text=CONTENT,
    cuts=st.lists(st.integers(1, 60), max_size=8),
    stop=st.integers(0, 40),
    grows=st.booleans(),
)
def test_blocks_and_restarts_make_no_difference(
    kind: str, text: str, cuts: list[int], stop: int, *, grows: bool
) -> None:
    content = text.encode()
    wanted = expected(kind, text)
    cutter, at, received = matches(kind), 0, []
    for cut in [*sorted(cuts), len(content)]:
        received += list(cutter.feed(content[at:cut]))
        if grows:
            received += list(cutter.settle(at_rest=False))
        at = max(at, min(cut, len(content)))
    received += list(cutter.finish())
    assert [payload for payload, _ in received] == wanted
    done = received[:stop]
    place = done[-1][1] if done else 0
    again = matches(kind, place, content[max(place - 1, 0) : place])
    rest = [*again.feed(content[place:]), *again.finish()]
    assert done + rest == received


def test_a_match_at_the_end_of_a_growing_file_waits_until_it_is_at_rest() -> None:
    cutter = Matches(
        0, b"", compiled("source 'file'", "begin.regex", "a"), compiled("source 'file'", "end.regex", r"\d+"), 1000
    )
    assert list(cutter.feed(b"a-1 a-2")) == []
    assert list(cutter.settle(at_rest=False)) == [("a-1", 3)]
    assert list(cutter.feed(b"3")) == []
    assert list(cutter.settle(at_rest=False)) == []
    assert list(cutter.settle(at_rest=True)) == [("a-23", 8)]


def test_text_that_can_not_begin_a_match_is_forgotten() -> None:
    cutter = Matches(
        0, b"", compiled("source 'file'", "begin.regex", "a"), compiled("source 'file'", "end.regex", "b"), 10
    )
    for _ in range(10):
        assert list(cutter.feed(LONGEST_DELIMITER * b"x")) == []
    assert list(cutter.feed(b"ab" + LONGEST_DELIMITER * b"x")) == [("ab", 10 * LONGEST_DELIMITER + 2)]


def test_a_byte_order_mark_is_no_part_of_a_match() -> None:
    cutter = Matches(0, b"", compiled("source 'file'", "begin.regex", "^a"), None, 10)
    assert list(cutter.feed(b"\xef")) == []
    assert [*cutter.feed(b"\xbb\xbfa1"), *cutter.finish()] == [("a1", 5)]


@pytest.mark.parametrize("kind", ["both", "begin", "end"])
def test_after_a_match_that_is_too_large_the_next_one_is_found(kind: str) -> None:
    cutter = matches(kind, largest=10)
    with pytest.raises(ValueError, match="a match of more than 10 bytes"):
        [*cutter.feed(b"<" + 20 * b"x"), *cutter.settle(at_rest=True)]
    cutter.skip()
    assert [*cutter.feed(b"xx>< y>"), *cutter.finish()] == [("< y>", 28)]
