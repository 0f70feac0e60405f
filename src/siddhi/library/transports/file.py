"""Metadata of the source and sink ``file``, of the sources ``fileeventlistener`` and ``stdin``, and of the sink ``stdout``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import BUFFER

__all__ = ["CONNECTORS"]

_ACTIONS = "keep (or none), delete or move; default: keep"
_UNSUPPORTED = "not supported: refused"

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="file",
        builtin="file",
        location="file.source.FileSource",
        options=(
            ConnectorOption("file.uri", "the file; either this or 'dir.uri'", place="file"),
            ConnectorOption("dir.uri", "the folder whose files are read in the order of their names", place="file"),
            ConnectorOption("mode", "line, regex, text.full, binary.full or binary.chunked; default: line"),
            ConnectorOption(
                "tailing",
                "whether to wait for more lines at the end, also after a rotation; default: 'true' for lines of 'file.uri'",
            ),
            ConnectorOption("action.after.process", f"what happens to a processed file: {_ACTIONS}"),
            ConnectorOption("action.after.failure", f"what happens to a file that can't be read: {_ACTIONS}"),
            ConnectorOption("move.after.process", "where to move it: a file, for 'dir.uri' a folder", place="file"),
            ConnectorOption("move.after.failure", "the same after a failure", place="file"),
            ConnectorOption(
                "move.if.exist.mode", "overwrite, or keep: the moved file gets another name; default: overwrite"
            ),
            ConnectorOption("header.present", "whether lines at the beginning are skipped; default: 'false'"),
            ConnectorOption("header.line.count", "the number of these lines; default: 1"),
            ConnectorOption("read.only.header", "whether only the first line is delivered; default: 'false'"),
            ConnectorOption("read.only.trailer", "whether only the last line is delivered; default: 'false'"),
            ConnectorOption("skip.trailer", "whether the last line is left out; default: 'false'"),
            ConnectorOption("file.name.pattern", "regular expression of the names of files; default: all files"),
            ConnectorOption(
                "file.polling.interval", "milliseconds between two checks of a tailed file; default: 1000", unit="ms"
            ),
            ConnectorOption(
                "dir.polling.interval", "milliseconds between two checks of the folder; default: 1000", unit="ms"
            ),
            ConnectorOption(
                "file.read.wait.timeout",
                "a file of a folder is read when unchanged for this time, in ms; default: 1000",
                unit="ms",
            ),
            ConnectorOption("timeout", "has no effect: the end of a file is always waited for"),
            ConnectorOption("buffer.size", "bytes of a chunk; default: 65536"),
            BUFFER,
            ConnectorOption(
                "begin.regex",
                "mode regex: what a payload begins with, a pattern of RE2; default: the end of the last one",
            ),
            ConnectorOption(
                "end.regex", "mode regex: what it ends with; default: it ends before the next 'begin.regex'"
            ),
            ConnectorOption(
                "cron.expression", "the times at which files are read, with the action move, instead of the interval"
            ),
            ConnectorOption("file.system.options", _UNSUPPORTED),
        ),
        description="Reads a file, or the files of a folder.",
        example="@source(type = 'file', file.uri = '/var/log/trades.log', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SourceMetadata(
        name="fileeventlistener",
        builtin="fileeventlistener",
        location="file.events.FileEventSource",
        packages=("watchfiles",),
        extra="file",
        options=(
            ConnectorOption(
                "dir.uri", "the folder, which is watched with all folders in it", required=True, place="file"
            ),
            ConnectorOption(
                "monitoring.interval",
                "milliseconds without a change after which a file counts as complete; default: 100",
                unit="ms",
            ),
            ConnectorOption(
                "file.name.list", "names of files, or paths in the folder, separated by commas; default: all files"
            ),
            ConnectorOption("file.system.options", _UNSUPPORTED),
            BUFFER,
        ),
        description="Tells which files of a folder were created, changed and removed.",
        example="@source(type = 'fileeventlistener', dir.uri = '/data/in', @map(type = 'passThrough'))\n"
        "define stream FileEvents (filepath string, filename string, status string);",
    ),
    SourceMetadata(
        name="stdin",
        builtin="stdin",
        location="sources.stdin.StdinSource",
        options=(
            ConnectorOption("header.present", "whether lines at the beginning are skipped; default: 'false'"),
            ConnectorOption("header.line.count", "the number of these lines; default: 1"),
            BUFFER,
        ),
        description="Receives the lines of the standard input.",
        example="@source(type = 'stdin', @map(type = 'json')) define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="file",
        builtin="file",
        location="file.sink.FileSink",
        options=(
            ConnectorOption("file.uri", "the file", required=True, dynamic=True, place="file"),
            ConnectorOption("append", "whether a payload is appended; otherwise it replaces the file; default: 'true'"),
            ConnectorOption(
                "add.line.separator", "whether a text gets a line end; default: 'true' for texts without one"
            ),
            ConnectorOption(
                "fsync", "whether a payload counts as published only when it is on the disk; default: 'false'"
            ),
            ConnectorOption(
                "on.restore",
                "keep, or truncate: a restore cuts off what was written after the snapshot; default: keep",
            ),
            ConnectorOption("file.system.options", _UNSUPPORTED),
        ),
        description="Appends payloads to a file, or replaces it.",
        example="@sink(type = 'file', file.uri = '/tmp/alerts/{{symbol}}.json', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SinkMetadata(
        name="stdout",
        builtin="stdout",
        location="sinks.stdout.StdoutSink",
        description="Writes each payload as a line to the standard output.",
        example="@sink(type = 'stdout', @map(type = 'json')) define stream Alerts (symbol string, price double);",
    ),
)
