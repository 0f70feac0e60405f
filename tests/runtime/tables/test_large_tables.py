"""Tables large enough for look-ups to prefetch memory."""

from __future__ import annotations

import pytest

from siddhi import SiddhiManager

SIZE = 20_000


@pytest.mark.parametrize(("type_", "key"), [("string", "k{}".format), ("long", lambda i: i * 7), ("int", lambda i: -i)])
def test_a_batch_finds_the_rows_that_single_events_find(type_, key):
    app = f"""
    define stream Fill (k {type_}, v long);
    define stream S (k {type_}, n long);
    define stream D (k {type_});
    @primaryKey('k') define table T (k {type_}, v long);
    from Fill insert into T;
    from D delete T on T.k == k;
    from S left outer join T on T.k == S.k select S.n as n, T.v as v insert into Out;
    """
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        out: list[tuple] = []
        runtime.add_callback("Out", lambda events: out.extend(event.data for event in events))
        held = {key(i): i for i in range(SIZE)}
        runtime.input_handler("Fill").send_batch({"k": list(held), "v": list(held.values())})
        for i in range(0, SIZE, 3):
            runtime.input_handler("D").send((key(i),))
            del held[key(i)]
        asked = [key(i * 13 % (2 * SIZE)) if i % 11 else None for i in range(1000)]
        runtime.input_handler("S").send_batch({"k": asked, "n": list(range(1000))})
        assert out == [(n, held.get(k)) for n, k in enumerate(asked)]


def test_a_table_can_grow_and_shrink():
    app = "define stream Fill (k long, v long); @primaryKey('k') define table T (k long, v long); from Fill insert into T;"
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        fill = runtime.input_handler("Fill")
        size = 600_000
        fill.send_batch({"k": list(range(size)), "v": list(range(size))})
        assert runtime.query("from T select count() as n")[0].data == (size,)
        assert [event.data for event in runtime.query(f"from T on k == {size - 1}L select v")] == [(size - 1,)]
        runtime.query("delete T on T.v > 5L")
        assert [event.data for event in runtime.query("from T select v")] == [(i,) for i in range(6)]
