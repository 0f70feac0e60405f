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

# --- A partial match: the events taken so far, one slot for each stream of the pattern, and its entries in the lists of
# the states that may take it further.
#
# Partial matches are shared by reference: a counting state and the state after it hold the same one. They are copied
# only where an `every` group starts again. `refs` counts list entries and pending outputs; the last owner to drop its
# reference releases the events. A slot is empty (NULL), holds one event or, in a counting state, a list of events.
# Copies share both events and lists.

cdef enum:
    NEW = -1                       # timestamp of a partial match that has taken no event

cdef struct CollectedC:            # events of a counting state, oldest first; copied on write when shared
    EventC** events
    uint32_t refs
    uint32_t size
    uint32_t capacity

# A logical group may look up the same partial match by several keys. Its entry has a *mark* for each operand with a
# key. A mark is an entry in the operand's index and in no list: `sibling` is the entry it stands for, `next` the mark
# of the next operand.

cdef struct MatchEntryC:                # a partial match in the list of a state
    MatchEntryC* next
    MatchEntryC* prev
    MatchEntryC* sibling           # next entry of the same partial match, in another list
    MatchEntryC* bucket_next       # chain in the state's index, in list order; in a logical group: first mark
    MatchEntryC* bucket_prev
    MatchListC* list
    PartialC* partial
    int64_t* due                   # [operands] time at which an absence is certain; NULL without absences
    uint64_t hash                  # of the key, while it is in the index
    bint keyed                     # is in the index
    uint32_t open                  # bit k: operand k of the logical group still waits with it
    uint32_t met                   # bit k: the absence of operand k is certain
    bint broken                    # an event arrived that must stay absent; in a count: collects no more
    int32_t state                  # of a mark: the operand

cdef struct MatchListC:
    MatchEntryC* head
    MatchEntryC* tail
    Py_ssize_t size

cdef struct StartsC:               # begun partial matches, ordered by the time of their first event
    PartialC* oldest
    PartialC* newest
    int64_t latest                 # upper bound of `latest` of the partial matches in the list
    Py_ssize_t* total              # number of begun partial matches, over all partition keys

cdef struct PartialC:
    # Links come first: removing a partial match touches one cache line of each neighbour.
    PartialC* older                # by start, while it is in `starts`
    PartialC* newer
    MatchEntryC first              # its first entry, stored inline; first.partial is NULL while it is unused
    StartsC* starts
    MatchEntryC* entries
    int64_t timestamp              # ms; of the last event taken, NEW: none
    int64_t start                  # ms; `start` and `latest`: first and last event that `within` counts from
    int64_t latest
    uint32_t refs
    int32_t last_state  # last state that has taken an event, -1: none
    int32_t unarmed     # state whose group starts again once a later state takes the match, -1: none, -2: done
    EventC* slots[1]

cdef class BlockPool:              # allocator of blocks of one size; grows by arenas
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

cdef class Matches:                # allocator of the partial matches of one query
    cdef BlockPool partials
    cdef BlockPool entries         # entries other than the first of a partial match
    cdef int n_slots
    cdef tuple pools               # event pool of each slot
    cdef void** slot_pools         # borrowed pointers to `pools`
    cdef bint* counting
    cdef RecordBudget budget       # charged with the lists of counting states; None: no limit
    cdef PartialC* make(self) except NULL  # refs == 1, all slots empty
    cdef PartialC* copy(self, const PartialC* partial, int n_slots) except NULL  # copies the first n_slots slots
    cdef CollectedC* own(self, PartialC* partial, int slot) except NULL
    cdef int grow_collected(self, CollectedC* collected) except -1
    cdef int resize_collected(self, CollectedC* collected, uint32_t capacity) except -1
    cdef void free_collected(self, CollectedC* collected) noexcept
    cdef void drop(self, PartialC* partial) noexcept         # drops one reference
    cdef void empty(self, PartialC* partial, int slot) noexcept  # releases the event of a slot that does not count
    cdef int collect(self, PartialC* partial, int slot, EventC* event) except -1  # consumes a reference, even on failure
    cdef MatchEntryC* append(self, MatchListC* match_list, PartialC* partial, int state) except NULL  # adds a reference
    cdef void remove(self, MatchEntryC* entry) noexcept      # drops the reference


cdef inline CollectedC* collected_of(const PartialC* partial, int slot) noexcept:
    return <CollectedC*> partial.slots[slot]

# --- What expressions see of a partial match: an array of events by slot (FrameC.slots). An event of a counting state
# that an expression names by index (e1[0], e1[last]) gets an entry of its own after the slots. The view fills these
# entries before the expression is evaluated.

cdef struct IndexedEventC:                 # an event named by index
    int32_t slot
    int32_t offset
    bint from_last
    bint counting                  # the slot counts; otherwise its one event is first and last

