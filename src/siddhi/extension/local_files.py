"""Paths of local files in options."""

from __future__ import annotations

import re

__all__ = ["local_path"]

_FILE = re.compile(r"file:(?://(?=/))?", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def local_path(location: str) -> str | None:
    """Return the path of a location: a path, or a URI such as ``file:///data/a.csv``; None: it is not a local file."""
    found = _FILE.match(location)
    path = location if found is None else location[found.end() :]
    return None if not path or "\0" in path or _SCHEME.match(path) or path.startswith("//") else path
