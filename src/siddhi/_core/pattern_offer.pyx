"""What an event, or the time, does to the partial matches that wait in a state."""

from libc.stdint cimport int64_t, uint32_t

from siddhi._core.event cimport EventC
from siddhi._core.fetch cimport WORTH_FETCHING
from siddhi._core.pattern cimport Pattern
from siddhi._core.pattern_expiry cimport begin_by_time
from siddhi._core.pattern_index cimport fetch_around
from siddhi._core.pattern_match cimport EntryC, PartialC, collected_of
from siddhi._core.pattern_places cimport stop_counting
from siddhi._core.pattern_sequence cimport begin_anew, forget, keep_times, lead_over, pass_over
from siddhi._core.pattern_state cimport (
    ABSENT,
    AND,
    COUNT,
    NO_TIME,
    OR,
    STREAM,
    Operand,
    State,
    is_any_there,
    is_complete,
    is_stopped,
    is_watched,
)


cdef int offer_kind(Pattern pattern, RunC* run, InletC* inlet, EventC* event, EventC** kept) except -1:
    cdef State state = <State> pattern.state[inlet.state]
    if (<Operand> state.operand[inlet.operand]).absent:
        return offer_absent(pattern, run, state, inlet, event, kept)
    if state.kind == STREAM:
        if inlet.state == 0 and pattern.implicit:
            return begin_with(pattern, run, state, event, kept)
        return offer_stream(pattern, run, state, inlet.state, event, kept)
    if state.kind == COUNT:
        return offer_count(pattern, run, state, inlet.state, event, kept)
    return offer_group(pattern, run, state, inlet, event, kept)


cdef int begin_with(Pattern pattern, RunC* run, State state, EventC* event, EventC** kept) except -1:
    """Begin a match with an event of the first state, which stays ready for the next one."""
    cdef PartialC* partial = pattern.matches.make()
    try:
        pattern.fill(run, 0, <Operand> state.operand[0], partial, event, kept)
        partial.timestamp = event.timestamp
        return pattern.advance(run, 0, partial)
    finally:
        pattern.matches.drop(partial)


cdef int offer_stream(Pattern pattern, RunC* run, State state, int number, EventC* event, EventC** kept) except -1:
    cdef Operand operand = <Operand> state.operand[0]
    cdef PartialC* partial
    cdef EntryC* entry
    cdef EntryC* following
    if operand.index is None:
        entry = run.pending[number].head
    else:
        entry = operand.index.find(event, pattern.frame)
    run.renew |= pattern.renews and number == 1 and entry is not NULL
    while entry is not NULL:
        if operand.index is None:
            following = entry.next
        else:
            following = entry.bucket_next
            if operand.index.size >= WORTH_FETCHING:
                fetch_around(entry)
        partial = entry.partial
        if operand.found_fits or pattern.fits(operand, partial, event, kept):
            partial.refs += 1
            try:
                pattern.fill(run, number, operand, partial, event, kept)
                pattern.remove(entry)
                partial.timestamp = event.timestamp
                pattern.advance(run, number, partial)
            finally:
                pattern.matches.drop(partial)
        elif pattern.is_sequence:
            pattern.matches.empty(partial, operand.slot)
            pattern.remove(entry)
        entry = following
    return 0


cdef int offer_count(Pattern pattern, RunC* run, State state, int number, EventC* event, EventC** kept) except -1:
    cdef Operand operand = <Operand> state.operand[0]
    cdef EntryC* entry
    cdef EntryC* following
    cdef PartialC* partial
    cdef bint stopped
    cdef int size
    if operand.index is None:
        entry = run.pending[number].head
    else:
        entry = operand.index.find(event, pattern.frame)
    while entry is not NULL:
        following = entry.next if operand.index is None else entry.bucket_next
        partial = entry.partial
        stopped = pattern.is_sequence and is_stopped(state, partial)
        if stopped or not (operand.found_fits or pattern.fits(operand, partial, event, kept)):
            if pattern.is_sequence:
                pattern.remove(entry)
            entry = following
            continue
        partial.refs += 1
        try:
            pattern.fill(run, number, operand, partial, event, kept)
            partial.timestamp = event.timestamp
            size = <int> collected_of(partial, operand.slot).size
            if pattern.is_sequence:
                pattern.remove(entry)
                # First of all it stays where it is: a match that goes on is put out as a copy, and does not get old less.
                if size != state.max and (size < state.min or state.next >= 0):
                    pattern.add(run, number, partial)
                if size >= state.min:
                    pattern.advance(run, number, partial)
            else:
                if size == state.max or (size == state.min and state.next < 0):
                    pattern.remove(entry)
                if size == state.min:
                    pattern.advance(run, number, partial)
        finally:
            pattern.matches.drop(partial)
        entry = following
    return 0


