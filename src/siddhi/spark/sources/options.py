"""The options of Spark's readers and writers, to refuse misspelt ones, which Spark ignores."""

from __future__ import annotations

from collections.abc import Mapping

from siddhi.errors import did_you_mean

__all__ = ["KAFKA_UNSUPPORTED", "reaches_outside", "unknown_option"]

_FILES = (
    "pathGlobFilter recursiveFileLookup modifiedBefore modifiedAfter ignoreCorruptFiles ignoreMissingFiles basePath "
    "maxFilesPerTrigger maxBytesPerTrigger latestFirst maxFileAge fileNameOnly maxCachedFiles discardCachedInputRatio "
    "cleanSource sourceArchiveDir"
)
_TEXT = "encoding charset lineSep multiLine mode locale timeZone dateFormat timestampFormat timestampNTZFormat"
_CSV_READ = (
    "sep delimiter quote escape charToEscapeQuoteEscaping comment header ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace "
    "nullValue emptyValue maxColumns maxCharsPerColumn unescapedQuoteHandling"
)
_CSV_WRITE = (
    "sep delimiter quote quoteAll escape escapeQuotes charToEscapeQuoteEscaping header ignoreLeadingWhiteSpace "
    "ignoreTrailingWhiteSpace nullValue emptyValue"
)
_JSON_READ = (
    "allowComments allowUnquotedFieldNames allowSingleQuotes allowNumericLeadingZeros allowNonNumericNumbers "
    "allowBackslashEscapingAnyCharacter allowUnquotedControlChars"
)
_WRITE = "compression encoding lineSep timeZone dateFormat timestampFormat timestampNTZFormat maxRecordsPerFile"
_KAFKA_READ = (
    "startingOffsets endingOffsets startingTimestamp endingTimestamp startingOffsetsByTimestamp endingOffsetsByTimestamp "
    "startingOffsetsByTimestampStrategy failOnDataLoss maxOffsetsPerTrigger minOffsetsPerTrigger maxTriggerDelay minPartitions "
    "maxRecordsPerPartition groupIdPrefix kafkaConsumer.pollTimeoutMs fetchOffset.numRetries fetchOffset.retryIntervalMs mode"
)
_KNOWN: Mapping[tuple[str, str, str], str] = {
    ("source", "file", "csv"): f"{_FILES} {_TEXT} {_CSV_READ}",
    ("source", "file", "json"): f"{_FILES} {_TEXT} {_JSON_READ}",
    ("source", "file", "parquet"): f"{_FILES} mergeSchema datetimeRebaseMode int96RebaseMode",
    ("source", "file", "orc"): f"{_FILES} mergeSchema",
    ("sink", "file", "csv"): f"{_WRITE} {_CSV_WRITE}",
    ("sink", "file", "json"): f"{_WRITE} ignoreNullFields",
    ("sink", "file", "parquet"): "compression maxRecordsPerFile",
    ("sink", "file", "orc"): "compression maxRecordsPerFile",
    ("source", "kafka", ""): _KAFKA_READ,
    ("sink", "kafka", ""): "includeHeaders",
    ("source", "rate", ""): "rowsPerSecond rampUpTime numPartitions",
    ("sink", "log", ""): "",
}
_PREFIXES = {"file": ("parquet.", "orc.", "fs.", "dfs."), "kafka": ("kafka.",)}
_ALL_PREFIXES = tuple(prefix for prefixes in _PREFIXES.values() for prefix in prefixes)
KAFKA_UNSUPPORTED = (
    "kafka.auto.offset.reset",
    "kafka.enable.auto.commit",
    "kafka.interceptor.classes",
    "kafka.key.deserializer",
    "kafka.key.serializer",
    "kafka.value.deserializer",
    "kafka.value.serializer",
)
"""Kafka settings that Spark reserves."""


def reaches_outside(name: str) -> bool:
    """Return whether an option can name files, servers or classes, or makes Spark delete or move files that it reads."""
    lowered = name.lower()
    return lowered in ("basepath", "cleansource", "sourcearchivedir") or any(map(lowered.startswith, _ALL_PREFIXES))


def unknown_option(direction: str, type_: str, format_: str, name: str, own: tuple[str, ...]) -> str | None:
    """Return a hint for an unknown option of a source or sink; None: it is known.

    Args:
        direction: ``source`` or ``sink``.
        type_: ``file``, ``kafka``, ``rate`` or ``log``.
        format_: format of a file.
        name: name of the option.
        own: options of siddhi, not Spark's.
    """
    known = [*own, *_KNOWN[direction, type_, format_ if type_ == "file" else ""].split()]
    lowered = name.lower()
    if lowered in [other.lower() for other in known] or lowered.startswith(_PREFIXES.get(type_, ("\0",))):
        return None
    close = did_you_mean(name, known).removeprefix("; ")
    if type_ == "kafka" and not close:
        return f"start settings of Kafka with kafka., as kafka.{name}; others: {', '.join(known)}"
    return close or f"known: {', '.join(known)}"
