"""The modules of PySiddhi: one per class, named after it."""

from __future__ import annotations

import logging
from types import ModuleType

from siddhi.compat.pysiddhi import values
from siddhi.compat.pysiddhi.debugger import SiddhiDebugger, SiddhiDebuggerCallback
from siddhi.compat.pysiddhi.events import ComplexEvent, Event, print_event
from siddhi.compat.pysiddhi.runtime import InputHandler, QueryCallback, SiddhiAppRuntime, SiddhiManager, StreamCallback

_LOGGER = logging.getLogger(__name__)


def _add_extension_path(path: str | None = None) -> None:
    """Warn: extensions in Java can't run here. Python extensions are registered with ``setExtension()``."""
    _LOGGER.warning(
        "extensions in Java are not loaded%s: declare them with siddhi.extension",
        "" if path is None else f" from {path}",
    )


def _load_library() -> None:
    """Load nothing: the engine is part of this package."""


_CONTENTS: dict[str, dict[str, object]] = {
    "SiddhiLoader": {"addExtensionPath": _add_extension_path, "loadLibrary": _load_library},
    "DataTypes.DataWrapper": {
        "DoubleType": values.DoubleType,
        "LongType": values.LongType,
        **{f"{way}Data{kind}": values.copied for way in ("wrap", "unwrap") for kind in ("", "Item", "List")},
        "unwrapHashMap": values.copied_mapping,
    },
    "DataTypes.LongType": {"LongType": values.LongType},
    "DataTypes.DoubleType": {"DoubleType": values.DoubleType},
    "core.SiddhiManager": {"SiddhiManager": SiddhiManager},
    "core.SiddhiAppRuntime": {"SiddhiAppRuntime": SiddhiAppRuntime},
    "core.debugger.SiddhiDebugger": {"SiddhiDebugger": SiddhiDebugger},
    "core.debugger.SiddhiDebuggerCallback": {"SiddhiDebuggerCallback": SiddhiDebuggerCallback},
    "core.event.ComplexEvent": {"ComplexEvent": ComplexEvent},
    "core.event.Event": {"Event": Event},
    "core.query.output.callback.QueryCallback": {"QueryCallback": QueryCallback},
    "core.stream.input.InputHandler": {"InputHandler": InputHandler},
    "core.stream.output.StreamCallback": {"StreamCallback": StreamCallback},
    "core.util.EventPrinter": {"PrintEvent": print_event},
}


def build(package: str) -> dict[str, ModuleType]:
    """Return the modules and the packages around them by path below ``package``; each is an attribute of the one above."""
    built: dict[str, ModuleType] = {}
    for path, contents in _CONTENTS.items():
        parts = path.split(".")
        for length in range(1, len(parts) + 1):
            name = ".".join(parts[:length])
            if name in built:
                continue
            module = built[name] = ModuleType(f"{package}.{name}")
            if length < len(parts):
                module.__path__ = []  # a package: more is imported from it
            if length > 1:
                setattr(built[".".join(parts[: length - 1])], parts[length - 1], module)
        vars(built[path]).update(contents)
    return built
