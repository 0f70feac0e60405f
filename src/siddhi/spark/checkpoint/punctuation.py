"""Time that no row brings: marks in a small source of every stream, which move its watermark and are dropped behind it."""

from __future__ import annotations

import io
import operator
import re
import uuid
from collections.abc import Iterable
from typing import SupportsIndex

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from siddhi.spark import files

__all__ = [
    "adopt_punctuations",
    "clock_of",
    "delete_punctuations",
    "folder_of",
    "last_punctuation",
    "make_folders",
    "note_punctuation",
    "write_punctuation",
]

_PUNCTUATION = re.compile(r"mark-(-?[0-9]+)-.*\.parquet")
_NOTE = re.compile(r"(-?[0-9]+)")


def clock_of(clock: SupportsIndex) -> int:
    """The event time (ms) that a user says a stream has reached: marks are found by the digits in their names.

    Raises:
        TypeError: it is not a whole number.
        ValueError: it is before 1970, where no watermark is.
    """
    try:
        at = operator.index(clock)
    except TypeError:
        at = None
    if at is None or isinstance(clock, bool):
        raise TypeError(f"clock is a whole number of ms, not {clock!r}")
    if at < 0:
        raise ValueError(f"clock is in ms since 1970, and {at} is before that")
    return at


def folder_of(checkpoint: str, stream: str) -> str:
    """Where the marks of a stream are."""
    return f"{checkpoint}/siddhi/punctuation/{stream}"


def make_folders(spark: SparkSession, checkpoint: str, streams: Iterable[str]) -> dict[str, str]:
    """The folders of these streams, made where they are not there."""
    found = {stream: folder_of(checkpoint, stream) for stream in streams}
    for folder in found.values():
        files.make_folder(spark, folder)
    return found


def write_punctuation(spark: SparkSession, checkpoint: str, stream: str, at: int) -> None:
    """A row without values at this event time (ms): the watermark follows it by the grace of the stream.

    The query deletes marks that it has passed, so the last one is noted: before, that no kill can lose it.
    """
    note_punctuation(spark, checkpoint, stream, at)
    rows = pa.table({"__at": pa.array([at * 1000], pa.timestamp("us", tz="UTC"))})
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    files.write_new(spark, folder_of(checkpoint, stream), f"mark-{at}-{uuid.uuid4().hex}.parquet", sink.getvalue())


def note_punctuation(spark: SparkSession, checkpoint: str, stream: str, at: int) -> None:
    """Note the event time (ms) of a mark of a stream; who starts next writes it once more.

    It is the name of an empty file, so many may write at a time: who reads takes the latest, and none is ever replaced.
    """
    folder = _noted(checkpoint, stream)
    known = _numbers(spark, folder, _NOTE)
    if at > max(known, default=at - 1):  # time may be negative
        files.touch(spark, f"{folder}/{at}")
        # One is left beside the last: who lists the folder meanwhile may miss what is new to it.
        for old in sorted(known)[:-1]:
            files.delete(spark, f"{folder}/{old}")


def last_punctuation(spark: SparkSession, checkpoint: str, stream: str) -> int | None:
    """The latest mark of a stream (ms), or None."""
    noted = _numbers(spark, _noted(checkpoint, stream), _NOTE)
    return max([*noted, *_numbers(spark, folder_of(checkpoint, stream), _PUNCTUATION)], default=None)


def adopt_punctuations(spark: SparkSession, old: str, new: str) -> None:
    """Let a checkpoint know the last mark of every stream of another one: its next start writes them once more."""
    known = (files.names(spark, folder) for folder in (f"{old}/siddhi/noted", f"{old}/siddhi/punctuation"))
    for stream in sorted({stream for streams in known for stream in streams}):
        at = last_punctuation(spark, old, stream)
        if at is not None:
            note_punctuation(spark, new, stream, at)


def delete_punctuations(spark: SparkSession, checkpoint: str, stream: str, until: int) -> None:
    """Delete the marks up to this event time (ms), which another one stands for; the query does not miss them."""
    folder = folder_of(checkpoint, stream)
    for name in files.names(spark, folder):
        match = _PUNCTUATION.fullmatch(name)
        if match is not None and int(match[1]) <= until:
            files.delete(spark, f"{folder}/{name}")


def _numbers(spark: SparkSession, folder: str, form: re.Pattern[str]) -> list[int]:
    """What the names of files of this form tell."""
    return [int(match[1]) for match in map(form.fullmatch, files.names(spark, folder)) if match is not None]


def _noted(checkpoint: str, stream: str) -> str:
    return f"{checkpoint}/siddhi/noted/{stream}"