cdef class PatternView:
    cdef int n_slots
    cdef int own                   # counting slot that the conditions decide about, -1: none
    cdef int n_indexed_events
    cdef IndexedEventC* indexed_events
    cdef EventC** events           # [n_slots + n_indexed_events]
    cdef bint uses_current         # conditions read the current event: copy it before they are evaluated
    cdef EventC** show(self, PartialC* partial, EventC* current) noexcept

# --- Equality index: the partial matches pending in a state, by the values that an equality of its filter compares. A
# hash table whose chains run through the entries themselves. Entries of one key keep the order of the state's list, so
# a lookup finds what a scan would find, in the same order. Keys are compared by hash alone. The filter, which contains
# the equality, then decides about each candidate; it is skipped when it is nothing but the equality and hashes are
# unique (`exact`).
#
# Open addressing with linear probing, at most half full. A bucket holds a hash and the chain of the entries with this
# hash, so that an event touches no other entry, and inserting or removing the only entry of a key touches no neighbour.
#
# `tags` has a byte for each bucket: 0 where the bucket is free, else the upper bits of its hash. The tags of a hundred
# thousand partial matches fit into the cache: an event without a candidate reads no other memory.

# Partial matches are scattered over memory: what the next events of a block need is prefetched (record/prefetch.pxd).

cdef enum:
    FIRST_ENTRY = 16               # offset of `first` in PartialC, in bytes
    LOOKAHEAD = 32                 # number of hashes kept of a block's next events

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
    cdef uint8_t* tags             # [mask + 1]; 0: bucket is free
    cdef BucketC* buckets          # [mask + 1]; contents undefined where the tag is 0
    cdef uint64_t mask
    cdef Py_ssize_t size           # entries
    cdef bint hash(self, const ExecC** fns, EventC* event, FrameC* frame, uint64_t* out) except -1  # False: null key
    cdef int insert(self, MatchEntryC* entry, FrameC* frame) except -1  # frame.slots: those of the partial match
    cdef void remove(self, MatchEntryC* entry) noexcept
    cdef MatchEntryC* find(self, EventC* event, FrameC* frame) except? NULL     # first candidate
    cdef int grow(self) except -1
    cdef void clear_bucket(self, uint64_t hole) noexcept
    cdef bint whole                          # the key is one int or long
    cdef bint exact                          # equal hashes imply equal keys
    cdef bint plain                          # keys are attributes: hashing is cheap and cannot fail
    cdef uint64_t next_hashes[LOOKAHEAD]     # ring buffer: hash of event i at i % LOOKAHEAD
    cdef MatchEntryC* prefetched[LOOKAHEAD]  # prefetched entries; possibly freed since (their memory stays)
    cdef EventC* current                     # event whose hash is current_hash, NULL: none
    cdef uint64_t current_hash
    cdef void prefetch_lookup(self, EventC* event, FrameC* frame) noexcept      # before the lookup of a single event
    cdef void prefetch(self, EventC** events, Py_ssize_t i, Py_ssize_t n, FrameC* frame) noexcept
    cdef void prefetch_bucket(self, EventC** events, Py_ssize_t i, FrameC* frame) noexcept
    cdef void prefetch_insert(self, FrameC* frame) noexcept         # before the insertion of a partial match
    cdef void prefetch_removal(self, MatchEntryC* entry) noexcept   # before the removal of an entry

cdef inline uint8_t tag_of(uint64_t hash) noexcept:
    return <uint8_t> (hash >> 57) | 0x80

cdef inline uint64_t bucket_index(const uint8_t* tags, const BucketC* buckets, uint64_t mask, uint64_t hash) noexcept:
    """Return the bucket of a hash: the one that holds it, or the free one where it belongs."""
    cdef uint8_t mark = tag_of(hash)
    cdef uint64_t i = hash & mask
    while tags[i] != 0 and not (tags[i] == mark and buckets[i].hash == hash):
        i = (i + 1) & mask
    return i

cdef inline void prefetch_partial(MatchEntryC* entry) noexcept:
    """Prefetch the lines of a partial match; the entry must be its first."""
    cdef char* partial = <char*> entry - FIRST_ENTRY
    prefetch_line(partial)
    prefetch_line(partial + 64)
    prefetch_line(partial + 128)

cdef inline void prefetch_neighbours(MatchEntryC* entry) noexcept:
    """Prefetch what the removal of a partial match touches besides itself."""
    cdef char* event = <char*> entry.partial.slots[0]
    prefetch_line(entry.prev)
    prefetch_line(entry.next)
    prefetch_line(event)
    prefetch_line(event + 48)         # records are not aligned to cache lines

