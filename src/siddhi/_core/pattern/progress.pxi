# Transitions: how an event or a timer changes the partial matches of a state, one function for each kind of state.

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
    """Begin a match with an event of the first state, which stays ready for the next event."""
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
    cdef MatchEntryC* entry
    cdef MatchEntryC* following
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
            if operand.index.size >= PREFETCH_MIN_SIZE:
                prefetch_neighbours(entry)
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
    cdef MatchEntryC* entry
    cdef MatchEntryC* following
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
                # Add it to this state first: a match that continues is emitted as a copy, and the copy must not keep
                # its age.
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
    cdef MatchEntryC* entry
    cdef MatchEntryC* found
    cdef MatchEntryC* following
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
            # Taken before: a count has passed the match on again.
            entry.open &= ~bit
            if entry.open == 0:
                pattern.remove(entry)
            continue
        if operand.found_fits or pattern.fits(operand, entry.partial, event, kept):
            pattern.fill(run, inlet.state, operand, entry.partial, event, kept)
            entry.open &= ~bit
            if state.kind == OR or is_complete(state, entry):
                run.renew |= pattern.renews and inlet.state == 1
                if has_other_entries(pattern, entry):
                    remove_other_entries(pattern, entry)
                    following = found.next if operand.index is None else found.bucket_next
                complete(pattern, run, state, entry, inlet.state, event.timestamp)
        elif pattern.is_sequence:
            pass_over(pattern, run, state, entry, inlet.operand)
    return 0


cdef inline bint has_other_entries(Pattern pattern, const MatchEntryC* entry) noexcept:
    """Return whether a complete partial match may have another entry in its group: a sequence's count passes it on
    repeatedly."""
    return pattern.is_sequence and not entry.broken and entry.partial.entries.sibling is not NULL


cdef void remove_other_entries(Pattern pattern, MatchEntryC* entry) noexcept:
    """Remove the other entries of a partial match from a group, so that it completes only once."""
    cdef MatchEntryC* other = entry.partial.entries
    cdef MatchEntryC* following
    while other is not NULL:
        following = other.sibling
        if other != entry and other.state == entry.state:
            pattern.remove(other)
        other = following


cdef int complete(Pattern pattern, RunC* run, State state, MatchEntryC* entry, int number, int64_t timestamp) except -1:
    """Complete a logical group.

    A match with a broken absence, as one refused by the limit has, is dropped, and its `every` group starts again.
    """
    cdef PartialC* partial = entry.partial
    cdef bint broken = entry.broken
    cdef int again = state.again if state.again >= 0 else state.group
    cdef int64_t* due = NULL
    if pattern.keeps and number == 0:
        due = entry.due
        entry.due = NULL
    partial.refs += 1
    try:
        pattern.remove(entry)
        partial.timestamp = timestamp
        if not broken:
            pattern.advance(run, number, partial)
        elif again >= 0:
            pattern.add_again(run, again, partial, partial.starts)
    finally:
        pattern.matches.drop(partial)
        if due is not NULL:
            keep_times(pattern, run, due)
    return 0


cdef int offer_absent(Pattern pattern, RunC* run, State state, InletC* inlet, EventC* event, EventC** kept) except -1:
    """Handle an event that must stay absent."""
    cdef Operand operand = <Operand> state.operand[inlet.operand]
    cdef uint32_t bit = (<uint32_t> 1) << inlet.operand
    cdef MatchEntryC* entry
    cdef MatchEntryC* following
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
                # Nothing has begun yet: restart the time.
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


cdef int64_t first_due(State state, const MatchEntryC* entry) noexcept:
    """Return when the first wait among a list's partial matches ends; NO_TIME: none waits."""
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
    """Advance the partial matches of a state whose wait is over."""
    cdef State state = <State> pattern.state[number]
    cdef Operand operand
    cdef PartialC* partial
    cdef MatchEntryC* entry
    cdef MatchEntryC* following
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
            elif state.group >= 0:
                pattern.add_again(run, state.group, partial, partial.starts)
        finally:
            pattern.matches.drop(partial)
        return 0
    if pattern.keeps and number == 0:
        return lead_over(pattern, run, when)
    if pattern.is_sequence and run.incoming[number].head is not NULL:
        first = earlier(first_due(state, run.incoming[number].head), first_due(state, run.pending[number].head))
        if first == NO_TIME or first > when:
            # The timer belongs to a removed partial match. Incoming ones have met no event yet and must meet the next.
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
            # An earlier count may have taken events since.
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
            if has_other_entries(pattern, entry):
                remove_other_entries(pattern, entry)
                following = entry.next
            complete(pattern, run, state, entry, number, when)
        entry = following
    return 0 if first == NO_TIME else pattern.arm(run, number, first)


