"""What is told of an error; needs no Java."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.failures import message_of


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("the sink\nis down", "the sink\nis down"),
        ("[READ] no such file. SQLSTATE: KD001\n\nJVM stacktrace:\norg.apache", "[READ] no such file."),
        ("[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: no. SQLSTATE: XXKST\n=== Streaming Query ===\nId", "no."),
        ("An error occurred while calling o1.fit.\n: org.apache.SparkException: [A] b.  SQLSTATE: X\n\tat org.C(D.scala:1)", "[A] b."),
        ("", ""),
    ],
)  # fmt: skip
def test_an_error_is_told_without_frames(told, message):
    assert message_of(RuntimeError(told)) == message
