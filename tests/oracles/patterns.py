"""A simple, slow model of patterns and sequences: every operand has its own lists, and all of them are scanned.

It is written from the rules alone. A pattern is a list of :class:`Step`, and events are ``(stream, time, value)``. The
results are rows ``(time, values)`` with one value per reference: a number, None, or the list of numbers of a counting step.

The effect of an event on a partial match that waits in a step ("ends": the partial match is removed):

===================  ==============================  ====================================================================
step                 the operand takes the event     its filter rejects it
===================  ==============================  ====================================================================
event, count         it advances                     pattern: nothing. Sequence: it ends
absent               it ends                         nothing
operand of a group   the group is complete, or this  pattern: nothing. Sequence: this operand waits no longer
                     operand waits no longer
`not` in a group     sequence: it ends. Pattern: an  nothing in an `or`. In an `and` of a sequence this operand waits no
                     `or` loses this operand; after  longer, but an event that it takes still ends the match
                     a `not` without time, the
                     completed group does not match;
                     with a time, the match ends
===================  ==============================  ====================================================================

Before each event, a sequence removes the partial matches that wait in its steps, except for an `and` in which some operands
still wait and others do not. Then the first step may get a new partial match: with `every`, before each event; without it, only
if the second step has an absence and no partial match waits for one there. A first step that is or contains an absence has
its own rules:

* `not A for t`: the time begins with the app and, in a pattern or under `every`, again with each A. Without `every` an A
  ends a sequence, and so does its second event of any kind before the time is over.
* a group with times, in a pattern: an event that must stay absent restarts the time of its absence. In a sequence, the group
  keeps one partial match (:meth:`Model.begin_anew`, :meth:`Model.lead_over`).
* `not A and B` under `every`: after an A, the next B does not match; then the `every` group begins again. In a sequence, each
  new partial match inherits the A.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

__all__ = ["Model", "Operand", "Step"]

Value = int | list[int] | None
Condition = Callable[[int, list[Value]], bool]


@dataclass
class Operand:
    """One stream of a step. ``condition(value, slots)`` is its filter; ``for_ms`` is the time of an absence."""

    stream: str
    slot: int
    condition: Condition
    absent: bool = False
    for_ms: int | None = None


@dataclass
class Step:
    """``kind``: event, count, absent, and, or. ``again``: the first step of the ``every`` group that ends here.

    ``late``: the pattern begins with this group, which consists of counts that need no event. It begins again when a later
    step takes an event or fulfils an absence.
    """

    kind: str
    operands: list[Operand]
    low: int = 1
    high: int = 1
    again: int | None = None
    group: int | None = None
    late: bool = False


@dataclass(eq=False)
class Match:
    """A partial match, shared by all lists that contain it."""

    slots: list[Value]
    time: int = -1
    starts: list[int] = field(default_factory=list)
    broken: bool = False
    certain: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    rearmed: bool = False
    due: dict[tuple[int, int], int] = field(default_factory=dict)
    place: int = 0
    late: int | None = None


class Model:
    """Model of one pattern or sequence."""

    def __init__(self, steps: Sequence[Step], *, is_sequence: bool = False, within: int | None = None) -> None:
        self.steps = list(steps)
        self.is_sequence = is_sequence
        self.within = within
        self.width = 1 + max(operand.slot for step in steps for operand in step.operands)
        self.incoming: list[list[list[Match]]] = [[[] for _ in step.operands] for step in steps]
        self.pending: list[list[list[Match]]] = [[[] for _ in step.operands] for step in steps]
        self.passed: list[list[list[Match]]] = [[[] for _ in step.operands] for step in steps]
        self.timers: dict[int, int] = {}
        self.rows: list[tuple[int, tuple[Value, ...]]] = []
        self.out: list[tuple[int, tuple[Value, ...]]] = []
        self.streams = {operand.stream for step in steps for operand in step.operands}
        self.every = steps[0].group is not None
        waits = any(operand.for_ms is not None for operand in steps[0].operands)
        self.leading = steps[0].operands[0] if steps[0].kind == "absent" else None
        self.keeps = is_sequence and waits and self.leading is None
        self.rearms = (
            is_sequence and not self.every and len(steps) > 1 and any(operand.absent for operand in steps[1].operands)
        )
        self.once = is_sequence and not self.every and not self.rearms
        self.renews = is_sequence and self.every and steps[0].kind == "count" and steps[0].low == 0
        self.renew = False
        self.deadline: int | None = None
        self.met_event = False
        self.now: int | None = None
        self.places = 0

    # --- lists

    def fresh(self) -> Match:
        counting = {operand.slot for step in self.steps if step.kind == "count" for operand in step.operands}
        return Match([[] if slot in counting else None for slot in range(self.width)])

    def first_slot(self, number: int) -> int:
        return min(operand.slot for operand in self.steps[number].operands)

    def add(self, number: int, match: Match) -> None:
        """Add a partial match to a step."""
        step = self.steps[number]
        assert self.now is not None
        since = self.now if match.time == -1 else match.time
        if number == 0 and self.leading is not None:
            self.wait_from(since)
            return
        needs_nothing = step.kind == "count" and step.low == 0
        if needs_nothing and number + 1 == len(self.steps):
            # The partial match is complete at once.
            self.advance(number, match)
            return
        if self.is_sequence and any(self.incoming[number]):
            if needs_nothing and match.slots[step.operands[0].slot] == []:
                self.pass_unseen(number, match)
            if step.kind != "absent":
                return
            self.incoming[number] = [[] for _ in step.operands]
        match.broken = False
        match.certain = set()
        for k, operand in enumerate(step.operands):
            self.incoming[number][k].append(match)
            if operand.for_ms is not None:
                match.due[number, k] = since + operand.for_ms
                self.arm(number, since + operand.for_ms)
        if needs_nothing:
            self.pass_unseen(number, match)

    def pass_unseen(self, number: int, match: Match) -> None:
        """Advance a partial match at once from a count that needs no event."""
        if self.steps[number].late:
            self.add(number + 1, match)
            match.late = number
            return
        self.advance(number, match)
        if self.renews and number == 0:
            self.incoming[0][0].append(self.fresh())  # an event of a later step may begin another one

    def begin_late(self, number: int, match: Match) -> None:
        """Begin the leading counts again, when a step takes a partial match that has skipped them."""
        if match.late is not None and match.late < number:
            again = self.steps[match.late].again
            assert again is not None
            match.late = None
            match.rearmed = True
            self.add_again(again, match)

    def add_again(self, number: int, match: Match) -> None:
        """Begin a group again with the events found before it."""
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
        if any(operand.for_ms is not None for operand in step.operands):
            self.begin_late(number, match)
        if step.late:
            return
        if step.again is not None and not (self.is_sequence and step.kind == "count"):
            self.add_again(step.again, match)
            match.rearmed |= step.again == 0

    def drop(self, match: Match) -> None:
        if self.keeps and any(match in matches for lists in (self.incoming, self.pending) for matches in lists[0]):
            self.begin_anew(match)
        for lists in (self.incoming, self.pending, self.passed):
            for of_step in lists:
                for of_operand in of_step:
                    while match in of_operand:
                        of_operand.remove(match)

    # --- an event

    def send(self, stream: str, time: int, value: int) -> None:
        if self.now is None:
            self.now = time
            self.add(0, self.fresh())
        self.pass_time(time)
        self.now = time
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
            for match in arrived if k == 0 else ():
                self.places += 1
                match.place = self.places
            self.pending[number][k] += arrived
            self.incoming[number][k] = []

    def reset(self) -> None:
        for number in reversed(range(1, len(self.steps))):
            self.forget(number)
        if self.leading is not None:
            if self.once and self.met_event:
                self.deadline = None
            self.met_event = True
            return
        waiting = [match for matches in self.pending[0] for match in matches]
        if self.keeps and waiting:
            if self.steps[0].kind == "or":
                self.pending[0] = [[waiting[0]] for _ in self.pending[0]]
            return
        broken = self.steps[0].kind == "and" and any(match.broken for match in waiting)
        free = self.forget(0) and not any(self.incoming[0])
        if free and (self.every or (self.rearms and not self.keeps and not self.is_next_waiting())):
            self.add(0, self.fresh())
            for match in self.incoming[0][0]:
                match.broken = broken
        if self.renew:
            self.renew = False
            self.add(0, self.fresh())

    def is_next_waiting(self) -> bool:
        """Return whether a partial match waits for an absence in the second step."""
        return any(
            matches for operand, matches in zip(self.steps[1].operands, self.pending[1], strict=True) if operand.absent
        )

    def forget(self, number: int) -> bool:
        """Remove the partial matches that wait in a step, unless its group has found some of its events."""
        step, lists = self.steps[number], self.pending[number]
        counted = [
            matches for matches, operand in zip(lists, step.operands, strict=True) if number > 0 or not operand.absent
        ]
        passed = [
            match
            for matches, operand in zip(self.passed[number], step.operands, strict=True)
            for match in matches
            if operand.for_ms is not None and not any(match in waiting for waiting in lists)
        ]
        if step.kind == "and" and (passed or len({len(matches) for matches in counted}) > 1):
            return False
        self.pending[number] = [[] for _ in lists]
        self.passed[number] = [[] for _ in lists]
        return True

    def offer(self, number: int, k: int, time: int, value: int) -> None:
        step = self.steps[number]
        operand = step.operands[k]
        if number == 0 and self.leading is not None:
            if operand.condition(value, []):
                self.unwanted_first(time)
            return
        if number == 1 and step.kind == "event" and self.pending[1][0]:
            self.renew = self.renews
        for match in self.pending[number][k] + self.passed[number][k]:
            if match not in self.pending[number][k] + self.passed[number][k]:
                continue
            if step.kind == "count" and self.has_gone_on(match, number):
                self.pending[number][k].remove(match)
                continue
            others = [other.slot for other in step.operands if other is not operand]
            if self.is_sequence and step.kind == "or" and any(match.slots[slot] is not None for slot in others):
                # A count has advanced a match again that was complete before.
                self.pending[number][k].remove(match)
                continue
            if not operand.condition(value, match.slots):
                if self.is_sequence:
                    self.reject(number, k, match)
                continue
            if operand.absent:
                self.unwanted(number, k, match, time)
                continue
            self.take(number, k, match, time, value)

    def has_gone_on(self, match: Match, number: int) -> bool:
        """Return whether a count collects no more: the next step has an event, or that after it in its last operand."""
        ends = [each.operands for each in self.steps[number + 1 : number + 3]]
        slots = [operand.slot for operand in ends[0]] if ends else []
        if len(slots) == 1 and len(ends) > 1:
            slots.append(ends[1][-1].slot)
        return any(match.slots[slot] not in (None, []) or slot in match.gone for slot in slots)

    def reject(self, number: int, k: int, match: Match) -> None:
        """Handle an event of a sequence that the filter of an operand rejects."""
        step, operand, waiting = self.steps[number], self.steps[number].operands[k], self.pending[number]
        if match not in waiting[k] or (operand.absent and (step.kind != "and" or number == 0)):
            return
        waiting[k].remove(match)
        if operand.absent:
            self.passed[number][k].append(match)
        elif step.kind != "count":
            match.slots[operand.slot] = None
        missing = [each for each in step.operands if not each.absent and match.slots[each.slot] is None]
        if any(match in matches for matches in waiting) or not (missing or step.kind == "or"):
            return
        if number == 0 and self.keeps:
            self.begin_anew(match)
        for matches in self.passed[number]:
            matches[:] = [other for other in matches if other is not match]

    def unwanted(self, number: int, k: int, match: Match, time: int) -> None:
        """Handle an event that must stay absent."""
        step = self.steps[number]
        for_ms = step.operands[k].for_ms
        if step.kind == "absent" or for_ms is None:
            match.gone.add(step.operands[k].slot)
        if step.kind == "absent" or (self.is_sequence and number > 0):
            for matches in self.pending[number] + self.passed[number]:
                if match in matches:
                    matches.remove(match)
        elif for_ms is None:
            match.broken = True
        elif number == 0:
            match.due[0, k] = time + for_ms
            self.arm(0, time + for_ms)
            if self.is_sequence:
                self.begin_anew(match)
        elif step.kind == "or":
            self.pending[number][k].remove(match)
        else:
            for matches in self.pending[number]:
                if match in matches:
                    matches.remove(match)

    def unwanted_first(self, time: int) -> None:
        """Handle an event that must stay absent, for a leading absence."""
        if self.once:
            self.deadline = None
        elif self.deadline is not None:
            self.wait_from(time)

    def take(self, number: int, k: int, match: Match, time: int, value: int) -> None:
        step = self.steps[number]
        slot = step.operands[k].slot
        held = match.slots[slot]
        if isinstance(held, list):
            held.append(value)
        else:
            match.slots[slot] = value
        self.begin_late(number, match)
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
        if number == 1 and step.kind in ("and", "or"):
            self.renew = self.renews
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
            # A count may have advanced it more than once.
            matches[:] = [other for other in matches if other is not match]
        for matches in self.passed[number]:
            matches[:] = [other for other in matches if other is not match]
        match.time = time
        step = self.steps[number]
        again = step.again if step.again is not None else step.group
        if not match.broken:
            self.advance(number, match)
        elif again is not None:
            self.add_again(again, match)
        if number == 0 and self.keeps:
            for copy in self.incoming[0][0]:
                copy.due = self.run_on(match.due)

    # --- time

    def arm(self, number: int, due: int) -> None:
        self.timers[number] = min(due, self.timers.get(number, due))

    def pass_time(self, now: int) -> None:
        while self.timers and min(self.timers.values()) <= now:
            self.now = min(self.timers.values())
            for number in sorted(self.timers, reverse=True):
                if self.timers.get(number, self.now + 1) <= self.now:
                    self.expire(self.now)
                    del self.timers[number]
                    self.wait_over(number, self.now)
            self.put_out()

    def wait_over(self, number: int, now: int) -> None:
        step = self.steps[number]
        if number == 0 and self.leading is not None:
            self.first_over(now)
            return
        if number == 0 and self.keeps:
            self.lead_over(now)
            return
        arrived = [match for matches in self.incoming[number] for match in matches]
        if self.is_sequence and arrived:
            due = [
                self.due_at(number, k, match)
                for match in arrived + self.waiting(number)
                for k in self.watched(number, match, arrived)
            ]
            if not due or min(due) > now:
                for when in due:
                    self.arm(number, when)
                return  # the timer belongs to a removed match
            self.forget(number)
        self.update(number)
        for match in self.waiting(number):
            over = []
            for k in self.watched(number, match, []):
                if self.due_at(number, k, match) <= now:
                    over.append(k)
                else:
                    self.arm(number, self.due_at(number, k, match))
            for k in over:
                match.certain.add(k)
                if step.kind != "absent":
                    match.gone.add(step.operands[k].slot)
                for matches in (self.pending[number][k], self.passed[number][k]):
                    if match in matches:
                        matches.remove(match)
            if over and (step.kind != "and" or self.is_complete(step, match)):
                self.complete(number, match, now)

    def waiting(self, number: int) -> list[Match]:
        """Return the partial matches that wait in a step, in order of arrival."""
        lists = self.pending[number] + self.passed[number]
        found = dict.fromkeys(match for matches in lists for match in matches)
        return sorted(found, key=lambda match: match.place)

    def watched(self, number: int, match: Match, arrived: Sequence[Match]) -> list[int]:
        """Return the absences whose time runs for a match."""
        return [
            k
            for k, operand in enumerate(self.steps[number].operands)
            if operand.for_ms is not None
            and (match in arrived or match in self.pending[number][k] or match in self.passed[number][k])
        ]

    def due_at(self, number: int, k: int, match: Match) -> int:
        """Return when an absence is fulfilled. A count before it may have taken events after the match came."""
        for_ms = self.steps[number].operands[k].for_ms
        assert for_ms is not None
        return max(match.due[number, k], match.time + for_ms)

    # --- a first step that waits

    def wait_from(self, time: int) -> None:
        assert self.leading is not None
        assert self.leading.for_ms is not None
        self.deadline = time + self.leading.for_ms
        self.arm(0, self.deadline)

    def first_over(self, now: int) -> None:
        if self.deadline is None:
            return
        if self.deadline > now:
            self.arm(0, self.deadline)
            return
        self.deadline = None
        match = self.fresh()
        match.time = now
        self.advance(0, match)

    def begin_anew(self, match: Match) -> None:
        """Remove the events that a leading group of a sequence has found; its times continue."""
        fresh = self.fresh()
        fresh.due = self.run_on(match.due)
        came = any(match in matches for matches in self.incoming[0])
        lists = self.incoming if came else self.pending
        lists[0] = [[fresh] for _ in self.steps[0].operands]

    def run_on(self, due: dict[tuple[int, int], int]) -> dict[tuple[int, int], int]:
        """Return the next times of the absences of a leading group; an absence whose time is over waits again."""
        assert self.now is not None
        result = {}
        for k, operand in enumerate(self.steps[0].operands):
            for_ms = operand.for_ms
            if for_ms is None:
                continue
            when = due[0, k]
            while when <= self.now:
                when += for_ms
            result[0, k] = when
            self.arm(0, when)
        return result

    def lead_over(self, now: int) -> None:
        step = self.steps[0]
        for match in dict.fromkeys(match for matches in self.incoming[0] + self.pending[0] for match in matches):
            over = [k for k in self.watched(0, match, self.incoming[0][0]) if match.due[0, k] <= now]
            if over:
                self.update(0)
            for k in over:
                for_ms = step.operands[k].for_ms
                assert for_ms is not None
                match.due[0, k] = now + for_ms
                match.certain.add(k)
                self.pending[0][k].remove(match)
            if match.certain & set(over) and (step.kind == "or" or self.is_complete(step, match)):
                self.complete(0, match, now)
            elif not any(match in matches for matches in self.incoming[0] + self.pending[0]):
                self.begin_anew(match)
            else:
                for k in self.watched(0, match, self.incoming[0][0]):
                    self.arm(0, match.due[0, k])
