"""The stores of the tables in the common test cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count

import pytest

from tests.kit import postgres

_numbers = count(1)


@dataclass(frozen=True)
class Place:
    """``store``: the annotation of a table; ``ordered``: rows are found in the order of their insertion."""

    store: str


@contextmanager
def memory(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield Place("")


@contextmanager
def shelf(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield Place("@store(type = 'shelf')")


@contextmanager
def sqlite(request: pytest.FixtureRequest) -> Iterator[Place]:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    folder = request.getfixturevalue("tmp_path")
    yield Place(f"@store(type = 'rdbms', url = 'sqlite:///{folder.as_posix()}/tables.db')")


@contextmanager
def sqlite_in_memory(request: pytest.FixtureRequest) -> Iterator[Place]:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    yield Place("@store(type = 'rdbms', url = 'sqlite://')")


@contextmanager
def postgresql(request: pytest.FixtureRequest) -> Iterator[Place]:
    url = postgres.url()
    yield Place(f"@store(type = 'rdbms', url = '{url}', table.name = 'table {next(_numbers)}')")


@contextmanager
def cached(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield Place("@store(type = 'shelf', @cache(size = '2'))")


@contextmanager
def cached_whole(request: pytest.FixtureRequest) -> Iterator[Place]:
    with sqlite(request) as place:
        yield Place(place.store[:-1] + ", @cache(size = '100'))")


PLACES: dict[str, Callable[[pytest.FixtureRequest], AbstractContextManager[Place]]] = {
    "memory": memory,
    "shelf": shelf,
    "cached": cached,
    "cached whole": cached_whole,
    "sqlite": sqlite,
    "sqlite in memory": sqlite_in_memory,
    "postgresql": postgresql,
}
