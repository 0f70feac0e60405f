"""Subjects of measurement: the engine, and a hand-written loop that computes the same. Both have the same interface."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Protocol

from limits.build import build
from scenarios import Scenario

Callback = Callable[[Any], None]
Last = tuple[int, list[Any]]


class Subject(Protocol):
    """A started app or loop; the ``second`` senders take every second trade, if there is a second stream."""

    send: Callable[..., Any]
    send_batch: Callable[..., Any]
    send_second: Callable[..., Any] | None
    send_batch_second: Callable[..., Any] | None

    def last_event(self, events: list[Any]) -> Last: ...

    def last_row(self, batch: Any) -> Last: ...

    def rows(self) -> list[list[Any]]: ...

    def close(self) -> None: ...


class NotSupportedError(Exception):
    """The engine can't create the scenario's app; the text is the engine's error."""


class Engine:
    """The app of a scenario, with its own manager."""

    def __init__(
        self, scenario: Scenario, callback: Callback | None = None, batch_callback: Callback | None = None
    ) -> None:
        import siddhi
        from siddhi.errors import SiddhiError

        self._check = scenario.check
        self._manager = siddhi.SiddhiManager()
        try:
            self._runtime = self._manager.create_siddhi_app_runtime(scenario.app)
        except SiddhiError as refusal:
            raise NotSupportedError(str(refusal)) from refusal
        if scenario.output and callback:
            self._runtime.add_callback(scenario.output, callback)
        if scenario.output and batch_callback:
            self._runtime.add_batch_callback(scenario.output, batch_callback)
            self._names = [name for name, _ in self._runtime.stream_attributes(scenario.output)]
        self._runtime.start()
        handler = self._runtime.input_handler(scenario.input)
        self.send, self.send_batch = handler.send, handler.send_batch
        self.send_second = self.send_batch_second = None
        if scenario.second:
            other = self._runtime.input_handler(scenario.second)
            self.send_second, self.send_batch_second = other.send, other.send_batch
        if scenario.preload:
            preload = self._runtime.input_handler(scenario.preload[0])
            for row in scenario.preload_rows():
                preload.send(row, timestamp=0)

    def last_event(self, events: list[Any]) -> Last:
        return events[-1].timestamp, list(events[-1].data)

    def last_row(self, batch: Any) -> Last:
        return int(batch.timestamps[-1]), [_plain(batch[name][-1]) for name in self._names]

    def rows(self) -> list[list[Any]]:
        return [list(event.data) for event in self._runtime.query(self._check) or []]

    def close(self) -> None:
        self._manager.shutdown()


def _plain(value: Any) -> Any:
    for method in ("as_py", "item"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


LOOPS = {
    "filter": "filters.Filter",
    "filter_silent": "filters.Filter",
    "project": "filters.Project",
    "filter_project": "filters.FilterProject",
    "chain10": "filters.Chain10",
    "fanout100": "filters.Fanout100",
    "length_avg": "sliding.LengthAvg",
    "time_avg": "sliding.TimeAvg",
    "externaltime_avg": "sliding.ExternalTimeAvg",
    "partition_length_avg": "sliding.PartitionLengthAvg",
    "agg_functions": "functions.AggFunctions",
    "lengthbatch_sum": "batches.LengthBatchSum",
    "timebatch_sum": "batches.TimeBatchSum",
    "pattern": "patterns.Pattern",
    "sequence": "patterns.Sequence",
    "count_pattern": "patterns.CountPattern",
    "join": "joins.Join",
    "table_join": "joins.TableJoin",
    "table_upsert": "tables.TableUpsert",
    "aggregation": "tables.Aggregation",
}
"""Module and class in ``limits/``, by scenario."""


def has_loop(scenario: Scenario) -> bool:
    """Return whether the scenario has a hand-written loop; if not, ``answers.py`` has its result."""
    return scenario.name in LOOPS


class Loop:
    """The hand-written loop of a scenario, compiled when needed."""

    def __init__(
        self, scenario: Scenario, callback: Callback | None = None, batch_callback: Callback | None = None
    ) -> None:
        build()
        module, _, name = LOOPS[scenario.name].partition(".")
        loop = getattr(importlib.import_module(f"limits.{module}"), name)(callback, batch_callback)
        self._loop = loop
        self.send, self.send_batch = loop.send, loop.send_batch
        self.send_second = loop.send_second if scenario.second else None
        self.send_batch_second = loop.send_batch_second if scenario.second else None
        for row in scenario.preload_rows():
            loop.preload(*row)

    def last_event(self, events: list[Any]) -> Last:
        timestamp, *values = events[-1]
        return timestamp, values

    def last_row(self, batch: Any) -> Last:
        last: Last = batch.row(len(batch) - 1)
        return last

    def rows(self) -> list[list[Any]]:
        return [list(row) for row in self._loop.rows()]

    def close(self) -> None:
        """Do nothing."""
