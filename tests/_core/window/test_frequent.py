"""frequent and lossyFrequent: what the key is, and what is refused."""

from __future__ import annotations

import struct

import pytest

from siddhi._core.snapshot.format import seal, unseal
from siddhi.errors import CannotRestoreStateError, SiddhiAppError
from tests.kit.running import collect, running

STREAM = "@app:playback define stream S (a string, v int);"


def passed(window: str, select: str, rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    with running(f"{STREAM} from S#window.{window} select {select} insert into Out;") as runtime:
        out = collect(runtime, "Out")
        for row in rows:
            runtime.input_handler("S").send(row, 1)
        return out


def test_without_an_attribute_the_key_is_all_selected_attributes():
    rows = [("A", 1), ("A", 2), ("B", 3), ("A", 4)]
    assert passed("frequent(1)", "a, v", rows) == [("A", 1), ("A", 2), ("B", 3), ("A", 4)]
    assert passed("frequent(1)", "a, v * 1 as v", rows) == [("A", 1), ("A", 2), ("A", 4)]
    assert passed("frequent(1)", "v * 1 as v", rows) == [(1,), (2,), (3,), (4,)]


def test_null_is_a_key():
    assert passed("frequent(1, a)", "v", [(None, 1), (None, 2), ("A", 3), (None, 4)]) == [(1,), (2,), (4,)]


def test_the_support_threshold_decides_what_passes():
    rows = [("A", 1), ("B", 2), ("A", 3), ("C", 4), ("A", 5), ("A", 6)]
    assert passed("lossyFrequent(0.6, 0.1, a)", "v", rows) == [(1,), (2,), (3,), (5,), (6,)]


def test_the_error_bound_defaults_to_a_tenth_of_the_support():
    assert passed("lossyFrequent(0.5)", "a", [("A", 1), ("A", 2)]) == passed(
        "lossyFrequent(0.5, 0.05)", "a", [("A", 1), ("A", 2)]
    )


@pytest.mark.parametrize("window", ["lossyFrequent(1.5)", "lossyFrequent(0.5, 0.0)", "frequent(2, v)"])
def test_invalid_arguments_are_refused(window):
    with pytest.raises(SiddhiAppError):
        passed(window, "a", [])


@pytest.mark.parametrize("most", [-1, 1, 2**31, 2**63 - 1])
def test_a_snapshot_with_an_invalid_count_of_keys_is_refused(most):
    with running("@app:playback define stream S (a string); from S#window.frequent(2) select a insert into O;") as app:
        for key in "ab":
            app.input_handler("S").send((key,), 1000)
        payload = unseal(app.snapshot())
        counts = struct.pack("<qqq", 2, 0, 2)  # most keys at a time, events, arrivals of keys
        assert payload.count(counts) == 1
        with pytest.raises(CannotRestoreStateError, match=f"a frequent window has counted {most} keys"):
            app.restore(seal(payload.replace(counts, struct.pack("<qqq", most, 0, 2))))
