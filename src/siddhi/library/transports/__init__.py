"""Metadata of the transports, one module each; their classes are those of :mod:`siddhi.io`."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata
from siddhi.library.transports import file, tcp

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (*file.CONNECTORS, *tcp.CONNECTORS)
