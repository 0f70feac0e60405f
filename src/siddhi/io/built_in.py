"""The classes of connectors, loaded at their first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from siddhi.extension.connectors import ConnectorMetadata

__all__ = ["class_of"]


def class_of(metadata: ConnectorMetadata) -> Any:
    """Return the class of an extension: the user's, or the built-in one."""
    if metadata.location is None:
        return metadata.implementation
    module, _, name = metadata.location.rpartition(".")
    return getattr(import_module(f"siddhi.io.{module}"), name)
