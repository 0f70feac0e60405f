"""Options of the source ``kafka``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

from siddhi.io.options import OptionHolder

__all__ = ["PROPERTIES", "SourceOptions"]

PROPERTIES = ("topic", "partition", "key", "offset", "record.timestamp", "event.timestamp", "check.sum")
"""Names of the transport properties; all others are names of headers."""

_THREADING = ("single.thread", "topic.wise", "partition.wise")
_RESETS = ("earliest", "latest")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The checked options.

    Attributes:
        group: the consumer group.
        topics: names of the topics.
        partitions: the partitions of each topic to read; empty: those that the group assigns.
        threading: how topics and partitions are spread over consumers.
        is_binary: whether payloads are bytes instead of texts.
        has_sequences: whether messages have a sequence header, by which repeated ones are dropped.
        offsets: offset to start at, by topic and partition; partition -1: all others of the topic.
        start_ms: time of the first record to read; None: not set.
        reset: where to start without a position: earliest or latest.
        commits: whether offsets are committed.
        commits_before_reading: whether a batch is read only after the offsets of the one before were committed.
    """

    group: str
    topics: tuple[str, ...]
    partitions: tuple[int, ...]
    threading: str
    is_binary: bool
    has_sequences: bool
    offsets: dict[tuple[str, int], int]
    start_ms: int | None
    reset: str
    commits: bool
    commits_before_reading: bool

    @classmethod
    def read(cls, options: OptionHolder) -> SourceOptions:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option is missing or invalid, or can't be combined with another one.
        """
        topics = _listed(options.static("topic.list"))
        if not topics or len(set(topics)) != len(topics):
            raise options.invalid("topic.list", "names of topics, separated by commas, each once")
        if not (group := options.static("group.id").strip()):
            raise options.invalid("group.id", "the name of a consumer group")
        numbers = _listed(options.static("partition.no.list", ""))
        if not all(re.fullmatch("[0-9]{1,9}", number) for number in numbers) or len(set(numbers)) != len(numbers):
            raise options.invalid("partition.no.list", "numbers of partitions, separated by commas, each once")
        threading = options.choice("threading.option", _THREADING, _THREADING[0])
        if threading == "partition.wise" and not numbers:
            raise options.invalid("threading.option", "'partition.no.list' beside partition.wise")
        offsets = dict(_offsets(options, topics))
        start_ms = _time(options) if "start.timestamp" in options else None
        if offsets and start_ms is not None:
            raise options.invalid("start.timestamp", "no 'topic.offsets.map' beside it")
        return cls(
            group=group,
            topics=topics,
            partitions=tuple(map(int, numbers)),
            threading=threading,
            is_binary=options.flag("is.binary.message", default=False),
            has_sequences=options.flag("seq.enabled", default=False),
            offsets=offsets,
            start_ms=start_ms,
            reset=options.choice("auto.offset.reset", _RESETS, _RESETS[0]),
            commits=options.flag("enable.offsets.commit", default=True),
            commits_before_reading=not options.flag("enable.async.commit", default=True),
        )

    def consumers(self) -> list[tuple[tuple[str, ...], tuple[tuple[str, int], ...]]]:
        """Return the topics of each consumer, and the partitions that are assigned to it; none: the group assigns them."""
        if self.threading == "single.thread":
            return [(self.topics, tuple((topic, number) for topic in self.topics for number in self.partitions))]
        if self.threading == "topic.wise":
            return [((topic,), tuple((topic, number) for number in self.partitions)) for topic in self.topics]
        return [((topic,), ((topic, number),)) for topic in self.topics for number in self.partitions]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _offsets(options: OptionHolder, topics: tuple[str, ...]) -> Iterator[tuple[tuple[str, int], int]]:
    name = "topic.offsets.map"
    for part in _listed(options.static(name, "")):
        match = re.fullmatch(r"([^=/]+)(?:/([0-9]{1,9}))?=([0-9]{1,18})", part)
        if match is None or match[1].strip() not in topics:
            raise options.invalid(name, "topic=offset or topic/partition=offset of the topics, separated by commas")
        yield (match[1].strip(), -1 if match[2] is None else int(match[2])), int(match[3])


def _time(options: OptionHolder) -> int:
    text = options.static("start.timestamp").strip()
    if re.fullmatch("[0-9]{1,15}", text):
        return int(text)
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise options.invalid("start.timestamp", "milliseconds, or a time such as 2026-01-31T12:00:00Z") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    return int(time.timestamp() * 1000)
