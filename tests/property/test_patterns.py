"""Random patterns over random events against a slow oracle: by event, in batches, and restored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi.runtime.app import SiddhiAppRuntime
from tests.oracles.patterns import Condition, Model, Operand, Step, Value

STREAMS = "AAB"
WITHIN = (None, None, 5, 12)
Event = tuple[str, int, int]


@dataclass
class Written:
    """A pattern as text and as steps; ``swapped``: the text with the operands of each group from the last to the first."""

    text: str
    select: str
    slots: list[int]
    steps: list[Step]
    is_sequence: bool
    within: int | None
    swapped: str = ""

    @property
    def app(self) -> str:
        streams = "".join(f"define stream {stream} (x int);\n" for stream in "ABCT")
        return f"@app:name('p') @app:playback {streams}from {self.text}\nselect {self.select} insert into O;"

    @property
    def partitioned_app(self) -> str:
        streams = "".join(f"define stream {stream} (k string, x int);\n" for stream in "ABT")
        keys = ", ".join(f"k of {stream}" for stream in "AB" if stream in Model(self.steps).streams)
        query = f"from {self.text}\nselect {self.select} insert into O;"
        return f"@app:name('p') @app:playback {streams}partition with ({keys}) begin {query} end;"


def conjoined(conditions: list[tuple[str, Condition]]) -> tuple[str, Condition]:
    text = " and ".join(text for text, _ in conditions)
    return (f"[{text}]" if text else ""), lambda value, slots: all(met(value, slots) for _, met in conditions)


class Builder:
    """Draws one pattern. ``distinct``: no two operands of a group read the same stream."""

    def __init__(self, draw: st.DrawFn, *, distinct: bool = False) -> None:
        self.draw = draw
        self.distinct = distinct
        self.n_slots = 0
        self.earlier: list[tuple[int, bool]] = []
        self.kinds: dict[int, str] = {}
        self.is_sequence = False

    def condition(self, slot: int, own_counts: bool) -> tuple[str, Condition]:
        return conjoined([self.conjunct(slot, own_counts) for _ in range(self.draw(st.sampled_from((0, 0, 1, 2))))])

    def conjunct(self, slot: int, own_counts: bool) -> tuple[str, Condition]:
        limit = self.draw(st.integers(0, 4))
        kinds = ["above", "below"] + ["equal", "more"] * bool(self.earlier) + ["rising"] * own_counts
        kind = self.draw(st.sampled_from(kinds))
        if kind == "above":
            return f"x >= {limit}", lambda value, _: value >= limit
        if kind == "below":
            return f"x <= {limit}", lambda value, _: value <= limit
        if kind == "rising":
            return (
                f"(e{slot}[last].x is null or x >= e{slot}[last].x)",
                lambda value, slots: not slots[slot] or value >= slots[slot][-1],  # type: ignore[index]
            )
        other, counts = self.draw(st.sampled_from(self.earlier))
        at = self.draw(st.sampled_from((0, -1))) if counts else 0
        index = "" if not counts else "[0]" if at == 0 else "[last]"

        def value_of(slots: list[Value]) -> int | None:
            held = slots[other]
            return (held[at] if held else None) if isinstance(held, list) else held

        if kind == "equal":
            return f"x == e{other}{index}.x", lambda value, slots: value == value_of(slots)
        return (
            f"x > e{other}{index}.x",
            lambda value, slots: (known := value_of(slots)) is not None and value > known,
        )

    def operand(self, kind: str, *, timed: bool = True, streams: str = STREAMS) -> tuple[str, Operand]:
        slot = self.n_slots
        self.n_slots += 1
        stream = self.draw(st.sampled_from(streams))
        text, condition = self.condition(slot, kind == "count")
        self.kinds[slot] = kind
        if kind != "absent":
            return f"e{slot}={stream}{text}", Operand(stream, slot, condition)
        for_ms = self.draw(st.integers(1, 5)) if timed else None
        time = "" if for_ms is None else f" for {for_ms} millisec"
        return f"not {stream}{text}{time}", Operand(stream, slot, condition, absent=True, for_ms=for_ms)

    def element(self, kind: str, *, again: bool, least: int) -> tuple[str, str, Step]:
        """Draw a step, written in both orders of its operands.

        Args:
            again: a count in front may hand the same partial match on more than once.
            least: what a count needs at the least.
        """
        if kind == "count":
            text, operand = self.operand(kind)
            low = self.draw(st.integers(least, 3))
            high = self.draw(st.sampled_from([-1, max(low, 1), low + 1]))
            step = Step(kind, [operand], low, high)
            text += f"<{low}:>" if high < 0 else f"<{low}:{high}>"
        elif kind in ("and", "or"):
            wanted = self.draw(st.lists(st.sampled_from(("event", "absent")), min_size=2, max_size=3))
            timed = kind == "or" or (not again and self.draw(st.booleans()))
            if (again and timed) or (not timed and "event" not in wanted):
                wanted = ["event" for _ in wanted]  # of absences with a time, the twin has one for each partial match
            streams = self.draw(st.permutations("ABC")) if self.distinct else [STREAMS] * len(wanted)
            drawn = [self.operand(each, timed=timed, streams=of) for each, of in zip(wanted, streams, strict=False)]
            step = Step(kind, [part for _, part in drawn])
            text, swapped = (f"({f' {kind} '.join(part for part, _ in parts)})" for parts in (drawn, drawn[::-1]))
        else:
            text, operand = self.operand(kind)
            step = Step(kind, [operand])
        for part in step.operands:
            if not part.absent:
                self.earlier.append((part.slot, kind == "count"))
        return text, swapped if kind in ("and", "or") else text, step


@st.composite
def written(draw: st.DrawFn, *, is_sequence: bool, distinct: bool = False) -> Written:
    builder = Builder(draw, distinct=distinct)
    builder.is_sequence = is_sequence
    length = draw(st.integers(2 if is_sequence else 1, 4))
    texts: list[str] = []
    swapped: list[str] = []
    steps: list[Step] = []
    for number in range(length):
        kinds = ["event"] * 4 + ["count"] * 2 + ["and", "or"]
        if not number or steps[-1].kind != "absent":
            kinds.append("absent")
        again = is_sequence and any(step.kind == "count" for step in steps)
        unseen = all(step.kind == "count" and step.low == 0 for step in steps)
        least = 1 if unseen and number + 1 == length else 0  # something needs an event
        text, other, step = builder.element(draw(st.sampled_from(kinds)), again=again, least=least)
        texts.append(text)
        swapped.append(other)
        steps.append(step)
    if is_sequence:
        if draw(st.booleans()):
            steps[0].group = steps[0].again = 0
            texts[0], swapped[0] = f"every {texts[0]}", f"every {swapped[0]}"
    else:
        repeat(draw, texts, swapped, steps)
    within = draw(st.sampled_from(WITHIN))
    text, other = (
        (", " if is_sequence else " -> ").join(part for part in parts if part)
        + ("" if within is None else f" within {within} millisec")
        for parts in (texts, swapped)
    )
    slots = [slot for slot, kind in builder.kinds.items() if kind != "absent"]
    select = ", ".join(f"e{slot}.x as x{slot}" for slot in slots) or "1 as one"
    return Written(text, select, slots, steps, is_sequence, within, other)


def repeat(draw: st.DrawFn, texts: list[str], swapped: list[str], steps: list[Step]) -> None:
    """Put `every` in front of some groups of a pattern."""
    at = 0
    while at < len(steps):
        size = draw(st.integers(1, len(steps) - at))
        group = steps[at : at + size]
        unseen = all(step.kind == "count" and step.low == 0 for step in group)
        if draw(st.booleans()) and not (unseen and at):
            for step in group:
                step.group = at
            group[-1].again = at
            group[-1].late = unseen
            for parts in (texts, swapped):
                parts[at] = f"every ({' -> '.join(parts[at : at + size])})"
                parts[at + 1 : at + size] = [""] * (size - 1)
        at += size


def events_of(streams: str) -> st.SearchStrategy[list[Event]]:
    drawn = st.tuples(st.sampled_from(streams), st.integers(0, 3), st.integers(0, 4))
    return st.lists(drawn, min_size=4, max_size=40).map(timed)


def timed(drawn: list[tuple[str, int, int]]) -> list[Event]:
    """Events with times: each some ms behind the one before."""
    time = 100
    result = []
    for stream, gap, value in drawn:
        time += gap
        result.append((stream, time, value))
    return result


def expected(pattern: Written, sent: list[Event]) -> list[tuple[int, tuple[Value, ...]]]:
    model = Model(pattern.steps, is_sequence=pattern.is_sequence, within=pattern.within)
    for stream, time, value in sent:
        model.send(stream, time, value)
    return [(time, tuple(row[slot] for slot in pattern.slots) or (1,)) for time, row in model.rows]


class Engine:
    """Run the app in one of three ways; return its outputs, and check that it holds no events at the end."""

    def __init__(self, pattern: Written) -> None:
        self.pattern = pattern
        self.rows: list[tuple[int, tuple[Value, ...]]] = []
        self.runtime = self.start()

    def start(self) -> SiddhiAppRuntime:
        runtime = SiddhiManager().create_siddhi_app_runtime(self.pattern.app)
        runtime.add_callback("O", lambda events: self.rows.extend((event.timestamp, event.data) for event in events))
        runtime.start()
        return runtime

    def send(self, sent: list[Event]) -> None:
        for stream, time, value in sent:
            self.runtime.input_handler(stream).send((value,), timestamp=time)

    def send_batches(self, sent: list[Event]) -> None:
        for stream, run in groupby(sent, key=lambda event: event[0]):
            rows = list(run)
            columns = {
                "x": np.array([value for _, _, value in rows], dtype=np.int32),
                "ts": np.array([time for _, time, _ in rows], dtype=np.int64),
            }
            self.runtime.input_handler(stream).send_batch(columns, timestamp="ts")

    def interrupt(self) -> None:
        state = self.runtime.snapshot()
        self.finish()
        self.runtime = self.start()
        self.runtime.restore(state)
        assert self.runtime.snapshot() == state

    def finish(self) -> None:
        for query in self.runtime._assembly.queries.values():
            pattern = query.stateful["pattern"]
            pattern.drop_state(0)
            assert (pattern.alive, pattern.matches.alive_events) == (0, 0)
        self.runtime.shutdown()


@pytest.mark.parametrize("is_sequence", [False, True], ids=["pattern", "sequence"])
@pytest.mark.parametrize("way", ["rows", "batches", "interrupted"])
@given(data=st.data())
def test_patterns_find_the_matches_of_the_oracle(way: str, is_sequence: bool, data: st.DataObject) -> None:
    pattern = data.draw(written(is_sequence=is_sequence))
    sent = data.draw(events_of("AAABBT"))
    engine = Engine(pattern)
    if way == "batches":
        engine.send_batches(sent)
    elif way == "interrupted":
        at = data.draw(st.integers(0, len(sent)))
        engine.send(sent[:at])
        engine.interrupt()
        engine.send(sent[at:])
    else:
        engine.send(sent)
    engine.finish()
    assert engine.rows == expected(pattern, sent), pattern.text


@pytest.mark.parametrize("is_sequence", [False, True], ids=["pattern", "sequence"])
@given(data=st.data())
def test_each_partition_key_has_the_matches_of_its_own_oracle(is_sequence: bool, data: st.DataObject) -> None:
    pattern = data.draw(written(is_sequence=is_sequence))
    sent = [(data.draw(st.sampled_from("ab")), event) for event in data.draw(events_of("AAABBT"))]
    wanted = []
    for own in "ab":
        twin = Model(pattern.steps, is_sequence=is_sequence, within=pattern.within)
        for key, (stream, time, value) in sent:
            if key == own and stream in twin.streams:
                twin.send(stream, time, value)
            elif twin.now is not None:  # the time of a key begins with its first event
                twin.send("T", time, 0)
        wanted += [(time, tuple(row[slot] for slot in pattern.slots) or (1,)) for time, row in twin.rows]
    rows: list[tuple[int, tuple[Value, ...]]] = []
    runtime = SiddhiManager().create_siddhi_app_runtime(pattern.partitioned_app)
    runtime.add_callback("O", lambda found: rows.extend((event.timestamp, event.data) for event in found))
    runtime.start()
    for key, (stream, time, value) in sent:
        runtime.input_handler(stream).send((key, value), timestamp=time)
    runtime.shutdown()
    assert sorted(rows, key=repr) == sorted(wanted, key=repr), pattern.text


def ends_a_count_from_afar(steps: list[Step]) -> bool:
    """Whether a group stands two places behind a count, which its last operand alone ends (docs/differences.md)."""
    return any(
        step.kind == "count" and len(near.operands) == 1 < len(far.operands)
        for step, near, far in zip(steps, steps[1:], steps[2:], strict=False)
    )


@pytest.mark.parametrize("is_sequence", [False, True], ids=["pattern", "sequence"])
@given(data=st.data())
def test_a_group_does_not_depend_on_the_order_of_its_operands(is_sequence: bool, data: st.DataObject) -> None:
    pattern = data.draw(written(is_sequence=is_sequence, distinct=True))
    assume(pattern.swapped != pattern.text and not ends_a_count_from_afar(pattern.steps))
    sent = data.draw(events_of("AAABBBCCT"))
    rows = []
    for text in (pattern.text, pattern.swapped):
        engine = Engine(replace(pattern, text=text))
        engine.send(sent)
        engine.finish()
        rows.append(engine.rows)
    assert rows[0] == rows[1], (pattern.text, pattern.swapped)


@pytest.mark.parametrize("sent", ["AAB", "AAAB", "AAAABAB", "ABAAB"])
@pytest.mark.parametrize("group", ["AB", "ABB", "ABAB"])
@pytest.mark.parametrize("least", [0, 2])
def test_the_oracle_agrees_on_counts_that_pass_on_several_matches(least: int, group: str, sent: str) -> None:
    def fits(value: int, _: list[Value]) -> bool:
        return value >= least

    count = Operand("A", 0, lambda value, _: True)
    operands = [Operand(stream, slot, fits) for slot, stream in enumerate(group, 1)]
    pattern = Written(
        "every e0=A<1:>, (" + " and ".join(f"e{each.slot}={each.stream}[x >= {least}]" for each in operands) + ")",
        ", ".join(f"e{slot}.x as x{slot}" for slot in range(len(operands) + 1)),
        [*range(len(operands) + 1)],
        [Step("count", [count], 1, -1), Step("and", operands)],
        is_sequence=True,
        within=None,
    )
    pattern.steps[0].group = pattern.steps[0].again = 0
    history = [(stream, 100 + at, at) for at, stream in enumerate(sent)]
    engine = Engine(pattern)
    engine.send(history)
    engine.finish()
    assert engine.rows == expected(pattern, history)
