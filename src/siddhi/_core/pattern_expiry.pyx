"""Partial matches that leave before they are complete: too old, or too many."""

from libc.stdint cimport int64_t

from siddhi._core.fetch cimport WORTH_FETCHING, fetch_line
from siddhi._core.pattern cimport Pattern, RunC
from siddhi._core.pattern_index cimport fetch_partial
from siddhi._core.pattern_match cimport PartialC, leave_starts, start_at
from siddhi._core.pattern_sequence cimport begin_anew
from siddhi._core.pattern_state cimport Operand, State


cdef int expire(Pattern pattern, RunC* run, int64_t now) except -1:
    """Drop the partial matches whose first event is too far away."""
    cdef PartialC* partial
    cdef PartialC* newer
    cdef bint again = False
    while run.starts.oldest is not NULL and run.starts.oldest.start < now - pattern.within:
        again |= expire_one(pattern, run, run.starts.oldest)
    if pattern.n_begun >= WORTH_FETCHING and run.starts.oldest is not NULL:
        fetch_oldest(pattern, run.starts.oldest)
    if run.starts.latest > now + pattern.within:
        # A late event: rare, and it leaves none of those that are too new for it.
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
    """Drop the oldest partial matches of this partition key until there are no more than allowed."""
    cdef PartialC* partial
    cdef bint again = False
    while pattern.n_begun > pattern.limit:
        partial = run.starts.oldest
        if partial is NULL or run.waited.oldest is not NULL and run.waited.oldest.start < partial.start:
            partial = run.waited.oldest
        if partial is NULL:
            break
        again |= expire_one(pattern, run, partial)
        pattern.dropped += 1
    pattern.on_drop(pattern.dropped)
    return pattern.add_fresh(run) if again and not pattern.is_sequence else 0


cdef bint begin_by_time(Pattern pattern, RunC* run, PartialC* partial, int64_t when) noexcept:
    """Whether an absence may begin one more."""
    if pattern.limit == 0 or partial.starts is not NULL:
        return True
    if not pattern.drops_oldest and pattern.n_begun >= pattern.limit:
        pattern.refused = True
        return False
    start_at(&run.waited, partial, when)
    return True


cdef object too_many(Pattern pattern):
    pattern.turned_away += 1
    return RuntimeError(
        f"query '{pattern.query}': {pattern.n_begun} partial matches wait, and max.partial.matches allows no more")


cdef bint expire_one(Pattern pattern, RunC* run, PartialC* partial) except -1:
    """Take a partial match out of all lists; whether the first group has to start again."""
    cdef bint again = False
    # A count goes on with what has left its group: that one has started again already.
    cdef bint rearmed = partial.unarmed == REARMED or (
        partial.unarmed >= 0 and not (<State> pattern.state[partial.unarmed]).in_first_group)
    leave_starts(partial)
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


cdef void fetch_oldest(Pattern pattern, PartialC* partial) noexcept:
    """Ask for what will be needed when this one expires, and the next."""
    cdef Operand operand
    if partial.newer is not NULL:
        fetch_partial(&partial.newer.first)
    if partial.entries is not NULL:
        operand = <Operand> (<State> pattern.state[partial.entries.state]).operand[0]
        if operand.index is not None:
            operand.index.fetch_place(partial.entries)
        fetch_line(partial.slots[0])
