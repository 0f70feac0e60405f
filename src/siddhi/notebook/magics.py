"""The magics: ``%%siddhi`` runs the app of a cell, ``%siddhi`` asks or stops it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from IPython import display as ipython_display
from IPython.core.magic import Magics, line_cell_magic, magics_class

from siddhi import InputHandler
from siddhi.errors import SiddhiError
from siddhi.frames.inputs import open_input, read_pieces, time_column
from siddhi.frames.merge import in_time_order
from siddhi.notebook.arguments import CellOptions, parse_cell_options, parse_duration
from siddhi.notebook.live import LiveView
from siddhi.notebook.widget import live_widget
from siddhi.runtime.app import SiddhiAppRuntime

if TYPE_CHECKING:
    from siddhi.runtime.profile.profile import Profile

__all__ = ["SiddhiMagics"]

_PART = 50_000
"""Rows that are sent together while a view is shown."""

_COMMANDS = ("query", "explain", "graph", "tail", "stop", "apps")


@magics_class
class SiddhiMagics(Magics):
    """The magics of a shell, and the apps that its cells have started."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._apps: dict[str, SiddhiAppRuntime] = {}

    @line_cell_magic
    def siddhi(self, line: str, cell: str | None = None) -> Any:
        """Run the app of a cell, or a command: query, explain, graph, tail, stop, apps.

        ``%%siddhi [name] [--in Stream=frame ...] [--out Stream ...] [--timestamp column] [--live 5s] [--profile] [--keep]``
        """
        try:
            return self._command(line) if cell is None else self._run(parse_cell_options(line), cell)
        except (SiddhiError, ValueError, TypeError, LookupError) as error:
            # The message has the caret; the frames of the engine would only hide it.
            message = error.args[0] if type(error) is LookupError else error
            sys.stderr.write(f"{message}\n")
            return None

    def stop_all(self) -> None:
        """Stop the apps of all cells."""
        for app in self._apps.values():
            app.shutdown()
        self._apps.clear()

    @property
    def _variables(self) -> dict[str, Any]:
        shell: Any = self.shell
        found: dict[str, Any] = shell.user_ns
        return found

    # --- a cell

    def _run(self, options: CellOptions, text: str) -> Any:
        frames = {stream: self._variable(name, stream) for stream, name in options.inputs.items()}
        if len(frames) > 1 and options.timestamp is None:
            raise ValueError("several inputs need --timestamp: the column by which their rows are merged")
        if options.name is not None:
            self._stop(options.name)
        app = SiddhiAppRuntime(text, replace=True)
        name = options.name or app.name
        goes_on = options.keep or not frames
        with ExitStack() as stack:
            if not goes_on:
                stack.callback(app.shutdown)
            if options.timestamp is not None:
                app.enable_playback(True)
            for stream in options.outputs:
                app.collect(stream, timestamp=None, chunk=None, end=None)
            app.start()
            self._apps[name] = app
            self._variables[name] = app
            profile: Profile | None = app.profile() if options.profile else None
            if profile is not None:
                stack.enter_context(profile)
            if options.live is None:
                self._send(app, frames, options.timestamp)
            else:
                view = LiveView(app, options.outputs or [*app.stream_definitions], name=name)
                self._send_and_show(app, frames, options.timestamp, view, options.live)
        for stream, batch in app.drain().items():
            self._variables[stream] = batch
        if not goes_on:
            self._apps.pop(name, None)
        if profile is not None:
            self._variables["profile"] = profile
            return profile
        if len(options.outputs) == 1 and options.live is None:
            return self._variables[options.outputs[0]]
        return app if goes_on and options.live is None else None

    def _send_and_show(
        self, app: SiddhiAppRuntime, frames: dict[str, Any], timestamp: str | None, view: LiveView, seconds: float
    ) -> None:
        """Send in a thread while the view is shown, which ends when all is sent; an interrupt ends both."""
        failures: list[Exception] = []
        ended = threading.Event()

        def send() -> None:
            try:
                self._send(app, frames, timestamp, ended)
            except Exception as error:  # noqa: BLE001 - raised below
                failures.append(error)

        sender = threading.Thread(target=send, name="siddhi cell")
        sender.start()
        try:
            _show(view, seconds, sender.is_alive)
        finally:
            ended.set()
            sender.join()
        if failures:
            raise failures[0]

    def _send(
        self,
        app: SiddhiAppRuntime,
        frames: dict[str, Any],
        timestamp: str | None,
        ended: threading.Event | None = None,
    ) -> None:
        """Send the inputs, by time if there are several; ``ended`` ends it between two parts."""
        if len(frames) < 2 or timestamp is None:
            for stream, frame in frames.items():
                for part in (frame,) if ended is None else _parts(frame):
                    if ended is not None and ended.is_set():
                        return
                    app.input_handler(stream).send_batch(part, timestamp=timestamp)
            return
        inputs = []
        for stream, frame in frames.items():
            names = [name for name, _ in app.stream_attributes(stream)]
            handler = app.input_handler(stream)
            if not isinstance(handler, InputHandler):
                raise ValueError(
                    f"stream '{stream}' is temporal or corrects late events: its rows are not merged with others; "
                    "use one --in"
                )
            given = open_input(stream, frame, names, (timestamp,))
            column = time_column(given, timestamp)
            inputs.append((stream, read_pieces(given, handler, names, column, instant=0, merged=True)))
        for run in in_time_order(inputs):
            if ended is not None and ended.is_set():
                return
            run.chunk.send(run.start, run.stop)

    def _variable(self, name: str, stream: str) -> Any:
        if name not in self._variables:
            raise LookupError(f"there is no variable '{name}' for input '{stream}'")
        return self._variables[name]

    # --- commands

    def _command(self, line: str) -> Any:
        command, _, rest = line.strip().partition(" ")
        if command not in _COMMANDS:
            raise ValueError(f"unknown command '{command}': expected one of {', '.join(_COMMANDS)}")
        commands: dict[str, Callable[[str], Any]] = {
            "query": self._query,
            "explain": self._explain,
            "graph": self._graph,
            "tail": self._tail,
            "stop": self._stop,
            "apps": lambda _: [*self._apps],
        }
        return commands[command](rest.strip())

    def _query(self, text: str) -> Any:
        """``%siddhi query [app] from T select …``: run an on-demand query; its rows, with names."""
        first, _, rest = text.partition(" ")
        app, query = (self._apps[first], rest) if first in self._apps else (self._only(), text)
        return app.query(query)

    def _explain(self, text: str) -> Any:
        """``%siddhi explain [app]``: the plan, with the figures of the last profile."""
        app = self._named(text)
        return app.explain(analyze=_has_profile(app))

    def _graph(self, text: str) -> Any:
        """``%siddhi graph [app]``: streams, tables and queries as a picture."""
        app = self._named(text)
        return app.explain("svg", analyze=_has_profile(app))

    def _tail(self, text: str) -> None:
        """``%siddhi tail Stream [app] [5s]``: the events of a stream as they come."""
        words = text.split()
        if not words:
            raise ValueError("usage: %siddhi tail Stream [app] [5s]")
        seconds = parse_duration(words.pop()) if len(words) > 1 and words[-1][0].isdigit() else 10.0
        name = words[1] if len(words) > 1 else ""
        view = LiveView(self._named(name), [words[0]], rows=20, name=name or next(iter(self._apps), None))
        _show(view, seconds)

    def _stop(self, text: str) -> None:
        """``%siddhi stop [app]``: stop an app, or all of them."""
        if not text:
            self.stop_all()
        elif text in self._apps:
            self._apps.pop(text).shutdown()

    def _named(self, name: str) -> SiddhiAppRuntime:
        if not name:
            return self._only()
        if name in self._apps:
            return self._apps[name]
        found = self._variables.get(name)
        if isinstance(found, SiddhiAppRuntime):
            return found
        raise LookupError(f"there is no app '{name}': {self._known()}")

    def _only(self) -> SiddhiAppRuntime:
        if len(self._apps) == 1:
            return next(iter(self._apps.values()))
        raise LookupError(f"name the app: {self._known()}")

    def _known(self) -> str:
        return f"running are {', '.join(self._apps)}" if self._apps else "no cell has an app that is running"


