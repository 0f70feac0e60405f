# Patterns and sequences: an automaton over partial matches.
#
# The planner makes a flat table of states. Each state waits for the events of one slot, or of several (a logical group):
#
#   STREAM   one event                      COUNT    min to max events, of which the slot keeps a list
#   ABSENT   no event for a time            AND, OR  events and absences, together or either
#
# and knows the `next` state (-1: it puts out) and, where it ends an `every` group, the state to start `again`. A partial
# match waits in two lists of a state: `incoming` until the state's next event, then `pending`. An event of a stream does
#
#   1. expire: partial matches whose first event is further away than `within` leave all lists. A group that begins the
#      pattern starts again.
#   2. pattern: `pending` of the stream's states takes over `incoming`, ordered by time.
#      sequence: `pending` of every state is forgotten first; the first state may get a fresh partial match; then `pending`
#      of every state takes over `incoming`. So nothing survives an event that does not take it further.
#   3. offer the event to the states of its stream, from the last to the first. A state that takes it moves the partial
#      match on. As states further back see the event later, no event takes a partial match two states on.
#
# A partial match is shared by reference: where a counting state has its minimum, the match is also the next state's, and
# grows until that one takes an event. It is copied only where a group starts again.
#
# Cost: what expires is found at the old end of a list by start time; what a state's filter wants to be equal is found by
# key (pattern_index); what the filter says of the event alone is decided once per event.
#
# Bound: a limit on the partial matches that have begun is checked where one begins or forks. Where it is reached, the event
# is refused with an error, or the oldest one goes once the event is done.
#
# Absences end by timers. One timer per state is on its way, for the first of them; it fires with the app's clock, and the
# partial match goes on with the time it was due.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.chunk cimport EventChunk
from siddhi._core.context cimport FaultSink
from siddhi._core.event cimport EventC, EventPool
from siddhi._core.executor cimport ExecC, FrameC
from siddhi._core.pattern_index cimport PatternIndex
from siddhi._core.pattern_match cimport EntryC, ListC, Matches, PartialC, StartsC
from siddhi._core.pattern_view cimport PatternView
from siddhi._core.processor cimport Processor, Receiver, receive_fn
from siddhi._core.query cimport StageCopier
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

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
    cdef int min
    cdef int max                   # -1: no bound
    cdef int next                  # -1: it puts out
    cdef int again                 # -1: it ends no group
    cdef bint in_first_group       # what expires here lets the first state start again
    cdef bint late_again           # its group starts again when a later state takes the match
    cdef int first_slot
    cdef bint waits                # it has an absence with a time

cdef struct InletC:                # one operand of one state, as a stream's events meet it
    int state
    int operand

cdef struct StreamC:
    InletC* inlets                 # from the last state to the first
    int n_inlets

cdef struct RunC:                  # what one partition key holds
    ListC* incoming                # [n_states]
    ListC* pending                 # [n_states]
    int64_t* timer                 # [n_states] due time of the timer on its way, NO_TIME: none
    int64_t deadline               # of a leading absence, NO_TIME: it waits for nothing
    StartsC starts
    bint begun                     # the first partial match has been made
    bint renew                     # see `renews`

cdef class Pattern(Processor):
    cdef readonly Matches matches
    cdef tuple states
    cdef void** state              # the same, borrowed
    cdef int n_states
    cdef StreamC* streams
    cdef int n_streams
    cdef bint is_sequence
    cdef bint every                # the first state is in an `every` group
    cdef bint implicit             # the first state takes each event that fits it; no partial match waits there
    cdef bint renews               # a sequence that may begin with no event begins again behind what its second state saw
    cdef bint begins_by_clock      # a leading absence with a time: the first instant counts
    cdef bint partitioned
    cdef int64_t within            # -1: no limit
    cdef Py_ssize_t limit          # partial matches that may have begun at a time; 0: any number
    cdef bint drops_oldest         # the oldest makes room, else the event is refused
    cdef Py_ssize_t n_begun
    cdef readonly long long dropped
    cdef object on_drop            # fn(dropped): the oldest has been dropped, how many so far
    cdef PatternView view          # the selection's
    cdef RunC** runs               # [capacity] by partition slot; NULL: none
    cdef unsigned int capacity
    cdef FrameC* frame
    cdef EventPool moments
    cdef EventC* moment            # the event the selection is given: the time of the match
    cdef PartialC** out            # matches to put out; NULL ends a chunk
    cdef Py_ssize_t n_out
    cdef Py_ssize_t out_capacity
    cdef bint apart                # every match is a chunk of its own
    cdef bint busy
    cdef int64_t now               # ms; of the event or timer at work

    cdef int take_one(self, int stream, EventC* event) except -1
    cdef int take_chunk(self, int stream, EventC* event) except -1
    cdef int take(self, RunC* run, StreamC* stream, EventC* event) except -1
    cdef int begin(self, RunC* run, int64_t now) except -1
    cdef int expire(self, RunC* run, int64_t now) except -1
    cdef int make_room(self, RunC* run) except -1
    cdef bint expire_one(self, PartialC* partial) noexcept
    cdef int update(self, RunC* run, int number) except -1
    cdef int step(self, RunC* run) except -1
    cdef bint forget(self, RunC* run, int number) noexcept
    cdef int offer(self, RunC* run, InletC* inlet, EventC* event) except -1
    cdef int offer_kind(self, RunC* run, InletC* inlet, EventC* event, EventC** kept) except -1
    cdef int begin_with(self, RunC* run, State state, EventC* event, EventC** kept) except -1
    cdef bint passes(self, Operand operand, EventC* event) except -1
    cdef bint fits(self, Operand operand, PartialC* partial, EventC* event, EventC** kept) except -1
    cdef int refuse(self, RunC* run, State state, int number, int operand) except -1
    cdef int offer_stream(self, RunC* run, State state, int number, EventC* event, EventC** kept) except -1
    cdef int offer_count(self, RunC* run, State state, int number, EventC* event, EventC** kept) except -1
    cdef int offer_group(self, RunC* run, State state, InletC* inlet, EventC* event, EventC** kept) except -1
    cdef int offer_absent(self, RunC* run, State state, InletC* inlet, EventC* event, EventC** kept) except -1
    cdef int fill(self, RunC* run, int number, Operand operand, PartialC* partial, EventC* event,
                  EventC** kept) except -1
    cdef int complete(self, RunC* run, State state, EntryC* entry, int number, int64_t timestamp) except -1
    cdef int advance(self, RunC* run, int number, PartialC* partial) except -1
    cdef int taken(self, RunC* run, int number, PartialC* partial) except -1
    cdef int add(self, RunC* run, int number, PartialC* partial) except -1
    cdef int add_spare(self, RunC* run) except -1
    cdef int add_fresh(self, RunC* run) except -1
    cdef int add_again(self, RunC* run, int number, PartialC* partial) except -1
    cdef void remove(self, EntryC* entry) noexcept
    cdef int arm(self, RunC* run, int number, int64_t due) except -1
    cdef int wait_over(self, RunC* run, int number, int64_t when) except -1
    cdef int emit(self, PartialC* partial) except -1
    cdef int push_out(self, PartialC* partial) except -1
    cdef int deliver(self) except -1
    cdef int put_out(self, PartialC* partial, bint alone) except -1
    cdef void clear_out(self) noexcept
    cdef RunC* open_run(self) except NULL
    cdef void close_run(self, RunC* run) noexcept

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

cdef class PatternEntry(Receiver):
    cdef Pattern pattern
    cdef int stream
    cdef FaultSink source
    cdef uint64_t read_mask
