"""siddhi: streaming SQL and complex event processing in your own process.

import siddhi

app = siddhi.App(text)
app.add_callback("Alerts", print)
with app:
    app["Trades"].send(("IBM", 700.0, 100))
"""

from __future__ import annotations

from siddhi._version import __version__

TYPE_CHECKING = False  # type checkers know the name; importing it from typing takes longer than the rest of this module
if TYPE_CHECKING:
    from siddhi._core.columnar.batch import EventBatch
    from siddhi._core.record.user_event import Event
    from siddhi._core.stream.input import InputHandler
    from siddhi.errors import SiddhiError
    from siddhi.frames.query import query
    from siddhi.frames.result import Result
    from siddhi.runtime.app import SiddhiAppRuntime
    from siddhi.runtime.app import SiddhiAppRuntime as App
    from siddhi.runtime.manager import SiddhiManager
    from siddhi.sandbox import SandboxPolicy
    from siddhi.types import AttributeType

__all__ = [
    "App",
    "AttributeType",
    "Event",
    "EventBatch",
    "InputHandler",
    "Result",
    "SandboxPolicy",
    "SiddhiAppRuntime",
    "SiddhiError",
    "SiddhiManager",
    "__version__",
    "get_include",
    "query",
    "run",
]


_MODULES = {
    "App": "siddhi.runtime.app",
    "AttributeType": "siddhi.types",
    "Event": "siddhi._core.record.user_event",
    "EventBatch": "siddhi._core.columnar.batch",
    "InputHandler": "siddhi._core.stream.input",
    "Result": "siddhi.frames.result",
    "SandboxPolicy": "siddhi.sandbox",
    "SiddhiAppRuntime": "siddhi.runtime.app",
    "SiddhiError": "siddhi.errors",
    "SiddhiManager": "siddhi.runtime.manager",
    "query": "siddhi.frames.query",
}
"""The modules of the public classes and functions, each imported on first use."""

_PACKAGES = frozenset(
    ("config", "errors", "event", "extension", "io", "persistence", "query_api", "query_compiler", "stores", "types")
)
"""Public modules that ``import siddhi`` makes available, such as ``siddhi.errors.SiddhiAppError``."""


if not TYPE_CHECKING:  # type checkers read the imports above, and report every other name

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _MODULES:
            value = getattr(import_module(_MODULES[name]), "SiddhiAppRuntime" if name == "App" else name)
            globals()[name] = value
            return value
        if name in _PACKAGES:
            return import_module(f"siddhi.{name}")
        raise AttributeError(f"module 'siddhi' has no attribute '{name}'")


def __dir__() -> list[str]:
    """List the public names only, without submodules."""
    return sorted(__all__)


def run(app: str) -> SiddhiAppRuntime:
    """Create an app with a manager of its own and start it.

    Args:
        app: SiddhiQL text.

    Returns:
        The running app. Call ``shutdown()`` at the end, or use it in a ``with`` statement.

    Raises:
        SiddhiAppError: the app is invalid.
        TypeError: *app* is not a str. To run a file, pass ``Path("app.siddhi").read_text(encoding="utf-8")``.
    """
    from siddhi.runtime.manager import SiddhiManager

    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    runtime.start()
    return runtime


def get_include() -> str:
    """Return the folder of the C headers (``siddhi/event.h``, ``siddhi/arithmetic.h``) for extensions in C or Cython."""
    from pathlib import Path

    inside = Path(__file__).parent / "include"
    return str(inside if inside.is_dir() else Path(__file__).parents[2] / "include")


def load_ipython_extension(shell: object) -> None:
    """Register ``%%siddhi`` and ``%siddhi`` in a notebook: ``%load_ext siddhi``."""
    from siddhi.notebook import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """Stop the apps of a notebook's cells: ``%unload_ext siddhi``."""
    from siddhi.notebook import unload_ipython_extension as unload

    unload(shell)