def _parts(frame: Any) -> Iterator[Any]:
    """Yield the rows of a frame in parts, between which the view is renewed; a frame that has no parts at once."""
    rows = getattr(frame, "num_rows", None)  # of Arrow
    if rows is None and hasattr(frame, "__len__") and not isinstance(frame, Mapping):
        rows = len(frame)
    if rows is None or not (hasattr(frame, "iloc") or hasattr(frame, "slice") or hasattr(frame, "timestamps")):
        yield frame
        return
    for begin in range(0, max(1, rows), _PART):
        if hasattr(frame, "iloc"):
            yield frame.iloc[begin : begin + _PART]
        elif hasattr(frame, "slice"):
            yield frame.slice(begin, _PART)
        else:
            yield frame[begin : begin + _PART]


def _show(view: LiveView, seconds: float, goes_on: Callable[[], bool] = lambda: False) -> None:
    """Show a view for some seconds in the cell that runs, renewed in place; at the end it is plain HTML."""
    cell: Any = ipython_display  # has no types
    widget = live_widget(view.html())
    shown = cell.display(cell.HTML(view.html()) if widget is None else widget, display_id=True)

    def renew(html: str) -> None:
        if widget is not None:
            widget.html = html
        elif shown is not None:
            shown.update(cell.HTML(html))

    try:
        view.run(seconds, renew, goes_on=goes_on)
    finally:
        if widget is not None:
            # A widget shows nothing without its kernel: the notebook keeps the last view as HTML, and no state of a widget.
            if shown is not None:
                shown.update(cell.HTML(widget.html))
            widget.close()


def _has_profile(app: SiddhiAppRuntime) -> bool:
    return app.last_profile is not None
