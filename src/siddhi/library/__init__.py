"""The built-ins, declared like extensions: metadata here, implementations in the compiled core."""

from __future__ import annotations

from collections.abc import Iterator

from siddhi.extension.metadata import ExtensionMetadata
from siddhi.library.aggregators import AGGREGATORS
from siddhi.library.connectors import CONNECTORS
from siddhi.library.functions import FUNCTIONS
from siddhi.library.incremental_aggregators import INCREMENTAL_AGGREGATORS
from siddhi.library.scripts import SCRIPT_LANGUAGES
from siddhi.library.stream_functions import STREAM_FUNCTIONS
from siddhi.library.windows import WINDOWS

__all__ = ["built_in"]


def built_in() -> Iterator[ExtensionMetadata]:
    """Yield the metadata of every built-in."""
    yield from FUNCTIONS
    yield from AGGREGATORS
    yield from INCREMENTAL_AGGREGATORS
    yield from STREAM_FUNCTIONS
    yield from WINDOWS
    yield from SCRIPT_LANGUAGES
    yield from CONNECTORS
