"""SparkRuntime: one app on Spark."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from siddhi.errors import DefinitionNotExistError, did_you_mean
from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import Plan
from siddhi.query_compiler import parse
from siddhi.spark.catalyst.aggregation_reading import fragment_of, read_from_fragment
from siddhi.spark.catalyst.aggregations import aggregated, duration_of
from siddhi.spark.catalyst.bindings import tells_case
from siddhi.spark.catalyst.bound_tables import BoundTables
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.catalyst.frames import frame_of
from siddhi.spark.catalyst.lowering import BatchLowering, Settings, release_all
from siddhi.spark.checkpoint.inspection import CheckpointState
from siddhi.spark.checkpoint.resharding import migrate
from siddhi.spark.failures import run_errors
from siddhi.spark.options import check_options
from siddhi.spark.plan.added_columns import require_no_timestamp
from siddhi.spark.plan.explain import explain_layout
from siddhi.spark.plan.fragments import Layout, cut
from siddhi.spark.plan.naming import app_called
from siddhi.spark.plan.output_types import refuse_objects
from siddhi.spark.plan.unsupported import refuse, require_batches, require_jvm, require_running, warnings_of
from siddhi.spark.plan.upstream import is_fed, require_fed, tables_above, unfed, unread
from siddhi.spark.sinks.declared import DeclaredSinks, declared_sinks, require_callable, require_replaceable
from siddhi.spark.sinks.path_overlap import refuse_sinks_in_sources
from siddhi.spark.sources.annotations import connectors_of, foreign_of, refuse_foreign, without_connectors
from siddhi.spark.sources.bound_streams import BoundStreams
from siddhi.spark.streaming.query import Sink, SparkQuery
from siddhi.spark.streaming.starting import Starter
from siddhi.spark.workers.late import LatePolicy

__all__ = ["SparkRuntime"]

logger = logging.getLogger("siddhi")


class SparkRuntime:
    """One app, lowered to Spark.

    Args:
        app: SiddhiQL text.
        spark: the session.
        shards: how many parts the keys of an island are spread over; parallelism up to that number is free, the number
            itself is fixed for the life of a checkpoint.
        tasks: how many tasks of Spark the shards are dealt to, by a hash; at the most one per shard, and fixed for the life of
            a checkpoint, too. None: of a stream as many as the session has cores at its first start, at the most one per
            shard; of a batch as many as ``spark.sql.shuffle.partitions`` says.
        exact_floats: whether sums of floating-point numbers go to the engine, which adds in the order of events.
        prefer: ``'native'``, or ``'engine'`` to run nothing by Catalyst.
        end_of_input: ``'hold'`` ends the clock at the last event, as an embedded engine shows after its last send;
            ``'flush'`` lets time go on until nothing waits for it.
        late: what happens to rows of a stream that come behind the watermark: ``'drop'`` counts them, ``'side'`` puts them
            out as ``<Stream>__late``, ``'error'`` ends the query.
        max_clock_skew: of streams, how far ahead of the system's clock the event time of a row may be (``'1 hour'``). Rows further
            ahead, which would make all others late, are left out and counted, or end the query with ``late='error'``. None:
            as far as they like.
        strict: whether warnings, such as that a query runs on one shard, are errors: of a batch here, of a stream where it
            starts.

    Raises:
        SiddhiAppError: the app is refused; as SparkLoweringError where it is Spark that can't run it.
        ValueError: an option has no such value.
        TypeError: shards or tasks is not an integer, or app no text.
        SparkSetupError: the session has been stopped.
    """

    def __init__(
        self,
        app: str,
        spark: SparkSession,
        *,
        shards: int = 64,
        tasks: int | None = None,
        exact_floats: bool = False,
        prefer: str = "native",
        end_of_input: str = "hold",
        late: LatePolicy = "drop",
        max_clock_skew: str | None = None,
        strict: bool = False,
    ) -> None:
        if not isinstance(app, str):
            raise TypeError(f"app is the text of an app, not {app!r}")
        require_running(spark)
        check_options(
            spark,
            shards=shards,
            tasks=tasks,
            prefer=prefer,
            end_of_input=end_of_input,
            late=late,
            max_clock_skew=max_clock_skew,
        )
        self._spark = spark
        self._late = late
        self._max_clock_skew = max_clock_skew
        model = parse(app)
        self._connectors = connectors_of(model)
        self._foreign = foreign_of(model)
        self._model = model
        self._plan = plan(without_connectors(model))
        self._settings = Settings(shards, exact_floats, prefer, end_of_input == "flush", tasks)
        self._strict = strict
        self._layouts: dict[tuple[bool, frozenset[str]], Layout] = {}
        self._streams = BoundStreams(spark, model, self._plan, self._connectors, self._foreign)
        layout = self._layout(streaming=False)
        refuse(self._plan, layout, flush=self._settings.flush, tells_case=tells_case(spark))
        refuse_objects(self._plan, {found.stream: None for found in self._connectors if found.direction == "sink"})
        for line in self._plan.warnings:
            logger.warning("%s: %s", app_called(self._plan), line)
        self._told: set[str] = set()
        self._warn(layout)
        self._cached: list[BatchLowering] = []
        self._tables = BoundTables(self._plan, layout.read_only)
        self._asked: set[str] = set()
        self._checkpoint: str | None = None

    @property
    def name(self) -> str:
        """The app's name."""
        return self._plan.name

    @property
    def plan(self) -> Plan:
        """The app's plan."""
        return self._plan

    def explain(self, *, streaming: bool = False) -> str:
        """What runs where, as text: native steps, islands with their keys, and why each is what it is."""
        return explain_layout(self._plan, self._layout(streaming=streaming), self._settings.shards)

    def _layout(self, *, streaming: bool) -> Layout:
        key = streaming, frozenset(self._streams.bindings)
        if key not in self._layouts:
            self._layouts[key] = cut(
                self._plan,
                streaming=streaming,
                prefer=self._settings.prefer,
                exact_floats=self._settings.exact_floats,
                bound=key[1],
            )
        return self._layouts[key]

    def _warn(self, layout: Layout, *, stacklevel: int = 3) -> None:
        """Say what a user should know of a layout, each sentence once.

        Raises:
            SparkLoweringError: there is something, and ``strict`` makes errors of it.
        """
        for text in warnings_of(self._plan, layout, strict=self._strict, shards=self._settings.shards):
            if text not in self._told:
                self._told.add(text)
                warnings.warn(text, stacklevel=stacklevel)

    # --- in

    def bind(
        self,
        stream: str,
        frame: DataFrame,
        *,
        timestamp: str,
        watermark: str | None = None,
        sequence: Sequence[str] = (),
        max_idle: str | None = None,
    ) -> None:
        """Give a stream its rows; if it has some already, in their place.

        Args:
            stream: name of the stream.
            frame: with a column per attribute, by name; others are left alone.
            timestamp: the column of event time: a timestamp (floored to ms), or a bigint of ms.
            watermark: of a streaming DataFrame, how late rows may come (``'10 seconds'``).
            sequence: whole-number columns that order rows of the same ms; else a hash of the row does.
            max_idle: of a streaming DataFrame, how long it may bring no rows (``'1 minute'`` by the wall clock) before time
                goes on without it: rows that it brings later are late if the other streams are ahead of them.

        Raises:
            DefinitionNotExistError: there is no such stream.
            ValueError: a column is missing or of another type (all of what does not fit is named), or a time is none.
            TypeError: the frame is none of Spark, a name is not text, or sequence is one text, not several names.
            SparkSetupError: the session has been stopped.
        """
        require_running(self._spark)
        self._require_stream(stream)
        self._streams.bind(
            stream, frame, timestamp=timestamp, watermark=watermark, sequence=sequence, max_idle=max_idle
        )

    def bind_table(self, table: str, frame: DataFrame) -> None:
        """Give a table that no query writes its rows, a column per attribute, by name.

        Where several rows have one primary key, whatever reads the table fails, as after an error of the app.

        Raises:
            DefinitionNotExistError: there is no such table.
            ValueError: the app writes it, or a column is missing or of another type.
        """
        self._tables.bind(table, frame)

    # --- out

    def output(self, stream: str, *, meta: bool = False) -> DataFrame:
        """The rows of a stream of the app; a streaming DataFrame where the bindings are.

        A streaming one keeps its state in the checkpoint of the query that it is started in, and runs its own copy of what
        is above it: for several outputs, :meth:`start` is right. What the watermark has not passed at the end stays there.

        Args:
            stream: its name; with ``late='side'`` also ``<Stream>__late``.
            meta: whether to add ``_timestamp``, event time in ms.

        Raises:
            DefinitionNotExistError: there is no such stream.
            ValueError: nothing is bound to a stream it comes from, or with ``meta`` it has an attribute that is called
                ``_timestamp``.
            SparkLoweringError: it has an attribute of type object, or the app can't run over streams.
            SparkSetupError: the session's state store is not the one on RocksDB, or the session has been stopped.
        """
        if not self._streams.are_streaming:
            return self._outputs([stream], meta=meta)[stream]
        late = self._late == "side" and stream.endswith("__late")
        self._require_stream(stream.removesuffix("__late") if late else stream)
        # Late rows are those of all islands that read the stream.
        frame = self._starter().output(stream, self._streamed_tables([stream], alone=not late))
        idle = sorted(name for name, binding in self._streams.bindings.items() if binding.max_idle is not None)
        if idle:
            warnings.warn(
                f"max_idle of {', '.join(idle)} has no effect on an output that is started alone: nothing moves time for a stream "
                "that stands still; start(checkpoint, sinks) does",
                stacklevel=2,
            )
        self._asked.add(stream)
        if len(self._asked) == 2:
            first, second = sorted(self._asked)
            warnings.warn(
                f"outputs '{first}' and '{second}' are streams of their own, and what is above them runs for each: "
                "start(checkpoint, sinks) runs it once for all outputs",
                stacklevel=2,
            )
        return frame if meta else frame.drop("_timestamp")

    def run(self, outputs: Sequence[str] | None = None, *, meta: bool = False) -> dict[str, DataFrame]:
        """Compute several streams with one pass per island; the islands' rows are cached until :meth:`release`.

        Args:
            outputs: their names; None: all that queries fill and nobody else reads, where they come from what is bound.
            meta: whether to add ``_timestamp``.

        Raises:
            DefinitionNotExistError: there is no such stream.
            ValueError: as for :meth:`output`.
            TypeError: outputs is one text, not several names.
        """
        if isinstance(outputs, str):
            raise TypeError(f"outputs is a list of streams: run([{outputs!r}]), or output({outputs!r}) for one")
        if outputs is None:
            self._streams.bind_declared(streaming=False)
            layout = self._layout(streaming=False)
            outputs = [
                name for name in unread(self._plan, layout) if is_fed(self._plan, layout, name, self._streams.bindings)
            ]
        return self._outputs(list(outputs), meta=meta, cached=self._cached)

    def release(self) -> None:
        """Let go of what :meth:`run` has cached; its DataFrames compute it anew if they are asked once more."""
        release_all(self._cached)

    def _outputs(
        self, streams: Sequence[str], *, meta: bool, cached: list[BatchLowering] | None = None
    ) -> dict[str, DataFrame]:
        """The rows of streams; ``cached`` is given what caches the rows of islands, if anything is to."""
        for stream in streams:
            self._require_stream(stream)
        self._streams.bind_declared(streaming=False)
        if self._streams.are_streaming:
            raise ValueError("the streams are bound to streaming DataFrames: call start(...)")
        lowering = self._lowering(streams)
        refuse_objects(self._plan, streams)
        for stream in streams:
            require_fed(self._plan, self._layout(streaming=False), stream, self._streams.bindings)
        if cached is not None:
            lowering.cache_fragments = True
            cached.append(lowering)
        found = {}
        for stream in streams:
            attributes = self._plan.streams[stream].attributes
            if meta:
                require_no_timestamp(stream, attributes)
            frame = frame_of(lowering.branches(stream), attributes, timestamp="_timestamp" if meta else None)
            if frame is None:
                columns = [f"`{a.name}` {SPARK_TYPES[a.type]}" for a in attributes]
                frame = self._spark.createDataFrame([], ", ".join(columns + ["_timestamp bigint"] * meta))
            found[stream] = frame
        return found

    def aggregation(self, name: str, *, per: str) -> DataFrame:
        """Batch: the rows of an incremental aggregation, as a reader of the app would see all of them.

        Args:
            name: of the aggregation.
            per: length of the buckets, as ``'hours'``.

        Returns:
            ``AGG_TIMESTAMP`` (start of the bucket in ms) and the selected attributes.

        Raises:
            DefinitionNotExistError: there is no such aggregation.
            ValueError: it has no such buckets, or nothing is bound.
            SparkLoweringError: it has an attribute of type object.
        """
        found = self._plan.aggregations.get(name)
        if found is None:
            known = self._plan.aggregations
            raise DefinitionNotExistError(
                f"{app_called(self._plan)} has no aggregation '{name}'{did_you_mean(name, known)}"
            )
        duration = duration_of(found, per)
        self._streams.bind_declared(streaming=False)
        if self._streams.are_streaming:
            raise ValueError("the streams are bound to streaming DataFrames: an aggregation is read in batch")
        refuse_objects(self._plan, [name])
        layout, source = self._layout(streaming=False), found.input.source
        fragment = fragment_of(layout, name)
        lowering = self._lowering([source], elements=[] if fragment is None else [name])
        require_fed(self._plan, layout, source, self._streams.bindings)
        if fragment is not None:
            return read_from_fragment(lowering, fragment, found, duration)
        return aggregated(found, lowering.branches(source), duration)

    # --- streams

    def start(
        self,
        checkpoint: str,
        sinks: Mapping[str, Sink] | None = None,
        *,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        evolve: bool = False,
        reopen: bool = False,
    ) -> SparkQuery:
        """Start the app over streaming DataFrames: one query for all outputs.

        Args:
            checkpoint: the folder of the stream's state; it belongs to this app and these options for good.
            sinks: by stream (``<Stream>__late`` for late rows), what takes the rows of each micro-batch:
                ``sink(frame, batch)`` with the stream's attributes and ``_timestamp``. A batch may come again after a failure.
                None: those of the app's annotations.
            trigger: Spark's, as ``{"availableNow": True}`` or ``{"processingTime": "5 seconds"}``; not ``continuous`` and
                ``realTime``, which know no micro-batches.
            name: of the query, as Spark shows it.
            evolve: whether elements that hold state may have come or gone since the checkpoint was written: new ones begin
                empty, the state of those that are gone is left behind, and so are rows that wait where nothing takes them any
                more. What changed otherwise is refused in any case.
            reopen: whether to go on with a stream that :meth:`finish` closed; not after ``end_of_input='flush'``.

        Raises:
            SparkLoweringError: the app can't run over streams.
            SparkRunError: the checkpoint is of another app, of another form of it, closed, moved or copied, or a
                :class:`FileSink` has the folder of another one, of files that no stream wrote, or of another format. Then
                nothing has changed.
            SparkSetupError: a folder is on a file system that Spark lacks.
            ValueError: something is not bound, a sink is of a stream that nothing fills, or writes where the app reads, or the
                trigger is none of Spark's.
            TypeError: a sink can't be called, or trigger is not a dict.
        """
        require_batches({} if trigger is None else trigger)
        require_jvm(self._spark, "start")
        starter, found = self._starter(), self._sinks(sinks)
        tables = self._streamed_tables(found)
        query = starter.start(checkpoint, found, tables, trigger=trigger, name=name, evolve=evolve, reopen=reopen)
        self._checkpoint = checkpoint
        return query

    def finish(
        self,
        checkpoint: str,
        sinks: Mapping[str, Sink] | None = None,
        *,
        evolve: bool = False,
        reopen: bool = False,
    ) -> SparkQuery:
        """Take what there is to read, release what is held back, and close the checkpoint.

        With ``end_of_input='hold'`` time ends at the last event, with ``'flush'`` it goes on until nothing waits for it.

        Args:
            checkpoint: that of :meth:`start`.
            sinks: as for :meth:`start`.
            evolve: as for :meth:`start`.
            reopen: as for :meth:`start`.

        Raises:
            SparkRunError: the app failed; the checkpoint stays open. With ``'flush'`` time may have gone to its end by then, and
                nothing but another ``finish`` can go on there.
        """
        require_jvm(self._spark, "finish")
        starter, found = self._starter(), self._sinks(sinks)
        return starter.finish(checkpoint, found, self._streamed_tables(found), evolve=evolve, reopen=reopen)

    def punctuate(self, stream: str, clock: int, *, checkpoint: str | None = None) -> None:
        """Say that a stream brings nothing earlier any more; what is earlier all the same is late.

        Args:
            stream: that is bound to a streaming DataFrame.
            clock: event time in ms since 1970; a whole number.
            checkpoint: of the stream; None: that of the last :meth:`start`.

        Raises:
            DefinitionNotExistError: there is no such stream.
            ValueError: it is not bound to a streaming DataFrame, nothing was started, or the clock is negative.
            TypeError: the clock is not a whole number.
            SparkRunError: the checkpoint is closed, moved, copied, or not there.
        """
        self._require_stream(stream)
        where = self._checkpoint if checkpoint is None else checkpoint
        if where is None:
            raise ValueError("nothing was started: give checkpoint=...")
        if stream not in self._streams.bindings or not self._streams.are_streaming:
            raise ValueError(f"stream '{stream}' is not bound to a streaming DataFrame")
        self._starter().punctuate(where, stream, clock)

    def migrate(self, old: str, new: str, *, partitions: int | None = None) -> None:
        """Make a checkpoint with the shards and tasks of this runtime out of one that has others; the old one stays as it is.

        Each shard is split, so the new number is the old one or a multiple of it. The stream must stand still, with its last batch
        committed, as after ``trigger={"availableNow": True}``. State passes through this process, shard by shard.

        Args:
            old: the checkpoint of this app.
            new: a folder that is empty or not there.
            partitions: how many tasks take the shards; None: ``tasks`` of this runtime, or else as many as the session has
                cores, at the most one per shard.

        Raises:
            ValueError: the number of shards is not a multiple.
            SparkRunError: the old one is closed, of another form of the app, at work on a batch, or holds state that can't be
                split.
        """
        require_jvm(self._spark, "migrate")
        settings = self._settings
        migrate(
            self._spark,
            self._plan,
            old,
            new,
            shards=settings.shards,
            partitions=settings.tasks if partitions is None else partitions,
            prefer=settings.prefer,
        )

    def state(self, checkpoint: str, *, batch: int | None = None) -> CheckpointState:
        """Look into a checkpoint; its query may be at work.

        Args:
            checkpoint: that of :meth:`start`.
            batch: after which to look, of those that Spark still keeps; None: the last one that was committed.

        Raises:
            SparkRunError: it is not a checkpoint of an app, or one that was moved or copied.
        """
        require_jvm(self._spark, "state")
        return CheckpointState(self._spark, checkpoint, batch)

    def _starter(self) -> Starter:
        self._streams.bind_declared(streaming=True)
        layout = self._layout(streaming=True)
        self._warn(layout, stacklevel=4)
        return Starter(
            self._spark, self._plan, layout, self._streams.bindings, self._settings, self._late, self._max_clock_skew
        )

    def _sinks(self, sinks: Mapping[str, Sink] | None) -> Mapping[str, Sink]:
        found = self._declared_sinks() if sinks is None else sinks
        require_callable(found)
        bound = {stream: binding.frame for stream, binding in self._streams.bindings.items()}
        refuse_sinks_in_sources(self._spark, found, {**bound, **self._tables.frames})
        return found

    def _declared_sinks(self) -> dict[str, DeclaredSinks]:
        refuse_foreign([connector for connector in self._foreign if connector.direction == "sink"], self._model)
        return declared_sinks(self.name, self._connectors)

    def write(self) -> list[str]:
        """Batch: compute the streams that the app's annotations give a sink, and write them.

        Folders of files are replaced that an earlier ``write`` left; one that holds anything else is refused.

        Returns:
            Their names.

        Raises:
            ValueError: there is no such sink, one writes where the app reads, or nothing is bound.
            SparkRunError: the app failed, or a sink's folder holds rows of a stream, or files of somebody: then nothing has
                changed.
        """
        sinks = self._declared_sinks()
        if not sinks:
            raise ValueError(f"{app_called(self._plan)} has no sink that Spark serves: take outputs instead")
        self._streams.bind_declared(streaming=False)
        self._sinks(sinks)
        require_replaceable(self._spark, sinks)
        cached: list[BatchLowering] = []
        try:
            with run_errors():
                for stream, frame in self._outputs(list(sinks), meta=False, cached=cached).items():
                    sinks[stream].write_all(frame)
        finally:
            release_all(cached)
        return list(sinks)

    def _streamed_tables(self, streams: Collection[str], *, alone: bool = False) -> dict[str, bytes]:
        """The rows of tables that an output alone needs; else all islands run, whatever is wanted of them."""
        layout = self._layout(streaming=True)
        running = [] if alone else [name for fragment in layout.fragments for name in fragment.names]
        needed = tables_above(layout, streams, elements=running)
        self._tables.require(needed)
        return {name: self._tables.rows(name) for name in needed}

    # --- inside

    def _lowering(self, wanted: Sequence[str], *, elements: Sequence[str] = ()) -> BatchLowering:
        unbound = [
            stream
            for stream in unfed(self._plan, self._layout(streaming=False))
            if stream not in self._streams.bindings
        ]
        if not self._streams.bindings:
            raise ValueError(f"no stream is bound: bind {', '.join(unbound) or 'one'} first")
        layout = self._layout(streaming=False)
        self._tables.require(tables_above(layout, wanted, elements=elements))
        return BatchLowering(
            self._plan,
            layout,
            self._streams.bindings,
            self._tables.frames,
            self._settings,
            self._tables.rows,
            wanted,
        )

    def _require_stream(self, stream: str) -> None:
        if stream not in self._plan.streams:
            raise DefinitionNotExistError(
                f"{app_called(self._plan)} has no stream '{stream}'{did_you_mean(stream, self._plan.streams)}"
            )
