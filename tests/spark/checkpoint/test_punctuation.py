"""Punctuation of a stream, and its files, with any writer."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("pyspark")

import numpy as np

from siddhi.spark import files
from siddhi.spark.checkpoint.punctuation import (
    adopt_punctuations,
    clock_of,
    delete_punctuations,
    folder_of,
    last_punctuation,
    note_punctuation,
    write_punctuation,
)

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("clock", ["5", None, 5000.0, 1.7e12, True, np.float64(5), np.True_])
def test_a_clock_is_an_integer(clock):
    with pytest.raises(TypeError, match=re.escape(f"invalid clock {clock!r}: expected an integer")):
        clock_of(clock)


def test_a_clock_can_be_of_numpy_and_not_before_1970():
    found = [clock_of(clock) for clock in (0, 1 << 40, np.int64(5), np.uint8(7))]
    assert found == [0, 1 << 40, 5, 7]
    assert {type(at) for at in found} == {int}
    for clock in (-1, np.int32(-1)):
        with pytest.raises(ValueError, match=r"invalid clock -1: expected a time in ms since 1970"):
            clock_of(clock)


def test_the_last_punctuation_is_the_latest_of_all_writers(spark, tmp_path):
    checkpoint = str(tmp_path)
    assert last_punctuation(spark, checkpoint, "S") is None
    write_punctuation(spark, checkpoint, "S", -5000)
    assert last_punctuation(spark, checkpoint, "S") == -5000
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda at: write_punctuation(spark, checkpoint, "S", at), (30, 10, 50, 20, 40, 60)))
    write_punctuation(spark, checkpoint, "S", 7)
    assert last_punctuation(spark, checkpoint, "S") == 60
    assert len(files.names(spark, folder_of(checkpoint, "S"))) == 8
    delete_punctuations(spark, checkpoint, "S", 60)
    assert files.names(spark, folder_of(checkpoint, "S")) == []
    assert last_punctuation(spark, checkpoint, "S") == 60
    for at in (70, 80, 90):
        note_punctuation(spark, checkpoint, "S", at)
    assert len(files.names(spark, f"{checkpoint}/siddhi/noted/S")) == 2


def test_a_new_checkpoint_includes_the_punctuation_of_its_origin(spark, tmp_path):
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    for stream, at in (("S", 30), ("S", 20), ("T", 10)):
        write_punctuation(spark, old, stream, at)
    files.make_folder(spark, folder_of(old, "U"))
    adopt_punctuations(spark, old, new)
    assert {stream: last_punctuation(spark, new, stream) for stream in "STU"} == {"S": 30, "T": 10, "U": None}
    assert not (tmp_path / "new" / "siddhi" / "punctuation").exists()  # the next start writes them
