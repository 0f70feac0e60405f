"""Patterns and sequences; automaton.pxd describes the algorithm."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from siddhi._core.expression.executor cimport (
    ExecC, Executor, ObjectExecutor, eval_fn, keep_object, new_object_executor,
)
from siddhi._core.index.hash_index cimport canonical, mix, text_hash
from siddhi._core.record.arena cimport allocate_arena, allocate_zeroed_arena, free_arena, next_arena_size
from siddhi._core.record.event cimport (
    BOOL, CURRENT, EXPIRED, INT, LONG, OBJECT, STRING, CellC, EventC, EventPool, Layout, acquire, cell_to_python,
    current_budget, release,
)
from siddhi._core.record.frame cimport NULL_VALUE, TRUE, FrameC, now_ms
from siddhi._core.record.instant cimport later
from siddhi._core.record.prefetch cimport PREFETCH_MIN_SIZE, prefetch_line
from siddhi._core.runtime.context cimport AppContext, FaultSink, fault_alone, left_out, next_tick_of
from siddhi._core.runtime.key_limit cimport DROP_OLDEST, KeyLimit
from siddhi._core.runtime.operator cimport BlockTraits, Sleeper

include "matches.pxi"
include "index.pxi"
include "states.pxi"
include "found.pxi"
include "progress.pxi"
include "limit.pxi"
include "snapshot.pxi"
include "entry.pxi"


cdef bint has_event(const MatchListC* list) noexcept:
    cdef const MatchEntryC* entry = list.head
    while entry is not NULL:
        if entry.partial.last_state >= 0:
            return True
        entry = entry.next
    return False


@cython.final
@cython.no_gc_clear
cdef class Pattern(Processor):
    """Runs the automaton of one query.

    Args:
        app: context of the app.
        matches: allocator of partial matches.
        states: the states, in order.
        streams: per stream the pairs (state, operand) that receive its events, from the last state to the first.
        view: events that the selection sees.
        is_sequence: events must follow each other without a gap.
        every: the first state is in an ``every`` group.
        within_ms: maximum distance from the first event in ms; -1: no limit.
        partitioned: inside a partition, where the run of a key begins with its first event.
        limit: of begun partial matches, over all partition keys; None: no limit.
        next: the selection.
    """

    def __init__(self, AppContext app not None, Matches matches not None, tuple states not None, streams,
                 PatternView view not None, bint is_sequence, bint every, int64_t within_ms, bint partitioned,
                 KeyLimit limit, Processor next not None):
        cdef int i, k
        cdef State first = states[0]
        self.app = app
        self.frame = &app.frame
        self.matches = matches
        self.states = states
        self.n_states = len(states)
        self.is_sequence = is_sequence
        self.every = every
        self.within = within_ms
        # Every event may begin a match: a partial match is created when one does, not in advance.
        self.implicit = first.kind == STREAM and first.again == 0 and (<Operand> first.operands[0]).n_conditions == 0
        self.forks = any([(<State> state).again > 0 for state in states])
        self.plain = not is_sequence and not self.forks and all([(<State> state).kind == STREAM for state in states])
        self.renews = is_sequence and every and first.kind == COUNT and first.min == 0
        self.keeps = is_sequence and first.kind >= AND and first.waits
        self.rearms = is_sequence and not every and self.n_states > 1 and any(
            [(<Operand> operand).absent for operand in (<State> states[1]).operands])
        self.partitioned = partitioned
        self.limit = limit
        self.most = -1 if limit is None else limit.most
        self.drops_oldest = limit is not None and limit.on_full == DROP_OLDEST
        self.next = next
        self.found = Found(app, matches, view, next)
        self.state = <void**> PyMem_Malloc(self.n_states * sizeof(void*))
        self.n_streams = len(streams)
        self.streams = <StreamC*> PyMem_Malloc(max(1, self.n_streams) * sizeof(StreamC))
        if self.state is NULL or self.streams is NULL:
            raise MemoryError
        memset(self.streams, 0, max(1, self.n_streams) * sizeof(StreamC))
        for i in range(self.n_states):
            self.state[i] = <void*> states[i]
        find_rounds(states)
        self.begins_by_clock = waits_at_once(states)
        for i in range(self.n_streams):
            self.streams[i].n_inlets = len(streams[i])
            self.streams[i].inlets = <InletC*> PyMem_Malloc(max(1, self.streams[i].n_inlets) * sizeof(InletC))
            if self.streams[i].inlets is NULL:
                raise MemoryError
            for k in range(self.streams[i].n_inlets):
                self.streams[i].inlets[k].state, self.streams[i].inlets[k].operand = streams[i][k]

    def __dealloc__(self):
        cdef unsigned int partition
        cdef int i
        if self.streams is NULL:
            return
        self.found.clear()
        for partition in range(self.capacity):
            if self.runs[partition] is not NULL:
                self.close_run(self.runs[partition])
        PyMem_Free(self.runs)
        for i in range(self.n_streams):
            PyMem_Free(self.streams[i].inlets)
        PyMem_Free(self.streams)
        PyMem_Free(self.state)

    @property
    def dropped(self):
        """Number of partial matches dropped to make room."""
        return 0 if self.limit is None else self.limit.dropped

    @property
    def begun(self):
        """Number of begun partial matches, where `within` or a limit counts them."""
        return self.n_begun

    @property
    def alive(self):
        """Number of partial matches, over all partition keys."""
        return self.matches.partials.alive

    # --- state per partition key

    cdef int ensure(self, unsigned int partition) except -1:
        cdef RunC** runs
        cdef unsigned int capacity
        if partition >= self.capacity:
            capacity = max(1, 2 * self.capacity, partition + 1)
            runs = <RunC**> PyMem_Realloc(self.runs, capacity * sizeof(void*))
            if runs is NULL:
                raise MemoryError
            memset(runs + self.capacity, 0, (capacity - self.capacity) * sizeof(void*))
            self.runs = runs
            self.capacity = capacity
        if self.runs[partition] is not NULL:
            return 0
        self.runs[partition] = self.open_run()
        return self.begin_anew(partition)

    cdef int begin_anew(self, unsigned int partition) except -1:
        """Begin an empty run as that of a new partition key."""
        cdef RunC* run = self.runs[partition]
        cdef unsigned int before = self.frame.partition
        self.frame.partition = partition
        try:
            if not self.begins_by_clock:
                self.begin(run, NEW)
            elif self.partitioned:
                self.begin(run, now_ms(self.frame))
        finally:
            self.frame.partition = before
        return 0

    def start(self):
        """Start the time of a leading absence: now, or in playback at the first instant of the app's clock."""
        cdef RunC* run = self.runs[0]
        if run.begun:
            return
        if self.frame.playback and self.frame.clock == 0:
            self.app.schedule(self, 0, 0)
        else:
            self.begin(run, now_ms(self.frame))

    def await_first_instant(self):
        """Restart a leading absence when playback begins in a running app: it waits from the first event on."""
        cdef RunC* run = self.runs[0]
        if self.begins_by_clock and not self.holds_event(run):
            self.empty_run(run)
            self.start()

    cdef bint holds_event(self, RunC* run) noexcept:
        """Return whether a partial match of a run has taken an event."""
        cdef int i
        for i in range(self.n_states):
            if has_event(&run.incoming[i]) or has_event(&run.pending[i]):
                return True
        return False

    cdef RunC* open_run(self) except NULL:
        cdef RunC* run = <RunC*> PyMem_Calloc(1, sizeof(RunC))
        if run is NULL:
            raise MemoryError
        run.incoming = <MatchListC*> PyMem_Calloc(self.n_states, sizeof(MatchListC))
        run.pending = <MatchListC*> PyMem_Calloc(self.n_states, sizeof(MatchListC))
        run.timer = <int64_t*> PyMem_Malloc(self.n_states * sizeof(int64_t))
        run.stopped = <MatchEntryC**> PyMem_Malloc(self.n_states * sizeof(void*))
        if run.incoming is NULL or run.pending is NULL or run.timer is NULL or run.stopped is NULL:
            PyMem_Free(run.incoming)
            PyMem_Free(run.pending)
            PyMem_Free(run.timer)
            PyMem_Free(run.stopped)
            PyMem_Free(run)
            raise MemoryError
        self.empty_run(run)
        run.starts.total = run.waited.total = &self.n_begun
        return run

    cdef void empty_run(self, RunC* run) noexcept:
        """Release what a run holds and reset it to the state before its first partial match."""
        cdef int i
        for i in range(self.n_states):
            while run.incoming[i].head is not NULL:
                self.remove(run.incoming[i].head)
            while run.pending[i].head is not NULL:
                self.remove(run.pending[i].head)
        while run.starts.oldest is not NULL:
            remove_from_starts(run.starts.oldest)
        while run.waited.oldest is not NULL:
            remove_from_starts(run.waited.oldest)
        for i in range(self.n_states):
            run.timer[i] = NO_TIME
            run.stopped[i] = NULL
        run.deadline = NO_TIME
        run.begun = run.renew = False

    cdef void close_run(self, RunC* run) noexcept:
        self.empty_run(run)
        PyMem_Free(run.incoming)
        PyMem_Free(run.pending)
        PyMem_Free(run.timer)
        PyMem_Free(run.stopped)
        PyMem_Free(run)

    cdef int drop(self, unsigned int partition) except -1:
        if partition < self.capacity and self.runs[partition] is not NULL:
            self.close_run(self.runs[partition])
            self.runs[partition] = NULL
        return 0

    cdef int begin(self, RunC* run, int64_t now) except -1:
        """Create the first partial match."""
        run.begun = True
        self.now = now
        return self.add_fresh(run)

    # --- events

    cdef int take_one(self, int stream, EventC* event) except -1:
        cdef int status
        if self.busy:
            raise RuntimeError("a filter of a pattern must not send events to the pattern")
        self.busy = True
        status = take_unchecked(self, self.runs[self.frame.partition], &self.streams[stream], event)
        self.busy = False
        if status:
            return -1 if status == -1 else refuse_one(self)
        return self.found.deliver() if self.found.size else 0

    cdef int take_chunk(self, int stream, EventC* event, FaultSink source) except -1:
        cdef int status = 0
        cdef list refused = None
        if self.busy:
            raise RuntimeError("a filter of a pattern must not send events to the pattern")
        self.busy = True
        while event is not NULL and status != -1:
            if event.type == CURRENT or event.type == EXPIRED:
                status = take_unchecked(self, self.runs[self.frame.partition], &self.streams[stream], event)
                if status == 1:
                    refused = note_refused(self, refused, event)
            event = event.next
        self.busy = False
        if status == -1:
            return -1
        if refused is not None:
            return deliver_but(self, refused, source)
        return self.found.deliver() if self.found.size else 0

    cdef int take(self, RunC* run, StreamC* stream, EventC* event) except -1:
        cdef int64_t now = event.timestamp
        if not run.begun:
            self.begin(run, now_ms(self.frame) if self.frame.clock or not self.frame.playback else now)
        self.now = now
        if self.within >= 0 and run.starts.oldest is not NULL and (
                run.starts.oldest.start < now - self.within or run.starts.latest > now + self.within):
            expire(self, run, now)
        if self.most < 0:
            return self.apply(run, stream, event)
        return take_limited(self, run, stream, event)

    cdef int apply(self, RunC* run, StreamC* stream, EventC* event) except -1:
        """Process an event that is within the limit."""
        cdef int i
        cdef Py_ssize_t before
        if self.is_sequence:
            step(self, run)
        else:
            for i in range(stream.n_inlets):
                if run.incoming[stream.inlets[i].state].head is not NULL:
                    self.update(run, stream.inlets[i].state)
        self.frame.type = event.type
        self.frame.group = self.frame.partition
        self.found.separate = stream.n_inlets == 1
        for i in range(stream.n_inlets):
            before = self.found.size
            self.offer(run, &stream.inlets[i], event)
            if self.found.size != before and not self.found.separate:
                self.found.push(NULL)
        return 0

    cdef int update(self, RunC* run, int number) except -1:
        """Move incoming entries behind the pending ones, by time; those without events go last."""
        cdef MatchListC* incoming = &run.incoming[number]
        cdef MatchListC* pending = &run.pending[number]
        cdef State state = <State> self.state[number]
        cdef MatchEntryC* entry
        if incoming.size > 1:
            sort_by_time(incoming)
        while incoming.head is not NULL:
            entry = incoming.head
            unlink(entry)
            link_last(pending, entry)
            if state.n_keyed and not entry.broken:
                insert_entry(self, state, entry)
        return 0

    cdef int offer(self, RunC* run, InletC* inlet, EventC* event) except -1:
        """Offer an event to one operand of a state."""
        cdef State state
        cdef Operand operand
        cdef EventC* kept = NULL
        cdef int status
        cdef bint begins = inlet.state == 0 and (self.implicit or run.deadline != NO_TIME)
        if run.stopped[inlet.state] is not NULL:
            forget_stopped(self, run, inlet.state)
        if run.pending[inlet.state].head is NULL and not begins:
            return 0
        state = <State> self.state[inlet.state]
        operand = <Operand> state.operand[inlet.operand]
        if operand.n_alone and not self.passes(operand, event):
            return self.refuse(run, state, inlet.state, inlet.operand) if self.is_sequence else 0
        status = offer_unchecked(self, run, inlet, event, &kept)
        if kept is not NULL:
            release(operand.copier.pool, kept)
        return status

    cdef PatternIndex index_of(self, int stream):
        cdef InletC* inlet = self.streams[stream].inlets
        cdef Operand operand = <Operand> (<State> self.state[inlet.state]).operand[inlet.operand]
        return operand.index if operand.index is not None and operand.index.plain else None

    cdef bint passes(self, Operand operand, EventC* event) except -1:
        cdef int i
        for i in range(operand.n_alone):
            if operand.alone[i].fn(operand.alone[i], event, self.frame, NULL) != TRUE:
                return False
        return True

    cdef bint fits(self, Operand operand, PartialC* partial, EventC* event, EventC** kept) except -1:
        cdef int i
        if operand.n_conditions == 0:
            return True
        if operand.view.uses_current and kept[0] is NULL:
            kept[0] = operand.copier.copy(event)
        self.frame.slots = operand.view.show(partial, kept[0])
        for i in range(operand.n_conditions):
            if operand.conditions[i].fn(operand.conditions[i], event, self.frame, NULL) != TRUE:
                return False
        return True

    cdef int refuse(self, RunC* run, State state, int number, int operand) except -1:
        """Drop the partial matches of an operand after an event of a sequence that fails its filter."""
        cdef MatchEntryC* entry = run.pending[number].head
        cdef MatchEntryC* following
        run.renew |= self.renews and number == 1 and state.kind == STREAM
        while entry is not NULL:
            following = entry.next
            if state.kind >= AND:
                pass_over(self, run, state, entry, operand)
            elif state.kind != ABSENT:
                if state.kind == STREAM:
                    self.matches.empty(entry.partial, (<Operand> state.operand[operand]).slot)
                self.remove(entry)
            entry = following
        return 0

    cdef int fill(self, RunC* run, int number, Operand operand, PartialC* partial, EventC* event,
                  EventC** kept) except -1:
        """Put an event into its slot. All partial matches that take it share one record."""
        if kept[0] is NULL:
            kept[0] = operand.copier.copy(event)
        kept[0].refs += 1
        if self.matches.counting[operand.slot]:
            self.matches.collect(partial, operand.slot, kept[0])
        else:
            if self.is_sequence:
                self.matches.empty(partial, operand.slot)
            partial.slots[operand.slot] = kept[0]
        if partial.last_state < number:
            partial.last_state = number
            self.taken(run, number, partial, partial.starts)
        if operand.stops and not self.is_sequence:
            stop_counting(self, run, operand.slot, partial)
        if number == 0 and (self.within >= 0 or self.most >= 0) and (
                not self.matches.counting[operand.slot] or partial.starts is NULL):
            start_at(&run.starts, partial, event.timestamp)
        elif number > 0 and self.most >= 0 and partial.starts is NULL:
            start_at(&run.waited, partial, event.timestamp)    # no event that `within` counts from
        return 0

    # --- transitions

    cdef int advance(self, RunC* run, int number, PartialC* partial) except -1:
        """Pass on a partial match that a state has completed."""
        cdef State state = <State> self.state[number]
        cdef StartsC* starts = partial.starts      # read first: a complete match leaves its list, its copy must not
        if state.next < 0:
            self.found.add(partial)
        else:
            self.add(run, state.next, partial)
        if state.waits:
            self.taken(run, number, partial, starts)
        if state.again >= 0 and not (self.is_sequence and state.kind == COUNT):
            self.add_again(run, state.again, partial, starts)
            if state.again == 0 and partial.unarmed == -1:
                partial.unarmed = REARMED
        if state.next < 0 and not goes_on(partial):
            remove_from_starts(partial)  # no state waits with it any longer
        return 0

    cdef int taken(self, RunC* run, int number, PartialC* partial, StartsC* starts) except -1:
        """Start the group again that waits until a later state takes the partial match."""
        cdef int waiting = partial.unarmed
        if 0 <= waiting < number:
            partial.unarmed = REARMED
            return self.add_again(run, (<State> self.state[waiting]).again, partial, starts)
        return 0

    cdef int add(self, RunC* run, int number, PartialC* partial) except -1:
        """Hand a partial match to a state, which takes it into account from the next event on."""
        cdef State state = <State> self.state[number]
        cdef Operand operand
        cdef MatchListC* incoming = &run.incoming[number]
        cdef MatchEntryC* entry
        cdef PatternIndex index
        cdef int64_t first, since = partial.timestamp if partial.timestamp != NEW else self.now
        cdef int k
        if state.kind == ABSENT and number == 0:
            run.deadline = self.behind_jump(state, since) + (<Operand> state.operand[0]).for_ms
            return self.arm(run, 0, run.deadline)
        if self.is_sequence and incoming.head is not NULL:
            if state.kind == COUNT and state.min == 0 and state.next >= 0 and partial.slots[state.first_slot] is NULL:
                self.add(run, state.next, partial)
                return self.add_spare(run) if self.every and number == 0 else 0
            if state.kind != ABSENT:
                return 0
            while incoming.head is not NULL:
                self.remove(incoming.head)
        if state.kind == COUNT and state.min == 0 and partial.slots[state.first_slot] is NULL:
            if state.next < 0:
                return self.advance(run, number, partial)
            self.matches.append(incoming, partial, number)
            if self.is_sequence or state.late_again:
                self.add(run, state.next, partial)
                if not self.is_sequence:
                    partial.unarmed = number
                return self.add_spare(run) if self.is_sequence and self.every and number == 0 else 0
            return self.advance(run, number, partial)
        entry = self.matches.append(incoming, partial, number)
        index = (<Operand> state.operand[0]).index
        if index is not None and index.size >= PREFETCH_MIN_SIZE and index.plain:
            self.frame.slots = partial.slots
            index.prefetch_insert(self.frame)
        if state.kind >= AND:
            entry.open = <uint32_t> (((<int64_t> 1) << state.n_operands) - 1)
        if state.waits:
            entry.due = <int64_t*> PyMem_Malloc(state.n_operands * sizeof(int64_t))
            if entry.due is NULL:
                self.remove(entry)
                raise MemoryError
            first = NO_TIME
            since = self.behind_jump(state, since)
            for k in range(state.n_operands):
                operand = <Operand> state.operand[k]
                entry.due[k] = since + operand.for_ms
                if operand.for_ms >= 0 and (first == NO_TIME or entry.due[k] < first):
                    first = entry.due[k]
            self.arm(run, number, first)
        return 0

    cdef int64_t behind_jump(self, State state, int64_t since) except? -1:
        """Return since when a state waits, without the rounds of its group that a jump of the clock skips."""
        return since if state.round_ms <= 0 else since + left_out(self.app, later(since, state.round_ms), state.round_ms)

    cdef int add_spare(self, RunC* run) except -1:
        """Add an empty partial match to a sequence whose first state may stay empty."""
        cdef PartialC* partial = self.matches.make()
        try:
            self.matches.append(&run.incoming[0], partial, 0)
        finally:
            self.matches.drop(partial)
        return 0

    cdef int add_fresh(self, RunC* run) except -1:
        """Create a partial match in the first state, if partial matches wait there."""
        cdef PartialC* partial
        if self.implicit:
            return 0
        partial = self.matches.make()
        try:
            return self.add(run, 0, partial)
        finally:
            self.matches.drop(partial)

    cdef int add_again(self, RunC* run, int number, PartialC* partial, StartsC* starts) except -1:
        """Start a group again with a copy of the events before it; the copy is counted in `starts`."""
        cdef State state = <State> self.state[number]
        cdef PartialC* copy
        if number == 0 and self.implicit:
            return 0
        copy = self.matches.copy(partial, state.first_slot)
        try:
            copy.last_state = min(partial.last_state, number - 1)
            if number > 0 and starts is not NULL:
                start_like(starts, copy, partial)
            return self.add(run, number, copy)
        finally:
            self.matches.drop(copy)

    cdef void remove(self, MatchEntryC* entry) noexcept:
        """Remove an entry from its list and indexes, and drop its reference."""
        if entry.keyed or entry.broken or entry.bucket_next is not NULL:
            remove_from_indexes(self, entry)
        self.matches.remove(entry)

    # --- timers

    cdef int arm(self, RunC* run, int number, int64_t due) except -1:
        """Schedule a timer, unless one fires by then."""
        if run.timer[number] == NO_TIME or due < run.timer[number]:
            run.timer[number] = due
            return self.app.schedule(self, due, self.frame.partition)
        return 0

    cdef int on_timer(self, int64_t when) except -1:
        cdef RunC* run
        cdef int i
        if self.frame.partition >= self.capacity or self.runs[self.frame.partition] is NULL:
            return 0
        run = self.runs[self.frame.partition]
        if self.busy:
            raise RuntimeError("a filter of a pattern must not move the clock")
        self.busy = True
        try:
            if not run.begun:
                self.begin(run, now_ms(self.frame))
            self.now = when
            self.found.separate = True
            for i in range(self.n_states - 1, -1, -1):
                if run.timer[i] != NO_TIME and run.timer[i] <= when:
                    if self.within >= 0:
                        expire(self, run, when)
                    run.timer[i] = NO_TIME
                    wait_over(self, run, i, when)
            if self.drops_oldest and self.n_begun > self.most:
                make_room(self, run)
        finally:
            self.busy = False
        if self.found.size:
            self.found.deliver()
        if self.refused:
            self.refused = False
            refuse_one(self)
        return 0

    cdef void abort(self) noexcept:
        self.found.clear()
        self.next.abort()

    # --- snapshots

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef unsigned int partition, n = 0
        for partition in range(self.capacity):
            n += self.runs[partition] is not NULL
        writer.put_u32(n)
        for partition in range(self.capacity):
            if self.runs[partition] is not NULL:
                writer.put_u32(partition)
                write_run(self, self.runs[partition], writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef unsigned int n, partition, before = self.frame.partition
        cdef set missing = {partition for partition in range(self.capacity) if self.runs[partition] is not NULL}
        for partition in missing:
            self.empty_run(self.runs[partition])    # kept open: opening a new run may fail
        try:
            n = reader.get_u32()
            for _ in range(n):
                partition = reader.get_u32()
                if partition not in missing:
                    raise ValueError(f"snapshot is damaged: partial matches of an unknown partition ({partition})")
                missing.discard(partition)
                self.frame.partition = partition
                read_run(self, self.runs[partition], reader)
        finally:
            self.frame.partition = before
            for partition in missing:
                self.begin_anew(partition)
            self.doze(False)
        return 0

    # --- sleep: where every partial match begins with an event of the first state, a pattern without any is asleep

    cdef void rouse(self) noexcept:
        """Let the entries get every event."""
        cdef Py_ssize_t i
        if not self.awake:
            self.awake = True
            for i in range(len(self.sleepers)):
                (<Sleeper> self.sleepers[i]).set(True)

    cdef void doze(self, bint slept) noexcept:
        """Let the entries sleep if no partial match waits. ``slept``: they did before the present event."""
        cdef Py_ssize_t i
        cdef Sleeper sleeper
        if self.sleepers is None or not (self.awake or self.matches.partials.alive):
            return
        if self.matches.partials.alive:
            self.rouse()
            if not slept:
                return
            for i in range(len(self.sleepers)):
                sleeper = self.sleepers[i]
                if sleeper.index is not None:
                    sleeper.index.wakes += 1
            return
        self.awake = False
        for i in range(len(self.sleepers)):
            (<Sleeper> self.sleepers[i]).set(False)


ctypedef int (*take_fn)(Pattern pattern, RunC* run, StreamC* stream, EventC* event) noexcept
ctypedef int (*offer_fn)(Pattern pattern, RunC* run, InletC* inlet, EventC* event, EventC** kept) noexcept


cdef int take_checked(Pattern pattern, RunC* run, StreamC* stream, EventC* event) except -1:
    return pattern.take(run, stream, event)


cdef int offer_checked(Pattern pattern, RunC* run, InletC* inlet, EventC* event, EventC** kept) except -1:
    return offer_kind(pattern, run, inlet, event, kept)


# Called through pointers without exception checks; the returned status is checked instead. This avoids a try block per
# event.
cdef take_fn take_unchecked = <take_fn> take_checked
cdef offer_fn offer_unchecked = <offer_fn> offer_checked
