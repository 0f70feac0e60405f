"""Limits of keys against a Python oracle; a limit that is not reached has no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime
from tests.kit.running import collect, running

Row = tuple[int, str, int]

STREAM = "@app:playback @OnError(action = 'stream') define stream S (k string, v int);\n"
WINDOWS = [
    "",
    "#window.length(3)",
    "#window.time(6 milliseconds)",
    "#window.lengthBatch(3)",
    "#window.timeBatch(5 milliseconds)",
    "#window.sort(2, v)",
    "#window.delay(3 milliseconds)",
    "#window.batch()",
]
SELECTS = ["sum(v) as x", "count() as x", "maxForever(v) as x", "distinctCount(v) as x", "min(v) as x, max(v) as y"]
MORE = [
    "",
    " having x > 1",
    " output first every 2 events",
    " output last every 7 milliseconds",
    " output snapshot every 9 milliseconds",
]


@st.composite
def histories(draw: st.DrawFn, n_keys: int = 5) -> list[Row]:
    steps = draw(
        st.lists(
            st.tuples(st.integers(0, 4), st.sampled_from("abcdefgh"[:n_keys]), st.integers(0, 3)),
            min_size=1,
            max_size=40,
        )
    )
    time, rows = 1_000, []
    for step, key, value in steps:
        time += step
        rows.append((time, key, value))
    return rows


def query(limit: str, window: str, select: str, more: str = "", inserted: str = "") -> str:
    said = f"@limit({limit}) " if limit else ""
    text = f"{said}from S{window} select k, {select} group by k{more} insert {inserted} into Out;"
    return STREAM + text


def send(runtime: SiddhiAppRuntime, rows: list[Row]) -> None:
    handler = runtime.input_handler("S")
    for time, key, value in rows:
        handler.send((key, value), timestamp=time)


def outputs(text: str, rows: list[Row]) -> tuple[list[Any], list[Any]]:
    with running(text) as runtime:
        out, failed = collect(runtime, "Out"), collect(runtime, "!S")
        send(runtime, rows)
    return out, [row[:-1] for row in failed]


@given(
    rows=histories(),
    window=st.sampled_from(WINDOWS),
    select=st.sampled_from(SELECTS),
    more=st.sampled_from(MORE),
    inserted=st.sampled_from(["", "all events"]),
    on_full=st.sampled_from(["error", "drop_oldest", "log"]),
)
def test_a_limit_that_is_not_reached_has_no_effect(
    rows: list[Row], window: str, select: str, more: str, inserted: str, on_full: str
) -> None:
    assume(not ("delay" in window and "snapshot" in more))  # refused
    limited = query(f"keys = '100', on.full = '{on_full}'", window, select, more, inserted)
    assert outputs(limited, rows) == outputs(query("", window, select, more, inserted), rows)


class Oracle:
    """A dictionary in order of use. Sums of the rows of a sliding length window, or of all rows."""

    def __init__(self, keys: int | None, ttl: int | None, on_full: str, length: int | None) -> None:
        self.keys, self.ttl, self.on_full, self.length = keys, ttl, on_full, length
        self.window: list[tuple[str, int, bool]] = []
        self.rows: dict[str, list[int]] = {}
        self.used: dict[str, int] = {}

    def take(self, time: int, key: str, value: int) -> tuple[str, int] | None:
        """What comes out; None: the row is refused."""
        if self.ttl is not None:
            for other in [other for other, used in self.used.items() if used + self.ttl <= time]:
                del self.used[other], self.rows[other]
        if self.length is not None and len(self.window) == self.length:
            left, amount, taken = self.window.pop(0)
            if taken:
                self.rows[left].remove(amount)
        taken = self.has_room(key)
        if taken:
            self.rows.setdefault(key, []).append(value)
            self.used.pop(key, None)
            self.used[key] = time
        if self.length is not None:
            self.window.append((key, value, taken))
            self.rows = {key: rows for key, rows in self.rows.items() if rows}
        return (key, sum(self.rows[key])) if taken else None

    def has_room(self, key: str) -> bool:
        held = {other for other, rows in self.rows.items() if rows} if self.length is not None else set(self.rows)
        if key in held or self.keys is None or len(held) < self.keys:
            return True
        if self.on_full != "drop_oldest" or self.length is not None:
            return False
        oldest = next(iter(self.used))
        del self.used[oldest], self.rows[oldest]
        return True


@given(
    rows=histories(),
    keys=st.none() | st.integers(1, 4),
    ttl=st.none() | st.integers(1, 12),
    on_full=st.sampled_from(["error", "drop_oldest", "log"]),
    length=st.none() | st.integers(1, 6),
)
def test_keys_are_refused_dropped_and_expired_as_in_the_oracle(
    rows: list[Row], keys: int | None, ttl: int | None, on_full: str, length: int | None
) -> None:
    if length is not None:
        ttl = None
    limits = [] if keys is None else [f"keys = '{keys}', on.full = '{on_full}'"]
    limits += [] if ttl is None else [f"ttl = '{ttl} milliseconds'"]
    window = "" if length is None else f"#window.length({length})"
    oracle = Oracle(keys, ttl, on_full, length)
    expected = [oracle.take(*row) for row in rows]
    out, failed = outputs(query(", ".join(limits), window, "sum(v) as x"), rows)
    assert out == [row for row in expected if row is not None]
    refused = [row[1:] for row, answer in zip(rows, expected, strict=True) if answer is None]
    assert failed == ([] if on_full == "log" else refused)


def every_other_batch(rows: list[Row], size: int, keys: int, ttl: int | None) -> list[tuple[str, int]]:
    """Return the largest value per key and batch for every other batch of a key; a dropped key starts anew."""
    emitted: dict[str, bool] = {}
    in_window: dict[str, int] = {}
    idle: dict[str, int] = {}
    out: list[tuple[str, int]] = []
    for start in range(0, len(rows), size):
        now = rows[start + size - 1][0]
        for key in [key for key, left in idle.items() if ttl is not None and left + ttl <= now]:
            del idle[key], emitted[key]
        idle |= {key: now for key in in_window if emitted[key]}  # the others have no state any more
        in_window, emitting = {}, {}
        for _, key, value in rows[start : start + size]:
            if key not in in_window and key not in idle and len(in_window) + len(idle) == keys:
                if not idle:
                    continue
                oldest = next(iter(idle))
                del idle[oldest], emitted[oldest]
            idle.pop(key, None)
            in_window[key] = emitting[key] = max(value, in_window.pop(key, value))
        for key in emitting:
            emitted[key] = not emitted.get(key, False)
        out += [(key, value) for key, value in emitting.items() if emitted[key]]
    return out


@given(
    rows=histories(),
    keys=st.integers(1, 4),
    ttl=st.none() | st.integers(1, 12),
    size=st.integers(1, 6),
    cut=st.none() | st.integers(0, 40),
)
@example([(n, key, 9 - n) for n, key in enumerate("ccadcd")], 2, None, 2, 4)
@example([(n, key, 9 - n) for n, key in enumerate("ccadcd")], 2, None, 2, None)
def test_keys_of_a_batch_are_dropped_in_the_order_of_their_last_use(
    rows: list[Row], keys: int, ttl: int | None, size: int, cut: int | None
) -> None:
    rows = rows[: len(rows) // size * size]
    limit = f"keys = '{keys}', on.full = 'drop_oldest'" + (f", ttl = '{ttl} milliseconds'" if ttl else "")
    text = query(limit, f"#window.lengthBatch({size})", "max(v) as x", " output first every 2 events")
    cut = len(rows) if cut is None else cut
    with running(text) as runtime:
        out = collect(runtime, "Out")
        send(runtime, rows[:cut])
        state = runtime.snapshot()
    with running(text) as runtime:
        runtime.restore(state)
        later = collect(runtime, "Out")
        send(runtime, rows[cut:])
    assert out + later == every_other_batch(rows, size, keys, ttl)


@given(
    rows=histories(4),
    keys=st.integers(1, 3),
    on_full=st.sampled_from(["error", "drop_oldest", "log"]),
    ttl=st.none() | st.integers(1, 12),
    window=st.sampled_from(["", "length(2)", "lengthBatch(2)", "batch()", "timeBatch(5 milliseconds)", "sort(2, v)"]),
    select=st.sampled_from(SELECTS),
    more=st.sampled_from(MORE),
    cut=st.integers(0, 40),
)
@example([(n, key, 1) for n, key in enumerate("dbcba")], 2, "error", None, "batch()", SELECTS[2], MORE[2], 3)
def test_a_restore_does_not_change_which_keys_are_dropped(
    rows: list[Row], keys: int, on_full: str, ttl: int | None, window: str, select: str, more: str, cut: int
) -> None:
    assume(ttl is None or (not window and "snapshot" not in more) or "Forever" in select or "first" in more)
    limit = f"keys = '{keys}', on.full = '{on_full}'" + (f", ttl = '{ttl} milliseconds'" if ttl else "")
    text = query(limit, f"#window.{window}" if window else "", select, more)
    with running(text) as runtime:
        out, failed = collect(runtime, "Out"), collect(runtime, "!S")
        send(runtime, rows[:cut])
        state = runtime.snapshot()
    with running(text) as runtime:
        runtime.restore(state)
        later, later_failed = collect(runtime, "Out"), collect(runtime, "!S")
        send(runtime, rows[cut:])
    assert (out + later, [row[:-1] for row in failed + later_failed]) == outputs(text, rows)


def in_chunks(rows: list[Row], size: int) -> list[list[Row]]:
    """Rows in chunks of one time each."""
    chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [[(chunk[-1][0], key, value) for _, key, value in chunk] for chunk in chunks]


@given(
    rows=histories(),
    keys=st.none() | st.integers(1, 4),
    ttl=st.none() | st.integers(1, 12),
    on_full=st.sampled_from(["error", "drop_oldest", "log"]),
    length=st.none() | st.integers(1, 6),
    size=st.integers(1, 6),
    batched=st.booleans(),
)
@example([(1, "a", 1), (2, "b", 2), (3, "c", 4), (4, "c", 8)], 2, None, "log", 2, 4, False)
@example([(n, "abcdefgh"[n], 1) for n in range(8)], 2, None, "drop_oldest", None, 4, True)
@example([(1, "a", 1), (2, "b", 2), (3, "a", 4)], 1, None, "drop_oldest", None, 3, False)
def test_rows_of_a_chunk_are_limited_in_their_order(
    rows: list[Row], keys: int | None, ttl: int | None, on_full: str, length: int | None, size: int, batched: bool
) -> None:
    """Sent as chunks, or put together by a batch window in front; a chunk emits the last row of each key."""
    if length is not None:
        ttl = None
    limits = [] if keys is None else [f"keys = '{keys}', on.full = '{on_full}'"]
    limits += [] if ttl is None else [f"ttl = '{ttl} milliseconds'"]
    window = "" if length is None else f"#window.length({length})"
    text = query(", ".join(limits), window, "sum(v) as x")
    if batched:
        before = f"define stream R (k string, v int); from R#window.lengthBatch({size}) select k, v insert into S;"
        text = text.replace(STREAM, STREAM + before)
    chunks = in_chunks(rows[: len(rows) // size * size] if batched else rows, size)
    oracle = Oracle(keys, ttl, on_full, length)
    expected: list[tuple[str, int]] = []
    refused: list[tuple[str, int]] = []
    for chunk in chunks:
        last: dict[str, tuple[str, int]] = {}
        for row in chunk:
            answer = oracle.take(*row)
            if answer is None:
                refused.append(row[1:])
            else:
                last[answer[0]] = answer
        expected += last.values()
    with running(text) as runtime:
        out, failed = collect(runtime, "Out"), collect(runtime, "!S")
        handler = runtime.input_handler("R" if batched else "S")
        for chunk in chunks:
            if batched:
                for time, key, value in chunk:
                    handler.send((key, value), timestamp=time)
            else:
                handler.send_events([Event(time, (key, value)) for time, key, value in chunk])
    assert out == expected
    assert [row[:-1] for row in failed] == ([] if on_full == "log" else refused)


@given(
    rows=histories(),
    limit=st.integers(1, 3),
    more=st.sampled_from(
        [*MORE, " output last every 2 events", " output all every 3 events", " order by x", " limit 1"]
    ),
    select=st.sampled_from(SELECTS),
    size=st.integers(1, 6),
)
def test_dropping_the_oldest_key_refuses_no_row_of_a_chunk(
    rows: list[Row], limit: int, more: str, select: str, size: int
) -> None:
    with running(query(f"keys = '{limit}', on.full = 'drop_oldest'", "", select, more)) as runtime:
        failed = collect(runtime, "!S")
        for chunk in in_chunks(rows, size):
            runtime.input_handler("S").send_events([Event(time, (key, value)) for time, key, value in chunk])
            runtime.enable_statistics()
            assert all(each.held <= limit for each in runtime.statistics.state.values())
        state = runtime.snapshot()
        runtime.restore(state)
        assert runtime.snapshot() == state
    assert failed == []


# Every window that gives its rows back as it got them; batch(n) clears its aggregates between the pieces of a chunk.
ALL_WINDOWS = [
    "length(3)",
    "time(6 milliseconds)",
    "timeLength(5 milliseconds, 3)",
    "externalTime(at, 5 milliseconds)",
    "sort(2, v)",
    "session(3 milliseconds)",
    "session(3 milliseconds, k)",
    "expression('count() <= 3')",
    "frequent(2, k)",
    "delay(3 milliseconds)",
    "batch()",
    "cron('* * * * * ?')",
    "lengthBatch(3)",
    "lengthBatch(3, true)",
    "timeBatch(5 milliseconds)",
    "timeBatch(5 milliseconds, 0)",
    "timeBatch(5 milliseconds, 0, true)",
    "externalTimeBatch(at, 5 milliseconds)",
    "externalTimeBatch(at, 5 milliseconds, 0, 7 milliseconds)",
]
OVER_ALL = "define stream S (id int, k string, v int, at long);\n"
Moved = tuple[str, int]
"""What a window gave: "+" or "-", and the id of the row."""


def sent_over(text: str, rows: list[Row], chunk: int, watch: Callable[[SiddhiAppRuntime], None]) -> None:
    """Rows a tenth of a second apart where seconds count, in chunks of so many."""
    pace = 100 if "cron" in text else 1
    with running("@app:playback @OnError(action = 'stream') " + OVER_ALL + text) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: None)
        watch(runtime)
        events = [Event(pace * time, (n, key, value, time)) for n, (time, key, value) in enumerate(rows)]
        for start in range(0, len(events), chunk):
            runtime.input_handler("S").send_events(events[start : start + chunk])
        runtime.advance_clock(pace * (rows[-1][0] + 30))


def moves(window: str, rows: list[Row], chunk: int) -> list[list[Moved]]:
    """What a window gives, chunk by chunk in order: ids from the stream, whether they leave from the query."""
    chunks: list[list[Moved]] = []
    waiting: list[tuple[list[int], list[int]]] = []
    inside: set[int] = set()

    def note(time: int, current: list[Event] | None, expired: list[Event] | None) -> None:
        waiting.append(([event.data[0] for event in current or ()], [event.data[0] for event in expired or ()]))

    def put(events: list[Event]) -> None:
        came, left = waiting.pop()
        found: list[Moved] = []
        for event in events:
            id_ = event.data[0]
            leaves = id_ in left and (id_ not in came or id_ in inside)
            (inside.discard if leaves else inside.add)(id_)
            found.append(("-" if leaves else "+", id_))
        chunks.append(found)

    def watch(runtime: SiddhiAppRuntime) -> None:
        runtime.add_query_callback("q", note)
        runtime.add_callback("Seen", put)

    sent_over(f"@info(name = 'q') from S#window.{window} select id insert all events into Seen;", rows, chunk, watch)
    return chunks


@given(
    rows=histories(),
    window=st.sampled_from(ALL_WINDOWS),
    limit=st.sampled_from(["keys = '1'", "keys = '2'", "values = '1'", "values = '2'"]),
    on_full=st.sampled_from(["error", "log"]),
    wanted=st.sampled_from(["", "all events", "expired events"]),
    chunk=st.sampled_from([1, 1, 4]),
)
@example(
    [(1001, "a", 1), (1002, "a", 2), (1005, "a", 3), (1010, "a", 3)],
    "timeBatch(5 milliseconds)",
    "values = '1'",
    "log",
    "expired events",
    1,
)
@example([(n, k, n) for n, k in enumerate("aabba")], "lengthBatch(2, true)", "keys = '1'", "error", "expired events", 1)
def test_output_of_any_window_is_limited_as_in_the_oracle(
    rows: list[Row], window: str, limit: str, on_full: str, wanted: str, chunk: int
) -> None:
    most, by_key = int(limit[-2]), limit.startswith("keys")
    held: dict[str, dict[int, int]] = {}
    refused: set[int] = set()
    ever_refused: set[int] = set()
    possible: set[tuple[Any, ...]] = set()
    certain: set[tuple[Any, ...]] = set()  # the last row of a key in a chunk; the others may be left out
    for given_chunk in moves(window, rows, chunk):
        last: dict[str, tuple[Any, ...]] = {}
        for sign, id_ in given_chunk:
            key, value = rows[id_][1], rows[id_][2]
            mine = held.setdefault(key, {})
            if sign == "-" and id_ in refused:
                continue
            if sign == "+":
                refused.discard(id_)
                others = {other for other, kept in held.items() if kept} - {key}
                if len(others) >= most if by_key else len({*mine.values(), value}) > most:
                    refused.add(id_)
                    ever_refused.add(id_)
                    continue
                mine[id_] = value
            else:
                del mine[id_]
            if wanted == "all events" or (wanted == "") == (sign == "+"):
                last[key] = (id_, key, sum(mine.values()), len(mine), len(set(mine.values())))
                possible.add(last[key])
        certain |= set(last.values())
    out: list[tuple[Any, ...]] = []
    failed: set[int] = set()

    def watch(runtime: SiddhiAppRuntime) -> None:
        runtime.add_callback("Out", lambda events: out.extend(event.data for event in events))
        runtime.add_callback("!S", lambda events: failed.update(event.data[0] for event in events))

    aggregates = "sum(v) as total, count() as n, distinctCount(v) as values"
    sent_over(
        f"@limit({limit}, on.full = '{on_full}') from S#window.{window} select id, k, {aggregates} group by k "
        f"insert {wanted} into Out;",
        rows,
        chunk,
        watch,
    )
    seen = {(id_, key, total or 0, n, values) for id_, key, total, n, values in out}
    assert seen <= possible
    assert certain <= seen
    assert failed <= ever_refused


def limits() -> st.SearchStrategy[str]:
    return st.builds(
        lambda keys, ttl, on_full: f"keys = '{keys}', on.full = '{on_full}'{ttl}",
        st.integers(1, 4),
        st.sampled_from(["", ", ttl = '5 milliseconds'"]),
        st.sampled_from(["error", "drop_oldest", "log"]),
    )


def apps(limit: str) -> Iterator[str]:
    """The limit over windows that may have it: a ttl does nothing where a window ends the keys."""
    for window in ("", "#window.delay(3 milliseconds)"):
        for more in MORE:
            if not (window and "snapshot" in more):  # refused: a row that was delayed stays in the picture for good
                yield query(limit, window, "sum(v) as x", more)
    for window in (
        "#window.length(3)",
        "#window.lengthBatch(2)",
        "#window.lengthBatch(2, true)",
        "#window.timeBatch(5)",
    ):
        for inserted in ("", "all events"):
            yield query(limit, window, "maxForever(v) as x, count() as y", inserted=inserted)


@given(data=st.data(), limit=limits(), rows=histories())
def test_a_restored_app_continues(data: st.DataObject, limit: str, rows: list[Row]) -> None:
    text = data.draw(st.sampled_from(list(apps(limit))))
    cut = data.draw(st.integers(0, len(rows)))
    with running(text) as whole:
        expected, failed = collect(whole, "Out"), collect(whole, "!S")
        send(whole, rows)
    with running(text) as first, running(text) as second:
        out, refused = collect(first, "Out"), collect(first, "!S")
        send(first, rows[:cut])
        second.add_callback("Out", lambda events: out.extend(event.data for event in events))
        second.add_callback("!S", lambda events: refused.extend(event.data for event in events))
        second.restore(first.snapshot())
        send(second, rows[cut:])
    assert out == expected
    assert [row[:-1] for row in refused] == [row[:-1] for row in failed]


@given(data=st.data(), limit=limits(), rows=histories())
def test_a_batch_is_limited_like_its_single_rows(data: st.DataObject, limit: str, rows: list[Row]) -> None:
    text = data.draw(st.sampled_from(list(apps(limit))))
    with running(text) as by_batch:
        out, failed = collect(by_batch, "Out"), collect(by_batch, "!S")
        columns = {
            "ts": [row[0] for row in rows],
            "k": [row[1] for row in rows],
            "v": [row[2] for row in rows],
        }
        by_batch.input_handler("S").send_batch(columns, timestamp="ts")
    expected, refused = outputs(text, rows)
    assert out == expected
    assert [row[:-1] for row in failed] == refused
