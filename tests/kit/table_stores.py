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
class TableStore:
    """A store by the annotation of its tables; none for tables in memory."""

    annotation: str


@contextmanager
def memory(request: pytest.FixtureRequest) -> Iterator[TableStore]:
    yield TableStore("")


@contextmanager
def shelf(request: pytest.FixtureRequest) -> Iterator[TableStore]:
    yield TableStore("@store(type = 'shelf')")


@contextmanager
def sqlite(request: pytest.FixtureRequest) -> Iterator[TableStore]:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    folder = request.getfixturevalue("tmp_path")
    yield TableStore(f"@store(type = 'rdbms', url = 'sqlite:///{folder.as_posix()}/tables.db')")


@contextmanager
def sqlite_in_memory(request: pytest.FixtureRequest) -> Iterator[TableStore]:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    yield TableStore("@store(type = 'rdbms', url = 'sqlite://')")


@contextmanager
def postgresql(request: pytest.FixtureRequest) -> Iterator[TableStore]:
    url = postgres.url()
    yield TableStore(f"@store(type = 'rdbms', url = '{url}', table.name = 'table {next(_numbers)}')")


@contextmanager
def cached(request: pytest.FixtureRequest) -> Iterator[TableStore]:
    yield TableStore("@store(type = 'shelf', @cache(size = '2'))")


@contextmanager
def cached_whole(request: pytest.FixtureRequest) -> Iterator[TableStore]:
    with sqlite(request) as table_store:
        yield TableStore(table_store.annotation[:-1] + ", @cache(size = '100'))")


STORES: dict[str, Callable[[pytest.FixtureRequest], AbstractContextManager[TableStore]]] = {
    "memory": memory,
    "shelf": shelf,
    "cached": cached,
    "cached whole": cached_whole,
    "sqlite": sqlite,
    "sqlite in memory": sqlite_in_memory,
    "postgresql": postgresql,
}