# The step of a sequence from one event to the next: drop what the last event did not advance, and begin a new partial
# match where allowed.
#
# Each operand of a logical group waits on its own. An event that fails the operand's filter ends its wait. An absent
# operand goes on: an event that fails its filter is passed over, one that passes it still ends the match. An AND in
# which some operands still wait and others don't survives events that do not advance it; everything else lives for one
# event.
#
# When a new partial match begins:
#
#   with `every`       before each event, in the first state
#   without `every`    once: the first event that fits no state ends the sequence. If the second state has an absence, a new
#                      one begins whenever no absence waits there.
#   `not A for t, ..`  without `every`: the time runs once. An A ends the sequence, and so does the second event of any kind
#                      before the time is over.
#   `not A and B, ..`  an A is remembered from event to event until it has swallowed a B
#   group with times   keeps one partial match. Each absence ends its time after the last such event, or after it ended
#                      before, independent of the other operands. The partial match begins anew with an event that must stay
#                      absent, and when the group can't be completed any more; absences that have ended then wait again.

cdef int step(Pattern pattern, RunC* run) except -1:
    """Advance a sequence to the next event."""
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
    """Create a new partial match in a first state without a time, where allowed."""
    cdef MatchEntryC* entry = run.pending[0].head
    cdef bint broken = first.kind == AND and entry is not NULL and entry.broken
    if (entry is NULL or forget(pattern, run, 0)) and not pattern.implicit and run.incoming[0].head is NULL and (
            pattern.every or pattern.rearms and not is_next_waiting(pattern, run)):
        pattern.add_fresh(run)
        if broken and run.incoming[0].head is not NULL:
            run.incoming[0].head.broken = True
    if run.renew:
        run.renew = False
        pattern.add_fresh(run)
    return 0


cdef bint is_next_waiting(Pattern pattern, RunC* run) noexcept:
    """Return whether a partial match waits in the second state for an absence."""
    cdef State second = <State> pattern.state[1]
    cdef MatchEntryC* entry = run.pending[1].head
    cdef int k
    while entry is not NULL:
        for k in range(second.n_operands):
            if (<Operand> second.operand[k]).absent and (entry.open >> k) & 1:
                return True
        entry = entry.next
    return False


cdef int wait_on(Pattern pattern, RunC* run) noexcept:
    """End a leading absence with the second event, in a sequence that begins once."""
    if not pattern.every and not pattern.rearms:
        if run.renew:
            run.deadline = NO_TIME
        run.renew = True
    return 0


cdef int keep_waiting(Pattern pattern, RunC* run, State first) except -1:
    """Keep the partial match and the times of a leading group; an OR waits with all operands again."""
    cdef MatchEntryC* entry = run.pending[0].head
    if entry is NULL:
        return pattern.add_fresh(run) if pattern.every and run.incoming[0].head is NULL else 0
    if first.kind == OR:
        entry.open = all_operands(first)
    return 0


cdef bint forget(Pattern pattern, RunC* run, int number) noexcept:
    """Empty the pending list, unless a group has some of its events. Return whether it is empty."""
    cdef MatchListC* pending = &run.pending[number]
    cdef State state = <State> pattern.state[number]
    cdef Operand operand
    cdef MatchEntryC* entry
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
                    return False                   # has its events and still waits for the time
                entry = entry.next
            if first < 0:
                first = found
            elif found != first:
                return False
    while pending.head is not NULL:
        pattern.remove(pending.head)
    return True


cdef int pass_over(Pattern pattern, RunC* run, State state, MatchEntryC* entry, int number) except -1:
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


# --- a leading group that keeps its partial match

cdef int begin_anew(Pattern pattern, RunC* run, MatchEntryC* entry) except -1:
    cdef int64_t* due = entry.due
    cdef State first = <State> pattern.state[0]
    cdef PartialC* partial = pattern.matches.make()
    cdef MatchEntryC* made
    try:
        made = pattern.matches.append(entry.list, partial, 0)
    finally:
        pattern.matches.drop(partial)
    made.open = all_operands(first)
    made.due = due
    entry.due = NULL
    pattern.remove(entry)
    return run_on(pattern, run, first, made)