cdef int offer_group(Pattern pattern, RunC* run, State state, InletC* inlet, EventC* event, EventC** kept) except -1:
    cdef Operand operand = <Operand> state.operand[inlet.operand]
    cdef uint32_t bit = (<uint32_t> 1) << inlet.operand
    cdef EntryC* entry
    cdef EntryC* found
    cdef EntryC* following
    if operand.index is None:
        following = run.pending[inlet.state].head
    else:
        following = operand.index.find(event, pattern.frame)
    while following is not NULL:
        found = following
        if operand.index is None:
            entry = found
            following = found.next
        else:
            entry = found.sibling
            following = found.bucket_next
        if not entry.open & bit:
            continue
        if pattern.is_sequence and state.kind == OR and is_any_there(state, inlet.operand, entry.partial):
            # It has been here before, and a count has handed it on again.
            entry.open &= ~bit
            if entry.open == 0:
                pattern.remove(entry)
            continue
        if operand.found_fits or pattern.fits(operand, entry.partial, event, kept):
            pattern.fill(run, inlet.state, operand, entry.partial, event, kept)
            entry.open &= ~bit
            if state.kind == OR or is_complete(state, entry):
                run.renew |= pattern.renews and inlet.state == 1 and inlet.operand == 0
                if has_other_places(pattern, entry):
                    leave_other_places(pattern, entry)
                    following = found.next if operand.index is None else found.bucket_next
                complete(pattern, run, state, entry, inlet.state, event.timestamp)
        elif pattern.is_sequence:
            pass_over(pattern, run, state, entry, inlet.operand)
    return 0


cdef inline bint has_other_places(Pattern pattern, const EntryC* entry) noexcept:
    """Whether a complete partial match may wait in its group once more: in a sequence, a count hands it on again."""
    return pattern.is_sequence and not entry.broken and entry.partial.entries.sibling is not NULL


cdef void leave_other_places(Pattern pattern, EntryC* entry) noexcept:
    """Let a group forget a partial match but for one entry, so that it is complete once only."""
    cdef EntryC* other = entry.partial.entries
    cdef EntryC* following
    while other is not NULL:
        following = other.sibling
        if other != entry and other.state == entry.state:
            pattern.remove(other)
        other = following


cdef int complete(Pattern pattern, RunC* run, State state, EntryC* entry, int number, int64_t timestamp) except -1:
    """A group has all it needs; one that saw what must not come starts again at most."""
    cdef PartialC* partial = entry.partial
    cdef bint broken = entry.broken
    cdef int64_t* due = NULL
    cdef bint at_once = False
    if pattern.keeps and number == 0:
        at_once = entry.met == 1 or state.kind == AND and entry.met & 1
        due = entry.due
        entry.due = NULL
    partial.refs += 1
    try:
        pattern.remove(entry)
        partial.timestamp = timestamp
        if not broken:
            pattern.advance(run, number, partial)
        elif state.again >= 0:
            pattern.add_again(run, state.again, partial, partial.starts)
    finally:
        pattern.matches.drop(partial)
        if due is not NULL:
            keep_times(pattern, run, due, at_once)
    return 0


