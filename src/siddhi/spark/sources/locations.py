"""Compare the locations of files and folders: outputs must lie apart from inputs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

__all__ = ["relation"]

_REMOTE = re.compile(r"([A-Za-z][\w+.-]+):(?://([^/]*))?(.*)", re.DOTALL)
_ALIKE = {"s3a": "s3", "s3n": "s3"}
_BRACES = re.compile(r"\{([^{}]*)\}")


def relation(folder: str, other: str) -> str | None:
    """Return the relation of a folder to another location.

    Local links are followed. A location without scheme is local.

    Args:
        folder: a path or URI.
        other: a path or URI, or a pattern (``*``, ``?``, ``[...]``, ``{a,b}``), as Spark reads it.

    Returns:
        ``is``, ``lies within`` or ``contains``; None: they lie apart.
    """
    one = _parts(folder)
    for each in (other, *_expanded(other)):
        two = _parts(each)
        if all(a == b or fnmatchcase(a, b.replace("[^", "[!")) for a, b in zip(one, two, strict=False)):
            if len(one) == len(two):
                return "is"
            return "lies within" if len(one) > len(two) else "contains"
    return None


def _parts(location: str) -> tuple[str, ...]:
    found = _REMOTE.fullmatch(location)
    if found is None or found[1].lower() == "file":
        return Path(os.path.realpath(location if found is None else found[3])).parts
    scheme = found[1].lower()
    names = [name for name in found[3].split("/") if name not in ("", ".")]
    return (f"{_ALIKE.get(scheme, scheme)}://{found[2] or ''}", *names)


def _expanded(pattern: str) -> Iterator[str]:
    """Yield the patterns that a pattern with braces stands for."""
    found = _BRACES.search(pattern)
    if found is None:
        yield pattern
        return
    for each in found[1].split(","):
        yield from _expanded(f"{pattern[: found.start()]}{each}{pattern[found.end() :]}")
