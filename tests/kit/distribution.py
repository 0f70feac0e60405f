"""The table of distribution: apps that can be distributed, with their keys, and others, with the reason."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from siddhi import Event, extension
from siddhi.types import AttributeType

__all__ = ["COUPLED", "SEPARATED", "SINGLE", "STREAMS", "UNSPECIFIED", "Row", "feed", "timelines"]

STREAMS = (
    "@app:playback(timers = 'exact') define stream S (k string, v int, ts long, d double);"
    "define stream R (k string, v int, ts long, d double);"
)

Row = tuple[str, int, tuple[Any, ...]]
"""Event: stream, time in ms, values."""


@extension.stream_function("kit:twice", args=(AttributeType.INT,), appends={"w": AttributeType.INT})
def twice(v: int | None) -> tuple[int | None]:
    return (None if v is None else 2 * v,)


@extension.stream_processor("kit:second")
class Second:
    """Emits every second event."""

    def __init__(self, _context: Any) -> None:
        self.passes = True

    def process(self, event: Event) -> Event | None:
        self.passes = not self.passes
        return event if self.passes else None

    def snapshot(self) -> bool:
        return self.passes

    def restore(self, state: bool) -> None:
        self.passes = state


@extension.stream_processor("kit:later", args=(AttributeType.INT,))
class Later:
    """Emits events this many milliseconds after the last arrival, with their own times."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.held: deque[Event] = deque()
        self.due = 0

    def process(self, event: Event, wait: int) -> None:
        self.held.append(event)
        self.due = self.context.now + wait
        self.context.schedule(self.due)

    def on_timer(self, time: int) -> Iterator[Event]:
        while self.held and self.due <= time:
            yield self.held.popleft()

    def snapshot(self) -> list[Any]:
        return [self.due, *self.held]

    def restore(self, state: list[Any]) -> None:
        self.due, *held = state
        self.held = deque(held)


