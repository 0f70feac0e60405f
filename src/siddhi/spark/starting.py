"""Starting and ending the query of an app over streams."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.errors import SiddhiAppCreationError, SparkLoweringError, SparkRunError, SparkSetupError, did_you_mean
from siddhi.planner import Plan
from siddhi.spark import files
from siddhi.spark.bindings import Binding
from siddhi.spark.frames import frame_of
from siddhi.spark.islands import Island, Layout
from siddhi.spark.late import LatePolicy
from siddhi.spark.lowering import Settings
from siddhi.spark.manifest import check_manifest, closed, manifest_of, mark_closed, partitions_of
from siddhi.spark.query import STATE_STORE, Sink, SparkQuery, new_run, start_query
from siddhi.spark.released import late_rows_of, numbers_of, rows_of
from siddhi.spark.streaming import Streaming, StreamingPlan, plan_streaming

__all__ = ["Starter"]

_LAST_CLOCK = 221_845_392_000_000
"""9000-01-01 in ms: a watermark from here on says that the stream has ended for good."""
_FAR = 253_370_764_800_000
"""9999-01-01 in ms."""


@dataclass(frozen=True, slots=True)
class Starter:
    """Starts queries of an app."""

    spark: SparkSession
    plan: Plan
    layout: Layout
    bindings: Mapping[str, Binding]
    settings: Settings
    late: LatePolicy

    def start(
        self,
        checkpoint: str,
        sinks: Mapping[str, Sink],
        tables: Mapping[str, bytes],
        *,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> SparkQuery:
        """See :meth:`siddhi.spark.SparkRuntime.start`."""
        streaming_plan = self._checked(sinks)
        if closed(self.spark, checkpoint):
            raise SparkRunError(f"checkpoint {checkpoint} is closed: its stream has ended")
        parallel = self.spark.sparkContext.defaultParallelism
        partitions = partitions_of(self.spark, checkpoint) or min(parallel, self.settings.shards)
        manifest = manifest_of(
            self.plan.name if self.plan.app.name is not None else "",
            streaming_plan.programs,
            [_keys(island.key) for island in streaming_plan.islands],
            {stream: _described(binding) for stream, binding in self.bindings.items()},
            self.settings.shards,
            partitions,
            self.late,
        )
        check_manifest(self.spark, checkpoint, manifest)
        punctuation = {stream: f"{checkpoint}/siddhi/punctuation/{stream}" for stream in self.bindings}
        for folder in punctuation.values():
            files.make_folder(self.spark, folder)
        streaming = self._lowered(streaming_plan, punctuation, tables)
        return start_query(
            self.spark, streaming, checkpoint, sinks, trigger=trigger or {}, partitions=partitions, name=name
        )

    def finish(self, checkpoint: str, sinks: Mapping[str, Sink], tables: Mapping[str, bytes]) -> SparkQuery:
        """See :meth:`siddhi.spark.SparkRuntime.finish`."""
        first = self.start(checkpoint, sinks, tables, trigger={"availableNow": True})
        first.await_termination()
        graces = {stream: self._grace(binding.watermark or "0 seconds") for stream, binding in self.bindings.items()}
        ends = {}
        if self.settings.flush:
            ends = dict.fromkeys(self.bindings, _FAR)
        else:
            last = self._last_time(first, checkpoint, graces)
            if last is not None:
                ends = {stream: last + grace + 1 for stream, grace in graces.items()}
        for stream, end in ends.items():
            folder = f"{checkpoint}/siddhi/punctuation/{stream}"
            mark = self.spark.range(1).select(F.timestamp_millis(F.lit(end)).alias("__at"))
            mark.coalesce(1).write.mode("append").parquet(folder)
        query = self.start(checkpoint, sinks, tables, trigger={"availableNow": True})
        query.await_termination()
        mark_closed(self.spark, checkpoint)
        query.late_rows += first.late_rows
        for stream, n in first.written.items():
            query.written[stream] = query.written.get(stream, 0) + n
        return query

    def output(self, stream: str, tables: Mapping[str, bytes]) -> DataFrame:
        """A stream as a streaming DataFrame with ``_timestamp``; it keeps its state in the checkpoint of who starts it."""
        base = stream.removesuffix("__late")
        if self.late == "side" and base != stream:
            steps = [step for step in self.layout.steps if not isinstance(step, Island) or base in step.inputs]
        else:
            steps = [step for step in self.layout.steps if not isinstance(step, Island) or stream in step.produced]
        alone = replace(self, layout=replace(self.layout, steps=tuple(steps)))
        self._checked([stream])
        return alone._output(stream, tables)

    def _output(self, stream: str, tables: Mapping[str, bytes]) -> DataFrame:
        streaming_plan = self._checked([stream])
        streaming = self._lowered(streaming_plan, {}, tables)
        if not streaming_plan.programs:
            attributes = self.plan.streams[stream].attributes
            frame = frame_of(
                streaming.branches(streaming.bases(self.spark), stream), attributes, timestamp="_timestamp"
            )
            assert frame is not None
            return frame
        name = "spark.sql.streaming.stateStore.providerClass"
        if self.spark.conf.get(name, None) != STATE_STORE:
            raise SparkSetupError(
                f"stream '{stream}' keeps state, which needs Spark's store on RocksDB: "
                f"spark.conf.set('{name}', '{STATE_STORE}'), or call start(...), which does"
            )
        released = streaming.released(self.spark)
        if stream.endswith("__late"):
            late = late_rows_of(streaming, released, stream.removesuffix("__late"))
            assert late is not None
            return late
        return rows_of(streaming, released, stream, numbers_of(streaming, stream))

    def _lowered(
        self,
        streaming_plan: StreamingPlan,
        punctuation: Mapping[str, str],
        tables: Mapping[str, bytes],
    ) -> Streaming:
        return Streaming(
            plan=self.plan,
            layout=self.layout,
            streaming=streaming_plan,
            bindings=self.bindings,
            punctuation=punctuation,
            shards=self.settings.shards,
            late=self.late,
            run=new_run(),
            last_clock=_LAST_CLOCK,
            tables=tables,
        )

    def _checked(self, sinks: Collection[str]) -> StreamingPlan:
        if not self.bindings:
            raise ValueError("no stream is bound")
        for binding in self.bindings.values():
            if not binding.frame.isStreaming:
                raise ValueError("the streams are bound to DataFrames that end: call output(...) or run()")
            if binding.watermark is None:
                raise ValueError(
                    f"stream '{binding.stream}' has no watermark: bind it with watermark='10 seconds', the time that rows may "
                    "be late"
                )
        if not sinks:
            raise ValueError("no sinks: a stream without outputs does nothing")
        made = {stream for island in self.layout.islands for stream in island.produced}
        made |= {stream for step in self.layout.native_steps for stream in step.element.writes}
        for stream in sinks:
            base = stream.removesuffix("__late") if self.late == "side" else stream
            if base not in (self.plan.streams if base != stream else made):
                raise ValueError(f"no query fills stream '{stream}'{did_you_mean(stream, made)}")
            held = self.plan.streams[base].attributes
            if any(str(attribute.type) == "object" for attribute in held):
                raise ValueError(f"stream '{base}' has an attribute of type object, which can't leave an engine")
        refuse_chains(self.plan, self.layout)
        found = plan_streaming(self.plan, self.layout, list(sinks))
        if not found.programs and len(self.bindings) > 1:
            found = plan_streaming(self.plan, self.layout, list(sinks), always=True)
        return found

    def _grace(self, text: str) -> int:
        micros = F.expr(f"unix_millis(timestamp_millis(0) + INTERVAL {text})")
        return int(self.spark.range(1).select(micros.alias("ms")).collect()[0]["ms"])

    def _last_time(self, query: SparkQuery, checkpoint: str, graces: Mapping[str, int]) -> int | None:
        """The last event time of the whole input: of one source it follows from the watermark, which is in the log."""
        watermark = _logged_watermark(self.spark, checkpoint)
        if len(graces) == 1 and watermark:
            return watermark + next(iter(graces.values()))
        seen = _observed(query)
        name = f"{checkpoint}/siddhi/times.json"
        if files.exists(self.spark, name):
            seen.append(int(json.loads(files.read_text(self.spark, name))))
        if seen:
            files.write_text(self.spark, name, json.dumps(max(seen)))
        return max(seen, default=None)


def refuse_chains(plan: Plan, layout: Layout) -> None:
    """Islands of a stream stand side by side.

    Raises:
        SparkLoweringError: one reads what another puts out.
    """
    errors = []
    for island in layout.islands:
        for other in layout.islands:
            shared = set(island.inputs).intersection(other.produced)
            if other is not island and shared:
                names = ", ".join(island.names)
                errors.append(
                    SiddhiAppCreationError(
                        f"{names} read {', '.join(sorted(shared))}, which is made under another key",
                        code="E405",
                        span=island.elements[0].span,
                        hint="give both the same key, or write the stream in between with an app of its own",
                        source=plan.app.source,
                        app=plan.app.name,
                    )
                )
    if errors:
        raise SparkLoweringError(errors)


def _keys(key: Any) -> dict[str, list[str] | None]:
    if key is None:
        return {}
    return {
        stream: None if keys is None else [expression.text for expression in keys]
        for stream, keys in sorted(key.streams.items())
    }


def _described(binding: Binding) -> list[str]:
    return [binding.timestamp, binding.watermark or "", *binding.sequence]


def _logged_watermark(spark: SparkSession, checkpoint: str) -> int | None:
    """The watermark of the last batch, out of Spark's log of offsets."""
    numbers = [int(name) for name in files.names(spark, f"{checkpoint}/offsets") if name.isdigit()]
    if not numbers:
        return None
    lines = files.read_text(spark, f"{checkpoint}/offsets/{max(numbers)}").splitlines()
    watermark = json.loads(lines[1]).get("batchWatermarkMs", 0)
    return int(watermark) or None


def _observed(query: SparkQuery) -> list[int]:
    found = []
    for progress in query.query.recentProgress:
        for metrics in progress["observedMetrics"].values():
            value = metrics["last"]
            if value is not None:
                found.append(int(value))
    return found
