# Patterns and sequences: an automaton over partial matches.
#
# The planner makes a flat table of states. Each state waits for the events of one slot, or of several (a logical
# group):
#
#   STREAM   one event                      COUNT    min to max events, of which the slot keeps a list
#   ABSENT   no event for a time            AND, OR  events and absences, together or either
#
# and knows the `next` state (-1: it puts out) and, where it ends an `every` group, the state to start `again`. A
# partial match waits in two lists of a state: `incoming` until the state's next event, then `pending`. An event of a
# stream does
#
#   1. expire: partial matches whose first event is further away than `within` leave all lists. A group that begins the
#      pattern starts again.
#   2. pattern: `pending` of the stream's states takes over `incoming`, ordered by time.
#      sequence: `pending` of every state is forgotten first; the first state may get a fresh one (pattern_sequence); then
#      `pending` of every state takes over `incoming`. So nothing survives an event that does not take it further.
#   3. offer the event to the states of its stream, from the last to the first. A state that takes it moves the partial
#      match on. As states further back see the event later, no event takes a partial match two states on.
#
# A partial match is shared by reference: where a counting state has its minimum, the match is also the next state's,
# and grows until that one takes an event (`stops`: the two slots behind it). It is copied only where a group starts again.
#
# Cost: what expires is found at the old end of a list by start time; what a state's filter wants to be equal is found
# by key (pattern_index); what the filter says of the event alone is decided once per event.
#
# Bound: where an event would leave more partial matches waiting than may be, it is refused with an error as if it had not
# come (pattern_limit), or the oldest one goes once the event is done.
#
# Absences end by timers. One timer per state is on its way, for the first of them; it fires with the app's clock, and
# the partial match goes on with the time it was due: so long after the last event it has taken, which a count in front
# may move.

from libc.stdint cimport int64_t

from siddhi._core.context cimport FaultSink
from siddhi._core.event cimport EventC
from siddhi._core.executor cimport FrameC
from siddhi._core.pattern_found cimport Found
from siddhi._core.pattern_index cimport PatternIndex
from siddhi._core.pattern_match cimport EntryC, ListC, Matches, PartialC, StartsC
from siddhi._core.pattern_state cimport Operand, State
from siddhi._core.processor cimport Processor
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

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
    EntryC** stopped               # [n_states] entries of counting states that collect no more, linked by bucket_next
    int64_t deadline               # of a leading absence, NO_TIME: it waits for nothing
    StartsC starts
    StartsC waited                 # begun by no event of the first state: counted where there is a limit
    bint begun                     # the first partial match has been made
    bint renew                     # see `renews`; of a leading absence in a sequence: an event has come

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
    cdef bint plain                # a pattern of single events, in which no group behind the first state starts again
    cdef bint forks                # a group behind the first state starts again
    cdef bint renews               # a sequence that may begin with no event begins anew behind its second state
    cdef bint begins_by_clock      # a leading absence with a time: the first instant counts
    cdef bint partitioned
    cdef int64_t within            # -1: no limit
    cdef readonly Py_ssize_t limit  # partial matches that may have begun at a time; 0: any number
    cdef bint drops_oldest         # the oldest makes room, else the event is refused
    cdef Py_ssize_t n_begun
    cdef bint refused              # by a timer, as there are as many as may be
    cdef readonly long long dropped
    cdef readonly long long turned_away        # events that were refused
    cdef public Py_ssize_t warn_at         # so many have begun: nearly_full() is called, once; 0: never
    cdef public object nearly_full         # fn(begun)
    cdef str query                 # its name, for messages
    cdef object on_drop            # fn(dropped): the oldest has been dropped, how many so far
    cdef Found found
    cdef RunC** runs               # [capacity] by partition slot; NULL: none
    cdef unsigned int capacity
    cdef FrameC* frame
    cdef bint busy
    cdef int64_t now               # ms; of the event or timer at work
    cdef bint rearms               # a sequence without `every` that arms again while nothing waits in its second state
    cdef bint keeps                # a sequence whose leading group waits for a time: its partial match stays

    cdef int take_one(self, int stream, EventC* event) except -1
    cdef int take_chunk(self, int stream, EventC* event, FaultSink source) except -1
    cdef int take(self, RunC* run, StreamC* stream, EventC* event) except -1       # 1: it is refused, nothing has happened
    cdef int apply(self, RunC* run, StreamC* stream, EventC* event) except -1
    cdef int begin(self, RunC* run, int64_t now) except -1
    cdef int update(self, RunC* run, int number) except -1
    cdef int offer(self, RunC* run, InletC* inlet, EventC* event) except -1
    cdef PatternIndex index_of(self, int stream)             # that of the first state its events meet, or None
    cdef bint passes(self, Operand operand, EventC* event) except -1
    cdef bint fits(self, Operand operand, PartialC* partial, EventC* event, EventC** kept) except -1
    cdef int refuse(self, RunC* run, State state, int number, int operand) except -1
    cdef int fill(self, RunC* run, int number, Operand operand, PartialC* partial, EventC* event,
                  EventC** kept) except -1
    cdef int advance(self, RunC* run, int number, PartialC* partial) except -1
    cdef int taken(self, RunC* run, int number, PartialC* partial, StartsC* starts) except -1
    cdef int add(self, RunC* run, int number, PartialC* partial) except -1
    cdef int64_t behind_jump(self, State state, int64_t since) except? -1
    cdef int add_spare(self, RunC* run) except -1
    cdef int add_fresh(self, RunC* run) except -1
    cdef int add_again(self, RunC* run, int number, PartialC* partial, StartsC* starts) except -1
    cdef void remove(self, EntryC* entry) noexcept
    cdef int arm(self, RunC* run, int number, int64_t due) except -1
    cdef RunC* open_run(self) except NULL
    cdef void empty_run(self, RunC* run) noexcept
    cdef void close_run(self, RunC* run) noexcept
    cdef int begin_anew(self, unsigned int partition) except -1
