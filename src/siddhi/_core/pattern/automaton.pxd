from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from siddhi._core.expression.executor cimport ExecC
from siddhi._core.query.entry cimport RecordCopier
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool, RecordBudget
from siddhi._core.record.frame cimport FrameC
from siddhi._core.record.prefetch cimport prefetch_line
from siddhi._core.runtime.context cimport FaultSink
from siddhi._core.runtime.key_limit cimport KeyLimit
from siddhi._core.runtime.operator cimport Processor, Receiver, receive_fn
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

# --- A partial match: the events found so far, one slot for each place of a stream in the pattern, and its places in the
# lists of states that may take it further.
#
# Partial matches are shared by reference: a counting state and the one behind it hold the same one. They are copied
# only where an `every` group starts again. `refs` counts its list entries and the outputs it waits for; the last one
# gives its events back. A slot is empty (NULL), one event, or, where the state counts, a list of events. Copies share
# both.

cdef enum:
    NEW = -1                       # timestamp of a partial match that has taken no event

cdef struct CollectedC:            # events of a counting state, oldest first; whoever grows a shared one copies it
    EventC** events
    uint32_t refs
    uint32_t size
    uint32_t capacity

# A logical group may look for the same partial match by several keys. Its entry has a *mark* for each operand that has a
# key: an entry in the index instead of a list, `sibling` is the entry it stands for, `next` the mark of another operand.

cdef struct MatchEntryC:                # the place of a partial match in a list
    MatchEntryC* next
    MatchEntryC* prev
    MatchEntryC* sibling                # its next place elsewhere
    MatchEntryC* bucket_next            # chain of the state's index, in the order of the list; of a group: its first mark
    MatchEntryC* bucket_prev
    MatchListC* list
    PartialC* partial
    int64_t* due                   # [operands] when an absence is certain; NULL without
    uint64_t hash                  # of the key, where it is in the index
    bint keyed                     # it is
    uint32_t open                  # bit k: operand k of the logical group still looks at it
    uint32_t met                   # bit k: the absence of operand k is certain
    bint broken                    # an event has come that must not come before the others; of a count: it is stopped
    int32_t state                  # of a mark: the operand

cdef struct MatchListC:
    MatchEntryC* head
    MatchEntryC* tail
    Py_ssize_t size

cdef struct StartsC:               # those that have begun, by the time of their first event
    PartialC* oldest
    PartialC* newest
    int64_t latest                 # no event that `within` counts from is later
    Py_ssize_t* total              # how many there are, over all partition keys

cdef struct PartialC:
    # All links stand together in front: taking one partial match out touches one line of memory of each neighbour.
    PartialC* older                # by start, where it is in `starts`
    PartialC* newer
    MatchEntryC first                   # its place while it has one only, which is the rule; first.partial NULL: free
    StartsC* starts
    MatchEntryC* entries
    int64_t timestamp              # ms; of the last event taken, NEW: none
    int64_t start                  # ms; the first and the last of the events that `within` counts from
    int64_t latest
    uint32_t refs
    int32_t last_state                  # last state that has taken an event, -1: none
    int32_t unarmed                # state whose group starts again once a later state takes this, -1: none, -2: it has
    EventC* slots[1]

cdef class BlockPool:              # blocks of one size; grows by arenas
    cdef void* free
    cdef void** arenas
    cdef Py_ssize_t n_arenas
    cdef Py_ssize_t block_bytes
    cdef Py_ssize_t arena_blocks
    cdef readonly Py_ssize_t alive
    cdef readonly Py_ssize_t reserved_bytes
    cdef int grow(self) except -1

cdef inline void* allocate_block(BlockPool pool) except NULL:
    cdef void* block = pool.free
    if block is NULL:
        pool.grow()
        block = pool.free
    pool.free = (<void**> block)[0]
    pool.alive += 1
    return block

cdef inline void free_block(BlockPool pool, void* block) noexcept:
    (<void**> block)[0] = pool.free
    pool.free = block
    pool.alive -= 1

