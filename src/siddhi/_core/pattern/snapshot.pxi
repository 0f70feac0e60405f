# Patterns in snapshots. For one partition key:
#
#   begun · renew · deadline · events of each slot, column by column · partial matches · the order of their starts, also of
#   those begun by an absence
#   for each state: its incoming and its pending list
#
# Events and partial matches are numbered in the order in which they are met, so that shared ones stay shared.

cdef class Numbers:
    """Numbers distinct addresses in the order in which they are met."""

    cdef dict number
    cdef list addresses

    def __cinit__(self):
        self.number = {}
        self.addresses = []

    cdef uint32_t of(self, const void* address) except? 0xffffffff:
        found = self.number.get(<size_t> address)
        if found is None:
            found = len(self.addresses)
            self.number[<size_t> address] = found
            self.addresses.append(<size_t> address)
        return found


# --- writing

cdef int write_run(Pattern pattern, RunC* run, SnapshotWriter writer) except -1:
    cdef Numbers partials = Numbers()
    cdef list events = [Numbers() for _ in range(pattern.matches.n_slots)]
    cdef int i
    for i in range(pattern.n_states):
        number_partials(&run.incoming[i], partials, events, pattern.matches)
        number_partials(&run.pending[i], partials, events, pattern.matches)
    writer.put_bool(run.begun)
    writer.put_bool(run.renew)
    writer.put_due(run.deadline)
    for i in range(pattern.matches.n_slots):
        write_slot_events(<Numbers> events[i], <EventPool> pattern.matches.slot_pools[i], writer)
    writer.put_u32(<uint32_t> len(partials.addresses))
    for address in partials.addresses:
        write_partial(<const PartialC*> <size_t> address, events, pattern.matches, writer)
    write_starts(&run.starts, partials, writer)
    write_starts(&run.waited, partials, writer)
    for i in range(pattern.n_states):
        write_list(<State> pattern.state[i], &run.incoming[i], partials, writer)
        write_list(<State> pattern.state[i], &run.pending[i], partials, writer)
    return 0


cdef int write_starts(StartsC* starts, Numbers partials, SnapshotWriter writer) except -1:
    cdef PartialC* partial = starts.oldest
    cdef uint32_t n = 0
    while partial is not NULL:
        n += <size_t> partial in partials.number
        partial = partial.newer
    writer.put_u32(n)
    partial = starts.oldest
    while partial is not NULL:
        if <size_t> partial in partials.number:
            writer.put_u32(partials.of(partial))
            writer.put_time(partial.start)
            writer.put_time(partial.latest)
        partial = partial.newer
    return 0


cdef int number_partials(MatchListC* match_list, Numbers partials, list events, Matches matches) except -1:
    cdef MatchEntryC* entry = match_list.head
    cdef CollectedC* collected
    cdef int slot
    cdef uint32_t k
    while entry is not NULL:
        partials.of(entry.partial)
        for slot in range(matches.n_slots):
            if entry.partial.slots[slot] is NULL:
                continue
            if matches.counting[slot]:
                collected = collected_of(entry.partial, slot)
                for k in range(collected.size):
                    (<Numbers> events[slot]).of(collected.events[k])
            else:
                (<Numbers> events[slot]).of(entry.partial.slots[slot])
        entry = entry.next
    return 0


cdef int write_slot_events(Numbers numbers, EventPool pool, SnapshotWriter writer) except -1:
    cdef Py_ssize_t i, n = len(numbers.addresses)
    cdef EventC** events = <EventC**> PyMem_Malloc(max(1, n) * sizeof(void*))
    if events is NULL:
        raise MemoryError
    try:
        for i in range(n):
            events[i] = <EventC*> <size_t> numbers.addresses[i]
        writer.put_events(events, n, pool.layout)
    finally:
        PyMem_Free(events)
    return 0


cdef int write_partial(const PartialC* partial, list events, Matches matches, SnapshotWriter writer) except -1:
    cdef CollectedC* collected
    cdef int slot
    cdef uint32_t k
    writer.put_due(partial.timestamp)
    writer.put_i64(partial.last_state)
    writer.put_i64(partial.unarmed)
    for slot in range(matches.n_slots):
        if partial.slots[slot] is NULL:
            writer.put_u32(0)
        elif matches.counting[slot]:
            collected = collected_of(partial, slot)
            writer.put_u32(collected.size)
            for k in range(collected.size):
                writer.put_u32((<Numbers> events[slot]).of(collected.events[k]))
        else:
            writer.put_u32(1)
            writer.put_u32((<Numbers> events[slot]).of(partial.slots[slot]))
    return 0


cdef int write_list(State state, MatchListC* match_list, Numbers partials, SnapshotWriter writer) except -1:
    cdef MatchEntryC* entry = match_list.head
    cdef int k
    writer.put_u32(<uint32_t> match_list.size)
    while entry is not NULL:
        writer.put_u32(partials.of(entry.partial))
        writer.put_u32(entry.open)
        writer.put_u32(entry.met)
        writer.put_bool(entry.broken)
        if state.waits:
            for k in range(state.n_operands):
                writer.put_due(entry.due[k])
        entry = entry.next
    return 0


# --- reading

