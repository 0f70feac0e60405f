"""Events named by index inside a condition over a table."""

from __future__ import annotations

import pytest

from tests.kit.running import collect, running


@pytest.mark.parametrize("key", ["@primaryKey('k')", "@index('k')", ""])
@pytest.mark.parametrize(("index", "known"), [("0", True), ("1", False), ("last", False)])
def test_a_lookup_reads_the_indexed_event(key: str, index: str, known: bool) -> None:
    text = f"""
        define stream S (k int); define stream Fill (k int); {key} define table T (k int, v int);
        from Fill select k, 0 as v insert into T;
        from e1 = S<2:2> -> e2 = S select e2.k as k, (T.k == e1[{index}].k) in T as x insert into O;
        """
    with running(text) as runtime:
        rows = collect(runtime, "O")
        runtime.input_handler("Fill").send((1,))
        for k in (1, 2, 3):
            runtime.input_handler("S").send((k,))
    assert rows == [(3, known)]
