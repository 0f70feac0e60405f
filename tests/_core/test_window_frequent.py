"""frequent and lossyFrequent: what the key is, and what is refused."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from tests.runtime.running import collect, running

STREAM = "@app:playback define stream S (a string, v int);"


def passed(window: str, select: str, rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    with running(f"{STREAM} from S#window.{window} select {select} insert into Out;") as runtime:
        out = collect(runtime, "Out")
        for row in rows:
            runtime.input_handler("S").send(row, 1)
        return out


def test_without_an_attribute_the_key_is_what_is_selected_as_it_is():
    rows = [("A", 1), ("A", 2), ("B", 3), ("A", 4)]
    assert passed("frequent(1)", "a, v", rows) == [("A", 1), ("A", 2), ("B", 3), ("A", 4)]
    assert passed("frequent(1)", "a, v * 1 as v", rows) == [("A", 1), ("A", 2), ("A", 4)]
    assert passed("frequent(1)", "v * 1 as v", rows) == [(1,), (2,), (3,), (4,)]


def test_null_is_a_key():
    assert passed("frequent(1, a)", "v", [(None, 1), (None, 2), ("A", 3), (None, 4)]) == [(1,), (2,), (4,)]


def test_the_share_decides_what_passes():
    rows = [("A", 1), ("B", 2), ("A", 3), ("C", 4), ("A", 5), ("A", 6)]
    assert passed("lossyFrequent(0.6, 0.1, a)", "v", rows) == [(1,), (2,), (3,), (5,), (6,)]


def test_one_share_leaves_the_error_at_a_tenth():
    assert passed("lossyFrequent(0.5)", "a", [("A", 1), ("A", 2)]) == passed(
        "lossyFrequent(0.5, 0.05)", "a", [("A", 1), ("A", 2)]
    )


@pytest.mark.parametrize("window", ["lossyFrequent(1.5)", "lossyFrequent(0.5, 0.0)", "frequent(2, v)"])
def test_what_makes_no_sense_is_refused(window):
    with pytest.raises(SiddhiAppError):
        passed(window, "a", [])
