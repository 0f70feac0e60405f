"""The messages of errors; needs no Java."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.failures import BadRowError, broken_file, cleared_away, message_of, run_error


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
def test_an_error_is_shown_without_frames(told, message):
    assert message_of(RuntimeError(told)) == message


WRITING = "out/_writing-4-b9c2cce803dd4a8899e5590ac5abcb50"


@pytest.mark.parametrize(
    ("told", "gone"),
    [
        (f"An error occurred while calling o1.parquet.\n: java.io.X: File file:/a/{WRITING}/_temporary/0 does not exist\n\tat x", True),
        (f"File does not exist: /a/{WRITING}/_temporary/0", True),
        (f"No such file or directory: s3a://a/{WRITING}", True),
        (f"java.io.FileNotFoundException: /a/{WRITING}/_temporary/0/x.parquet (No such file or directory)", True),
        ("File file:/a/siddhi/times.json.new does not exist", True),
        ("ExitCodeException exitCode=1: chmod: cannot access '/a/siddhi/.times.json.new.crc': No such file or directory", True),
        (f"/a/{WRITING} can't be renamed to /a/out/batch=4: the file system gives no reason", False),
        ("File file:/a/in/1.parquet does not exist", False),
        (f"no space left for {WRITING}/1.parquet; /other does not exist", False),
    ],
)  # fmt: skip
def test_incomplete_output_is_removed(told, gone):
    assert cleared_away(RuntimeError(told)) is gone


FOOTER = (
    "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered error while reading file {}. Could not read footer. Please"
)
ROWS = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {}.  SQLSTATE: KD001\n\tat x\nCaused by: "


@pytest.mark.parametrize(
    ("told", "file"),
    [
        (FOOTER.format("file:/a/b c.json"), "file:/a/b c.json"),
        (f"{ROWS.format('file:///a.b/0')}java.lang.RuntimeException: file:/a.b/0 is not a Parquet file (length", "file:/a.b/0"),
        (f"{ROWS.format('/a')}org.apache.orc.FileFormatException: Malformed ORC file file:/a.orc. Invalid", "file:/a.orc"),
        (f"{ROWS.format('/a')}java.io.IOException: the disk is gone", None),
        ("the app says that /a is not a Parquet file", None),
    ],
)  # fmt: skip
def test_files_of_another_format(told, file):
    error = RuntimeError(told)
    assert broken_file(error) == file
    ours = run_error(error)
    assert isinstance(ours, BadRowError) is (file is not None)
    if file is not None:
        assert str(ours) == f"{file} is damaged, or has another format than its source declares"