cdef int keep_times(Pattern pattern, RunC* run, int64_t* due) except -1:
    cdef MatchEntryC* entry = run.incoming[0].head
    if entry is NULL:
        PyMem_Free(due)
        return 0
    PyMem_Free(entry.due)
    entry.due = due
    return run_on(pattern, run, <State> pattern.state[0], entry)


cdef int run_on(Pattern pattern, RunC* run, State first, MatchEntryC* entry) except -1:
    """Move the due times that have passed to the next round."""
    cdef int64_t for_ms, skipped = 0
    cdef int k
    if first.kind == AND and first.round_ms > 0:
        skipped = left_out(pattern.app, later(pattern.now, first.round_ms), first.round_ms)
    for k in range(first.n_operands):
        for_ms = max((<Operand> first.operand[k]).for_ms, 1)
        if entry.due[k] <= pattern.now:
            entry.due[k] += (pattern.now - entry.due[k]) // for_ms * for_ms + for_ms
        entry.due[k] += skipped
    return arm_lead(pattern, run, first, entry)


cdef int arm_lead(Pattern pattern, RunC* run, State first, const MatchEntryC* entry) except -1:
    cdef int k
    for k in range(first.n_operands):
        if (<Operand> first.operand[k]).for_ms >= 0 and is_watched(first, entry, k):
            pattern.arm(run, 0, entry.due[k])
    return 0


cdef int lead_over(Pattern pattern, RunC* run, int64_t when) except -1:
    cdef State first = <State> pattern.state[0]
    cdef Operand operand
    cdef MatchEntryC* entry
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
        # An OR restarts the time that is over, an AND all of them.
        entry.due[k] = next_tick_of(pattern.app, when, max(operand.for_ms, 1)) if first.kind == OR else (
            when + max(operand.for_ms, 1))
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


# Removal of incomplete partial matches: expired, or over the limit.

cdef int expire(Pattern pattern, RunC* run, int64_t now) except -1:
    """Drop the partial matches whose first event is too far away."""
    cdef PartialC* partial
    cdef PartialC* newer
    cdef bint again = False
    while run.starts.oldest is not NULL and run.starts.oldest.start < now - pattern.within:
        again |= expire_one(pattern, run, run.starts.oldest)
    if pattern.n_begun >= PREFETCH_MIN_SIZE and run.starts.oldest is not NULL:
        prefetch_oldest(pattern, run.starts.oldest)
    if run.starts.latest > now + pattern.within:
        # A late event (rare): it also drops the matches that are too new for it.
        run.starts.latest = now
        partial = run.starts.oldest
        while partial is not NULL:
            newer = partial.newer
            if partial.latest > now + pattern.within:
                again |= expire_one(pattern, run, partial)
            else:
                run.starts.latest = max(run.starts.latest, partial.latest)
            partial = newer
    pattern.now = now
    return pattern.add_fresh(run) if again and not pattern.is_sequence else 0


cdef int make_room(Pattern pattern, RunC* run) except -1:
    """Drop the oldest partial matches of this partition key until the limit is met."""
    cdef PartialC* partial
    cdef bint again = False
    while pattern.n_begun > pattern.most:
        partial = run.starts.oldest
        if partial is NULL or run.waited.oldest is not NULL and run.waited.oldest.start < partial.start:
            partial = run.waited.oldest
        if partial is NULL:
            break
        again |= expire_one(pattern, run, partial)
        pattern.limit.drop()
    return pattern.add_fresh(run) if again and not pattern.is_sequence else 0


cdef bint begin_by_time(Pattern pattern, RunC* run, PartialC* partial, int64_t when) noexcept:
    """Begin a partial match by an ended absence; return False if the limit refuses it."""
    if pattern.most < 0 or partial.starts is not NULL:
        return True
    if not pattern.drops_oldest and pattern.n_begun >= pattern.most:
        pattern.refused = True
        return False
    start_at(&run.waited, partial, when)
    return True


