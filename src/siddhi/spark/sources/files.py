"""Read files. Columns are found by name; files with missing columns or invalid text are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siddhi.errors import did_you_mean
from siddhi.query_api.definition import Attribute
from siddhi.spark.catalyst.bindings import check_columns
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.failures import broken_file, message_of
from siddhi.spark.file_systems import reaching
from siddhi.spark.sources.file_order import numbered, with_order
from siddhi.spark.sources.text import BAD, EMPTY, EVENT_TIME, Text, typed_rows
from siddhi.types import AttributeType

__all__ = ["CSV_DIALECT", "FileRows", "Files", "option", "read_files"]

CSV_DIALECT: Mapping[str, str] = {
    "header": "true",
    "quote": '"',
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
"""CSV as the embedded engine reads and writes it: with header, doubled quotes and blanks."""
_CSV_READ = {
    **CSV_DIALECT,
    "multiLine": "true",
    "emptyValue": EMPTY,
    "enforceSchema": "false",
    "columnPruning": "false",
}
_OTHER_COLUMNS = re.compile(r"\[CANNOT_MERGE\w*\] [^.\n]*")
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")
_SAMPLE_LINES = 1000
_HEADER_LINES = 100


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a stream or table.

    Attributes:
        stream: its name.
        format: ``parquet``, ``csv``, ``json`` or ``orc``.
        path: path of a file or folder, or a pattern.
        attributes: its attributes.
        sequence: integer columns that order rows of one ms.
        time: column of event time, which may be a date and time as text; None: an attribute is.
        options: options of Spark's reader, and ``mode``.
        timed: the attribute with the event time, if ``mode`` applies to it.
        kind: ``stream`` or ``table``.
    """

    stream: str
    format: str
    path: str
    attributes: Sequence[Attribute]
    sequence: tuple[str, ...] = ()
    time: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    timed: str | None = None
    kind: str = "stream"

    @property
    def what(self) -> str:
        """Its name in messages."""
        return f"{self.kind} '{self.stream}'"

    @property
    def columns(self) -> list[str]:
        """The required columns."""
        return list(
            dict.fromkeys(
                [*(a.name for a in self.attributes), *self.sequence, *(() if self.time is None else (self.time,))]
            )
        )