UNSPECIFIED = [
    "from S[v > 0] select k, v * 2 as v insert into O;",
    "from S#log() select * insert into O;",
    "from S#kit:twice(v) select k, w as v insert into O;",
    "from S select k, v order by v limit 1 insert into O;",
    "from S#window.time(1 sec) select k, v insert all events into O;",
    "from S#window.delay(1 sec) select k, v insert into O;",
    "from S#window.timeBatch(1 sec, 0) select k, v insert all events into O;",
    "from S#window.externalTime(ts, 1 sec) select k, v insert into O;",
    "define table T (k string, v int); from S join T on S.v > T.v select S.k as k, T.v as v insert into O;",
    "define table T (k string); from S[S.k == T.k in T] select k insert into O;",
    "from every e = S select e.k as k insert into O;",
    "define window W (k string, v int) time(1 sec); from W select k, v insert expired events into O;",
]
SEPARATED = [
    ("from S select k, sum(v) as n group by k insert into O;", {"S.k"}),
    ("from S select k, v, count() as n group by k, v insert into O;", {"S.k", "S.v"}),
    ("from S select k, d, count() as n group by k, d insert into O;", {"S.k"}),
    ("from S#window.time(1 sec) select k, sum(v) as n group by k insert into O;", {"S.k"}),
    ("from S#window.time(1 sec) select k, sum(v) as n group by k insert all events into O;", {"S.k"}),
    ("from S#window.timeBatch(1 sec, 0) select k, sum(v) as n group by k insert into O;", {"S.k"}),
    ("from S#window.session(1 sec, k) select k, v insert all events into O;", {"S.k"}),
    ("from S#window.session(1 sec, k) select k, v, count() as n group by k, v insert into O;", {"S.k"}),
    ("@limit(ttl = '700 milliseconds') from S select k, sum(v) as n group by k insert into O;", {"S.k"}),
    ("@limit(values = '2', on.full = 'log') from S select k, distinctCount(v) as n group by k insert into O;", {"S.k"}),
    ("from S select k, v group by k output first every 2 events insert into O;", {"S.k"}),
    ("from S select k, v group by k output first every 1 sec insert into O;", {"S.k"}),
    ("partition with (k of S) begin from S#window.length(2) select k, sum(v) as n insert into O; end;", {"S.k"}),
    (
        "partition with (k of S) begin from every e = S, f = S select f.k as k, f.v as v insert into O; end;",
        {"S.k"},
    ),
    ("partition with (k of S) begin from S#kit:second() select k, v insert into O; end;", {"S.k"}),
    ("partition with (k of S) begin from S#kit:later(400) select k, v insert into O; end;", {"S.k"}),
    (
        "partition with (k of S) begin from S#window.expression('v - first.v < 2') select k, sum(v) as n insert into O; end;",
        {"S.k"},
    ),
    (
        (
            "partition with (k of S, k of R) begin from S#window.length(1) join R#window.length(2) "
            "select S.k as k, R.v as v insert into O; end;"
        ),
        {"S.k=R.k"},
    ),
    (
        "partition with (v > 0 as 'up' or v < 2 as 'low' of S) begin from S select k, count() as n insert into O; end;",
        {"S.v > 0 as 'up' or v < 2 as 'low'"},
    ),
    (
        (
            "from S#window.time(1 sec) join R#window.time(1 sec) on S.k == R.k "
            "select S.k as k, S.v as v, R.v as w insert all events into O;"
        ),
        {"S.k=R.k"},
    ),
    (
        (
            "from S#window.time(1 sec) left outer join R#window.time(1 sec) on R.k == S.k and R.v == S.v "
            "select S.k as k, R.v as w insert into O;"
        ),
        {"S.k=R.k", "S.v=R.v"},
    ),
    (
        (
            "from every a = S -> b = R[k == a.k and v > a.v] -> c = S[b.k == k] within 2 sec "
            "select a.k as k, c.v as v insert into O;"
        ),
        {"S.k=R.k"},
    ),
    ("from every a = S -> not R[k == a.k] for 500 milliseconds select a.k as k insert into O;", {"S.k=R.k"}),
    (
        (
            "@PrimaryKey('k') define table T (k string, n int); from S select k, v as n update or insert into T on T.k == k;"
            "@info(name = 'q') from R join T on R.k == T.k select R.k as k, T.n as n insert into O;"
        ),
        {"R.k"},
    ),
    ("define window W (k string, v int) session(1 sec, k); from W select k, v insert into O;", {"W.k"}),
]
SINGLE = [
    (
        "@limit(keys = '1', on.full = 'log') from S select k, sum(v) as n group by k insert into O;",
        "'@limit' counts the keys of all rows together",
    ),
    (
        (
            "@limit(keys = '1', on.full = 'drop_oldest') partition with (k of S) begin "
            "from S select k, sum(v) as n insert into O; end;"
        ),
        "'@limit' counts the keys of all rows together",
    ),
    (
        (
            "partition with (k of S) begin @limit(keys = '2', on.full = 'log') "
            "from S select k, v, count() as n group by v insert into O; end;"
        ),
        "'@limit' counts the keys of all rows together",
    ),
    ("from S select k, sum(v) as n insert into O;", "without 'group by'"),
    ("from S[count() % 2L == 0L] select k, v insert into O;", "an aggregate in a filter"),
    ("from S#kit:second() select k, v insert into O;", "stream processor 'kit:second'"),
    ("from S#kit:second() select k, sum(v) as n group by k insert into O;", "stream processor 'kit:second'"),
    ("from S#kit:second()#window.time(1 sec) select k, sum(v) as n group by k insert into O;", "stream processor 'kit:second'"),
    ("from S#window.time(1 sec)#kit:second() select k, v insert into O;", "stream processor 'kit:second'"),
    (
        ("from S#kit:second()#window.time(1 sec) join R#window.time(1 sec) on S.k == R.k "
        "select S.k as k, R.v as w insert into O;"),
        "stream processor 'kit:second'",
    ),
    ("from S select k, d, count() as n group by d insert into O;", "'group by d'"),
    ("from S#window.time(1 sec) select k, sum(v) as n insert all events into O;", "without 'group by'"),
    ("from S#window.externalTime(ts, 1 sec) select k, sum(v) as n group by k insert expired events into O;", "time of the next event"),
    ("from S#window.timeBatch(1 sec) select k, sum(v) as n group by k insert into O;", "without a start"),
    ("from S#window.timeBatch(1 sec, 14 sec) select k, sum(v) as n group by k insert into O;", "distance of its start"),
    ("from S#window.externalTimeBatch(ts, 1 sec, 0) select k, sum(v) as n group by k insert into O;", "next event of any key"),
    ("from S#window.session(1 sec) select k, v insert expired events into O;", "without a key"),
    ("from S#window.timeBatch(1 sec, 0) select k, v limit 1 insert into O;", "'limit'"),
    ("from S#window.time(1 sec) select k, sum(v) as n group by k order by k offset 1 insert expired events into O;", "'offset'"),
    *[
        (f"from S#window.{window} select k, sum(v) as n group by k insert all events into O;", "depends on all events")
        for window in [
            "length(2)", "lengthBatch(2)", "sort(2, v)", "batch()", "frequent(1, k)", "timeLength(1 sec, 2)",
            "expression('count() <= 2')", "expressionBatch('count() <= 2')",
        ]
    ],
    ("from S select k, v output last every 2 events insert into O;", "output rate"),
    ("from S select k, v output first every 2 events insert into O;", "output rate"),
    ("from S select k, v group by k output last every 1 sec insert into O;", "output rate"),
    (
        "from S#window.time(1 sec) join R#window.time(1 sec) on S.v > R.v select S.k as k, R.v as w insert into O;",
        "no equality",
    ),
    (
        "from S#window.length(1) join R#window.length(1) on S.k == R.k select S.k as k, R.v as w insert into O;",
        "a join sees in window",
    ),
    (
        ("from S#window.time(1 sec) right outer join R#window.time(1 sec) on S.k == R.k and S.v == R.v "
        "select S.k as k, count() as n group by S.k insert into O;"),
        "groups by no attribute",
    ),
    (
        "from every a = S -> b = R[k == a.k] or c = S[k == a.k] select b.k as k, count() as n group by b.k insert into O;",
        "groups by no attribute",
    ),
    ("from a = S -> b = R[k == a.k] select a.k as k, b.v as v insert into O;", "without 'every'"),
    ("from every (a = S -> b = R[k == a.k]) select a.k as k, b.v as v insert into O;", "not on the first state alone"),
    ("from every a = S -> b = R[v > a.v] select a.k as k, b.v as v insert into O;", "no equality of keys with the first"),
    ("from every not S[v > 1] for 1 sec -> b = R select b.k as k, b.v as v insert into O;", "first state"),
    ("from every a = S, b = S[k == a.k] select a.k as k, b.v as v insert into O;", "sequence"),
    (
        ("@info(max.partial.matches = '2', partial.matches.overflow = 'drop.oldest') "
        "from every a = S -> b = R[k == a.k] select a.k as k, b.v as v insert into O;"),
        "counted together",
    ),
    (
        ("define table T (k string, v int); from S select k, v insert into T;"
        "@info(name = 'q') from R join T on R.v < T.v select R.k as k, T.v as v insert into O;"),
        "not every access",
    ),
    (
        ("from S#window.lengthBatch(2) select k, v insert into B;"
        "@info(name = 'q') from B#window.time(300) select k, v insert expired events into O;"),
        "queues late events",
    ),
    *[
        (f"partition with (k of S) begin from S#window.{window} select k, count() as n insert into O; end;", "of all keys")
        for window in ["expression('count() <= 2')", "expression('sum(v) < 8')", "expressionBatch('count() <= 2')"]
    ],
    (
        ("define window W (k string, v int) time(10 sec); partition with (k of W, k of R) begin "
        "from W join R#window.length(1) on W.v == R.v select W.k as k, R.k as j insert into O; end;"),
        "a join finds",
    ),
    (
        ("define window W (k string, v int) timeBatch(500, 0); from W join R#window.time(1 sec) on W.k == R.k "
        "select W.k as k, R.v as v insert into P; from W select k, v insert all events into O;"),
        "a join sees in window",
    ),
    ("define window W (k string, v int) length(2); from W select k, v insert expired events into O;", "depends on all"),
]  # fmt: skip


def feed(text: str) -> str:
    """Return an app that reads a named window, with a query that fills the window."""
    return text + " from S select k, v insert into W;" if "define window W" in text else text


@st.composite
def timelines(draw: st.DrawFn) -> list[Row]:
    clock, rows = 10_000, []
    for stream, key, value in draw(
        st.lists(st.tuples(st.sampled_from("SSR"), st.sampled_from("ABC"), st.integers(0, 3)), max_size=25)
    ):
        clock += draw(st.sampled_from([0, 1, 250, 400, 1_700]))
        rows.append((stream, clock, (key, value, clock, 0.5)))
    return rows


# Two keys at a time, until one of them has no events for more than a second; the values rise and fall.
COUPLED: list[Row] = [
    (stream, time, ("AB"[number % 2 if 4 < number < 14 else 0], (7 * number) % 5, time, float(number % 3)))
    for number, stream in enumerate("SSSSSSSSRRSSRRSRSSRSSRSSSS")
    for time in [10_000 + 300 * (number // 2)]
]
