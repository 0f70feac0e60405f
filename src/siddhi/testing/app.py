"""Apps under test: a virtual clock, and output that is kept until a test expects it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siddhi import Event, InputHandler
from siddhi.errors import DefinitionNotExistError, did_you_mean
from siddhi.query_api import SiddhiApp
from siddhi.runtime.app import SiddhiAppRuntime
from siddhi.runtime.assembly.async_stream import DRAIN_SECONDS, AsyncInputHandler, drain
from siddhi.testing.input import InputUnderTest
from siddhi.testing.rows import difference, is_like, read_rows, shown_like

if TYPE_CHECKING:
    from siddhi._core.record.user_event import _Time
    from siddhi.runtime.app import Construction
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.change.result import AppChange
    from siddhi.runtime.manager import SiddhiManager
    from siddhi.runtime.state.snapshot import SnapshotService
    from siddhi.sandbox import SandboxPolicy

__all__ = ["AppUnderTest"]


class AppUnderTest(SiddhiAppRuntime):
    """An app whose clock follows its events, and which keeps the output of every stream. It is started at once.

    Each timer runs at its own time, unless the app's ``@app:playback`` says otherwise. Triggers, absences and all else that
    counts time from the start of the app counts it from ``start``. An event that is sent without a time happens at the time
    of the clock. Exceptions of callbacks and of processing are kept in ``errors``, except those of events that go to a fault
    stream or into the error store; the fixture ``siddhi_app`` fails the test if one is left there.

    Args:
        app: SiddhiQL text, its object model, or the path of a file.
        start: time at which the app is started, after each restart, too: ms, a datetime with a zone or a
            ``numpy.datetime64``.
        snapshots: folder of the snapshots of this test; None: :meth:`expect_snapshot` can't be used.
        update: whether :meth:`expect_snapshot` writes instead of comparing.
        manager, policy: as of ``siddhi.App``.
        params: values of ``${name}`` in the text, also of those that are called like an argument.
        parameters: the same as keywords.

    Raises:
        SiddhiAppError, TypeError, ValueError: as ``siddhi.App``.
        OSError: the file can't be read.
    """

    errors: list[Exception]

    def __init__(
        self,
        app: str | SiddhiApp | Path,
        /,
        *,
        start: _Time = 0,
        snapshots: Path | None = None,
        update: bool = False,
        manager: SiddhiManager | None = None,
        policy: SandboxPolicy | None = None,
        params: Mapping[str, object] | None = None,
        **parameters: object,
    ) -> None:
        from siddhi.runtime.manager import SiddhiManager

        text = app.read_text(encoding="utf-8") if isinstance(app, Path) else app
        if isinstance(text, str) and text.endswith(".siddhi") and "\n" not in text:
            raise ValueError(f"'{text}' is the name of a file, not the text of an app: pass pathlib.Path('{text}')")
        values = _merged(params or {}, parameters)
        self._arrived: dict[str, list[Event]] = {}
        self._inputs: dict[str, InputUnderTest] = {}
        self._begin = start
        self._snapshots = snapshots
        self._update = update
        self.errors = []
        owner = SiddhiManager() if manager is None else manager
        self._set_up(owner.construction(text, policy=policy, replace=False, parameters=values))
        self._construction.adopt(self)
        self._context.on_error = lambda error, *_: self.errors.append(error)
        if self.plan.playback is None:
            self.enable_playback(timers="exact")
        self.advance_clock(start)
        self._record()
        self.start()

    def start_without_sources(self) -> None:
        """Start the app at the time ``start``."""
        begins = not self.is_running
        super().start_without_sources()
        if begins and self.is_in_playback:
            self.advance_clock(self.now)  # time begins, also at 0

    def advance(self, duration: int | timedelta) -> None:
        """Let time pass: timers due by then run.

        Args:
            duration: in ms, or a timedelta: from the time of the last event, or the last advance, on.

        Raises:
            TypeError: it is neither.
            ValueError: it is negative, or no whole number of ms.
        """
        milliseconds = _milliseconds(duration)
        self._settle()
        self.advance_clock(self.now)  # what has come to wait for the beginning of time counts from now on
        self.advance_clock(self.now + milliseconds)
        self._settle()

    def take(self, stream: str) -> list[Event]:
        """Return the events of a stream that no earlier call has returned. Events in buffers of the app come first to their
        end.

        Raises:
            DefinitionNotExistError: there is no such stream.
        """
        if stream not in self._arrived:
            raise DefinitionNotExistError(self._no_stream(stream))
        self._settle()
        events = self._arrived[stream][:]
        del self._arrived[stream][: len(events)]
        return events

    def expect(self, stream: str, rows: Iterable[object], *, timestamps: bool = False) -> None:
        """Check the events of a stream that no earlier call has returned, and their order.

        Args:
            stream: its name.
            rows: tuples or lists in attribute order, mappings, which may leave attributes out, or :class:`Event`. Values can
                be approximate (``pytest.approx``); NaN is like NaN.
            timestamps: whether each row is ``(timestamp, values)`` with the time of the event in ms.

        Raises:
            AssertionError: other events arrived; the message shows both, row by row.
            DefinitionNotExistError: there is no such stream.
            TypeError: these are not rows.
            ValueError: the stream does not have an attribute.
        """
        wanted = read_rows(rows, self.stream_definitions.get(stream), timestamps=timestamps)
        events = self.take(stream)
        shown = [shown_like(row, event, timestamps=timestamps) for event, row in zip(events, wanted, strict=False)]
        shown += [shown_like((), event, timestamps=timestamps) for event in events[len(wanted) :]]
        if len(shown) != len(wanted) or not all(map(is_like, shown, wanted)):
            raise AssertionError(difference(stream, shown, wanted))

    def expect_snapshot(self, stream: str, name: str | None = None) -> None:
        """Check the events of a stream that no earlier call has returned against a file beside the test.

        ``pytest --siddhi-update`` writes the file: a JSON array ``[timestamp, values]`` per line.

        Args:
            stream: its name.
            name: of the file; by default that of the stream, for one snapshot of it per test.

        Raises:
            AssertionError: other events arrived, or there is no file.
            DefinitionNotExistError: there is no such stream.
        """
        if self._snapshots is None:
            raise ValueError("this app has no folder of snapshots: create it with the fixture siddhi_app")
        path = self._snapshots / f"{name or stream}.jsonl"
        lines = [json.dumps([event.timestamp, event.data], default=repr) for event in self.take(stream)]
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            return
        if not path.exists():
            raise AssertionError(f"there is no snapshot {path}: write it with pytest --siddhi-update")
        wanted = path.read_text(encoding="utf-8").splitlines()
        if lines != wanted:
            raise AssertionError(difference(f"{stream}, {path.name}", lines, wanted))

    def input_handler(self, stream: str) -> InputUnderTest:  # type: ignore[override]  # has the methods of the handler
        """Return the handler that sends into a stream; without a time, at the time of the clock.

        Raises:
            DefinitionNotExistError: there is no such stream.
        """
        handler = super().input_handler(stream)
        if not isinstance(handler, (InputHandler, AsyncInputHandler)):  # of temporal and corrected streams
            return handler  # type: ignore[return-value]
        return self._inputs.setdefault(stream, InputUnderTest(self, handler))

    def __getitem__(self, stream: str) -> InputUnderTest:  # type: ignore[override]
        """Return the input handler of a stream: ``app["Trades"].send(row)``.

        Raises:
            DefinitionNotExistError: the app has no stream of this name.
        """
        return self.input_handler(stream)

    # --- inside

    def _record(self) -> None:
        """Keep the events of streams that are new, and of their fault streams."""
        faults = [name for name in self._assembly.junctions if name.startswith("!")]
        for stream in [*self.stream_definitions, *faults]:
            if not self._attachments.is_recorded(stream):
                self._attachments.record(stream, self._arrived.setdefault(stream, []).extend)

    def _move_to(self, assembly: Assembly) -> None:
        super()._move_to(assembly)
        if self.is_in_playback:
            self.advance_clock(self._begin)

    def _install(
        self, construction: Construction, assembly: Assembly, state: SnapshotService, queries: Mapping[str, str]
    ) -> None:
        super()._install(construction, assembly, state, queries)
        self._record()

    def _change(self, new: Construction, reset: tuple[str, ...]) -> AppChange:
        changed = super()._change(new, reset)
        if self.is_running and self.is_in_playback:
            self.advance_clock(self.now)  # as at the start
        return changed

    def _settle(self) -> None:
        """Wait until the buffers of ``@async`` streams are empty and the calls of coroutine functions have ended."""
        streams: Sequence[Any] = tuple(self._assembly.async_streams.values())
        deadline = time.monotonic_ns() + int(DRAIN_SECONDS * 1e9)
        drain(self._context, streams, deadline)
        for _ in self._assembly.awaited:  # the calls of one function can lead to calls of another one
            for calls in self._assembly.awaited.values():
                calls.drain(deadline)
            drain(self._context, streams, deadline)

    def _no_stream(self, name: str) -> str:
        if name in self.table_definitions:
            return f"'{name}' is a table of app '{self.name}', not a stream: read it with app.query('from {name} select *')"
        if name in self.window_definitions:
            return (
                f"'{name}' is a window of app '{self.name}', not a stream: expect a stream that a query fills from it"
            )
        return f"app '{self.name}' has no stream '{name}'{did_you_mean(name, self._arrived)}"


def _merged(params: Mapping[str, object], named: Mapping[str, object]) -> dict[str, object]:
    for name in named:
        if name in params:
            raise TypeError(f"'{name}' is given twice: by keyword and in params")
    return {**params, **named}


def _milliseconds(duration: int | timedelta) -> int:
    if isinstance(duration, timedelta):
        milliseconds, rest = divmod(duration, timedelta(milliseconds=1))
        if rest:
            raise ValueError(f"time advances by whole milliseconds, not by {duration}")
    else:
        try:
            milliseconds = index(duration)
        except TypeError:
            raise TypeError(f"time advances by a number of ms (int) or a timedelta, not by {duration!r}") from None
    if milliseconds < 0:
        raise ValueError(f"time does not go back: advance by {duration}")
    return milliseconds
