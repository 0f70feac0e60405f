# Events refused by the limit of partial matches.
#
# With the policy `fail`, an event that would leave more partial matches than the limit allows has no effect:
#
#   1. Most events can't exceed the limit: there is room for everything an event could begin (`has_room`).
#   2. If every state takes one event, count in advance what begins and what completes.
#   3. Otherwise copy the run, process the event, and restore the copy if too many partial matches remain. The copy shares
#      all events: it costs two small blocks for each partial match of the key.

cdef enum:
    SPARE = 4                      # partial matches that a step of a sequence may add, and the one that begins


cdef struct ForecastC:
    Py_ssize_t begun               # partial matches that the event would begin
    Py_ssize_t taken               # entries after the first state that would take it
    Py_ssize_t done                # entries that it would complete; an upper bound where states count


cdef int take_limited(Pattern pattern, RunC* run, StreamC* stream, EventC* event) except -1:
    cdef int refused = 0
    if pattern.drops_oldest:
        pattern.apply(run, stream, event)
        if pattern.n_begun > pattern.most:
            make_room(pattern, run)
    elif has_room(pattern, run):
        pattern.apply(run, stream, event)
    else:
        refused = take_if_room(pattern, run, stream, event)
    pattern.limit.allows(pattern.n_begun)      # logs the warning
    return refused


cdef bint has_room(Pattern pattern, RunC* run) noexcept:
    """Return whether no event could exceed the limit."""
    cdef Py_ssize_t most = pattern.matches.partials.alive + SPARE
    cdef int i
    if pattern.forks:
        return most * (pattern.n_states + 2) <= pattern.most
    if most <= pattern.most:
        return True
    most = pattern.n_begun + SPARE
    for i in range(pattern.n_states):
        most += run.incoming[i].size + run.pending[i].size
    return most <= pattern.most


cdef int take_if_room(Pattern pattern, RunC* run, StreamC* stream, EventC* event) except -1:
    cdef ForecastC forecast
    cdef State first = <State> pattern.state[0]
    cdef Py_ssize_t most
    cdef int i
    cdef bint sure
    if pattern.is_sequence:
        return take_or_put_back(pattern, run, stream, event)
    for i in range(stream.n_inlets):
        if run.stopped[stream.inlets[i].state] is not NULL:
            forget_stopped(pattern, run, stream.inlets[i].state)
        if run.incoming[stream.inlets[i].state].head is not NULL:
            pattern.update(run, stream.inlets[i].state)
    forecast.begun = forecast.taken = forecast.done = 0
    for i in range(stream.n_inlets):
        predict(pattern, run, &stream.inlets[i], event, &forecast)
    most = forecast.begun
    if pattern.plain:
        most -= forecast.done
    elif pattern.forks:
        # Each entry may start its group again, and so may the later groups that need no event.
        most += forecast.taken * (pattern.n_states + 1)
    if most <= 0 or pattern.n_begun + most <= pattern.most:
        return pattern.apply(run, stream, event)
    sure = pattern.plain or (
        forecast.taken == 0 and forecast.done == 0 and first.kind <= COUNT and first.next >= 0
        and (<State> pattern.state[first.next]).min > 0)
    return 1 if sure else take_or_put_back(pattern, run, stream, event)


cdef int refuse_one(Pattern pattern) except -1:
    raise pattern.limit.refuse(None)


cdef list note_refused(Pattern pattern, list refused, EventC* event):
    refused = [] if refused is None else refused
    refused.append((<size_t> event, pattern.limit.refuse(None)))
    return refused


cdef int deliver_but(Pattern pattern, list refused, FaultSink source) except -1:
    cdef size_t address
    try:
        if pattern.found.size:
            pattern.found.deliver()
    finally:
        for address, error in refused:
            fault_alone(source, error, <EventC*> address)
    return 0


cdef int predict(Pattern pattern, RunC* run, InletC* inlet, EventC* event, ForecastC* forecast) except -1:
    """Count the effects of an event on a state without changing it."""
    cdef State state = <State> pattern.state[inlet.state]
    cdef Operand operand = <Operand> state.operand[inlet.operand]
    cdef EventC* kept = NULL
    if operand.absent and inlet.state == 0 or operand.n_alone and not pattern.passes(operand, event):
        return 0
    if inlet.state == 0 and pattern.implicit:
        forecast.begun += state.next >= 0
        return 0
    try:
        return count_taken(pattern, run, inlet, event, &kept, forecast)
    finally:
        if kept is not NULL:
            release(operand.copier.pool, kept)


