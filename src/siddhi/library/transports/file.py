"""Metadata of the source and sink ``file`` and of the sink ``stdout``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata

__all__ = ["CONNECTORS"]

_ACTIONS = "keep (or none), delete or move; default: keep"
_UNSUPPORTED = "not supported: refused"

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="file",
        native="file",
        options=(
            ConnectorOption("file.uri", "the file; either this or 'dir.uri'", place="file"),
            ConnectorOption("dir.uri", "the folder whose files are read in the order of their names", place="file"),
            ConnectorOption("mode", "line, text.full, binary.full or binary.chunked; default: line"),
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
            ConnectorOption("file.polling.interval", "milliseconds between two looks at a tailed file; default: 1000"),
            ConnectorOption("dir.polling.interval", "milliseconds between two looks at the folder; default: 1000"),
            ConnectorOption(
                "file.read.wait.timeout",
                "a file of a folder is read when unchanged for these milliseconds; default: 1000",
            ),
            ConnectorOption("timeout", "has no effect: the end of a file is always waited for"),
            ConnectorOption("buffer.size", "bytes of a chunk; default: 65536"),
            ConnectorOption("begin.regex", _UNSUPPORTED),
            ConnectorOption("end.regex", _UNSUPPORTED),
            ConnectorOption("cron.expression", _UNSUPPORTED),
            ConnectorOption("file.system.options", _UNSUPPORTED),
        ),
        description="Reads a file, or the files of a folder.",
        example="@source(type = 'file', file.uri = '/var/log/trades.log', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="file",
        native="file",
        options=(
            ConnectorOption("file.uri", "the file", required=True, dynamic=True, place="file"),
            ConnectorOption("append", "whether a payload is appended; otherwise it replaces the file; default: 'true'"),
            ConnectorOption(
                "add.line.separator", "whether a text gets a line end; default: 'true' for texts without one"
            ),
            ConnectorOption("fsync", "whether a payload is published only when it is on the disk; default: 'false'"),
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
        native="stdout",
        description="Writes each payload as a line to the standard output.",
        example="@sink(type = 'stdout', @map(type = 'json')) define stream Alerts (symbol string, price double);",
    ),
)
