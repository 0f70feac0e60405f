"""The receivers of an error within a micro-batch; needs no Java."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark.streaming.query import SparkQuery, _blamed


def told(error: Exception, what: str = "sink of 'Out'") -> str | None:
    """What a query says of an error in the midst of batch 4."""
    query = SparkQuery("app", None)
    with pytest.raises(type(error)) as caught, _blamed(what, 4, query):
        raise error
    assert caught.value is error
    return None if query._sink_error is None else str(query._sink_error)


def test_an_error_of_a_sink_has_its_stream_and_batch():
    assert told(OSError("disk full")) == "disk full (sink of 'Out', batch 4, OSError)"
    assert told(SparkRunError("not this folder")) == "not this folder (sink of 'Out', batch 4, SparkRunError)"


def test_an_error_of_the_app_is_not_an_error_of_a_sink():
    assert told(RuntimeError("Job aborted: siddhi.errors.SparkRunError: too many pending")) is None


def test_an_error_of_reading_is_not_an_error_of_a_sink():
    error = RuntimeError(
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file a.parquet.  SQLSTATE: KD001\n\nJVM stacktrace:"
    )
    assert told(error) == "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file a.parquet."


def test_an_error_outside_of_writes_has_no_sink():
    assert told(RuntimeError("out of memory"), "") == "out of memory"


def test_two_processes_with_one_checkpoint_are_reported_if_likely():
    lost = "File file:/out/_writing-4-b9c2cce803dd4a8899e5590ac5abcb50/_temporary/0 does not exist"
    assert told(OSError(lost)) == (
        "another process seems to use this checkpoint, which only one may do at a time: it deleted what this one "
        f"was writing: {lost} (sink of 'Out', batch 4, OSError)"
    )
    assert (
        told(OSError("File file:/out/x does not exist"))
        == "File file:/out/x does not exist (sink of 'Out', batch 4, OSError)"
    )