# --- The states of a pattern: plain data, built by the assembly and read by all functions of the automaton.

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
    cdef readonly int64_t for_ms   # ms the event must stay absent; -1: no time
    cdef RecordCopier copier       # makes the record that the slot keeps; None for an absence
    cdef PatternView view
    cdef PatternIndex index        # or None
    cdef bint stops                # an event in this slot ends a count before it
    cdef bint found_fits           # the index is exact: candidates need no evaluation of conditions
    cdef tuple executors
    cdef const ExecC** alone       # conditions on the current event only
    cdef int n_alone
    cdef const ExecC** conditions  # conditions that also read the partial match
    cdef int n_conditions

cdef class State:
    cdef readonly int kind
    cdef tuple operands
    cdef void** operand            # borrowed pointers to `operands`
    cdef int n_operands
    cdef int n_keyed               # number of operands with an index
    cdef int min
    cdef int max                   # -1: unbounded
    cdef int* stops                # [n_stops] of a count: slots whose event ends it
    cdef int n_stops
    cdef int next                  # -1: emits the match
    cdef int again                 # first state of the `every` group that ends here, -1: none
    cdef int group                 # first state of the `every` group it belongs to, -1: none
    cdef bint in_first_group       # expiry of a partial match here starts the first state again
    cdef bint late_again           # its group starts again when a later state takes the match
    cdef int first_slot
    cdef bint waits        # has an absence with a time
    cdef int64_t round_ms  # duration of a group that starts again by time alone, stored in its first state with a time

cdef inline bint is_stopped(State state, PartialC* partial) noexcept:
    """Return whether a later slot has its event, so that the count collects no more."""
    cdef int i
    for i in range(state.n_stops):
        if partial.slots[state.stops[i]] is not NULL:
            return True
    return False

cdef inline bint is_stop(State state, int slot) noexcept:
    """Return whether an event in a slot ends a count."""
    cdef int i
    for i in range(state.n_stops):
        if state.stops[i] == slot:
            return True
    return False

cdef inline bint is_any_there(State state, int but, const PartialC* partial) noexcept:
    """Return whether an operand other than `but` has its event."""
    cdef int k
    for k in range(state.n_operands):
        if k != but and partial.slots[(<Operand> state.operand[k]).slot] is not NULL:
            return True
    return False

cdef inline uint32_t all_operands(State state) noexcept:
    """Return a mask with a bit for each operand."""
    return <uint32_t> ((<uint64_t> 1 << state.n_operands) - 1)

cdef inline bint is_watched(State state, const MatchEntryC* entry, int k) noexcept:
    """Return whether an event of the absent operand k would still matter."""
    return not (entry.met >> k) & 1 if state.kind == AND else (entry.open >> k) & 1

cdef inline bint is_hopeless(State state, const MatchEntryC* entry) noexcept:
    """Return whether a group with no open operand can't be completed any more."""
    cdef int k
    for k in range(state.n_operands):
        if not (<Operand> state.operand[k]).absent and entry.partial.slots[(<Operand> state.operand[k]).slot] is NULL:
            return True
    return state.kind == OR

cdef inline bint is_complete(State state, MatchEntryC* entry) noexcept:
    """Return whether every operand of an AND is satisfied."""
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

# --- Completed matches of an event, a chunk or a timer, buffered until they are passed to the selection.

cdef class Found:
    cdef Matches matches
    cdef PatternView view          # what the selection sees
    cdef Processor next            # the selection
    cdef FrameC* frame             # of the app
    cdef EventPool moments
    cdef EventC* moment            # event passed to the selection; carries the time of the match
    cdef PartialC** items          # NULL ends a chunk
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef bint separate             # every match is a chunk of its own
    cdef int add(self, PartialC* partial) except -1
    cdef int push(self, PartialC* partial) except -1
    cdef int deliver(self) except -1
    cdef int emit_match(self, PartialC* partial, bint alone) except -1
    cdef void cut(self, Py_ssize_t size) noexcept
    cdef void clear(self) noexcept

cdef inline bint goes_on(const PartialC* partial) noexcept:
    """Return whether an earlier count may still change a complete match."""
    cdef MatchEntryC* entry = partial.entries
    while entry is not NULL:
        if not entry.broken:
            return True
        entry = entry.sibling
    return False

