"""Patterns and sequences. How they run is told in the header."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memset

from siddhi._core.context cimport AppContext
from siddhi._core.event cimport CURRENT, EXPIRED, Layout, acquire, release
from siddhi._core.executor cimport TRUE, Executor, now_ms
from siddhi._core.pattern_index cimport same_key
from siddhi._core.pattern_match cimport (
    NEW, collected_of, leave_starts, link_last, start_at, start_like, unlink,
)
from siddhi._core.pattern_snapshot cimport read_run, write_run


@cython.final
cdef class Operand:
    """One slot of a state.

    Args:
        slot: its number.
        alone: conditions over the event at hand.
        conditions: conditions over the event at hand and the events found so far.
        view: what these see.
        copier: makes the record that the slot keeps; None for an absence.
        index: finds partial matches by key, or None.
        absent: the event must not come.
        for_ms: for how long; -1 until the group is complete.
    """

    def __init__(self, int slot, tuple alone not None, tuple conditions not None, PatternView view not None,
                 StageCopier copier, PatternIndex index=None, bint absent=False, int64_t for_ms=-1):
        self.slot = slot
        self.absent = absent
        self.for_ms = for_ms
        self.copier = copier
        self.view = view
        self.index = index
        self.executors = alone + conditions
        self.n_alone = len(alone)
        self.n_conditions = len(conditions)
        self.alone = pointers(alone)
        self.conditions = pointers(conditions)

    def __dealloc__(self):
        PyMem_Free(self.alone)
        PyMem_Free(self.conditions)


cdef const ExecC** pointers(tuple executors) except NULL:
    cdef Py_ssize_t i
    cdef Executor executor
    cdef const ExecC** found = <const ExecC**> PyMem_Malloc(max(1, len(executors)) * sizeof(void*))
    if found is NULL:
        raise MemoryError
    for i in range(len(executors)):
        executor = executors[i]
        found[i] = &executor.c
    return found


@cython.final
cdef class State:
    """One state of the automaton.

    Args:
        kind: 0 stream, 1 count, 2 absence, 3 and, 4 or.
        operands: its slots, in the order in which one event is offered to them.
        following: number of the next state, -1 where it puts out.
        again: number of the state that starts again when this one is complete, -1.
        low, high: events of a counting state; ``high`` -1 is unbounded.
        in_first_group: it is in an ``every`` group that begins the pattern.
        late_again: its group starts again when a later state takes the partial match.
    """

    def __init__(self, int kind, tuple operands not None, int following, int again=-1, int low=1, int high=1,
                 bint in_first_group=False, bint late_again=False):
        cdef int k
        self.kind = kind
        self.operands = operands
        self.n_operands = len(operands)
        self.operand = <void**> PyMem_Malloc(self.n_operands * sizeof(void*))
        if self.operand is NULL:
            raise MemoryError
        self.next = following
        self.again = again
        self.min = low
        self.max = high
        self.in_first_group = in_first_group
        self.late_again = late_again
        self.first_slot = min(operand.slot for operand in operands)
        self.waits = any(operand.for_ms >= 0 for operand in operands)
        for k in range(self.n_operands):
            self.operand[k] = <void*> operands[k]

    def __dealloc__(self):
        PyMem_Free(self.operand)


@cython.final
@cython.no_gc_clear
cdef class Pattern(Processor):
    """Runs the automaton of one query.

    Args:
        app: the app's context.
        matches: where partial matches come from.
        states: in order.
        streams: for each stream the pairs (state, operand) its events meet, from the last state to the first.
        view: what the selection sees.
        is_sequence: events follow each other without a gap.
        every: the first state is in an ``every`` group.
        within_ms: how far the first event may be away; -1 for no limit.
        partitioned: it stands inside a partition, whose keys begin when they are met.
        limit: how many partial matches may have begun at a time, over all partition keys; 0 for any number.
        on_drop: at the limit the oldest one goes, and ``on_drop(dropped)`` is told how many have; None: the event that
            would begin another one fails with RuntimeError.
        next: the selection.
    """

    def __init__(self, AppContext app not None, Matches matches not None, tuple states not None, streams,
                 PatternView view not None, bint is_sequence, bint every, int64_t within_ms, bint partitioned,
                 Py_ssize_t limit, on_drop, Processor next not None):
        cdef int i, k
        cdef State first = states[0]
        self.app = app
        self.frame = &app.frame
        self.matches = matches
        self.states = states
        self.n_states = len(states)
        self.view = view
        self.is_sequence = is_sequence
        self.every = every
        self.within = within_ms
        self.begins_by_clock = first.waits
        # Each event may begin a match: that one is made when it does, not before.
        self.implicit = first.kind == STREAM and first.again == 0 and (<Operand> first.operands[0]).n_conditions == 0
        self.renews = is_sequence and every and first.kind == COUNT and first.min == 0
        self.partitioned = partitioned
        self.limit = limit
        self.drops_oldest = on_drop is not None
        self.on_drop = on_drop
        self.next = next
        self.moments = EventPool(Layout((), ()))
        self.moment = acquire(self.moments)
        self.moment.body[0] = 0
        self.state = <void**> PyMem_Malloc(self.n_states * sizeof(void*))
        self.n_streams = len(streams)
        self.streams = <StreamC*> PyMem_Malloc(max(1, self.n_streams) * sizeof(StreamC))
        if self.state is NULL or self.streams is NULL:
            raise MemoryError
        memset(self.streams, 0, max(1, self.n_streams) * sizeof(StreamC))
        for i in range(self.n_states):
            self.state[i] = <void*> states[i]
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
        self.clear_out()
        PyMem_Free(self.out)
        for partition in range(self.capacity):
            if self.runs[partition] is not NULL:
                self.close_run(self.runs[partition])
        PyMem_Free(self.runs)
        for i in range(self.n_streams):
            PyMem_Free(self.streams[i].inlets)
        PyMem_Free(self.streams)
        PyMem_Free(self.state)
        release(self.moments, self.moment)

    @property
    def begun(self):
        """Partial matches that have taken an event, where there is a time or a limit for them."""
        return self.n_begun

    @property
    def alive(self):
        """Partial matches held, over all partition keys."""
        return self.matches.partials.alive

    # --- state of a partition key

    cdef int ensure(self, unsigned int partition) except -1:
        cdef RunC** runs
        cdef RunC* run
        cdef unsigned int capacity, before = self.frame.partition
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
        run = self.open_run()
        self.runs[partition] = run
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
        """Let the time of a leading absence begin: now, or in playback at the first instant of the app's clock."""
        cdef RunC* run = self.runs[0]
        if run.begun:
            return
        if self.frame.playback and self.frame.clock == 0:
            self.app.schedule(self, 0, 0)
        else:
            self.begin(run, now_ms(self.frame))

    cdef RunC* open_run(self) except NULL:
        cdef int i
        cdef RunC* run = <RunC*> PyMem_Malloc(sizeof(RunC))
        if run is NULL:
            raise MemoryError
        memset(run, 0, sizeof(RunC))
        run.incoming = <ListC*> PyMem_Malloc(self.n_states * sizeof(ListC))
        run.pending = <ListC*> PyMem_Malloc(self.n_states * sizeof(ListC))
        run.timer = <int64_t*> PyMem_Malloc(self.n_states * sizeof(int64_t))
        if run.incoming is NULL or run.pending is NULL or run.timer is NULL:
            PyMem_Free(run.incoming)
            PyMem_Free(run.pending)
            PyMem_Free(run.timer)
            PyMem_Free(run)
            raise MemoryError
        memset(run.incoming, 0, self.n_states * sizeof(ListC))
        memset(run.pending, 0, self.n_states * sizeof(ListC))
        for i in range(self.n_states):
            run.timer[i] = NO_TIME
        run.deadline = NO_TIME
        run.starts.total = &self.n_begun
        return run

    cdef void close_run(self, RunC* run) noexcept:
        cdef int i
        for i in range(self.n_states):
            while run.incoming[i].head is not NULL:
                self.remove(run.incoming[i].head)
            while run.pending[i].head is not NULL:
                self.remove(run.pending[i].head)
        while run.starts.oldest is not NULL:
            leave_starts(run.starts.oldest)
        PyMem_Free(run.incoming)
        PyMem_Free(run.pending)
        PyMem_Free(run.timer)
        PyMem_Free(run)

    cdef int drop(self, unsigned int partition) except -1:
        if partition < self.capacity and self.runs[partition] is not NULL:
            self.close_run(self.runs[partition])
            self.runs[partition] = NULL
        return 0

    cdef int begin(self, RunC* run, int64_t now) except -1:
        """Make the first partial match."""
        run.begun = True
        self.now = now
        return self.add_fresh(run)

    # --- an event

    cdef int take_one(self, int stream, EventC* event) except -1:
        cdef int status
        if self.busy:
            raise RuntimeError("a filter of a pattern must not send events to the pattern")
        self.busy = True
        status = take_unchecked(self, self.runs[self.frame.partition], &self.streams[stream], event)
        self.busy = False
        if status == -1:
            return -1
        return self.deliver() if self.n_out else 0

    cdef int take_chunk(self, int stream, EventC* event) except -1:
        cdef int status = 0
        if self.busy:
            raise RuntimeError("a filter of a pattern must not send events to the pattern")
        self.busy = True
        while event is not NULL and status != -1:
            if event.type == CURRENT or event.type == EXPIRED:
                status = take_unchecked(self, self.runs[self.frame.partition], &self.streams[stream], event)
            event = event.next
        self.busy = False
        if status == -1:
            return -1
        return self.deliver() if self.n_out else 0

    cdef int take(self, RunC* run, StreamC* stream, EventC* event) except -1:
        cdef int i
        cdef Py_ssize_t before
        cdef int64_t now = event.timestamp
        if not run.begun:
            self.begin(run, now_ms(self.frame) if self.frame.clock or not self.frame.playback else now)
        self.now = now
        if self.within >= 0 and run.starts.oldest is not NULL and (
                run.starts.oldest.start < now - self.within or run.starts.latest > now + self.within):
            self.expire(run, now)
        if self.is_sequence:
            self.step(run)
        else:
            for i in range(stream.n_inlets):
                if run.incoming[stream.inlets[i].state].head is not NULL:
                    self.update(run, stream.inlets[i].state)
        self.frame.type = event.type
        self.frame.group = self.frame.partition
        self.apart = stream.n_inlets == 1
        for i in range(stream.n_inlets):
            before = self.n_out
            self.offer(run, &stream.inlets[i], event)
            if self.n_out != before and not self.apart:
                self.push_out(NULL)
        return self.make_room(run) if self.drops_oldest and self.n_begun > self.limit else 0

    cdef int make_room(self, RunC* run) except -1:
        """Drop the oldest partial matches of this partition key until there are no more than allowed."""
        cdef bint again = False
        while self.n_begun > self.limit and run.starts.oldest is not NULL:
            again |= self.expire_one(run.starts.oldest)
            self.dropped += 1
        self.on_drop(self.dropped)
        return self.add_fresh(run) if again and not self.is_sequence else 0

    cdef int expire(self, RunC* run, int64_t now) except -1:
        """Drop the partial matches whose first event is too far away."""
        cdef PartialC* partial
        cdef PartialC* newer
        cdef bint again = False
        while run.starts.oldest is not NULL and run.starts.oldest.start < now - self.within:
            again |= self.expire_one(run.starts.oldest)
        if run.starts.latest > now + self.within:
            # A late event: rare, and it leaves none of those that are too new for it.
            run.starts.latest = now
            partial = run.starts.oldest
            while partial is not NULL:
                newer = partial.newer
                if partial.latest > now + self.within:
                    again |= self.expire_one(partial)
                else:
                    run.starts.latest = max(run.starts.latest, partial.latest)
                partial = newer
        self.now = now
        return self.add_fresh(run) if again and not self.is_sequence else 0

    cdef bint expire_one(self, PartialC* partial) noexcept:
        """Take a partial match out of all lists; whether the first group has to start again."""
        cdef bint again = False
        leave_starts(partial)
        partial.refs += 1
        while partial.entries is not NULL:
            again |= (<State> self.state[partial.entries.state]).in_first_group
            self.remove(partial.entries)
        self.matches.drop(partial)
        return again

    cdef int update(self, RunC* run, int number) except -1:
        """Make what came in usable: behind what is pending, by time, those that have no event yet last."""
        cdef ListC* incoming = &run.incoming[number]
        cdef ListC* pending = &run.pending[number]
        cdef State state = <State> self.state[number]
        cdef Operand operand = <Operand> state.operand[0]
        cdef EntryC* entry
        if incoming.size > 1:
            sort_by_time(incoming)
        while incoming.head is not NULL:
            entry = incoming.head
            unlink(entry)
            link_last(pending, entry)
            if operand.index is not None:
                self.frame.slots = entry.partial.slots
                operand.index.place(entry, self.frame)
        return 0

    cdef int step(self, RunC* run) except -1:
        """A sequence goes one event on."""
        cdef int i
        cdef State first = <State> self.state[0]
        cdef bint next_waits = self.n_states > 1 and run.pending[1].head is not NULL
        cdef bint next_absent = self.n_states > 1 and (<State> self.state[1]).kind == ABSENT
        cdef bint cleared = True
        for i in range(self.n_states - 1, -1, -1):
            cleared = run.pending[i].head is NULL or self.forget(run, i)
        if cleared and not self.implicit and run.incoming[0].head is NULL and not (first.kind == ABSENT and first.waits):
            if self.every or (next_absent and not next_waits):
                self.add_fresh(run)
        if run.renew:
            run.renew = False
            self.add_fresh(run)
        for i in range(self.n_states):
            if run.incoming[i].head is not NULL:
                self.update(run, i)
        return 0

    cdef bint forget(self, RunC* run, int number) noexcept:
        """Empty the pending list, unless a group has found some of its events; whether it is empty."""
        cdef ListC* pending = &run.pending[number]
        cdef State state = <State> self.state[number]
        cdef EntryC* entry
        cdef Py_ssize_t found, first = 0
        cdef int k
        if state.kind == AND:
            for k in range(state.n_operands):
                found = 0
                entry = pending.head
                while entry is not NULL:
                    found += (entry.open >> k) & 1
                    entry = entry.next
                if k == 0:
                    first = found
                elif found != first:
                    return False
        while pending.head is not NULL:
            self.remove(pending.head)
        return True

    cdef int offer(self, RunC* run, InletC* inlet, EventC* event) except -1:
        """Offer an event to one operand of a state."""
        cdef State state
        cdef Operand operand
        cdef EventC* kept = NULL
        cdef int status
        cdef bint begins = inlet.state == 0 and (self.implicit or run.deadline != NO_TIME)
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

    cdef int offer_kind(self, RunC* run, InletC* inlet, EventC* event, EventC** kept) except -1:
        cdef State state = <State> self.state[inlet.state]
        if (<Operand> state.operand[inlet.operand]).absent:
            return self.offer_absent(run, state, inlet, event, kept)
        if state.kind == STREAM:
            if inlet.state == 0 and self.implicit:
                return self.begin_with(run, state, event, kept)
            return self.offer_stream(run, state, inlet.state, event, kept)
        if state.kind == COUNT:
            return self.offer_count(run, state, inlet.state, event, kept)
        return self.offer_group(run, state, inlet, event, kept)

    cdef int begin_with(self, RunC* run, State state, EventC* event, EventC** kept) except -1:
        """Begin a match with an event of the first state, which stays ready for the next one."""
        cdef PartialC* partial = self.matches.make()
        try:
            self.fill(run, 0, <Operand> state.operand[0], partial, event, kept)
            partial.timestamp = event.timestamp
            return self.advance(run, 0, partial)
        finally:
            self.matches.drop(partial)

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
        """A sequence's event fits no partial match of an operand: none of them waits for it any longer."""
        cdef EntryC* entry = run.pending[number].head
        cdef EntryC* following
        if (<Operand> state.operand[operand]).absent:
            return 0
        run.renew |= self.renews and number == 1 and state.kind == STREAM
        while entry is not NULL:
            following = entry.next
            entry.open &= ~((<uint32_t> 1) << operand)
            if state.kind <= COUNT or entry.open == 0:
                self.remove(entry)
            entry = following
        return 0

    cdef int offer_stream(self, RunC* run, State state, int number, EventC* event, EventC** kept) except -1:
        cdef Operand operand = <Operand> state.operand[0]
        cdef PartialC* partial
        cdef EntryC* entry
        cdef EntryC* following
        if operand.index is None:
            entry = run.pending[number].head
        else:
            entry = operand.index.find(event, self.frame)
        run.renew |= self.renews and number == 1 and entry is not NULL
        while entry is not NULL:
            following = entry.next if operand.index is None else same_key(entry.bucket_next, entry.hash)
            partial = entry.partial
            if self.fits(operand, partial, event, kept):
                partial.refs += 1
                try:
                    self.fill(run, number, operand, partial, event, kept)
                    self.remove(entry)
                    partial.timestamp = event.timestamp
                    self.advance(run, number, partial)
                finally:
                    self.matches.drop(partial)
            elif self.is_sequence:
                self.remove(entry)
            entry = following
        return 0

    cdef int offer_count(self, RunC* run, State state, int number, EventC* event, EventC** kept) except -1:
        cdef Operand operand = <Operand> state.operand[0]
        cdef EntryC* entry = run.pending[number].head
        cdef EntryC* following
        cdef PartialC* partial
        cdef int size
        while entry is not NULL:
            following = entry.next
            partial = entry.partial
            if partial.front > number or not self.fits(operand, partial, event, kept):
                # A later state has taken it, or the event does not fit.
                if partial.front > number or self.is_sequence:
                    self.remove(entry)
                entry = following
                continue
            partial.refs += 1
            try:
                self.fill(run, number, operand, partial, event, kept)
                partial.timestamp = event.timestamp
                size = <int> collected_of(partial, operand.slot).size
                if self.is_sequence:
                    self.remove(entry)
                    if size >= state.min:
                        self.advance(run, number, partial)
                    if size != state.max and (size < state.min or state.next >= 0):
                        self.add(run, number, partial)
                else:
                    if size == state.max or (size == state.min and state.next < 0):
                        self.remove(entry)
                    if size == state.min:
                        self.advance(run, number, partial)
            finally:
                self.matches.drop(partial)
            entry = following
        return 0

    cdef int offer_group(self, RunC* run, State state, InletC* inlet, EventC* event, EventC** kept) except -1:
        cdef Operand operand = <Operand> state.operand[inlet.operand]
        cdef uint32_t bit = (<uint32_t> 1) << inlet.operand
        cdef EntryC* entry = run.pending[inlet.state].head
        cdef EntryC* following
        while entry is not NULL:
            following = entry.next
            if not entry.open & bit:
                entry = following
                continue
            if self.fits(operand, entry.partial, event, kept):
                self.fill(run, inlet.state, operand, entry.partial, event, kept)
                entry.open &= ~bit
                if state.kind == OR or is_complete(state, entry):
                    run.renew |= self.renews and inlet.state == 1
                    self.complete(run, state, entry, inlet.state, event.timestamp)
            elif self.is_sequence:
                entry.open &= ~bit
                if entry.open == 0:
                    self.remove(entry)
            entry = following
        return 0

    cdef int complete(self, RunC* run, State state, EntryC* entry, int number, int64_t timestamp) except -1:
        """A group has all it needs; one that saw what must not come starts again at most."""
        cdef PartialC* partial = entry.partial
        cdef bint broken = entry.broken
        partial.refs += 1
        try:
            self.remove(entry)
            partial.timestamp = timestamp
            if not broken:
                self.advance(run, number, partial)
            elif state.again >= 0:
                self.add_again(run, state.again, partial)
        finally:
            self.matches.drop(partial)
        return 0

    cdef int offer_absent(self, RunC* run, State state, InletC* inlet, EventC* event, EventC** kept) except -1:
        """The event comes that must not."""
        cdef Operand operand = <Operand> state.operand[inlet.operand]
        cdef uint32_t bit = (<uint32_t> 1) << inlet.operand
        cdef EntryC* entry = run.pending[inlet.state].head
        cdef EntryC* following
        if state.kind == ABSENT and inlet.state == 0:
            if run.deadline != NO_TIME:
                run.deadline = event.timestamp + operand.for_ms
                self.arm(run, 0, run.deadline)
            return 0
        while entry is not NULL:
            following = entry.next
            if (state.kind == ABSENT or entry.open & bit) and self.fits(operand, entry.partial, event, kept):
                if state.kind == ABSENT:
                    self.remove(entry)
                elif operand.for_ms < 0:
                    entry.broken = True
                elif inlet.state == 0:
                    # Nothing has begun yet: the time starts anew.
                    entry.due[inlet.operand] = event.timestamp + operand.for_ms
                    self.arm(run, 0, entry.due[inlet.operand])
                else:
                    entry.open &= ~bit
                    if state.kind == AND or entry.open == 0:
                        self.remove(entry)
            entry = following
        return 0

    cdef int fill(self, RunC* run, int number, Operand operand, PartialC* partial, EventC* event,
                  EventC** kept) except -1:
        """Put an event into its slot. All partial matches that take it share one record."""
        if self.limit and not self.drops_oldest and self.n_begun >= self.limit and (
                partial.starts is NULL if number == 0 else (<State> self.state[number]).again > 0):
            raise RuntimeError(f"{self.n_begun} partial matches wait, and no more are allowed")
        if kept[0] is NULL:
            kept[0] = operand.copier.copy(event)
        kept[0].refs += 1
        if self.matches.counting[operand.slot]:
            self.matches.collect(partial, operand.slot, kept[0])
        else:
            partial.slots[operand.slot] = kept[0]
        if partial.front < number:
            partial.front = number
            self.taken(run, number, partial)
        if number == 0 and (self.within >= 0 or self.limit) and (
                not self.matches.counting[operand.slot] or partial.starts is NULL):
            start_at(&run.starts, partial, event.timestamp)
        return 0

    # --- from state to state

    cdef int advance(self, RunC* run, int number, PartialC* partial) except -1:
        """A state is done with a partial match."""
        cdef State state = <State> self.state[number]
        if state.next < 0:
            self.emit(partial)
        else:
            self.add(run, state.next, partial)
        if state.kind == ABSENT:
            self.taken(run, number, partial)
        if state.again >= 0 and not (self.is_sequence and state.kind == COUNT):
            self.add_again(run, state.again, partial)
        return 0

    cdef int taken(self, RunC* run, int number, PartialC* partial) except -1:
        """Start the group again that waits until a state behind it takes the partial match."""
        cdef int waiting = partial.unarmed
        if 0 <= waiting < number:
            partial.unarmed = -1
            return self.add_again(run, (<State> self.state[waiting]).again, partial)
        return 0

    cdef int add(self, RunC* run, int number, PartialC* partial) except -1:
        """Hand a partial match to a state; it becomes usable with the next event."""
        cdef State state = <State> self.state[number]
        cdef Operand operand
        cdef ListC* incoming = &run.incoming[number]
        cdef EntryC* entry
        cdef int64_t since = partial.timestamp if partial.timestamp != NEW else self.now
        cdef int64_t first
        cdef int k
        if state.kind == ABSENT and number == 0:
            run.deadline = since + (<Operand> state.operand[0]).for_ms
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
        if state.kind >= AND:
            entry.open = <uint32_t> (((<int64_t> 1) << state.n_operands) - 1)
        if state.waits:
            entry.due = <int64_t*> PyMem_Malloc(state.n_operands * sizeof(int64_t))
            if entry.due is NULL:
                self.remove(entry)
                raise MemoryError
            first = NO_TIME
            for k in range(state.n_operands):
                operand = <Operand> state.operand[k]
                entry.due[k] = since + operand.for_ms
                if operand.for_ms >= 0 and (first == NO_TIME or entry.due[k] < first):
                    first = entry.due[k]
            self.arm(run, number, first)
        return 0

    cdef int add_spare(self, RunC* run) except -1:
        """A sequence that may begin with no event can begin with the next one, too, while that goes to a later state."""
        cdef PartialC* partial = self.matches.make()
        try:
            self.matches.append(&run.incoming[0], partial, 0)
        finally:
            self.matches.drop(partial)
        return 0

    cdef int add_fresh(self, RunC* run) except -1:
        """Let the first state begin."""
        cdef PartialC* partial
        if self.implicit:
            return 0
        partial = self.matches.make()
        try:
            return self.add(run, 0, partial)
        finally:
            self.matches.drop(partial)

    cdef int add_again(self, RunC* run, int number, PartialC* partial) except -1:
        """Let a group start again: a copy without what it and the states behind it have found."""
        cdef State state = <State> self.state[number]
        cdef PartialC* copy
        if number == 0 and self.implicit:
            return 0
        copy = self.matches.copy(partial, state.first_slot)
        try:
            copy.front = min(partial.front, number - 1)
            if number > 0 and partial.starts is not NULL:
                start_like(copy, partial)
            return self.add(run, number, copy)
        finally:
            self.matches.drop(copy)

    cdef void remove(self, EntryC* entry) noexcept:
        """Take an entry out of its list and give up its partial match."""
        if entry.keyed:
            (<Operand> (<State> self.state[entry.state]).operand[0]).index.remove(entry)
        self.matches.remove(entry)

    # --- time

    cdef int arm(self, RunC* run, int number, int64_t due) except -1:
        """See to it that a timer fires by then."""
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
            self.apart = True
            for i in range(self.n_states - 1, -1, -1):
                if run.timer[i] != NO_TIME and run.timer[i] <= when:
                    if self.within >= 0:
                        self.expire(run, when)
                    run.timer[i] = NO_TIME
                    self.wait_over(run, i, when)
        finally:
            self.busy = False
        return self.deliver() if self.n_out else 0

    cdef int wait_over(self, RunC* run, int number, int64_t when) except -1:
        """Move on what waited in a state until now."""
        cdef State state = <State> self.state[number]
        cdef Operand operand
        cdef PartialC* partial
        cdef EntryC* entry
        cdef EntryC* following
        cdef int64_t first = NO_TIME
        cdef int k
        cdef bint done
        if state.kind == ABSENT and number == 0:
            if run.deadline == NO_TIME or run.deadline > when:
                return 0 if run.deadline == NO_TIME else self.arm(run, 0, run.deadline)
            run.deadline = NO_TIME
            partial = self.matches.make()
            try:
                partial.timestamp = when
                self.advance(run, 0, partial)
            finally:
                self.matches.drop(partial)
            return 0
        if self.is_sequence and state.kind == ABSENT and run.incoming[number].head is not NULL:
            self.forget(run, number)
        self.update(run, number)
        entry = run.pending[number].head
        while entry is not NULL:
            following = entry.next
            done = False
            for k in range(state.n_operands):
                operand = <Operand> state.operand[k]
                if operand.for_ms < 0 or (state.kind != ABSENT and not (entry.open >> k) & 1):
                    continue
                if entry.due[k] > when:
                    if first == NO_TIME or entry.due[k] < first:
                        first = entry.due[k]
                    continue
                entry.met |= (<uint32_t> 1) << k
                entry.open &= ~((<uint32_t> 1) << k)
                done = True
            if done and (state.kind != AND or is_complete(state, entry)):
                self.complete(run, state, entry, number, when)
            entry = following
        return 0 if first == NO_TIME else self.arm(run, number, first)

    # --- what comes out

    cdef int emit(self, PartialC* partial) except -1:
        self.push_out(partial)
        partial.refs += 1
        return self.push_out(NULL) if self.apart else 0

    cdef int push_out(self, PartialC* partial) except -1:
        cdef PartialC** out
        cdef Py_ssize_t capacity
        if self.n_out == self.out_capacity:
            capacity = max(16, 2 * self.out_capacity)
            out = <PartialC**> PyMem_Realloc(self.out, capacity * sizeof(void*))
            if out is NULL:
                raise MemoryError
            self.out = out
            self.out_capacity = capacity
        self.out[self.n_out] = partial
        self.n_out += 1
        return 0

    cdef int deliver(self) except -1:
        """Hand the matches to the selection, chunk by chunk. What follows may send into this query again."""
        cdef PartialC** out = self.out
        cdef Py_ssize_t i = 0, n = self.n_out, capacity = self.out_capacity
        cdef bint in_chunk = False
        self.out = NULL
        self.n_out = 0
        self.out_capacity = 0
        try:
            for i in range(n):
                if out[i] is NULL:
                    if in_chunk:
                        in_chunk = False
                        self.next.finish()
                elif not in_chunk and (i + 1 == n or out[i + 1] is NULL):
                    self.put_out(out[i], True)
                else:
                    in_chunk = True
                    self.put_out(out[i], False)
            if in_chunk:
                self.next.finish()
        finally:
            for i in range(n):
                if out[i] is not NULL:
                    self.matches.drop(out[i])
            if self.out is NULL:
                self.out = out
                self.out_capacity = capacity
            else:
                PyMem_Free(out)
        return 0

    cdef int put_out(self, PartialC* partial, bint alone) except -1:
        self.frame.slots = self.view.show(partial, NULL)
        self.moment.timestamp = partial.timestamp
        self.moment.group = 0
        return self.next.process_one(self.moment) if alone else self.next.process(self.moment)

    cdef void clear_out(self) noexcept:
        cdef Py_ssize_t i
        for i in range(self.n_out):
            if self.out[i] is not NULL:
                self.matches.drop(self.out[i])
        self.n_out = 0

    cdef void abort(self) noexcept:
        self.clear_out()
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
        cdef unsigned int i, n, partition, before = self.frame.partition
        for partition in range(self.capacity):
            self.drop(partition)
        n = reader.get_u32()
        try:
            for i in range(n):
                partition = reader.get_u32()
                self.ensure(partition)
                self.close_run(self.runs[partition])
                self.runs[partition] = NULL
                self.runs[partition] = self.open_run()
                self.frame.partition = partition
                read_run(self, self.runs[partition], reader)
        finally:
            self.frame.partition = before
        return 0