cdef class Restored:
    """Owns what has been read and is in no list yet; releases it when it is destroyed."""

    cdef Matches matches
    cdef EventC*** events              # [n_slots]
    cdef Py_ssize_t* n_events
    cdef PartialC** partials
    cdef Py_ssize_t n_partials

    def __cinit__(self, Matches matches not None):
        cdef int slot
        self.matches = matches
        self.events = <EventC***> PyMem_Malloc(matches.n_slots * sizeof(void*))
        self.n_events = <Py_ssize_t*> PyMem_Malloc(matches.n_slots * sizeof(Py_ssize_t))
        if self.events is NULL or self.n_events is NULL:
            raise MemoryError
        for slot in range(matches.n_slots):
            self.events[slot] = NULL
            self.n_events[slot] = 0

    def __dealloc__(self):
        cdef Py_ssize_t i
        cdef int slot
        for i in range(self.n_partials):
            self.matches.drop(self.partials[i])
        PyMem_Free(self.partials)
        if self.events is not NULL and self.n_events is not NULL:
            for slot in range(self.matches.n_slots):
                for i in range(self.n_events[slot]):
                    release(<EventPool> self.matches.slot_pools[slot], self.events[slot][i])
                PyMem_Free(self.events[slot])
        PyMem_Free(self.events)
        PyMem_Free(self.n_events)

    cdef EventC* event(self, int slot, SnapshotReader reader) except NULL:
        """Return the event of the next number, with a reference for the caller."""
        cdef uint32_t number = reader.get_u32()
        if <Py_ssize_t> number >= self.n_events[slot]:
            raise ValueError("snapshot is damaged: an event of a pattern is missing")
        self.events[slot][number].refs += 1
        return self.events[slot][number]

    cdef PartialC* partial(self, SnapshotReader reader) except NULL:
        cdef uint32_t number = reader.get_u32()
        if <Py_ssize_t> number >= self.n_partials:
            raise ValueError("snapshot is damaged: a partial match is missing")
        return self.partials[number]


cdef int read_run(Pattern pattern, RunC* run, SnapshotReader reader) except -1:
    cdef Matches matches = pattern.matches
    cdef Restored restored = Restored(matches)
    cdef uint32_t i, n
    cdef int slot, number
    run.begun = reader.get_bool()
    run.renew = reader.get_bool()
    run.deadline = reader.get_due()
    for slot in range(matches.n_slots):
        restored.n_events[slot] = reader.get_events(<EventPool> matches.slot_pools[slot], &restored.events[slot])
    n = reader.get_u32()
    # Each takes at least 24 bytes: a damaged count must not allocate memory.
    if 24 * <Py_ssize_t> n > reader.size - reader.position:
        raise ValueError("snapshot is damaged: partial matches are missing")
    restored.partials = <PartialC**> PyMem_Malloc(max(1, <Py_ssize_t> n) * sizeof(void*))
    if restored.partials is NULL:
        raise MemoryError
    for i in range(n):
        restored.partials[i] = matches.make()
        restored.n_partials += 1
        read_partial(restored, restored.partials[i], pattern, reader)
    read_starts(&run.starts, restored, reader)
    read_starts(&run.waited, restored, reader)
    for number in range(pattern.n_states):
        read_list(pattern, run, number, &run.incoming[number], restored, reader)
        read_list(pattern, run, number, &run.pending[number], restored, reader)
    if run.deadline != NO_TIME:
        pattern.arm(run, 0, run.deadline)
    if not run.begun and pattern.app.running:
        pattern.app.schedule(pattern, 0, pattern.frame.partition)
    return 0


cdef int read_starts(StartsC* starts, Restored restored, SnapshotReader reader) except -1:
    cdef PartialC* partial
    cdef int64_t start, latest
    cdef uint32_t n = reader.get_u32()
    for _ in range(n):
        partial = restored.partial(reader)
        start = reader.get_time()
        latest = reader.get_time()
        if partial.starts is not NULL:
            raise ValueError("snapshot is damaged: a partial match has two starts")
        start_at(starts, partial, start)
        start_at(starts, partial, latest)
    return 0


cdef int read_partial(Restored restored, PartialC* partial, Pattern pattern, SnapshotReader reader) except -1:
    cdef int slot
    cdef State waiting
    cdef uint32_t n
    partial.timestamp = reader.get_due()
    partial.last_state = <int32_t> reader.get_i64()
    partial.unarmed = <int32_t> reader.get_i64()
    if not (-1 <= partial.last_state < pattern.n_states and REARMED <= partial.unarmed < pattern.n_states):
        raise ValueError("snapshot is damaged: a partial match has an invalid state")
    if partial.unarmed >= 0:
        waiting = <State> pattern.state[partial.unarmed]
        if not waiting.late_again or waiting.again < 0:
            raise ValueError("snapshot is damaged: a partial match waits for a group that does not exist")
    for slot in range(restored.matches.n_slots):
        n = reader.get_u32()
        if restored.matches.counting[slot]:
            for _ in range(n):
                restored.matches.collect(partial, slot, restored.event(slot, reader))
        elif n:
            partial.slots[slot] = restored.event(slot, reader)
    return 0


cdef int read_list(Pattern pattern, RunC* run, int number, MatchListC* match_list, Restored restored,
                   SnapshotReader reader) except -1:
    cdef State state = <State> pattern.state[number]
    cdef MatchEntryC* entry
    cdef uint32_t n = reader.get_u32()
    cdef int k
    for _ in range(n):
        entry = pattern.matches.append(match_list, restored.partial(reader), number)
        entry.open = reader.get_u32()
        entry.met = reader.get_u32()
        entry.broken = reader.get_bool()
        if state.waits:
            entry.due = <int64_t*> PyMem_Malloc(state.n_operands * sizeof(int64_t))
            if entry.due is NULL:
                raise MemoryError
            for k in range(state.n_operands):
                entry.due[k] = reader.get_due()
                if (<Operand> state.operand[k]).for_ms >= 0 and not (entry.met >> k) & 1:
                    pattern.arm(run, number, entry.due[k])
        if state.kind == COUNT and entry.broken:
            stop_entry(run, entry)
        elif state.n_keyed and match_list == &run.pending[number]:
            insert_entry(pattern, state, entry)
    return 0
