"""SparkRuntime: an app on Spark."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from siddhi.errors import DefinitionNotExistError, did_you_mean
from siddhi.planner.app import plan
from siddhi.planner.bind.sandbox_limits import limit_text
from siddhi.planner.plan.nodes import Plan
from siddhi.query_api.app import SiddhiApp
from siddhi.query_compiler import parse
from siddhi.sandbox import SandboxPolicy
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
from siddhi.spark.sources.permissions import refuse_connectors
from siddhi.spark.streaming.query import Sink, SparkQuery
from siddhi.spark.streaming.starting import Starter
from siddhi.spark.workers.late import LatePolicy

__all__ = ["SparkRuntime"]

logger = logging.getLogger("siddhi")


class SparkRuntime:
    """An app on Spark.

    Args:
        app: SiddhiQL text.
        spark: the session.
        shards: number of shards that the keys of an engine fragment are hashed to, the limit of its parallelism; fixed for the life
            of a checkpoint.
        tasks: number of Spark tasks that run the shards, which are spread over them evenly; at most one per shard, and fixed until
            the checkpoint is migrated. None: for a stream one per 16 shards or per core at its first start, whichever is more; for
            a batch ``spark.sql.shuffle.partitions``, at most one per shard.
        exact_floats: whether sums of floating-point numbers run in the engine, which adds in the order of events.
        prefer: ``'native'`` to use Catalyst where it can, ``'engine'`` to run everything in engines.
        end_of_input: ``'hold'`` stops the clock at the last event, like an embedded engine after its last send; ``'flush'``
            advances time until no timer is left.
        late: policy for rows behind the watermark: ``'drop'`` counts them, ``'side'`` emits them as ``<Stream>__late``,
            ``'error'`` ends the query.
        max_clock_skew: limit of how far event times of a stream may be ahead of the system clock (``'1 hour'``). Rows beyond it,
            which would make all others late, are dropped and counted, or end the query with ``late='error'``. None: no limit.
        strict: whether warnings, such as that a query runs on one shard, are errors: for a batch here, for a stream when it
            starts.
        policy: permissions and limits of the app, for text that is not trusted; None: no restrictions. DataFrames and sinks that
            the host passes are not restricted.

    Raises:
        SiddhiAppError: the app is invalid; a SparkLoweringError if Spark can't run it.
        ValueError: an option has an invalid value.
        TypeError: shards or tasks is not an integer, app is not a string, or policy is not a SandboxPolicy.
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
        policy: SandboxPolicy | None = None,
    ) -> None:
        if not isinstance(app, str):
            raise TypeError(f"invalid app {app!r}: expected the SiddhiQL text of an app")
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
        model = _parsed(app, policy)
        self._connectors = connectors_of(model)
        self._foreign = foreign_of(model)
        if policy is not None:
            refuse_connectors(policy, self._connectors, self._foreign, model)
        self._model = model
        self._plan = plan(without_connectors(model), policy=policy)
        self._settings = Settings(shards, exact_floats, prefer, end_of_input == "flush", tasks)
        self._strict = strict
        self._layouts: dict[tuple[bool, frozenset[str]], Layout] = {}
        self._streams = BoundStreams(spark, model, self._plan, self._connectors, self._foreign)
        layout = self._layout(streaming=False)
        refuse(self._plan, layout, flush=self._settings.flush, tells_case=tells_case(spark))
        refuse_objects(self._plan, {found.stream: None for found in self._connectors if found.direction == "sink"})
        for line in self._plan.warnings:
            logger.warning("%s: %s", app_called(self._plan), line)
        self._warned: set[str] = set()
        self._warn(layout)
        self._cached: list[BatchLowering] = []
        self._tables = BoundTables(self._plan, layout.read_only)
        self._requested: set[str] = set()
        self._checkpoint: str | None = None

    @property
    def name(self) -> str:
        """Name of the app."""
        return self._plan.name

    @property
    def plan(self) -> Plan:
        """Plan of the app."""
        return self._plan

    def explain(self, *, streaming: bool = False) -> str:
        """Return what runs where as text: Catalyst stages and engine fragments with keys and reasons."""
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
        """Warn of what the user should know of a layout, once per sentence.

        Raises:
            SparkLoweringError: there is a warning, and ``strict`` turns warnings into errors.
        """
        for text in warnings_of(self._plan, layout, strict=self._strict, shards=self._settings.shards):
            if text not in self._warned:
                self._warned.add(text)
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
        """Bind a stream to its rows, in place of an earlier binding.

        Args:
            stream: name of the stream.
            frame: a DataFrame with a column per attribute, by name; other columns are ignored.
            timestamp: column of event time: a timestamp (floored to ms), or a bigint in ms.
            watermark: for a streaming DataFrame, the delay up to which rows are not late (``'10 seconds'``).
            sequence: integer columns that order rows of one ms; without them, a hash of the row does.
            max_idle: for a streaming DataFrame, how long it may bring no rows (``'1 minute'`` of wall clock) before time advances
                without it; its next rows are late if the other streams are ahead of them.

        Raises:
            DefinitionNotExistError: the app has no such stream.
            ValueError: a column is missing or has another type (the message lists all of them), or an interval is invalid.
            TypeError: the frame is not a Spark DataFrame, a name is not a string, or sequence is a string.
            SparkSetupError: the session has been stopped.
        """
        require_running(self._spark)
        self._require_stream(stream)
        self._streams.bind(
            stream, frame, timestamp=timestamp, watermark=watermark, sequence=sequence, max_idle=max_idle
        )

    def bind_table(self, table: str, frame: DataFrame) -> None:
        """Bind a table that no query writes to its rows, with a column per attribute, by name.

        If rows share a primary key, whatever reads the table fails with an error of the app.

        Raises:
            DefinitionNotExistError: the app has no such table.
            ValueError: the app writes the table, or a column is missing or has another type.
        """
        self._tables.bind(table, frame)

    # --- out

    def output(self, stream: str, *, meta: bool = False) -> DataFrame:
        """Return the rows of a stream of the app: a streaming DataFrame if the bindings are.

        The query of a streaming output has its own checkpoint and its own copy of everything it reads: for several outputs, use
        :meth:`start`. Rows that the watermark has not passed at the end stay in the checkpoint.

        Args:
            stream: name of the stream; with ``late='side'`` also ``<Stream>__late``.
            meta: whether to add ``_timestamp``, event time in ms.

        Raises:
            DefinitionNotExistError: the app has no such stream.
            ValueError: no source of the stream is bound, or with ``meta`` it has an attribute ``_timestamp``.
            SparkLoweringError: the stream has an attribute of type object, or the app can't run over streams.
            SparkSetupError: the session has another state store than RocksDB, or has been stopped.
        """
        if not self._streams.are_streaming:
            return self._outputs([stream], meta=meta)[stream]
        late = self._late == "side" and stream.endswith("__late")
        self._require_stream(stream.removesuffix("__late") if late else stream)
        # Late rows come from all fragments that read the stream.
        frame = self._starter().output(stream, self._streamed_tables([stream], alone=not late))
        idle = sorted(name for name, binding in self._streams.bindings.items() if binding.max_idle is not None)
        if idle:
            warnings.warn(
                f"max_idle of {', '.join(idle)} has no effect on an output with its own query: only start(checkpoint, sinks) "
                "watches for idle streams",
                stacklevel=2,
            )
        self._requested.add(stream)
        if len(self._requested) == 2:
            first, second = sorted(self._requested)
            warnings.warn(
                f"outputs '{first}' and '{second}' have a query each, which both run everything they read: start(checkpoint, sinks) "
                "runs one query for all outputs",
                stacklevel=2,
            )
        return frame if meta else frame.drop("_timestamp")

    def run(self, outputs: Sequence[str] | None = None, *, meta: bool = False) -> dict[str, DataFrame]:
        """Compute several streams with one pass per engine fragment, whose rows are cached until :meth:`release`.

        Args:
            outputs: names of streams; None: all that queries fill from bound sources and that no query reads.
            meta: whether to add ``_timestamp``.

        Raises:
            DefinitionNotExistError: the app has no such stream.
            ValueError: as for :meth:`output`.
            TypeError: outputs is a string.
        """
        if isinstance(outputs, str):
            raise TypeError(
                f"invalid outputs {outputs!r}: expected a list, run([{outputs!r}]); or use output({outputs!r})"
            )
        if outputs is None:
            self._streams.bind_declared(streaming=False)
            layout = self._layout(streaming=False)
            outputs = [
                name for name in unread(self._plan, layout) if is_fed(self._plan, layout, name, self._streams.bindings)
            ]
        return self._outputs(list(outputs), meta=meta, cached=self._cached)

    def release(self) -> None:
        """Release the cache of :meth:`run`; its DataFrames are computed again when used."""
        release_all(self._cached)

    def _outputs(
        self, streams: Sequence[str], *, meta: bool, cached: list[BatchLowering] | None = None
    ) -> dict[str, DataFrame]:
        """Return the rows of streams; ``cached`` collects the lowerings that cache rows of fragments, if given."""
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
        """Return the rows of an incremental aggregation in batch, as a query that reads all of them.

        Args:
            name: name of the aggregation.
            per: duration of the buckets, as ``'hours'``.

        Returns:
            ``AGG_TIMESTAMP`` (start of the bucket in ms) and the selected attributes.

        Raises:
            DefinitionNotExistError: the app has no such aggregation.
            ValueError: it has no such buckets, or no stream is bound.
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
            raise ValueError(
                "the streams are bound to streaming DataFrames: aggregation(...) is for batch, use state(...)"
            )
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
        """Start the app over streaming DataFrames, as one query for all outputs.

        Args:
            checkpoint: folder of the state; it belongs to this app and its options for good.
            sinks: functions ``sink(frame, batch)`` by stream (``<Stream>__late`` for late rows), which get the rows of each micro-batch
                with the stream's attributes and ``_timestamp``. A batch may be repeated after a failure. None: the sinks of the app.
            trigger: Spark's trigger, as ``{"availableNow": True}`` or ``{"processingTime": "5 seconds"}``; not ``continuous`` or
                ``realTime``, which run no micro-batches.
            name: name of the query in Spark.
            evolve: whether elements that hold state may have been added or removed since the checkpoint was written. New elements
                start empty. The state of removed ones is discarded, as are buffered rows that nothing reads any more. Other changes are
                refused.
            reopen: whether to continue a stream that :meth:`finish` closed; not after ``end_of_input='flush'``.

        Raises:
            SparkLoweringError: the app can't run over streams.
            SparkRunError: the checkpoint belongs to another app or another form of it, or was closed, moved or copied; or the folder
                of a :class:`FileSink` belongs to another checkpoint, has files that no stream wrote, or another format. Nothing has
                changed.
            SparkSetupError: Spark lacks the file system of a folder.
            ValueError: a stream is not bound, no query fills the stream of a sink, a sink writes where the app reads, or the
                trigger is unknown.
            TypeError: a sink is not callable, or trigger is not a dict.
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
        """Process the available input, emit everything that is buffered, and close the checkpoint.

        With ``end_of_input='hold'`` time ends at the last event; with ``'flush'`` it advances until no timer is left.

        Args:
            checkpoint: that of :meth:`start`.
            sinks: as for :meth:`start`.
            evolve: as for :meth:`start`.
            reopen: as for :meth:`start`.

        Raises:
            SparkRunError: the app failed; the checkpoint stays open. After ``'flush'`` has moved time to its end, only ``finish`` can
                continue.
        """
        require_jvm(self._spark, "finish")
        starter, found = self._starter(), self._sinks(sinks)
        return starter.finish(checkpoint, found, self._streamed_tables(found), evolve=evolve, reopen=reopen)

    def punctuate(self, stream: str, clock: int, *, checkpoint: str | None = None) -> None:
        """Declare that a stream brings no earlier rows any more; earlier ones are late.

        Args:
            stream: a stream that is bound to a streaming DataFrame.
            clock: event time in ms since 1970, an integer.
            checkpoint: checkpoint of the stream; None: that of the last :meth:`start`.

        Raises:
            DefinitionNotExistError: the app has no such stream.
            ValueError: it is not bound to a streaming DataFrame, no query was started, or the clock is negative.
            TypeError: the clock is not an integer.
            SparkRunError: the checkpoint is closed, moved, copied or missing.
        """
        self._require_stream(stream)
        where = self._checkpoint if checkpoint is None else checkpoint
        if where is None:
            raise ValueError("no query was started by this runtime: give checkpoint=...")
        if stream not in self._streams.bindings or not self._streams.are_streaming:
            raise ValueError(f"stream '{stream}' is not bound to a streaming DataFrame: bind it first")
        self._starter().punctuate(where, stream, clock)

    def migrate(self, old: str, new: str, *, partitions: int | None = None) -> None:
        """Migrate a checkpoint to the shards and tasks of this runtime; the old checkpoint stays as it is.

        Each shard is split, so the number of shards must be a multiple of the old one. The stream must be stopped with its last batch
        committed, as after ``trigger={"availableNow": True}``. A state that is split passes through this process, shard by shard;
        with the same number of shards, the workers copy it.

        Args:
            old: checkpoint of this app.
            new: folder that is empty or does not exist.
            partitions: number of tasks; None: ``tasks`` of this runtime, else its default for a first start.

        Raises:
            ValueError: the number of shards is not a multiple.
            SparkRunError: the old checkpoint is closed, belongs to another form of the app, has an unfinished batch, or holds state
                that can't be split.
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
        """Inspect a checkpoint; its query may run meanwhile.

        Args:
            checkpoint: that of :meth:`start`.
            batch: number of a batch that Spark still keeps; None: the last committed one.

        Raises:
            SparkRunError: it is not the checkpoint of an app, or was moved or copied.
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
        """Compute the streams that have sinks in the app's annotations, and write them, in batch.

        Replaces folders that an earlier ``write`` filled; a folder with anything else is refused.

        Returns:
            Names of the streams.

        Raises:
            ValueError: there is no such sink, one writes where the app reads, or no stream is bound.
            SparkRunError: the app failed; or the folder of a sink has rows of a stream or other files, and nothing has changed.
        """
        sinks = self._declared_sinks()
        if not sinks:
            raise ValueError(f"{app_called(self._plan)} has no sink that Spark supports: use output(...) or run()")
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
        """Return the rows of the tables that an output needs if it runs alone, otherwise those of all fragments."""
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


def _parsed(app: str, policy: SandboxPolicy | None) -> SiddhiApp:
    """Parse an app; the policy limits the length of its text and the environment variables it may read."""
    if policy is None:
        return parse(app)
    if not isinstance(policy, SandboxPolicy):
        raise TypeError(f"invalid policy {policy!r}: expected a siddhi.SandboxPolicy")
    limit_text(policy, app, "the app")
    return parse(app, environment=policy.environment)