cdef int offer_absent(Pattern pattern, RunC* run, State state, InletC* inlet, EventC* event, EventC** kept) except -1:
    """The event comes that must not."""
    cdef Operand operand = <Operand> state.operand[inlet.operand]
    cdef uint32_t bit = (<uint32_t> 1) << inlet.operand
    cdef EntryC* entry
    cdef EntryC* following
    if state.kind == ABSENT and inlet.state == 0:
        if pattern.is_sequence and not pattern.every and not pattern.rearms:
            run.deadline = NO_TIME
        elif run.deadline != NO_TIME:
            run.deadline = event.timestamp + operand.for_ms
            pattern.arm(run, 0, run.deadline)
        return 0
    if operand.index is None:
        following = run.pending[inlet.state].head
    else:
        following = operand.index.find(event, pattern.frame)
    while following is not NULL:
        entry = following
        if operand.index is None:
            following = entry.next
        else:
            following = entry.bucket_next
            if state.kind != ABSENT:
                entry = entry.sibling
        if state.kind != ABSENT and not is_watched(state, entry, inlet.operand):
            continue
        if operand.found_fits or pattern.fits(operand, entry.partial, event, kept):
            if operand.stops and (state.kind == ABSENT or operand.for_ms < 0):
                stop_counting(pattern, run, operand.slot, entry.partial)
            if state.kind == ABSENT or pattern.is_sequence and inlet.state > 0:
                pattern.remove(entry)
            elif operand.for_ms < 0:
                entry.broken = True
            elif inlet.state == 0:
                # Nothing has begun yet: the time starts anew.
                entry.due[inlet.operand] = event.timestamp + operand.for_ms
                pattern.arm(run, 0, entry.due[inlet.operand])
                if pattern.is_sequence:
                    begin_anew(pattern, run, entry)
            else:
                entry.open &= ~bit
                if state.kind == AND or entry.open == 0:
                    pattern.remove(entry)
        elif pattern.is_sequence and state.kind != ABSENT:
            pass_over(pattern, run, state, entry, inlet.operand)
    return 0


cdef int64_t first_due(State state, const EntryC* entry) noexcept:
    """When the first wait of a list's partial matches is over; NO_TIME where none waits."""
    cdef int64_t for_ms, first = NO_TIME
    cdef int k
    while entry is not NULL:
        for k in range(state.n_operands):
            for_ms = (<Operand> state.operand[k]).for_ms
            if for_ms >= 0 and (state.kind == ABSENT or is_watched(state, entry, k)):
                first = earlier(first, max(entry.due[k], entry.partial.timestamp + for_ms))
        entry = entry.next
    return first


cdef inline int64_t earlier(int64_t a, int64_t b) noexcept:
    return b if a == NO_TIME or (b != NO_TIME and b < a) else a


cdef int wait_over(Pattern pattern, RunC* run, int number, int64_t when) except -1:
    """Move on what waited in a state until now."""
    cdef State state = <State> pattern.state[number]
    cdef Operand operand
    cdef PartialC* partial
    cdef EntryC* entry
    cdef EntryC* following
    cdef int64_t first = NO_TIME
    cdef int k
    cdef bint done
    if state.kind == ABSENT and number == 0:
        if run.deadline == NO_TIME or run.deadline > when:
            return 0 if run.deadline == NO_TIME else pattern.arm(run, 0, run.deadline)
        run.deadline = NO_TIME
        partial = pattern.matches.make()
        try:
            partial.timestamp = when
            if begin_by_time(pattern, run, partial, when):
                pattern.advance(run, 0, partial)
            elif state.again >= 0:
                pattern.add_again(run, state.again, partial, partial.starts)
        finally:
            pattern.matches.drop(partial)
        return 0
    if pattern.keeps and number == 0:
        return lead_over(pattern, run, when)
    if pattern.is_sequence and run.incoming[number].head is not NULL:
        first = earlier(first_due(state, run.incoming[number].head), first_due(state, run.pending[number].head))
        if first == NO_TIME or first > when:
            # This timer is of one that is gone. What came in since has not met an event yet, and is to meet the next one.
            return 0 if first == NO_TIME else pattern.arm(run, number, first)
        forget(pattern, run, number)
        first = NO_TIME
    pattern.update(run, number)
    entry = run.pending[number].head
    while entry is not NULL:
        following = entry.next
        done = False
        for k in range(state.n_operands):
            operand = <Operand> state.operand[k]
            if operand.for_ms < 0 or state.kind != ABSENT and not is_watched(state, entry, k):
                continue
            # A count before may have taken events since.
            entry.due[k] = max(entry.due[k], entry.partial.timestamp + operand.for_ms)
            if entry.due[k] > when:
                if first == NO_TIME or entry.due[k] < first:
                    first = entry.due[k]
                continue
            entry.met |= (<uint32_t> 1) << k
            if operand.stops and state.kind != ABSENT:
                stop_counting(pattern, run, operand.slot, entry.partial)
            entry.open &= ~((<uint32_t> 1) << k)
            done = True
        if done and (state.kind != AND or is_complete(state, entry)):
            if number == 0 and not begin_by_time(pattern, run, entry.partial, when):
                entry.broken = True
            if has_other_places(pattern, entry):
                leave_other_places(pattern, entry)
                following = entry.next
            complete(pattern, run, state, entry, number, when)
        entry = following
    return 0 if first == NO_TIME else pattern.arm(run, number, first)