cdef bint expire_one(Pattern pattern, RunC* run, PartialC* partial) except -1:
    """Remove a partial match from all lists; return whether the first group must start again."""
    cdef bint again = False
    # A count may keep a match that has left its group; that group has started again already.
    cdef bint rearmed = partial.unarmed == REARMED or (
        partial.unarmed >= 0 and not (<State> pattern.state[partial.unarmed]).in_first_group)
    remove_from_starts(partial)
    partial.refs += 1
    try:
        while partial.entries is not NULL:
            again |= not rearmed and (<State> pattern.state[partial.entries.state]).in_first_group
            if pattern.keeps and partial.entries.state == 0:
                begin_anew(pattern, run, partial.entries)
            else:
                pattern.remove(partial.entries)
    finally:
        pattern.matches.drop(partial)
    return again


cdef void prefetch_oldest(Pattern pattern, PartialC* partial) noexcept:
    """Prefetch what the expiry of a partial match and of the next one will need."""
    cdef Operand operand
    if partial.newer is not NULL:
        prefetch_partial(&partial.newer.first)
    if partial.entries is not NULL:
        operand = <Operand> (<State> pattern.state[partial.entries.state]).operand[0]
        if operand.index is not None:
            operand.index.prefetch_removal(partial.entries)
        prefetch_line(partial.slots[0])


# Entries in indexes.
#
# Besides the list of its state, an entry is in the state's index: by itself or, in a logical group, by a mark for each
# operand with a key. An entry of a counting state that collects no more is in the list `stopped` instead, which is
# removed with the state's next event.

cdef int insert_entry(Pattern pattern, State state, MatchEntryC* entry) except -1:
    """Insert a pending entry into the indexes of its keys."""
    cdef MatchEntryC* mark
    cdef Operand operand = <Operand> state.operand[0]
    cdef int k
    pattern.frame.slots = entry.partial.slots
    if state.kind < AND:
        return operand.index.insert(entry, pattern.frame)
    for k in range(state.n_operands):
        operand = <Operand> state.operand[k]
        if operand.index is None or not (entry.open >> k) & 1:
            continue
        mark = <MatchEntryC*> allocate_block(pattern.matches.entries)
        mark.partial = entry.partial
        mark.keyed = False
        mark.state = k
        mark.sibling = entry
        mark.prev = NULL
        mark.next = entry.bucket_next
        entry.bucket_next = mark
        operand.index.insert(mark, pattern.frame)
    return 0


cdef void remove_from_indexes(Pattern pattern, MatchEntryC* entry) noexcept:
    """Remove an entry from the indexes, or from `stopped`, before it leaves its list."""
    cdef State state = <State> pattern.state[entry.state]
    cdef MatchEntryC* mark
    if entry.keyed:
        (<Operand> state.operand[0]).index.remove(entry)
    elif state.kind == COUNT:
        if entry.broken:
            (<MatchEntryC**> entry.bucket_prev)[0] = entry.bucket_next
            if entry.bucket_next is not NULL:
                entry.bucket_next.bucket_prev = entry.bucket_prev
    elif state.kind >= AND:
        while entry.bucket_next is not NULL:
            mark = entry.bucket_next
            entry.bucket_next = mark.next
            if mark.keyed:
                (<Operand> state.operand[mark.state]).index.remove(mark)
            free_block(pattern.matches.entries, mark)


cdef void stop_counting(Pattern pattern, RunC* run, int slot, PartialC* partial) noexcept:
    """Stop the counts that an event in a slot ends. Their entries are removed when the next event is offered."""
    cdef MatchEntryC* entry = partial.entries
    cdef State state
    while entry is not NULL:
        state = <State> pattern.state[entry.state]
        if state.kind == COUNT and not entry.broken and is_stop(state, slot):
            if entry.keyed:
                (<Operand> state.operand[0]).index.remove(entry)
            stop_entry(run, entry)
        entry = entry.sibling


cdef void forget_stopped(Pattern pattern, RunC* run, int number) noexcept:
    """Remove the entries of a count that collect no more."""
    while run.stopped[number] is not NULL:
        pattern.remove(run.stopped[number])


cdef void stop_entry(RunC* run, MatchEntryC* entry) noexcept:
    """Add an entry of a counting state to `stopped`. `bucket_prev` holds the address of the pointer to the entry."""
    cdef MatchEntryC** head = &run.stopped[entry.state]
    entry.broken = True
    entry.bucket_next = head[0]
    entry.bucket_prev = <MatchEntryC*> head
    if head[0] is not NULL:
        head[0].bucket_prev = <MatchEntryC*> &entry.bucket_next
    head[0] = entry
