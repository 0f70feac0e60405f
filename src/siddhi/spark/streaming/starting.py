"""Start and finish the query of an app over streams."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from siddhi.errors import SiddhiAppCreationError, SparkLoweringError, SparkRunError, SparkSetupError, did_you_mean
from siddhi.planner.plan.nodes import Plan
from siddhi.spark import files
from siddhi.spark.catalyst.bindings import Binding
from siddhi.spark.catalyst.frames import frame_of
from siddhi.spark.catalyst.lowering import Settings
from siddhi.spark.checkpoint.key_ranges import KeyRange, key_range_of
from siddhi.spark.checkpoint.manifest import (
    Manifest,
    forget_manifest,
    mark_closed,
    mark_closing,
    open_again,
    read_manifest,
    refuse_lost_rows,
    refuse_moved_rows,
    require_open,
    updated_manifest,
    write_manifest,
)
from siddhi.spark.checkpoint.punctuation import (
    clock_of,
    delete_punctuations,
    last_punctuation,
    make_folders,
    write_punctuation,
)
from siddhi.spark.checkpoint.stored import committed
from siddhi.spark.plan.added_columns import require_no_batch, require_no_timestamp
from siddhi.spark.plan.fragments import EngineFragment, Layout
from siddhi.spark.plan.output_types import refuse_objects
from siddhi.spark.plan.state_keys import NUMBERS, StateKeys, default_tasks
from siddhi.spark.plan.unsupported import refuse_stored_aggregations
from siddhi.spark.plan.upstream import require_fed
from siddhi.spark.query_settings import STATE_STORE
from siddhi.spark.sinks.declared import FileSink, file_sinks
from siddhi.spark.sinks.ownership import Owner
from siddhi.spark.sources.locations import relation
from siddhi.spark.spans import LAST_CLOCK, interval_ms
from siddhi.spark.streaming.emitted_rows import late_rows_of, numbers_of, rows_of
from siddhi.spark.streaming.idle import IdleInputs, IdleWatch, reported
from siddhi.spark.streaming.last_times import LastTimes, logged_watermark
from siddhi.spark.streaming.plan import Streaming, StreamingPlan, plan_streaming, sources_of
from siddhi.spark.streaming.query import Sink, SparkQuery, new_run, start_query
from siddhi.spark.workers.late import LatePolicy, late_stream
from siddhi.spark.workers.shard_range import ShardRange

__all__ = ["Starter"]

_END_OF_TIME = 253_370_764_800_000
"""9999-01-01 in ms."""


@dataclass(frozen=True, slots=True)
class Starter:
    """Starts the queries of an app."""

    spark: SparkSession
    plan: Plan
    layout: Layout
    bindings: Mapping[str, Binding]
    settings: Settings
    late: LatePolicy
    max_clock_skew: str | None = None

    def start(
        self,
        checkpoint: str,
        sinks: Mapping[str, Sink],
        tables: Mapping[str, bytes],
        *,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        evolve: bool = False,
        reopen: bool = False,
        closing: bool = False,
    ) -> SparkQuery:
        """Start a query, see :meth:`siddhi.spark.SparkRuntime.start`; ``closing``: as part of a flush."""
        streaming_plan = self._checked(sinks)
        for stream, sink in sinks.items():
            if file_sinks(sink):
                require_no_batch(stream, self.plan.streams[late_stream(stream, self.late) or stream].attributes)
        written = _folders(sinks)
        before = read_manifest(self.spark, checkpoint)
        partitions = self._tasks(before)
        wanted = self._manifest(checkpoint, streaming_plan, partitions)
        manifest, indexes = updated_manifest(checkpoint, before, wanted, evolve=evolve)
        key_ranges = [manifest.key_ranges[index] for index in indexes]
        ranges = tuple(key_range.shard_range for key_range in key_ranges)
        was_closed = require_open(self.spark, checkpoint, reopen=reopen, closing=closing)
        if before is not None and not evolve:
            refuse_lost_rows(self.spark, checkpoint, before, manifest)
        if before is not None:
            refuse_moved_rows(self.spark, checkpoint, before, wanted.key_ranges, indexes)
        planned = committed(self.spark, checkpoint)[1]
        last = None if planned is None else planned + manifest.first_batch
        owner = Owner(checkpoint, manifest.id, tuple(manifest.parents), last)
        for sink in written:
            sink.require_own(self.spark, owner)

        def settle() -> None:
            # The manifest first: a folder with an owner has a checkpoint.
            if manifest != before:
                write_manifest(self.spark, checkpoint, manifest)
            if was_closed:
                open_again(self.spark, checkpoint)
            for sink in written:
                sink.claim(self.spark, owner)

        punctuation = make_folders(self.spark, checkpoint, self.bindings)
        times = LastTimes(self.spark, checkpoint) if streaming_plan.programs else None
        if times is not None and before is not None:
            self._remind(checkpoint, times)
        streaming = self._lowered(streaming_plan, punctuation, tables, ranges, manifest.state_keys)
        idle = None if times is None else self._idle(times)
        try:
            query = start_query(
                self.spark,
                streaming,
                checkpoint,
                sinks,
                trigger=trigger or {},
                partitions=partitions,
                name=name,
                times=times,
                first_batch=manifest.first_batch,
                settle=settle,
            )
        except Exception:
            if committed(self.spark, checkpoint)[1] == planned:  # Spark refused the query before it ran
                self._unsettle(checkpoint, before, closed=was_closed)
            raise
        if idle is not None:
            self._watch(query, checkpoint, *idle)
        return query

    def _tasks(self, before: Manifest | None) -> int:
        """Return the number of tasks: the option, that of the checkpoint, or at the first start enough for the shards."""
        if self.settings.tasks is not None:
            return self.settings.tasks
        if before is not None:
            return before.partitions
        return default_tasks(self.settings.shards, self.spark.sparkContext.defaultParallelism)

    def _unsettle(self, checkpoint: str, before: Manifest | None, *, closed: bool) -> None:
        """Restore a checkpoint after a failed start."""
        if before is None:
            forget_manifest(self.spark, checkpoint)
        elif read_manifest(self.spark, checkpoint) != before:
            write_manifest(self.spark, checkpoint, before)
        if closed:
            mark_closed(self.spark, checkpoint, "hold")

    def _remind(self, checkpoint: str, times: LastTimes) -> None:
        """Write punctuations that restore the watermark of each stream, as Spark stores only their minimum."""
        punctuations = self._punctuations(checkpoint)
        if len(self.bindings) == 1:
            for stream, at in punctuations.items():  # recorded, and possibly not written
                if at - self._graces()[stream] > (logged_watermark(self.spark, checkpoint) or 0):
                    write_punctuation(self.spark, checkpoint, stream, at)
            return
        for stream in self.bindings:
            known = [times.times.get(stream), punctuations.get(stream)]
            latest = max((at for at in known if at is not None), default=None)
            if latest is not None:
                delete_punctuations(self.spark, checkpoint, stream, latest)  # those of earlier starts
                write_punctuation(self.spark, checkpoint, stream, latest)

    def _punctuations(self, checkpoint: str) -> dict[str, int]:
        """Return the last punctuation of every stream that has one."""
        found = {stream: last_punctuation(self.spark, checkpoint, stream) for stream in self.bindings}
        return {stream: at for stream, at in found.items() if at is not None}

    def _idle(self, times: LastTimes) -> tuple[IdleInputs, float] | None:
        """Return the state of streams that may be idle, and the seconds between two checks.

        Called before the query starts, as the caller could not stop a running query if this failed.
        """
        patience = {
            stream: interval_ms(self.spark, binding.max_idle) / 1000
            for stream, binding in self.bindings.items()
            if binding.max_idle is not None
        }
        if not patience:
            return None
        inputs = IdleInputs(self._graces(), patience, time.monotonic(), latest=times.times)
        return inputs, max(0.2, min(5.0, min(patience.values()) / 4))

    def _watch(self, query: SparkQuery, checkpoint: str, inputs: IdleInputs, step: float) -> None:
        """Start to watch for idle streams."""
        IdleWatch(
            inputs,
            lambda: reported(query.query),
            lambda: self._punctuations(checkpoint),
            lambda stream, at: write_punctuation(self.spark, checkpoint, stream, at),
            lambda: query.is_active,
            step,
        ).start()

    def finish(
        self,
        checkpoint: str,
        sinks: Mapping[str, Sink],
        tables: Mapping[str, bytes],
        *,
        evolve: bool = False,
        reopen: bool = False,
    ) -> SparkQuery:
        """Finish a stream, see :meth:`siddhi.spark.SparkRuntime.finish`."""
        now, flush = {"availableNow": True}, self.settings.flush
        first = self.start(checkpoint, sinks, tables, trigger=now, evolve=evolve, reopen=reopen, closing=flush)
        first.await_termination()
        graces = self._graces()
        ends = {}
        if flush:
            mark_closing(self.spark, checkpoint)
            ends = dict.fromkeys(self.bindings, _END_OF_TIME)
        else:
            last = self._last_time(first, checkpoint)
            if last is not None:
                ends = {stream: last + grace + 1 for stream, grace in graces.items()}
        for stream, end in ends.items():
            write_punctuation(self.spark, checkpoint, stream, end)
        query = self.start(checkpoint, sinks, tables, trigger=now, closing=flush)
        query.await_termination()
        mark_closed(self.spark, checkpoint, "flush" if flush else "hold")
        query.late_rows += first.late_rows
        query.ahead_rows += first.ahead_rows
        for stream, n in first.written.items():
            query.written[stream] = query.written.get(stream, 0) + n
        return query

    def output(self, stream: str, tables: Mapping[str, bytes]) -> DataFrame:
        """Return a stream as a streaming DataFrame with ``_timestamp``, whose state is in the checkpoint of its own query."""
        steps = [step for step in self.layout.steps if not isinstance(step, EngineFragment) or stream in step.produced]
        alone = replace(self, layout=replace(self.layout, steps=tuple(steps)))
        self._checked([stream])
        return alone._output(stream, tables)

    def _output(self, stream: str, tables: Mapping[str, bytes]) -> DataFrame:
        streaming_plan = self._checked([stream])
        ranges = tuple(each.shard_range for each in self._key_ranges(streaming_plan))
        # It has no manifest, so its keys can't change between versions.
        keys = StateKeys(NUMBERS, self.settings.shards)
        streaming = self._lowered(streaming_plan, {}, tables, ranges, keys)
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
                f"stream '{stream}' keeps state and needs Spark's RocksDB state store: set spark.conf.set('{name}', "
                f"'{STATE_STORE}'), or call start(...), which sets it"
            )
        emitted = streaming.emitted(self.spark)
        late = late_stream(stream, self.late)
        if late is not None:
            return late_rows_of(streaming, emitted, late)
        return rows_of(streaming, emitted, stream, numbers_of(streaming, stream))

    def _lowered(
        self,
        streaming_plan: StreamingPlan,
        punctuation: Mapping[str, str],
        tables: Mapping[str, bytes],
        ranges: tuple[ShardRange, ...],
        keys: StateKeys,
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
            last_clock=LAST_CLOCK,
            tables=tables,
            ranges=ranges,
            keys=keys,
            max_future_ms=None if self.max_clock_skew is None else interval_ms(self.spark, self.max_clock_skew),
        )

    def _key_ranges(self, streaming_plan: StreamingPlan) -> list[KeyRange]:
        """Return the key ranges of a stream without checkpoint."""
        shards = self.settings.shards
        both = zip(streaming_plan.fragments, streaming_plan.programs, strict=True)
        return [key_range_of(self.plan, *each, n * shards, shards) for n, each in enumerate(both)]

    def _manifest(self, checkpoint: str, streaming_plan: StreamingPlan, partitions: int) -> Manifest:
        return Manifest(
            app=self.plan.name if self.plan.app.name is not None else "",
            key_ranges=self._key_ranges(streaming_plan),
            sources=sources_of(self.plan, self.layout, streaming_plan, self.bindings),
            bindings={stream: _described(binding) for stream, binding in sorted(self.bindings.items())},
            shards=self.settings.shards,
            partitions=partitions,
            late=self.late,
            path=files.qualified(self.spark, checkpoint),
        )

    def _checked(self, sinks: Collection[str]) -> StreamingPlan:
        if not self.bindings:
            raise ValueError("no stream is bound: call bind(stream, frame, timestamp=..., watermark=...)")
        for binding in self.bindings.values():
            if not binding.frame.isStreaming:
                raise ValueError("the streams are bound to batch DataFrames: call output(...) or run()")
            if binding.watermark is None:
                raise ValueError(
                    f"stream '{binding.stream}' has no watermark: bind it with the delay of its rows, such as watermark='10 seconds'"
                    "be late"
                )
        if not sinks:
            raise ValueError("no sinks: give a sink for at least one stream")
        made = {stream for fragment in self.layout.fragments for stream in fragment.produced}
        made |= {stream for step in self.layout.catalyst_stages for stream in step.element.writes}
        for stream in sinks:
            late = late_stream(stream, self.late)
            if late is not None:
                if late not in self.bindings:
                    raise ValueError(
                        f"stream '{late}' is not bound, so it has no late rows{did_you_mean(late, self.bindings)}"
                    )
                require_no_timestamp(stream, self.plan.streams[late].attributes)
                continue
            if stream not in made:
                raise ValueError(f"no query fills stream '{stream}'{did_you_mean(stream, made)}")
            attributes = self.plan.streams[stream].attributes
            require_no_timestamp(stream, attributes)
            refuse_objects(self.plan, [stream])
            require_fed(self.plan, self.layout, stream, self.bindings)
        refuse_chains(self.plan, self.layout)
        refuse_stored_aggregations(self.plan, self.layout.fragments)
        looked_at = [name for name in (late_stream(sink, self.late) for sink in sinks) if name is not None]

        def planned(*, always: bool) -> StreamingPlan:
            shards = self.settings.shards
            return plan_streaming(self.plan, self.layout, list(sinks), always=always, shards=shards, late=looked_at)

        found = planned(always=False)
        return planned(always=True) if not found.programs and len(self.bindings) > 1 else found

    def punctuate(self, checkpoint: str, stream: str, clock: int) -> None:
        """Write a punctuation, see :meth:`siddhi.spark.SparkRuntime.punctuate`."""
        at = clock_of(clock) + self._graces()[stream]
        if at >= LAST_CLOCK:
            raise ValueError("clock is after the year 9000: end a stream with finish(...)")
        if read_manifest(self.spark, checkpoint) is None:
            raise SparkRunError(f"there is no checkpoint {checkpoint}: start the app first")
        require_open(self.spark, checkpoint)
        write_punctuation(self.spark, checkpoint, stream, at)

    def _graces(self) -> dict[str, int]:
        return {
            stream: interval_ms(self.spark, binding.watermark or "0 seconds")
            for stream, binding in self.bindings.items()
        }

    def _last_time(self, query: SparkQuery, checkpoint: str) -> int | None:
        """Return the last event time of the whole input; None: it had no rows."""
        last = LastTimes(self.spark, checkpoint)
        for _, times in reported(query.query):
            last.note(times)
        return max(last.times.values(), default=None)


def refuse_chains(plan: Plan, layout: Layout) -> None:
    """Check that no fragment of a stream reads the output of another.

    Raises:
        SparkLoweringError: one does.
    """
    errors = []
    for fragment in layout.fragments:
        for other in layout.fragments:
            shared = set(fragment.inputs).intersection(other.produced)
            if other is not fragment and shared:
                names = ", ".join(fragment.names)
                errors.append(
                    SiddhiAppCreationError(
                        f"{names} read {', '.join(sorted(shared))}, which a fragment with another key fills",
                        code="E405",
                        span=fragment.elements[0].span,
                        hint="use the same key for both, or write the stream in between with an app of its own",
                        source=plan.app.source,
                        app=plan.app.name,
                    )
                )
    if errors:
        raise SparkLoweringError(errors)


def _folders(sinks: Mapping[str, Sink]) -> list[FileSink]:
    """Return the file sinks.

    Raises:
        ValueError: two write to one folder, or one writes into the folder of another.
    """
    found: dict[str, FileSink] = {}
    for stream, sink in sinks.items():
        for each in file_sinks(sink):
            folder = each.path.rstrip("/")
            for other in found:
                lies = relation(folder, other)
                if lies is not None:
                    conflict = "as does another sink" if lies == "is" else f"which {lies} {other} of another sink"
                    raise ValueError(f"the sink of '{stream}' writes to {folder}, {conflict}: use a folder per sink")
            found[folder] = each
    return list(found.values())


def _described(binding: Binding) -> list[str]:
    return [binding.timestamp, binding.watermark or "", *binding.sequence, *binding.sources]