cdef int count_taken(Pattern pattern, RunC* run, InletC* inlet, EventC* event, EventC** kept,
                     ForecastC* forecast) except -1:
    cdef State state = <State> pattern.state[inlet.state]
    cdef Operand operand = <Operand> state.operand[inlet.operand]
    cdef MatchEntryC* entry
    cdef MatchEntryC* following
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
            if state.kind >= AND:
                entry = entry.sibling
        if state.kind >= AND and not (entry.open >> inlet.operand) & 1:
            continue
        if not (operand.found_fits or pattern.fits(operand, entry.partial, event, kept)):
            continue
        if not operand.absent and entry.partial.starts is NULL:
            forecast.begun += state.next >= 0 or not pattern.plain
        elif state.next < 0 or (state.kind == COUNT and entry.sibling is NULL and entry.partial.entries == entry):
            forecast.done += 1
        forecast.taken += inlet.state > 0
    return 0


# --- undoing an event

cdef int take_or_put_back(Pattern pattern, RunC* run, StreamC* stream, EventC* event) except -1:
    """Process an event; restore the run if too many partial matches remain."""
    cdef Py_ssize_t before = pattern.n_begun, found = pattern.found.size, waiting = 0
    cdef RunC* copy = copied(pattern, run, &waiting)
    cdef bint refused = False
    try:
        pattern.apply(run, stream, event)
        refused = pattern.n_begun > max(pattern.most, before)
    finally:
        if not refused:
            pattern.close_run(copy)
    if not refused:
        return 0
    pattern.found.cut(found)
    pattern.close_run(run)
    pattern.runs[pattern.frame.partition] = copy
    copy.starts.total = copy.waited.total = &pattern.n_begun
    pattern.n_begun += waiting
    place_all(pattern, copy)
    return 1


cdef RunC* copied(Pattern pattern, RunC* run, Py_ssize_t* waiting) except NULL:
    """Return a copy of a run. Its partial matches are in no index and not yet counted by the limit."""
    cdef RunC* copy = pattern.open_run()
    cdef dict copies = {}
    cdef int i
    copy.begun = run.begun
    copy.renew = run.renew
    copy.deadline = run.deadline
    memcpy(copy.timer, run.timer, pattern.n_states * sizeof(int64_t))
    copy.starts.total = copy.waited.total = waiting
    try:
        copy_starts(pattern, &run.starts, &copy.starts, copies)
        copy_starts(pattern, &run.waited, &copy.waited, copies)
        for i in range(pattern.n_states):
            copy_entries(pattern, run.incoming[i].head, copy, &copy.incoming[i], copies)
            copy_entries(pattern, run.pending[i].head, copy, &copy.pending[i], copies)
    except BaseException:
        release_copies(pattern, copies)
        pattern.close_run(copy)
        raise
    release_copies(pattern, copies)
    return copy


cdef PartialC* copy_of(Pattern pattern, PartialC* partial, dict copies) except NULL:
    """Return the copy of a partial match, borrowed from `copies`."""
    cdef PartialC* copy
    found = copies.get(<size_t> partial)
    if found is not None:
        return <PartialC*> <size_t> found
    copy = pattern.matches.copy(partial, pattern.matches.n_slots)
    copy.last_state = partial.last_state
    copy.unarmed = partial.unarmed
    copies[<size_t> partial] = <size_t> copy
    return copy


cdef void release_copies(Pattern pattern, dict copies) noexcept:
    for address in copies.values():
        pattern.matches.drop(<PartialC*> <size_t> address)


cdef int copy_starts(Pattern pattern, StartsC* starts, StartsC* copy, dict copies) except -1:
    cdef PartialC* partial = starts.oldest
    cdef PartialC* made
    while partial is not NULL:
        if partial.entries is not NULL:            # otherwise it only waits to be emitted
            made = copy_of(pattern, partial, copies)
            start_at(copy, made, partial.start)
            start_at(copy, made, partial.latest)
        partial = partial.newer
    return 0


cdef int copy_entries(Pattern pattern, MatchEntryC* entry, RunC* copy, MatchListC* match_list, dict copies) except -1:
    cdef State state
    cdef MatchEntryC* made
    while entry is not NULL:
        state = <State> pattern.state[entry.state]
        made = pattern.matches.append(match_list, copy_of(pattern, entry.partial, copies), entry.state)
        made.open = entry.open
        made.met = entry.met
        if entry.due is not NULL:
            made.due = <int64_t*> PyMem_Malloc(state.n_operands * sizeof(int64_t))
            if made.due is NULL:
                raise MemoryError
            memcpy(made.due, entry.due, state.n_operands * sizeof(int64_t))
        if state.kind == COUNT and entry.broken:
            stop_entry(copy, made)
        else:
            made.broken = entry.broken
        entry = entry.next
    return 0


cdef int place_all(Pattern pattern, RunC* run) except -1:
    """Insert the partial matches of a run into the indexes."""
    cdef State state
    cdef MatchEntryC* entry
    cdef int i
    for i in range(pattern.n_states):
        state = <State> pattern.state[i]
        entry = run.pending[i].head if state.n_keyed else NULL
        while entry is not NULL:
            if not (state.kind == COUNT and entry.broken):
                insert_entry(pattern, state, entry)
            entry = entry.next
    return 0
