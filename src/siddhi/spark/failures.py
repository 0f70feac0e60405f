"""Extract the errors of an app or its input from those of Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.errors import StreamingQueryException

from siddhi.errors import SparkRunError

__all__ = ["BadRowError", "broken_file", "cleared_away", "message_of", "run_error", "run_errors", "stream_errors"]

_MESSAGE = re.compile(r"SparkRunError: (.*)")
_BAD_ROW = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?) SQLSTATE: P0001", re.DOTALL)
_BAD_HEADER = re.compile(r"CSV header does not conform|Number of column in CSV header is not equal")
_BEFORE_IT = re.compile(
    r"\[STREAM_FAILED\] .*? terminated with exception: |^An error occurred while calling \S+\n: [\w.$]+: "
)
_BEHIND_IT = re.compile(r"(\s*SQLSTATE: \w+)?\s*(=== Streaming Query ===|JVM stacktrace:|\n\tat |$)")
_BROKEN_FILE = re.compile(
    r"\bFAILED_READ_FILE\b.*?(?:Encountered error while reading file (?P<footer>[^\n]*?)\. Could not read footer"
    r"|RuntimeException: (?P<parquet>[^\n]*?) is not a Parquet file|Malformed ORC file (?P<orc>[^\n]*?)\. )",
    re.DOTALL,
)
"""Errors for files without footer: raised when Spark reads the schema, or when its readers read rows."""
_CSV_FILE = re.compile(r"CSV file: (\S+)")
_UNFINISHED = r"(?:_writing-\d+-[0-9a-f]{32}|/siddhi/\.?times\.json)"
_CLEARED_AWAY = re.compile(
    rf"{_UNFINISHED}\S* (?:does not exist|\(?No such file)|(?:does not exist|No such file or directory): \S*{_UNFINISHED}"
)
"""Errors for a deleted unfinished file, as local file systems, HDFS and object stores report it."""


class BadRowError(SparkRunError):
    """An input value, record or event time is invalid."""


def run_error(error: BaseException) -> SparkRunError | None:
    """Return the error of the app or its input inside an error of Spark, or None."""
    text = _message(error)
    if found := _MESSAGE.search(text):
        return SparkRunError(found.group(1))
    if found := _BAD_ROW.search(text):
        return BadRowError(found.group(1))
    if broken := _broken_file(text):
        return BadRowError(f"{broken} is damaged, or has another format than its source declares")
    if _BAD_HEADER.search(text):
        file = _CSV_FILE.search(text)
        return BadRowError(
            f"{file.group(1) if file else 'a file'}: its header differs from that of the first file; all files of a source need the "
            "same columns in the same order, and the same line ends"
        )
    return None


def broken_file(error: BaseException) -> str | None:
    """Return the Parquet or ORC file that Spark can't read, if the error is about one."""
    return _broken_file(_message(error))


def _broken_file(text: str) -> str | None:
    found = _BROKEN_FILE.search(text)
    return None if found is None else found["footer"] or found["parquet"] or found["orc"]


def _message(error: BaseException) -> str:
    """Return all text of an error; for a stream, the reason is in the cause."""
    return f"{error}\n{getattr(error, '_stackTrace', None) or ''}"


@contextmanager
def run_errors() -> Iterator[None]:
    """Raise the app's error in place of the Spark error that contains it; for your own actions on the DataFrame of an output.

    Raises:
        SparkRunError: Spark failed with an error of the app, which is its cause.
    """
    try:
        yield
    except Exception as error:
        ours = run_error(error)
        if ours is None or isinstance(error, SparkRunError):
            raise
        raise ours from error


@contextmanager
def stream_errors(sink_error: Callable[[], SparkRunError | None]) -> Iterator[None]:
    """Raise the error of the app, of a sink or of Spark that ended a stream.

    Args:
        sink_error: returns the error of a sink, or None.

    Raises:
        SparkRunError: the stream failed; Spark's error is its cause.
    """
    try:
        with run_errors():
            yield
    except StreamingQueryException as error:
        raise sink_error() or SparkRunError(message_of(error)) from error


def cleared_away(error: BaseException) -> bool:
    """Return whether the files that a micro-batch was writing are gone: another process deleted them as leftovers."""
    return _CLEARED_AWAY.search(str(error)) is not None


def message_of(error: BaseException) -> str:
    """Return the text of an error without Spark's stack frames and query ids."""
    return _BEFORE_IT.sub("", _BEHIND_IT.split(str(error), maxsplit=1)[0])
