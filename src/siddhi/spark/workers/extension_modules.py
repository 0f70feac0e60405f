"""The modules that workers have to import so that they know the extensions of an app."""

from __future__ import annotations

import importlib
import re

from siddhi.errors import SparkRunError, SparkSetupError
from siddhi.extension.registry import ENTRY_POINT_GROUPS, shared_registry

__all__ = ["import_modules", "modules_of"]

_CALLS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*(?:\s*:\s*[A-Za-z_][A-Za-z0-9_]*)?)\s*\(")


def modules_of(text: str) -> tuple[str, ...]:
    """Modules that define extensions a text calls; what comes with siddhi is everywhere.

    Raises:
        SparkSetupError: one is defined in the main program, which no worker can import.
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
                    "import: put it into a module of its own"
                )
            found.add(module)
    return tuple(sorted(found))


def import_modules(modules: tuple[str, ...]) -> None:
    """Import them.

    Raises:
        SparkRunError: one is not there.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise SparkRunError(
                f"a worker can't import module '{module}', which has extensions of the app ({error}): install it on all, or "
                "send it with spark.sparkContext.addPyFile(...)"
            ) from error