def option(options: Mapping[str, str], name: str, default: str) -> str:
    """Return an option of Spark, whose names are case-insensitive."""
    return next((value for key, value in options.items() if key.lower() == name.lower()), default)


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of files.

    Attributes:
        frame: the rows.
        time: column of event time; None: an attribute has it.
        order: columns that order rows of one ms: those of :attr:`Files.sequence` or else, of a stream, of the place in the files.
    """

    frame: DataFrame
    time: str | None
    order: tuple[str, ...]


def read_files(spark: SparkSession, files: Files, *, streaming: bool) -> FileRows:
    """Return the rows of files.

    Raises:
        ValueError: there are no files, they have another format, or columns are missing or of another type; the message lists
            all of them.
        SparkSetupError: Spark lacks their file system.
    """
    read = _read_columns if files.format in ("parquet", "orc") else _read_text
    found = read(spark, files, streaming=streaming)
    if streaming and files.format != "parquet" and not files.sequence:
        frame, order = numbered(found.frame, found.order)
        return FileRows(frame, found.time, order)
    return found


def _ordered(
    spark: SparkSession, raw: DataFrame, files: Files, *, streaming: bool
) -> tuple[DataFrame, tuple[str, ...]]:
    """Return rows with the columns that order them, and the names of these."""
    if files.sequence or files.kind == "table":
        return raw, files.sequence
    return with_order(spark, raw, files.format, files.path, streaming=streaming)


def _opened(spark: SparkSession, files: Files, options: Mapping[str, str]) -> DataFrame | None:
    """Return the files as Spark reads them; None: the folder has none yet."""
    with _read_errors(spark, files):
        try:
            return spark.read.format(files.format).options(**options).load(files.path)
        except AnalysisException as error:
            if error.getCondition() == "UNABLE_TO_INFER_SCHEMA":
                return None
            raise


@contextmanager
def _read_errors(spark: SparkSession, files: Files) -> Iterator[None]:
    """Explain in one sentence why Spark can't read files.

    Raises:
        ValueError: it can't.
        SparkSetupError: Spark lacks their file system.
    """
    try:
        with reaching(spark, files.path):
            yield
    except (PySparkException, Py4JJavaError) as error:
        broken = broken_file(error)
        if broken is not None:
            message = f"{files.path} can't be read as {files.what}: {broken} is damaged, or not a {files.format} file"
        elif other := _OTHER_COLUMNS.search(str(error)):
            message = f"{files.path} can't be read, as its files have different columns: {other.group()}"
        else:
            message = f"{files.path} can't be read: {message_of(error).splitlines()[0]}"
        raise ValueError(message) from error


def _require(files: Files, have: Sequence[str]) -> None:
    missing = [name for name in files.columns if name not in have]
    if missing:
        problems = "; ".join(f"there is no column '{name}'{did_you_mean(name, have)}" for name in missing)
        raise ValueError(f"{files.path} can't be read as {files.what}: {problems} (columns: {', '.join(have)})")


# --- parquet, orc


def _read_columns(spark: SparkSession, files: Files, *, streaming: bool) -> FileRows:
    options = dict(files.options)
    found = _opened(spark, files, options)
    if found is None:
        if files.time is not None:
            raise ValueError(f"{files.path} holds no files yet, so the type of column '{files.time}' is not known")
        schema = T.StructType([_declared(a) for a in files.attributes if a.type is not AttributeType.OBJECT])
        names = schema.names
        schema = T.StructType([*schema, *(T.StructField(n, T.LongType()) for n in files.sequence if n not in names)])
    else:
        if set(files.columns).difference(found.columns):  # so far from one file
            found = _opened(spark, files, {**options, "mergeSchema": "true"}) or found
        _require(files, found.columns)
        check_columns(f"{files.path} as {files.what}", found, files.attributes)
        declared = {a.name: _declared(a) for a in files.attributes}
        # With declared types, as another file may have a wider one.
        schema = T.StructType([declared.get(name, found.schema[name]) for name in files.columns])
    reader = spark.readStream if streaming else spark.read
    with _read_errors(spark, files):
        raw = reader.format(files.format).options(**options).schema(schema).load(files.path)
        rows, order = _ordered(spark, raw, files, streaming=streaming)
    return FileRows(rows, files.time, order)


def _declared(attribute: Attribute) -> T.StructField:
    return T.StructField(attribute.name, T.DataType.fromDDL(SPARK_TYPES[attribute.type]))


# --- csv, json


def _read_text(spark: SparkSession, files: Files, *, streaming: bool) -> FileRows:
    mode = option(files.options, "mode", "FAILFAST")
    options = {key: value for key, value in files.options.items() if key.lower() != "mode"}
    if files.format == "csv":
        given = {key.lower() for key in options}
        if given.isdisjoint({"multiline", "encoding", "charset", "linesep"}) and _ends_with_crlf(spark, files, options):
            options["lineSep"] = "\r\n"
        options = {**{key: value for key, value in _CSV_READ.items() if key.lower() not in given}, **options}
        columns = _columns_of_csv(spark, files, options)
    else:
        _look_at_keys(spark, files, options)
        columns = files.columns
    schema = T.StructType([T.StructField(name, T.StringType()) for name in [*columns, BAD]])
    reader = (spark.readStream if streaming else spark.read).format(files.format).options(**options)
    reader = reader.options(mode="PERMISSIVE", columnNameOfCorruptRecord=BAD).schema(schema)
    with _read_errors(spark, files):
        raw, order = _ordered(spark, reader.load(files.path), files, streaming=streaming)
    text = Text(
        files.what,
        F.col("_metadata.file_path"),
        mode=mode,
        time=files.time,
        timed=files.timed,
        has_empty=option(options, "emptyValue", "") == EMPTY,
        is_json=files.format == "json",
    )
    keep = () if files.sequence else order
    rows = typed_rows(raw, text, files.attributes, numbers=files.sequence, keep=keep)
    return FileRows(rows, None if files.time is None else EVENT_TIME, order)


def _ends_with_crlf(spark: SparkSession, files: Files, options: Mapping[str, str]) -> bool:
    """Return whether the first record ends with CRLF. Spark sees that, too, and replaces every CRLF between quotes by LF unless the
    line end is given."""
    reader = spark.read.format("text").options(**{**options, "wholetext": "false", "lineSep": "\n"})
    try:
        found = reader.load(files.path).select("value").where("value != ''").head(_HEADER_LINES)
    except (PySparkException, Py4JJavaError):
        return False  # reported when the file is read
    quotes = 0
    for row in found:
        quotes += row["value"].count('"')
        if quotes % 2 == 0:
            return bool(row["value"].endswith("\r"))
    return False


def _columns_of_csv(spark: SparkSession, files: Files, options: Mapping[str, str]) -> list[str]:
    """Return the columns in their order: those of the header or, without one, the attributes."""
    names = [attribute.name for attribute in files.attributes]
    if option(options, "header", "true").lower() != "true":
        _require(files, names)
        _opened(spark, files, options)
        return names
    found = _opened(spark, files, options)
    if found is None:
        return files.columns
    if not found.columns:
        raise ValueError(f"{files.path} is empty: the first line must name the columns")
    if not set(files.columns).issubset(found.columns) and _NO_TEXT.search("".join(found.columns)):
        raise ValueError(f"{files.path} can't be read as {files.what}: its first line is not text, so it is not csv")
    _require(files, found.columns)
    return list(found.columns)


def _look_at_keys(spark: SparkSession, files: Files, options: Mapping[str, str]) -> None:
    """Check that every column occurs in the first lines, as a misspelt one would be null throughout."""
    plain = {key.lower() for key in options}.isdisjoint({"multiline", "encoding", "charset", "linesep"})
    with _read_errors(spark, files):
        lines = spark.read.text(files.path, recursiveFileLookup=option(options, "recursiveFileLookup", "false"))
    if not plain:
        return
    keys: dict[str, None] = {}
    for row in lines.select("value").limit(_SAMPLE_LINES).collect():
        try:
            item = json.loads(row["value"])
        except ValueError:
            continue  # reading will tell
        if isinstance(item, dict):
            keys |= dict.fromkeys(item)
    if keys:
        _require(files, [*keys, *(name for name in lines.columns if name != "value")])