cdef class Matches:                # where the partial matches of one query come from
    cdef BlockPool partials
    cdef BlockPool entries         # second places
    cdef int n_slots
    cdef tuple pools               # of the slots' events
    cdef void** slot_pools         # the same, borrowed
    cdef bint* counting
    cdef RecordBudget budget       # of the lists of counting states, which may share their events; None: no limit
    cdef PartialC* make(self) except NULL                    # refs == 1, all slots empty
    cdef PartialC* copy(self, const PartialC* partial, int n_slots) except NULL     # with the first n_slots slots
    cdef CollectedC* own(self, PartialC* partial, int slot) except NULL
    cdef int grow_collected(self, CollectedC* collected) except -1
    cdef int resize_collected(self, CollectedC* collected, uint32_t capacity) except -1
    cdef void free_collected(self, CollectedC* collected) noexcept
    cdef void drop(self, PartialC* partial) noexcept         # give up one reference
    cdef void empty(self, PartialC* partial, int slot) noexcept      # give up the event of a slot that does not count
    cdef int collect(self, PartialC* partial, int slot, EventC* event) except -1   # takes over the event
    cdef MatchEntryC* append(self, MatchListC* match_list, PartialC* partial, int state) except NULL   # adds a reference
    cdef void remove(self, MatchEntryC* entry) noexcept           # drops the reference


cdef inline CollectedC* collected_of(const PartialC* partial, int slot) noexcept:
    return <CollectedC*> partial.slots[slot]

# --- How expressions see a partial match: as an array of events by slot (FrameC.slots). An event that a counting state has
# collected and an expression names by its index (e1[0], e1[last]) has a place of its own behind the slots; the view
# puts it there before the expression is evaluated.

cdef struct IndexedEventC:                 # one named event
    int32_t slot
    int32_t offset
    bint from_last
    bint counting                  # a plain slot has one event: its first and its last

cdef class PatternView:
    cdef int n_slots
    cdef int own                   # counting slot whose present event is a pick's, too; -1: none
    cdef int n_indexed_events
    cdef IndexedEventC* indexed_events
    cdef EventC** events           # [n_slots + n_picks]
    cdef bint uses_current         # the current event must be kept before it is known whether it is accepted
    cdef EventC** show(self, PartialC* partial, EventC* current) noexcept

# --- The partial matches that wait in a state, by the values an equality of its filter asks for: a hash table whose chains
# run through the entries themselves. Those of one key keep the order of the state's list, so that looking only at them
# changes nothing but the cost. Keys are compared by hash alone: the filter, which states the equality, decides about
# each one, unless it states nothing else and the hash of one key is never that of another (`exact`).
#
# A place of the table holds the hash, and a chain the entries of one hash. So an event looks at no entry that does not
# concern it; and one that is alone with its key is put in and taken out without a look at others. Places are searched one
# after the other from where the hash says; half of them are free.
#
# In front of the places stand their marks, a byte each: 0 where it is free, else the upper bits of its hash. Those of a
# hundred thousand partial matches stay in the cache, so that an event for which nothing waits reads no other memory.

# Many partial matches lie all over the memory: what the events of a block will need is prefetched (record/prefetch.pxd).

cdef enum:
    FIRST_ENTRY = 16               # bytes in front of a partial match's first entry: its links
    LOOKAHEAD = 32                     # hashes of a block's next events that are kept

cdef struct BucketC:
    uint64_t hash
    MatchEntryC* head                   # its bucket_prev is the last of the chain

