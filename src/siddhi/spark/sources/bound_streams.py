"""The streams of an app that have rows: bound DataFrames, and sources of the app's annotations."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from siddhi.planner.plan.nodes import Plan, StreamOrigin
from siddhi.query_api.app import SiddhiApp
from siddhi.spark.catalyst.bindings import (
    Binding,
    check_columns,
    check_kinds,
    check_sequence,
    event_time,
    in_session_zone,
    with_times,
)
from siddhi.spark.plan.unsupported import require_running
from siddhi.spark.sources.annotations import Connector, refuse_connector, refuse_foreign
from siddhi.spark.sources.declared import declared_binding
from siddhi.spark.spans import interval_ms

__all__ = ["BoundStreams"]


class BoundStreams:
    """The bindings of an app's streams.

    Args:
        spark: the session.
        model: the app.
        plan: plan of the app without connectors.
        connectors: connectors that Spark supports.
        foreign: connectors that it does not.

    Attributes:
        bindings: bindings by stream.
    """

    def __init__(
        self,
        spark: SparkSession,
        model: SiddhiApp,
        plan: Plan,
        connectors: Sequence[Connector],
        foreign: Sequence[Connector],
    ) -> None:
        self._spark = spark
        self._model = model
        self._plan = plan
        self._sources = [connector for connector in connectors if connector.direction == "source"]
        self._foreign = [connector for connector in foreign if connector.direction == "source"]
        self._warned: set[str] = set()
        self.bindings: dict[str, Binding] = {}

    @property
    def are_streaming(self) -> bool:
        """Whether the bindings are streaming DataFrames; all are, or none."""
        return any(binding.frame.isStreaming for binding in self.bindings.values())

    def bind(
        self,
        stream: str,
        frame: DataFrame,
        *,
        timestamp: str,
        watermark: str | None,
        sequence: Sequence[str],
        max_idle: str | None,
    ) -> None:
        """Bind a stream, see :meth:`siddhi.spark.SparkRuntime.bind`.

        Raises:
            ValueError: a column is missing or has another type, or an interval is invalid.
            TypeError: an argument has another type.
        """
        what = f"stream '{stream}'"
        if isinstance(sequence, str):
            raise TypeError(f"invalid sequence {sequence!r}: expected a list of columns, sequence=[{sequence!r}]")
        if timestamp is None:
            raise TypeError(f"{what} can't be bound: timestamp must name the column of event time")
        check_kinds(what, frame, timestamp=timestamp, watermark=watermark, max_idle=max_idle)
        for name in sequence:
            check_kinds(what, frame, sequence=name)
        self._bind(Binding(stream, frame, timestamp, watermark, tuple(sequence), max_idle))

    def bind_declared(self, *, streaming: bool) -> None:
        """Bind the streams that have a source in the app and no other binding.

        Raises:
            SparkLoweringError: Spark does not support a source, or it does not fit its stream.
            SparkSetupError: the session has been stopped.
        """
        require_running(self._spark)
        refuse_foreign([c for c in self._foreign if c.stream not in self.bindings], self._model)
        sources: dict[str, list[Connector]] = {}
        for connector in self._sources:
            if connector.stream not in self.bindings:
                sources.setdefault(connector.stream, []).append(connector)
        for stream, found in sources.items():
            binding = declared_binding(self._spark, self._model, self._plan.streams[stream], found, streaming=streaming)
            try:
                self._bind(binding)
            except ValueError as error:
                raise refuse_connector(found[0], self._model, str(error), "correct it, or bind a DataFrame") from error

    def _bind(self, binding: Binding) -> None:
        stream, frame, what = binding.stream, binding.frame, f"stream '{binding.stream}'"
        found = self._plan.streams[stream]
        if found.origin is StreamOrigin.TRIGGER:
            raise ValueError(f"'{stream}' is a trigger, which the clock fills: bind another stream")
        check_columns(what, frame, found.attributes)
        check_sequence(what, frame, binding.sequence)
        event_time(frame, binding.timestamp, what)
        if in_session_zone(frame, binding.timestamp) and what not in self._warned:
            self._warned.add(what)
            zone = self._spark.conf.get("spark.sql.session.timeZone")
            warnings.warn(
                f"{what}: column '{binding.timestamp}' is a TIMESTAMP_NTZ, which is read in the session's time zone, {zone}; use a "
                "TIMESTAMP to be independent of it",
                stacklevel=4,
            )
        for name, text in (("watermark", binding.watermark), ("max_idle", binding.max_idle)):
            if text is not None:
                try:
                    interval_ms(self._spark, text)
                except ValueError as error:
                    raise ValueError(f"{what} can't be bound: {name}: {error}") from error
        others = [other.frame.isStreaming for other in self.bindings.values()]
        if others and others[0] != frame.isStreaming:
            raise ValueError("batch and streaming DataFrames are mixed: bind all streams to DataFrames of one kind")
        self.bindings[stream] = replace(binding, frame=with_times(frame, binding.timestamp, what))