ctypedef int (*take_fn)(Pattern pattern, RunC* run, StreamC* stream, EventC* event) noexcept
ctypedef int (*offer_fn)(Pattern pattern, RunC* run, InletC* inlet, EventC* event, EventC** kept) noexcept


cdef int take_checked(Pattern pattern, RunC* run, StreamC* stream, EventC* event) except -1:
    return pattern.take(run, stream, event)


cdef int offer_checked(Pattern pattern, RunC* run, InletC* inlet, EventC* event, EventC** kept) except -1:
    return pattern.offer_kind(run, inlet, event, kept)


# Called as if they could not fail, and their answer looked at: what must be undone costs no try block per event.
cdef take_fn take_unchecked = <take_fn> take_checked
cdef offer_fn offer_unchecked = <offer_fn> offer_checked


cdef void sort_by_time(ListC* places) noexcept:
    """Order entries by the time of their partial match, stably; those without events go last."""
    cdef EntryC* entry = places.head.next
    cdef EntryC* following
    cdef EntryC* before
    while entry is not NULL:
        following = entry.next
        before = entry.prev
        if comes_later(before.partial, entry.partial):
            while before is not NULL and comes_later(before.partial, entry.partial):
                before = before.prev
            unlink(entry)
            link_behind(places, entry, before)
        entry = following