cdef class PatternIndex:
    cdef tuple own                 # executors over the current event
    cdef tuple earlier             # executors over the partial match, in the same order
    cdef const ExecC** own_fns
    cdef const ExecC** earlier_fns
    cdef uint8_t* types
    cdef int width
    cdef bint partitioned          # the partition id is part of the key
    cdef uint8_t* tags            # [mask + 1]
    cdef BucketC* buckets          # [mask + 1]; what is where its mark is 0 says nothing
    cdef uint64_t mask
    cdef Py_ssize_t size           # entries
    cdef bint hash(self, const ExecC** fns, EventC* event, FrameC* frame, uint64_t* out) except -1    # False: a null
    cdef int insert(self, MatchEntryC* entry, FrameC* frame) except -1     # frame.slots are the partial match's
    cdef void remove(self, MatchEntryC* entry) noexcept
    cdef MatchEntryC* find(self, EventC* event, FrameC* frame) except? NULL     # the first candidate
    cdef int grow(self) except -1
    cdef void clear_bucket(self, uint64_t hole) noexcept
    cdef bint whole                # a key is one whole number
    cdef bint exact                # what has the same hash has the same key
    cdef bint plain                # the keys are attributes: hashing one is quick and can't fail
    cdef uint64_t next_hashes[LOOKAHEAD]     # a ring: of event i at i % AHEAD
    cdef MatchEntryC* prefetched[LOOKAHEAD]      # whose lines were asked for; it may be gone by now, its memory is not
    cdef EventC* current           # the event whose hash is known, NULL: none
    cdef uint64_t current_hash
    cdef void prefetch_lookup(self, EventC* event, FrameC* frame) noexcept      # a single event is about to be looked up
    cdef void prefetch(self, EventC** events, Py_ssize_t i, Py_ssize_t n, FrameC* frame) noexcept
    cdef void prefetch_bucket(self, EventC** events, Py_ssize_t i, FrameC* frame) noexcept
    cdef void prefetch_insert(self, FrameC* frame) noexcept         # a partial match is about to be placed
    cdef void prefetch_removal(self, MatchEntryC* entry) noexcept      # an entry is about to be removed

cdef inline uint8_t tag_of(uint64_t hash) noexcept:
    return <uint8_t> (hash >> 57) | 0x80

cdef inline uint64_t bucket_index(const uint8_t* tags, const BucketC* buckets, uint64_t mask, uint64_t hash) noexcept:
    """The place where the entries of a hash are, or would be put."""
    cdef uint8_t mark = tag_of(hash)
    cdef uint64_t i = hash & mask
    while tags[i] != 0 and not (tags[i] == mark and buckets[i].hash == hash):
        i = (i + 1) & mask
    return i

cdef inline void prefetch_partial(MatchEntryC* entry) noexcept:
    """Ask for the lines of a partial match, whose first place this is as a rule."""
    cdef char* partial = <char*> entry - FIRST_ENTRY
    prefetch_line(partial)
    prefetch_line(partial + 64)
    prefetch_line(partial + 128)

cdef inline void prefetch_neighbours(MatchEntryC* entry) noexcept:
    """Ask for what taking a partial match out touches besides itself."""
    cdef char* event = <char*> entry.partial.slots[0]
    prefetch_line(entry.prev)
    prefetch_line(entry.next)
    prefetch_line(event)
    prefetch_line(event + 48)         # records do not begin with a line

# --- The states of a pattern: plain data, made by the assembly and read by everything that runs the automaton.

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
    cdef RecordCopier copier        # makes what the slot keeps; None where it is absent
    cdef PatternView view
    cdef PatternIndex index        # or None
    cdef bint stops                # an event in this slot ends a count
    cdef bint found_fits           # a partial match that the index finds needs no look at the conditions
    cdef tuple executors
    cdef const ExecC** alone       # conditions on the current event
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
    cdef int* stops                # [n_stops] of a count: slots whose event ends it
    cdef int n_stops
    cdef int next                  # -1: it emits
    cdef int again                 # -1: it ends no group
    cdef int group                 # first state of the `every` group it stands in, -1: none
    cdef bint in_first_group       # what expires here lets the first state start again
    cdef bint late_again           # its group starts again when a later state takes the match
    cdef int first_slot
    cdef bint waits                # it has an absence with a time
    cdef int64_t round_ms          # of a group that time alone starts again, its first such: after how long

cdef inline bint is_stopped(State state, PartialC* partial) noexcept:
    """Whether a partial match has gone on, so that a count collects no more."""
    cdef int i
    for i in range(state.n_stops):
        if partial.slots[state.stops[i]] is not NULL:
            return True
    return False

cdef inline bint is_stop(State state, int slot) noexcept:
    """Whether an event in a slot ends a count."""
    cdef int i
    for i in range(state.n_stops):
        if state.stops[i] == slot:
            return True
    return False

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

cdef inline bint is_watched(State state, const MatchEntryC* entry, int k) noexcept:
    """Whether an event that operand k waits not to come would still matter."""
    return not (entry.met >> k) & 1 if state.kind == AND else (entry.open >> k) & 1

