"""The modules that workers import to register the extensions of an app."""

from __future__ import annotations

import importlib
import re

from siddhi.errors import SparkRunError, SparkSetupError
from siddhi.extension.registry import ENTRY_POINT_GROUPS, shared_registry

__all__ = ["import_modules", "modules_of"]

_CALLS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*(?:\s*:\s*[A-Za-z_][A-Za-z0-9_]*)?)\s*\(")


def modules_of(text: str) -> tuple[str, ...]:
    """Return the modules with the extensions that a text calls, except those of siddhi.

    Raises:
        SparkSetupError: an extension is defined in the main program, which workers can't import.
    """
    called = {re.sub(r"\s", "", name) for name in _CALLS.findall(text)}
    found = set()
    for kind in ENTRY_POINT_GROUPS:
        for metadata in shared_registry().all(kind):
            module = getattr(metadata.implementation, "__module__", None)
            if module is None or module.split(".")[0] == "siddhi" or metadata.full_name not in called:
                continue
            if module == "__main__":
                raise SparkSetupError(
                    f"{metadata.title} '{metadata.full_name}' is defined in the main program, which Spark's workers can't "
                    "import: move it into a module"
                )
            found.add(module)
    return tuple(sorted(found))


def import_modules(modules: tuple[str, ...]) -> None:
    """Import modules.

    Raises:
        SparkRunError: one can't be imported.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise SparkRunError(
                f"a worker can't import module '{module}' with extensions of the app ({error}): install it on all workers, or "
                "send it with spark.sparkContext.addPyFile(...)"
            ) from error