# Patterns and sequences: an automaton over partial matches.
#
# The planner produces a flat table of states. Each state waits for the events of one slot, or of several (a logical
# group):
#
#   STREAM   one event                      COUNT    min to max events; the slot keeps a list
#   ABSENT   no event for a time            AND, OR  events and absences, all or any of them
#
# `next` is the state that follows (-1: the match is emitted), `again` the state where the `every` group that ends here
# starts again. A partial match waits in one of two lists of a state: in `incoming` until the next event of the state,
# then in `pending`. For each event of a stream:
#
#   1. Expire: partial matches whose first event is further away than `within` leave all lists. If the first group of the
#      pattern loses one, the group starts again.
#   2. Pattern: `pending` of the stream's states takes over `incoming`, ordered by time.
#      Sequence: `pending` of every state is emptied first, the first state may get a new partial match (progress.pxi), then
#      `pending` of every state takes over `incoming`. So a partial match survives only an event that advances it.
#   3. Offer the event to the states of its stream, from the last to the first. A state that takes the event advances the
#      partial match. Because of this order no event advances a partial match twice.
#
# Sharing: once a counting state has its minimum, the next state holds the same partial match. The count goes on until
# one of the slots in `stops` has its event. Partial matches are copied only where a group starts again.
#
# Cost: expired matches are at the old end of a list ordered by start time. Candidates of an equality condition are
# found by key (index.pxi). Conditions on the current event alone are evaluated once per event.
#
# Limit: an event that would leave too many partial matches is refused with an error and has no effect (limit.pxi), or
# the oldest partial match is dropped after the event.
#
# Absences end by timers of the app's clock. A state has at most one pending timer, for the first absence that is due.
# The partial match advances with the due time: the time of its last event, which an earlier count may move, plus the
# duration.

cdef struct InletC:                # an operand of a state that receives events of a stream
    int state
    int operand

cdef struct StreamC:
    InletC* inlets                 # from the last state to the first
    int n_inlets

cdef struct RunC:                  # state of the automaton for one partition key
    MatchListC* incoming           # [n_states]
    MatchListC* pending            # [n_states]
    int64_t* timer                 # [n_states] due time of the pending timer, NO_TIME: none
    MatchEntryC** stopped          # [n_states] entries of counting states that collect no more, linked by bucket_next
    int64_t deadline               # due time of a leading absence, NO_TIME: none
    StartsC starts
    StartsC waited                 # begun without an event of the first state; counted only under a limit
    bint begun                     # the first partial match was created
    bint renew                     # see `renews`; leading absence of a sequence: an event has arrived

cdef class Pattern(Processor):
    cdef readonly Matches matches
    cdef tuple states
    cdef void** state              # borrowed pointers to `states`
    cdef int n_states
    cdef StreamC* streams
    cdef int n_streams
    cdef bint is_sequence
    cdef bint every                # the first state is in an `every` group
    cdef bint implicit             # the first state takes every event that fits; no partial match waits there
    cdef bint plain                # a pattern of single events where only the first group starts again
    cdef bint forks                # a group after the first state starts again
    cdef bint renews               # sequence whose first state may stay empty: it begins anew after its second state
    cdef bint begins_by_clock      # an absence with a time comes first: the run begins with the clock
    cdef bint partitioned
    cdef int64_t within            # ms; -1: no limit
    cdef readonly KeyLimit limit   # of begun partial matches, over all partition keys; None: no limit
    cdef Py_ssize_t most           # maximum of `limit`; -1: no limit
    cdef bint drops_oldest         # on a full limit: drop the oldest, else refuse the event
    cdef Py_ssize_t n_begun
    cdef bint refused              # a timer met a full limit; the error is raised after the timer
    cdef Found found
    cdef RunC** runs               # [capacity] by partition id; NULL: none
    cdef unsigned int capacity
    cdef FrameC* frame
    cdef bint busy
    cdef int64_t now  # ms; of the current event or timer
    cdef bint rearms  # sequence without `every` that begins anew while no absence waits in its second state
    cdef list sleepers                   # of its entries; None: its entries are not filed
    cdef bint awake                      # they are awake
    cdef void rouse(self) noexcept
    cdef void doze(self, bint slept) noexcept
    cdef bint keeps   # sequence whose leading group waits for a time: its partial match stays

    cdef int take_one(self, int stream, EventC* event) except -1
    cdef int take_chunk(self, int stream, EventC* event, FaultSink source) except -1
    cdef int take(self, RunC* run, StreamC* stream, EventC* event) except -1       # 1: refused without effect
    cdef int apply(self, RunC* run, StreamC* stream, EventC* event) except -1
    cdef int begin(self, RunC* run, int64_t now) except -1
    cdef int update(self, RunC* run, int number) except -1
    cdef int offer(self, RunC* run, InletC* inlet, EventC* event) except -1
    cdef PatternIndex index_of(self, int stream)  # index of the first state that receives its events, or None
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

# --- Partial matches that leave before they are complete. Begun partial matches are linked in the order of their first
# events, so the oldest is found in constant time.

cdef enum:
    REARMED = -2                   # `unarmed` of a partial match: its group has started again

# --- Receiver of one stream of a pattern.

cdef class PatternEntry(Receiver):
    cdef Pattern pattern
    cdef int stream
    cdef FaultSink source
    cdef PatternIndex index        # index of the first state that receives its events, or None
    cdef uint64_t read_mask
    cdef int receive_each(self, EventC** events, Py_ssize_t n) except -1