cdef inline bint is_hopeless(State state, const MatchEntryC* entry) noexcept:
    """Whether a group that waits for no event any longer is without one."""
    cdef int k
    for k in range(state.n_operands):
        if not (<Operand> state.operand[k]).absent and entry.partial.slots[(<Operand> state.operand[k]).slot] is NULL:
            return True
    return state.kind == OR

cdef inline bint is_complete(State state, MatchEntryC* entry) noexcept:
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

# --- The matches that an event, a chunk or a timer has completed, until they go to the selection.

cdef class Found:
    cdef Matches matches
    cdef PatternView view          # what the selection sees
    cdef Processor next            # the selection
    cdef FrameC* frame             # the app's
    cdef EventPool moments
    cdef EventC* moment            # the event the selection is given: the time of the match
    cdef PartialC** items          # NULL ends a chunk
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef bint separate                # every match is a chunk of its own
    cdef int add(self, PartialC* partial) except -1
    cdef int push(self, PartialC* partial) except -1
    cdef int deliver(self) except -1
    cdef int emit_match(self, PartialC* partial, bint alone) except -1
    cdef void cut(self, Py_ssize_t size) noexcept
    cdef void clear(self) noexcept

cdef inline bint goes_on(const PartialC* partial) noexcept:
    """Whether a count before may yet change a match that is complete."""
    cdef MatchEntryC* entry = partial.entries
    while entry is not NULL:
        if not entry.broken:
            return True
        entry = entry.sibling
    return False

# Patterns and sequences: an automaton over partial matches.
#
# The planner makes a flat table of states. Each state waits for the events of one slot, or of several (a logical
# group):
#
#   STREAM   one event                      COUNT    min to max events, of which the slot keeps a list
#   ABSENT   no event for a time            AND, OR  events and absences, together or either
#
# and knows the `next` state (-1: it emits) and, where it ends an `every` group, the state to start `again`. A
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
# and grows until that one takes an event, or the one behind it (`stops`). It is copied only where a group starts again.
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

cdef struct InletC:                # one operand of one state, as a stream's events meet it
    int state
    int operand

cdef struct StreamC:
    InletC* inlets                 # from the last state to the first
    int n_inlets

cdef struct RunC:                  # what one partition key holds
    MatchListC* incoming                # [n_states]
    MatchListC* pending                 # [n_states]
    int64_t* timer                 # [n_states] due time of the timer on its way, NO_TIME: none
    MatchEntryC** stopped               # [n_states] entries of counting states that collect no more, linked by bucket_next
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
    cdef bint begins_by_clock      # an absence with a time waits before the first event: the first instant counts
    cdef bint partitioned
    cdef int64_t within            # -1: no limit
    cdef readonly KeyLimit limit   # of partial matches that have begun, over all partition keys; None: any number
    cdef Py_ssize_t most           # its; -1: any number
    cdef bint drops_oldest         # the oldest makes room, else the event is refused
    cdef Py_ssize_t n_begun
    cdef bint refused              # by a timer, as there are as many as may be
    cdef Found found
    cdef RunC** runs               # [capacity] by partition id; NULL: none
    cdef unsigned int capacity
    cdef FrameC* frame
    cdef bint busy
    cdef int64_t now               # ms; of the current event or timer
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
    cdef void remove(self, MatchEntryC* entry) noexcept
    cdef int arm(self, RunC* run, int number, int64_t due) except -1
    cdef RunC* open_run(self) except NULL
    cdef void empty_run(self, RunC* run) noexcept
    cdef void close_run(self, RunC* run) noexcept
    cdef bint holds_event(self, RunC* run) noexcept
    cdef int begin_anew(self, unsigned int partition) except -1

# --- Which partial matches leave before they are complete. Those that have begun stand in the order of their first
# events, so that the oldest is found without a look at others.

cdef enum:
    REARMED = -2                   # `unarmed` of a partial match: the group that begins the pattern has started again

# --- The receiver of one stream that a pattern reads.

cdef class PatternEntry(Receiver):
    cdef Pattern pattern
    cdef int stream
    cdef FaultSink source
    cdef PatternIndex index        # of the first state that its events meet, or None
    cdef uint64_t read_mask