cdef inline bint comes_later(const PartialC* partial, const PartialC* other) noexcept:
    if partial.timestamp == NEW:
        return other.timestamp != NEW
    return other.timestamp != NEW and partial.timestamp > other.timestamp


cdef void link_behind(ListC* places, EntryC* entry, EntryC* before) noexcept:
    """Put an entry that is in no list behind another; NULL: in front of all."""
    cdef EntryC* after = places.head if before is NULL else before.next
    entry.list = places
    entry.prev = before
    entry.next = after
    if before is NULL:
        places.head = entry
    else:
        before.next = entry
    if after is NULL:
        places.tail = entry
    else:
        after.prev = entry
    places.size += 1


@cython.final
cdef class PatternEntry(Receiver):
    """Takes the events of one stream to a pattern.

    Args:
        pattern: the pattern.
        stream: number of the stream in it.
        source: the stream's junction, which handles failures of single rows of a block.
        reads: the attributes the pattern reads, as bits; all ones where there are more than 64.
    """

    def __init__(self, Pattern pattern not None, int stream, FaultSink source not None, uint64_t reads):
        self.pattern = pattern
        self.stream = stream
        self.source = source
        self.read_mask = reads
        self.on_chunk = <receive_fn> receive_checked

    cdef bint is_silent(self, int epoch) except -1:
        return self.pattern.next.is_silent(epoch)

    cdef uint64_t reads(self) noexcept:
        return self.read_mask

    cdef int receive(self, EventChunk* chunk) except -1:
        return receive_checked(self, chunk)

    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1:
        cdef Py_ssize_t i = 0
        while i < n:
            try:
                while i < n:
                    self.pattern.take_one(self.stream, events[i])
                    i += 1
            except Exception as error:
                self.pattern.abort()
                self.source.fault(error, events[i])
                i += 1
        return 0

    cdef void abort(self) noexcept:
        self.pattern.abort()


cdef int receive_checked(PatternEntry entry, EventChunk* chunk) except -1:
    cdef int status
    if chunk.head.next is NULL and chunk.head.type <= EXPIRED:
        status = one_unchecked(entry.pattern, entry.stream, chunk.head)
    else:
        status = chunk_unchecked(entry.pattern, entry.stream, chunk.head)
    if status == -1:
        entry.pattern.abort()
    return status


ctypedef int (*event_fn)(Pattern pattern, int stream, EventC* event) noexcept


cdef int one_checked(Pattern pattern, int stream, EventC* event) except -1:
    return pattern.take_one(stream, event)


cdef int chunk_checked(Pattern pattern, int stream, EventC* event) except -1:
    return pattern.take_chunk(stream, event)


cdef event_fn one_unchecked = <event_fn> one_checked
cdef event_fn chunk_unchecked = <event_fn> chunk_checked
