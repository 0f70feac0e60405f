"""Paths into JSON documents: dotted keys and indexes directly, the rest of JSONPath (RFC 9535) by a library."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.mappers.json_values import plain

__all__ = ["MISSING", "JsonPath"]

MISSING: Any = object()
"""The result of a path that a document does not have."""

_STEP = re.compile(r"""\.?([^\s.\[\]()*?,:'"@$]+)|\[(\d+)\]|\['([^'\\]*)'\]|\["([^"\\]*)"\]""")


class JsonPath:
    """A path such as ``$.stock.company.symbol``, ``prices[0]`` or ``$..price``; ``$.`` at the beginning can be left out.

    Args:
        text: the path.

    Attributes:
        keys: the keys and indexes of a path that selects one value; None for other paths.

    Raises:
        SiddhiAppCreationError: it is not a JSONPath, or needs the package python-jsonpath, which is not installed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.keys = _keys(text)
        self._find_all: Callable[[Any], Sequence[object]] | None = None
        if self.keys is None:
            self._find_all, self._several = _library(text)

    def find(self, document: object) -> Any:
        """Return the value in a document, or :data:`MISSING`; a path that can select several values returns a list."""
        if self._find_all is not None:
            found = self._find_all(plain(document))  # filters compare numbers
            if self._several:
                return found
            return found[0] if found else MISSING
        for key in self.keys or ():
            if isinstance(key, int):
                if not isinstance(document, list) or key >= len(document):
                    return MISSING
                document = document[key]
            elif not isinstance(document, dict) or key not in document:
                return MISSING
            else:
                document = document[key]
        return document


def _keys(text: str) -> tuple[str | int, ...] | None:
    text = text.strip()
    rest = text.removeprefix("$")
    keys: list[str | int] = []
    while rest:
        step = _STEP.match(rest)
        if step is None:
            return None
        name, index, single, double = step.groups()
        keys.append(int(index) if index is not None else next(key for key in (name, single, double) if key is not None))
        rest = rest[step.end() :]
    return tuple(keys)


def _library(text: str) -> tuple[Callable[[Any], Sequence[object]], bool]:
    try:
        from siddhi.io.mappers.json_path_library import finder
    except ImportError:
        raise SiddhiAppCreationError(
            f"path '{text}' needs the package python-jsonpath",
            code="E326",
            hint="pip install 'siddhi[json]', or use a path of keys and indexes such as $.a.b[0]",
        ) from None
    return finder(text if text.startswith("$") else f"$.{text}")
