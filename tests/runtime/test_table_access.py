"""Which way a condition over a table goes: primary key, index, range, union, or a look at every row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from siddhi import SiddhiManager
from siddhi.runtime.assembly.app import Assembly

APP = """
    @primaryKey('k') @index('s') @index('v') @index('d')
    define table T (k int, s string, v int, d double, l long, x int);
    @primaryKey('a', 'b') define table C (a string, b int, x int);
    define table N (x int);
    define stream I (k int);
    from I select k insert into O;
    """


@pytest.fixture(scope="module")
def assembly() -> Iterator[Assembly]:
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(APP) as runtime:
        yield runtime._assembly


@pytest.mark.parametrize(
    ("query", "access"),
    [
        ("from T on k == 1", "primary key"),
        ("from T on 1 == k and x > 3", "primary key"),
        ("from T on k == 1 and s == 'a'", "primary key"),
        ("from T on k == 1L", "primary key"),
        ("from T on k == 1.0", "primary key"),
        ("from T on k == 1.0f", "scan"),
        ("from C on a == 'x' and b == 2", "primary key"),
        ("from C on 2 == b and x == 1 and 'x' == a", "primary key"),
        ("from C on a == 'x'", "scan"),
        ("from C on a == 'x' and b > 2", "scan"),
        ("from T on s == 'a'", "index s"),
        ("from T on s == 'a' and x == 2", "index s"),
        ("from T on s == 'a' and v > 2", "index s"),
        ("from T on s == 'a' and v == 2", "smallest of index s, index v"),
        ("from T on d == 2", "index d"),
        ("from T on v > 2", "range of v"),
        ("from T on 2 > v and v >= 0 and d > 1.0", "range of v"),
        ("from T on k < 3", "range of k"),
        ("from T on v > 2.5", "range of v"),
        ("from T on s == 'a' or v == 2", "index s or index v"),
        ("from T on s == 'a' or v > 2 or k == 1", "index s or range of v or primary key"),
        ("from T on (s == 'a' and x > 1) or k == 1", "index s or primary key"),
        ("from T on s == 'a' or x == 2", "scan"),
        ("from T on (s == 'a' or x == 2) and d < 1.0", "range of d"),
        ("from T on s != 'a'", "scan"),
        ("from T on not (s == 'a')", "scan"),
        ("from T on v == x", "scan"),
        ("from T on v + 1 == 2", "scan"),
        ("from T on l == 1", "scan"),
        ("from N on x == 1", "scan"),
        ("from T", "scan"),
    ],
)
def test_access(assembly: Assembly, query: str, access: str) -> None:
    search = assembly.on_demand(query).source.search
    assert ("scan" if search.access is None else repr(search.access)) == access
