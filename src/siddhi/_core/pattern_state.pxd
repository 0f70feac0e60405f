# The states of a pattern: plain data, made by the assembly and read by everything that runs the automaton.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.executor cimport ExecC
from siddhi._core.pattern_index cimport PatternIndex
from siddhi._core.pattern_match cimport EntryC, PartialC
from siddhi._core.pattern_view cimport PatternView
from siddhi._core.query cimport StageCopier

cdef enum StateKind:
    STREAM = 0
    COUNT = 1
    ABSENT = 2
    AND = 3
    OR = 4

cdef enum:
    NO_TIME = -0x7fffffffffffffff

cdef class Operand:                # one slot of a state
    cdef readonly int slot
    cdef readonly bint absent
    cdef readonly int64_t for_ms   # -1: no time
    cdef StageCopier copier        # makes what the slot keeps; None where it is absent
    cdef PatternView view
    cdef PatternIndex index        # or None
    cdef bint stops                # an event in this slot ends a count
    cdef bint found_fits           # a partial match that the index finds needs no look at the conditions
    cdef tuple executors
    cdef const ExecC** alone       # conditions on the event at hand
    cdef int n_alone
    cdef const ExecC** conditions  # conditions on the partial match, too
    cdef int n_conditions

cdef class State:
    cdef readonly int kind
    cdef tuple operands
    cdef void** operand            # the same, borrowed
    cdef int n_operands
    cdef int n_keyed               # operands that look for their partial matches by key
    cdef int min
    cdef int max                   # -1: no bound
    cdef int stops[2]              # of a count: slots whose event ends it, -1: none
    cdef int next                  # -1: it puts out
    cdef int again                 # -1: it ends no group
    cdef bint in_first_group       # what expires here lets the first state start again
    cdef bint late_again           # its group starts again when a later state takes the match
    cdef int first_slot
    cdef bint waits                # it has an absence with a time

cdef inline bint is_stopped(State state, PartialC* partial) noexcept:
    """Whether a partial match has gone on, so that a count collects no more."""
    return (state.stops[0] >= 0 and partial.slots[state.stops[0]] is not NULL
            or state.stops[1] >= 0 and partial.slots[state.stops[1]] is not NULL)

cdef inline bint is_any_there(State state, int but, const PartialC* partial) noexcept:
    """Whether an operand other than one has its event."""
    cdef int k
    for k in range(state.n_operands):
        if k != but and partial.slots[(<Operand> state.operand[k]).slot] is not NULL:
            return True
    return False

cdef inline uint32_t all_operands(State state) noexcept:
    """A bit for each operand."""
    return <uint32_t> ((<uint64_t> 1 << state.n_operands) - 1)

cdef inline bint is_watched(State state, const EntryC* entry, int k) noexcept:
    """Whether an event that operand k waits not to come would still matter."""
    return not (entry.met >> k) & 1 if state.kind == AND else (entry.open >> k) & 1

cdef inline bint is_hopeless(State state, const EntryC* entry) noexcept:
    """Whether a group that waits for no event any longer is without one."""
    cdef int k
    for k in range(state.n_operands):
        if not (<Operand> state.operand[k]).absent and entry.partial.slots[(<Operand> state.operand[k]).slot] is NULL:
            return True
    return state.kind == OR

cdef inline bint is_complete(State state, EntryC* entry) noexcept:
    """Whether every operand of an AND is there."""
    cdef int k
    cdef Operand operand
    for k in range(state.n_operands):
        operand = <Operand> state.operand[k]
        if operand.absent:
            if operand.for_ms >= 0 and not (entry.met >> k) & 1:
                return False
        elif entry.partial.slots[operand.slot] is NULL:
            return False
    return True
