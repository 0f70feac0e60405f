"""Patterns and sequences the slow, obvious way: every operand has its own lists, nothing is indexed, everything is scanned.

Written from the rules alone. A pattern is a list of :class:`Step`; events are ``(stream, time, value)``. What comes out are
rows ``(time, values)``, one value per reference: a number, None, or for counting steps the list of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

__all__ = ["Model", "Operand", "Step"]

Value = int | list[int] | None
Condition = Callable[[int, list[Value]], bool]


@dataclass
class Operand:
    """One stream of a step. ``condition(value, slots)`` decides; ``for_ms`` is an absence's time."""

    stream: str
    slot: int
    condition: Condition
    absent: bool = False
    for_ms: int | None = None


@dataclass
class Step:
    """``kind``: event, count, absent, and, or. ``again``: the first step of the ``every`` group that ends here."""

    kind: str
    operands: list[Operand]
    low: int = 1
    high: int = 1
    again: int | None = None
    group: int | None = None


@dataclass(eq=False)
class Match:
    """A partial match; shared by all the lists it is in."""

    slots: list[Value]
    time: int = -1
    starts: list[int] = field(default_factory=list)
    broken: bool = False
    certain: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    rearmed: bool = False
    since: int = 0


class Model:
    """Runs one pattern over events."""

    def __init__(self, steps: Sequence[Step], *, is_sequence: bool, within: int | None) -> None:
        self.steps = list(steps)
        self.is_sequence = is_sequence
        self.within = within
        self.width = 1 + max(operand.slot for step in steps for operand in step.operands)
        self.incoming: list[list[list[Match]]] = [[[] for _ in step.operands] for step in steps]
        self.pending: list[list[list[Match]]] = [[[] for _ in step.operands] for step in steps]
        self.timers: list[tuple[int, int]] = []
        self.rows: list[tuple[int, tuple[Value, ...]]] = []
        self.out: list[tuple[int, tuple[Value, ...]]] = []
        self.streams = {operand.stream for step in steps for operand in step.operands}
        self.every = steps[0].group is not None
        # The slots in the order in which a count looks at them: it ends with the event of one of the next two.
        self.order = [operand.slot for step in steps for operand in reversed(step.operands)]
        self.add(0, self.fresh())

    # --- lists

    def fresh(self) -> Match:
        counting = {operand.slot for step in self.steps if step.kind == "count" for operand in step.operands}
        return Match([[] if slot in counting else None for slot in range(self.width)])

    def first_slot(self, number: int) -> int:
        return min(operand.slot for operand in self.steps[number].operands)

    def add(self, number: int, match: Match) -> None:
        """Hand a partial match to a step."""
        step = self.steps[number]
        needs_nothing = step.kind == "count" and step.low == 0
        if needs_nothing and number + 1 == len(self.steps):
            # It is complete as it comes.
            self.advance(number, match)
            return
        if self.is_sequence and any(self.incoming[number]):
            if needs_nothing and match.slots[step.operands[0].slot] == []:
                self.advance(number, match)
            if step.kind != "absent":
                return
            self.incoming[number] = [[] for _ in step.operands]
        match.since = match.time
        match.broken = False
        match.certain = set()
        for k, operand in enumerate(step.operands):
            self.incoming[number][k].append(match)
            if operand.for_ms is not None:
                self.timers.append((match.time + operand.for_ms, number))
        if needs_nothing:
            self.advance(number, match)

    def add_again(self, number: int, match: Match) -> None:
        """Start a group again with what was found before it."""
        first = self.first_slot(number)
        copy = self.fresh()
        copy.slots[:first] = [list(value) if isinstance(value, list) else value for value in match.slots[:first]]
        copy.time = match.time
        copy.starts = list(match.starts) if number > 0 else []
        self.add(number, copy)

    def advance(self, number: int, match: Match) -> None:
        step = self.steps[number]
        if number + 1 == len(self.steps):
            self.out.append((match.time, tuple(list(held) if isinstance(held, list) else held for held in match.slots)))
        else:
            self.add(number + 1, match)
        if step.again is not None and not (self.is_sequence and step.kind == "count"):
            self.add_again(step.again, match)
            match.rearmed |= step.again == 0

    def drop(self, match: Match) -> None:
        for lists in (self.incoming, self.pending):
            for of_step in lists:
                for of_operand in of_step:
                    while match in of_operand:
                        of_operand.remove(match)

    # --- an event

    def send(self, stream: str, time: int, value: int) -> None:
        self.pass_time(time)
        if stream not in self.streams:
            return
        self.expire(time)
        if self.is_sequence:
            self.reset()
            for number in range(len(self.steps)):
                self.update(number)
        else:
            for number, step in enumerate(self.steps):
                if any(operand.stream == stream for operand in step.operands):
                    self.update(number)
        for number in reversed(range(len(self.steps))):
            for k, operand in enumerate(self.steps[number].operands):
                if operand.stream == stream:
                    self.offer(number, k, time, value)
        self.put_out()

    def put_out(self) -> None:
        self.rows += self.out
        self.out = []

    def expire(self, now: int) -> None:
        if self.within is None:
            return
        found: list[Match] = []
        first_group = False
        for lists in (self.incoming, self.pending):
            for number, of_step in enumerate(lists):
                for of_operand in of_step:
                    for match in of_operand:
                        if any(abs(start - now) > self.within for start in match.starts):
                            found.append(match)
                            first_group = first_group or (self.steps[number].group == 0 and not match.rearmed)
        for match in found:
            self.drop(match)
        if first_group and not self.is_sequence:
            self.add(0, self.fresh())

    def update(self, number: int) -> None:
        for k, arrived in enumerate(self.incoming[number]):
            arrived.sort(key=lambda match: (match.time == -1, match.time))
            self.pending[number][k] += arrived
            self.incoming[number][k] = []

    def reset(self) -> None:
        for number in reversed(range(len(self.steps))):
            if not self.forget(number) and number == 0:
                return
        if not any(self.incoming[0]) and self.every:
            self.add(0, self.fresh())

    def forget(self, number: int) -> bool:
        """Let a step wait for nothing, unless a group has found some of its events."""
        lists = self.pending[number]
        if self.steps[number].kind == "and" and len({len(matches) for matches in lists}) > 1:
            return False
        self.pending[number] = [[] for _ in lists]
        return True

    def offer(self, number: int, k: int, time: int, value: int) -> None:
        step = self.steps[number]
        operand = step.operands[k]
        for match in list(self.pending[number][k]):
            if match not in self.pending[number][k]:
                continue
            if step.kind == "count" and self.has_gone_on(match, operand.slot):
                self.pending[number][k].remove(match)
                continue
            others = [other.slot for other in step.operands if other is not operand]
            if self.is_sequence and step.kind == "or" and any(match.slots[slot] is not None for slot in others):
                # A count has handed on once more what has been complete before.
                self.pending[number][k].remove(match)
                continue
            if not operand.condition(value, match.slots):
                if self.is_sequence and not operand.absent:
                    if step.kind != "count":
                        match.slots[operand.slot] = None
                    self.pending[number][k].remove(match)
                continue
            if operand.absent:
                self.unwanted(number, k, match)
                continue
            self.take(number, k, match, time, value)

    def has_gone_on(self, match: Match, slot: int) -> bool:
        """Whether a count collects no more."""
        at = self.order.index(slot) + 1
        return any(match.slots[after] not in (None, []) or after in match.gone for after in self.order[at : at + 2])

    def unwanted(self, number: int, k: int, match: Match) -> None:
        """An event has come that must not."""
        step = self.steps[number]
        if step.kind == "absent" or step.operands[k].for_ms is None:
            match.gone.add(step.operands[k].slot)
        if step.operands[k].for_ms is None:
            match.broken = True
        elif step.kind == "or":
            self.pending[number][k].remove(match)
        else:
            for matches in self.pending[number]:
                if match in matches:
                    matches.remove(match)

    def take(self, number: int, k: int, match: Match, time: int, value: int) -> None:
        step = self.steps[number]
        slot = step.operands[k].slot
        held = match.slots[slot]
        if isinstance(held, list):
            held.append(value)
        else:
            match.slots[slot] = value
        if number == 0 and (step.kind != "count" or not match.starts):
            match.starts.append(time)
        if step.kind == "count":
            assert isinstance(held, list)
            match.time = time
            self.count(number, match, len(held))
            return
        self.pending[number][k].remove(match)
        if step.kind == "and" and not self.is_complete(step, match):
            return
        self.complete(number, match, time)

    def count(self, number: int, match: Match, size: int) -> None:
        step = self.steps[number]
        waiting = self.pending[number][0]
        is_last = number + 1 == len(self.steps)
        if self.is_sequence:
            waiting.remove(match)
            if size >= step.low:
                self.advance(number, match)
            if size != step.high and (size < step.low or not is_last) and not self.incoming[number][0]:
                self.incoming[number][0].append(match)
            return
        if size == step.high or (size == step.low and is_last):
            waiting.remove(match)
        if size == step.low:
            self.advance(number, match)

    def is_complete(self, step: Step, match: Match) -> bool:
        return all(
            (operand.for_ms is None or k in match.certain) if operand.absent else match.slots[operand.slot] is not None
            for k, operand in enumerate(step.operands)
        )

    def complete(self, number: int, match: Match, time: int) -> None:
        for matches in self.pending[number]:
            # A count may have handed it on more than once.
            matches[:] = [other for other in matches if other is not match]
        match.time = time
        again = self.steps[number].again
        if not match.broken:
            self.advance(number, match)
        elif again is not None:
            self.add_again(again, match)

    # --- time

    def pass_time(self, now: int) -> None:
        while self.timers and min(self.timers)[0] <= now:
            due = min(self.timers)[0]
            numbers = sorted({number for when, number in self.timers if when == due}, reverse=True)
            self.timers = [timer for timer in self.timers if timer[0] != due]
            for number in numbers:
                self.expire(due)
                self.wait_over(number, due)
                self.put_out()

    def wait_over(self, number: int, now: int) -> None:
        step = self.steps[number]
        if self.is_sequence and any(self.incoming[number]):
            if not self.is_due(number, self.incoming[number], now) and not self.is_due(
                number, self.pending[number], now
            ):
                return  # the timer is of a match that is gone
            self.forget(number)
        self.update(number)
        waiting = [match for matches in self.pending[number] for match in matches]
        for match in dict.fromkeys(waiting):
            due = self.due_operands(number, self.pending[number], match, now)
            for k, operand in enumerate(step.operands):
                if operand.for_ms is not None and k not in due and match in self.pending[number][k]:
                    self.timers.append((max(match.since, match.time) + operand.for_ms, number))
            for k in due:
                match.certain.add(k)
                if step.kind != "absent":
                    match.gone.add(step.operands[k].slot)
                self.pending[number][k].remove(match)
            if due and (step.kind != "and" or self.is_complete(step, match)):
                self.complete(number, match, now)

    def due_operands(self, number: int, lists: Sequence[Sequence[Match]], match: Match, now: int) -> list[int]:
        """The absences whose time is over for a match that waits in lists of a step."""
        return [
            k
            for k, operand in enumerate(self.steps[number].operands)
            if operand.for_ms is not None
            # A count before may have taken events since.
            and max(match.since, match.time) + operand.for_ms <= now
            and match in lists[k]
        ]

    def is_due(self, number: int, lists: Sequence[Sequence[Match]], now: int) -> bool:
        return any(self.due_operands(number, lists, match, now) for matches in lists for match in matches)
