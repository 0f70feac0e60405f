"""siddhi: streaming SQL and complex event processing in your own process.

from siddhi import SiddhiManager

runtime = SiddhiManager().create_siddhi_app_runtime(app_text)
runtime.add_callback("Alerts", print)
with runtime:
    runtime.input_handler("Trades").send(("IBM", 700.0, 100))
"""

from __future__ import annotations

from pathlib import Path

from siddhi._core.columnar.batch import EventBatch
from siddhi._core.record.user_event import Event
from siddhi._core.stream.input import InputHandler
from siddhi._version import __version__
from siddhi.errors import SiddhiError
from siddhi.runtime.app import SiddhiAppRuntime
from siddhi.runtime.manager import SiddhiManager
from siddhi.sandbox import SandboxPolicy
from siddhi.types import AttributeType

__all__ = [
    "AttributeType",
    "Event",
    "EventBatch",
    "InputHandler",
    "SandboxPolicy",
    "SiddhiAppRuntime",
    "SiddhiError",
    "SiddhiManager",
    "__version__",
    "get_include",
    "run",
]


def __dir__() -> list[str]:
    """The public names alone; submodules are found by their import."""
    return sorted(__all__)


def run(app: str) -> SiddhiAppRuntime:
    """Create an app with a manager of its own and start it.

    Args:
        app: SiddhiQL text.

    Returns:
        The running app; ``shutdown()`` it, or use it in a ``with`` statement.

    Raises:
        SiddhiAppError: the app was refused.
        TypeError: it is not a text; the text of a file is ``Path("app.siddhi").read_text(encoding="utf-8")``.
    """
    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    runtime.start()
    return runtime


def get_include() -> str:
    """Folder of the C headers (``siddhi/event.h``, ``siddhi/arithmetic.h``) for extensions written in C or Cython."""
    inside = Path(__file__).parent / "include"
    return str(inside if inside.is_dir() else Path(__file__).parents[2] / "include")
