"""Where else than in their lists the entries of partial matches are."""

from siddhi._core.pattern cimport Pattern, RunC
from siddhi._core.pattern_match cimport EntryC, PartialC, give_block, take_block
from siddhi._core.pattern_state cimport AND, COUNT, Operand, State


cdef int place(Pattern pattern, State state, EntryC* entry) except -1:
    """Let a pending entry be found by its keys."""
    cdef EntryC* mark
    cdef Operand operand = <Operand> state.operand[0]
    cdef int k
    pattern.frame.slots = entry.partial.slots
    if state.kind < AND:
        return operand.index.place(entry, pattern.frame)
    for k in range(state.n_operands):
        operand = <Operand> state.operand[k]
        if operand.index is None or not (entry.open >> k) & 1:
            continue
        mark = <EntryC*> take_block(pattern.matches.entries)
        mark.partial = entry.partial
        mark.keyed = False
        mark.state = k
        mark.sibling = entry
        mark.prev = NULL
        mark.next = entry.bucket_next
        entry.bucket_next = mark
        operand.index.place(mark, pattern.frame)
    return 0


cdef void give_up_places(Pattern pattern, EntryC* entry) noexcept:
    """An entry is about to leave its list."""
    cdef State state = <State> pattern.state[entry.state]
    cdef EntryC* mark
    if entry.keyed:
        (<Operand> state.operand[0]).index.remove(entry)
    elif state.kind == COUNT:
        if entry.broken:
            (<EntryC**> entry.bucket_prev)[0] = entry.bucket_next
            if entry.bucket_next is not NULL:
                entry.bucket_next.bucket_prev = entry.bucket_prev
    elif state.kind >= AND:
        while entry.bucket_next is not NULL:
            mark = entry.bucket_next
            entry.bucket_next = mark.next
            if mark.keyed:
                (<Operand> state.operand[mark.state]).index.remove(mark)
            give_block(pattern.matches.entries, mark)


cdef void stop_counting(Pattern pattern, RunC* run, int slot, PartialC* partial) noexcept:
    """A slot behind a count has its event: the count is over when the next event is offered to it."""
    cdef EntryC* entry = partial.entries
    cdef State state
    while entry is not NULL:
        state = <State> pattern.state[entry.state]
        if state.kind == COUNT and not entry.broken and (state.stops[0] == slot or state.stops[1] == slot):
            if entry.keyed:
                (<Operand> state.operand[0]).index.remove(entry)
            stop_entry(run, entry)
        entry = entry.sibling


cdef void forget_stopped(Pattern pattern, RunC* run, int number) noexcept:
    """Take the entries of a count out that collect no more."""
    while run.stopped[number] is not NULL:
        pattern.remove(run.stopped[number])


cdef void stop_entry(RunC* run, EntryC* entry) noexcept:
    """Put an entry of a counting state among those that collect no more. `bucket_prev` is what points at it."""
    cdef EntryC** head = &run.stopped[entry.state]
    entry.broken = True
    entry.bucket_next = head[0]
    entry.bucket_prev = <EntryC*> head
    if head[0] is not NULL:
        head[0].bucket_prev = <EntryC*> &entry.bucket_next
    head[0] = entry
