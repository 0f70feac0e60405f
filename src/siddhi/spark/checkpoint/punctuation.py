"""Punctuations: rows in a small source per stream that move its watermark and are dropped after it."""

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
    """Return the event time (ms) of a punctuation as an int.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is before 1970, where Spark's watermark starts.
    """
    try:
        at = operator.index(clock)
    except TypeError:
        at = None
    if at is None or isinstance(clock, bool):
        raise TypeError(f"invalid clock {clock!r}: expected an integer, the time in ms since 1970")
    if at < 0:
        raise ValueError(f"invalid clock {at}: expected a time in ms since 1970, not before it")
    return at


def folder_of(checkpoint: str, stream: str) -> str:
    """Return the folder of the punctuations of a stream."""
    return f"{checkpoint}/siddhi/punctuation/{stream}"


def make_folders(spark: SparkSession, checkpoint: str, streams: Iterable[str]) -> dict[str, str]:
    """Return the punctuation folders of these streams; make the missing ones."""
    found = {stream: folder_of(checkpoint, stream) for stream in streams}
    for folder in found.values():
        files.make_folder(spark, folder)
    return found


def write_punctuation(spark: SparkSession, checkpoint: str, stream: str, at: int) -> None:
    """Write a row without values at this event time (ms); the watermark follows with the delay of the stream.

    The query deletes punctuations that it has passed, so the last one is recorded first, and no kill can lose it.
    """
    note_punctuation(spark, checkpoint, stream, at)
    rows = pa.table({"__at": pa.array([at * 1000], pa.timestamp("us", tz="UTC"))})
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    files.write_new(spark, folder_of(checkpoint, stream), f"mark-{at}-{uuid.uuid4().hex}.parquet", sink.getvalue())


def note_punctuation(spark: SparkSession, checkpoint: str, stream: str, at: int) -> None:
    """Record the event time (ms) of a punctuation; the next start writes it again.

    The record is the name of an empty file: several writers need no lock, and readers take the latest.
    """
    folder = _noted(checkpoint, stream)
    known = _numbers(spark, folder, _NOTE)
    if at > max(known, default=at - 1):  # event time may be negative
        files.touch(spark, f"{folder}/{at}")
        # One stays beside the last: a reader may list the folder before it sees the new one.
        for old in sorted(known)[:-1]:
            files.delete(spark, f"{folder}/{old}")


def last_punctuation(spark: SparkSession, checkpoint: str, stream: str) -> int | None:
    """Return the last punctuation of a stream (ms), or None."""
    noted = _numbers(spark, _noted(checkpoint, stream), _NOTE)
    return max([*noted, *_numbers(spark, folder_of(checkpoint, stream), _PUNCTUATION)], default=None)


def adopt_punctuations(spark: SparkSession, old: str, new: str) -> None:
    """Record the last punctuation of every stream of another checkpoint; the next start writes them."""
    known = (files.names(spark, folder) for folder in (f"{old}/siddhi/noted", f"{old}/siddhi/punctuation"))
    for stream in sorted({stream for streams in known for stream in streams}):
        at = last_punctuation(spark, old, stream)
        if at is not None:
            note_punctuation(spark, new, stream, at)


def delete_punctuations(spark: SparkSession, checkpoint: str, stream: str, until: int) -> None:
    """Delete the punctuations up to this event time (ms), which a later one replaces."""
    folder = folder_of(checkpoint, stream)
    for name in files.names(spark, folder):
        match = _PUNCTUATION.fullmatch(name)
        if match is not None and int(match[1]) <= until:
            files.delete(spark, f"{folder}/{name}")


def _numbers(spark: SparkSession, folder: str, form: re.Pattern[str]) -> list[int]:
    """Return the numbers in the names of files of this form."""
    return [int(match[1]) for match in map(form.fullmatch, files.names(spark, folder)) if match is not None]


def _noted(checkpoint: str, stream: str) -> str:
    return f"{checkpoint}/siddhi/noted/{stream}"
