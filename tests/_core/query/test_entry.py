"""The entry of a query: filters on the stream's record, then a copy of the cells that are read later."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from tests.kit.running import collect, running

STREAM = "define stream S (t string, i int, b bool);"
ROWS = st.lists(
    st.tuples(st.sampled_from(["A", "B", None]), st.none() | st.integers(-3, 6), st.none() | st.booleans()), max_size=20
)


def passes(row: tuple[Any, ...]) -> bool:
    t, i, b = row
    return i is not None and i > 1 and (b is True or t == "A")


@given(ROWS)
def test_filters_pass_the_same_events_in_every_form_of_sending(rows: list[tuple[Any, ...]]) -> None:
    expected = [row for row in rows if passes(row)]
    for query in ("from S[i > 1][b or t == 'A'] select t, i, b", "from S[i > 1 and (b or t == 'A')] select *"):
        with running(f"{STREAM} {query} insert into Out;") as runtime:
            got = collect(runtime, "Out")
            handler = runtime.input_handler("S")
            for row in rows:
                handler.send(row)
            if rows:
                handler.send_events([Event(1, row) for row in rows])
                handler.send_batch({name: [row[place] for row in rows] for place, name in enumerate("tib")})
        assert got == expected * 3


def test_a_failed_filter_fails_only_its_event() -> None:
    calls: list[object] = []
    app = f"{STREAM} define function odd[python] return bool {{ return 1 // data[0] > 0 }}; from S[odd(i)] select i"
    with running(f"{app} insert into Out;") as runtime:
        runtime.handle_exception_with(
            lambda error, origin, events: calls.append((origin, [event.data for event in events]))
        )
        got = collect(runtime, "Out")
        for i in (1, 0, 1):
            runtime.input_handler("S").send(("A", i, None))
        runtime.input_handler("S").send_batch({"t": ["A"] * 3, "i": [1, 0, 1], "b": [None] * 3})
    assert got == [(1,)] * 4
    # Of a batch only what somebody reads is taken in; the handler sees the rest, too.
    assert calls == [("S", [("A", 0, None)])] * 2


def test_a_window_keeps_only_attributes_that_are_read() -> None:
    """Objects that no later step reads are released at once."""
    import gc
    import weakref

    class Thing:
        pass

    app = "define stream S (v int, o object); from S#window.length(10) select v, max(v) as m insert into Out;"
    with running(app) as runtime:
        thing = Thing()
        gone = weakref.ref(thing)
        runtime.input_handler("S").send((1, thing))
        del thing
        gc.collect()
        assert gone() is None
