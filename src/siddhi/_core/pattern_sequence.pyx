"""The step of a sequence from event to event."""

from cpython.mem cimport PyMem_Free
from libc.stdint cimport int64_t, uint32_t

from siddhi._core.pattern cimport Pattern, RunC
from siddhi._core.pattern_expiry cimport begin_by_time
from siddhi._core.pattern_match cimport NEW, EntryC, ListC, PartialC
from siddhi._core.pattern_offer cimport complete
from siddhi._core.pattern_state cimport (
    ABSENT,
    AND,
    NO_TIME,
    OR,
    Operand,
    State,
    all_operands,
    is_complete,
    is_hopeless,
    is_watched,
)


cdef int step(Pattern pattern, RunC* run) except -1:
    """A sequence goes one event on."""
    cdef int i
    cdef State first = <State> pattern.state[0]
    for i in range(pattern.n_states - 1, 0, -1):
        if run.pending[i].head is not NULL:
            forget(pattern, run, i)
    if not first.waits:
        begin(pattern, run, first)
    elif first.kind == ABSENT:
        wait_on(pattern, run)
    else:
        keep_waiting(pattern, run, first)
    for i in range(pattern.n_states):
        if run.incoming[i].head is not NULL:
            pattern.update(run, i)
    return 0


cdef int begin(Pattern pattern, RunC* run, State first) except -1:
    """Let a first state that needs no time have a fresh partial match, where it may."""
    cdef EntryC* entry = run.pending[0].head
    cdef bint broken = first.kind == AND and entry is not NULL and entry.broken
    if (entry is NULL or forget(pattern, run, 0)) and not pattern.implicit and run.incoming[0].head is NULL and (
            pattern.every or pattern.rearms and not is_next_waiting(run)):
        pattern.add_fresh(run)
        if broken and run.incoming[0].head is not NULL:
            run.incoming[0].head.broken = True
    if run.renew:
        run.renew = False
        pattern.add_fresh(run)
    return 0


cdef bint is_next_waiting(RunC* run) noexcept:
    """Whether a partial match waits in the second state, with its first operand."""
    cdef EntryC* entry = run.pending[1].head
    while entry is not NULL:
        if entry.open & 1:
            return True
        entry = entry.next
    return False


cdef int wait_on(Pattern pattern, RunC* run) noexcept:
    """A leading absence of a sequence that begins once bears one event, and not two."""
    if not pattern.every and not pattern.rearms:
        if run.renew:
            run.deadline = NO_TIME
        run.renew = True
    return 0


cdef int keep_waiting(Pattern pattern, RunC* run, State first) except -1:
    """A leading group of which nothing is found begins anew with its second event, but for its times."""
    cdef EntryC* entry = run.pending[0].head
    if entry is NULL:
        return pattern.add_fresh(run) if pattern.every and run.incoming[0].head is NULL else 0
    if first.kind == OR or entry.open == all_operands(first):
        entry.open = all_operands(first)
        entry.partial.timestamp = NEW
    return 0


cdef bint forget(Pattern pattern, RunC* run, int number) noexcept:
    """Empty the pending list, unless a group has found some of its events; whether it is empty."""
    cdef ListC* pending = &run.pending[number]
    cdef State state = <State> pattern.state[number]
    cdef Operand operand
    cdef EntryC* entry
    cdef Py_ssize_t found, first = -1
    cdef int k
    if state.kind == AND:
        for k in range(state.n_operands):
            operand = <Operand> state.operand[k]
            if number == 0 and operand.absent:
                continue
            found = 0
            entry = pending.head
            while entry is not NULL:
                found += (entry.open >> k) & 1
                if operand.for_ms >= 0 and entry.open == 0 and is_watched(state, entry, k):
                    return False                   # it has its events; its time runs, though one was passed over
                entry = entry.next
            if first < 0:
                first = found
            elif found != first:
                return False
    while pending.head is not NULL:
        pattern.remove(pending.head)
    return True


cdef int pass_over(Pattern pattern, RunC* run, State state, EntryC* entry, int number) except -1:
    cdef Operand operand = <Operand> state.operand[number]
    cdef uint32_t bit = (<uint32_t> 1) << number
    if not entry.open & bit or operand.absent and (state.kind == OR or entry.state == 0):
        return 0
    if not operand.absent:
        pattern.matches.empty(entry.partial, operand.slot)
    entry.open &= ~bit
    if entry.open == 0 and is_hopeless(state, entry):
        if pattern.keeps and entry.state == 0:
            return begin_anew(pattern, run, entry)
        pattern.remove(entry)
    return 0


# --- the leading group whose partial match stays

cdef int begin_anew(Pattern pattern, RunC* run, EntryC* entry) except -1:
    cdef int64_t* due = entry.due
    cdef State first = <State> pattern.state[0]
    cdef PartialC* partial = pattern.matches.make()
    cdef EntryC* made
    try:
        made = pattern.matches.append(entry.list, partial, 0)
    finally:
        pattern.matches.drop(partial)
    made.open = all_operands(first)
    made.due = due
    entry.due = NULL
    pattern.remove(entry)
    return run_on(pattern, run, first, made)


cdef int keep_times(Pattern pattern, RunC* run, int64_t* due, bint at_once) except -1:
    cdef EntryC* entry = run.incoming[0].head
    if entry is NULL:
        PyMem_Free(due)
        return 0
    PyMem_Free(entry.due)
    entry.due = due
    if at_once:
        entry.partial.timestamp = NEW
    return run_on(pattern, run, <State> pattern.state[0], entry)


cdef int run_on(Pattern pattern, RunC* run, State first, EntryC* entry) except -1:
    """Let what is over wait for another time."""
    cdef int64_t for_ms
    cdef int k
    for k in range(first.n_operands):
        for_ms = max((<Operand> first.operand[k]).for_ms, 1)
        if entry.due[k] <= pattern.now:
            entry.due[k] += (pattern.now - entry.due[k]) // for_ms * for_ms + for_ms
    return arm_lead(pattern, run, first, entry)


cdef int arm_lead(Pattern pattern, RunC* run, State first, const EntryC* entry) except -1:
    cdef int k
    for k in range(first.n_operands):
        if (<Operand> first.operand[k]).for_ms >= 0 and is_watched(first, entry, k):
            pattern.arm(run, 0, entry.due[k])
    return 0


cdef int lead_over(Pattern pattern, RunC* run, int64_t when) except -1:
    cdef State first = <State> pattern.state[0]
    cdef Operand operand
    cdef EntryC* entry
    cdef int k
    cdef bint met = False
    entry = run.pending[0].head if run.incoming[0].head is NULL else run.incoming[0].head
    if entry is NULL:
        return 0
    for k in range(first.n_operands):
        operand = <Operand> first.operand[k]
        if operand.for_ms < 0 or not is_watched(first, entry, k) or entry.due[k] > when:
            continue
        if run.incoming[0].head is not NULL:
            pattern.update(run, 0)
        entry.due[k] = when + max(operand.for_ms, 1)
        if entry.partial.timestamp != NEW and entry.partial.timestamp + operand.for_ms > when:
            continue                               # it began too late for this time
        entry.met |= (<uint32_t> 1) << k
        entry.open &= ~((<uint32_t> 1) << k)
        met = True
    if met and (first.kind == OR or is_complete(first, entry)):
        if not begin_by_time(pattern, run, entry.partial, when):
            entry.broken = True
        return complete(pattern, run, first, entry, 0, when)
    if entry.open == 0 and is_hopeless(first, entry):
        return begin_anew(pattern, run, entry)
    return arm_lead(pattern, run, first, entry)
