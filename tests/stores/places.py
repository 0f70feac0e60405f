"""Where the tables of the common cases stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Place:
    """``store``: the annotation of a table; ``ordered``: rows come in the order of their insertion."""

    store: str


@contextmanager
def memory(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield Place("")


@contextmanager
def shelf(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield Place("@store(type = 'shelf')")


PLACES: dict[str, Callable[[pytest.FixtureRequest], AbstractContextManager[Place]]] = {
    "memory": memory,
    "shelf": shelf,
}
