"""The step of a sequence from event to event."""

from siddhi._core.pattern cimport Pattern, RunC
from siddhi._core.pattern_match cimport EntryC, ListC
from siddhi._core.pattern_state cimport ABSENT, AND, State


cdef int step(Pattern pattern, RunC* run) except -1:
    """A sequence goes one event on."""
    cdef int i
    cdef State first = <State> pattern.state[0]
    cdef bint next_waits = pattern.n_states > 1 and run.pending[1].head is not NULL
    cdef bint next_absent = pattern.n_states > 1 and (<State> pattern.state[1]).kind == ABSENT
    cdef bint cleared = True
    for i in range(pattern.n_states - 1, -1, -1):
        cleared = run.pending[i].head is NULL or forget(pattern, run, i)
    if cleared and not pattern.implicit and run.incoming[0].head is NULL and not (first.kind == ABSENT and first.waits):
        if pattern.every or (next_absent and not next_waits):
            pattern.add_fresh(run)
    if run.renew:
        run.renew = False
        pattern.add_fresh(run)
    for i in range(pattern.n_states):
        if run.incoming[i].head is not NULL:
            pattern.update(run, i)
    return 0


cdef bint forget(Pattern pattern, RunC* run, int number) noexcept:
    """Empty the pending list, unless a group has found some of its events; whether it is empty."""
    cdef ListC* pending = &run.pending[number]
    cdef State state = <State> pattern.state[number]
    cdef EntryC* entry
    cdef Py_ssize_t found, first = 0
    cdef int k
    if state.kind == AND:
        for k in range(state.n_operands):
            found = 0
            entry = pending.head
            while entry is not NULL:
                found += (entry.open >> k) & 1
                entry = entry.next
            if k == 0:
                first = found
            elif found != first:
                return False
    while pending.head is not NULL:
        pattern.remove(pending.head)
    return True
