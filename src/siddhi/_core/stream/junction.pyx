"""Stream junctions."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from libc.string cimport memmove

cdef extern from "Python.h":
    PyObject* PyList_GET_ITEM(list items, Py_ssize_t i)      # borrowed

from siddhi._core.record.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.record.event cimport EventC, acquire, cell_from_python
from siddhi._core.record.frame cimport MAX_BLOCK
from siddhi._core.record.instant cimport TimestampCheck
from siddhi._core.record.user_event cimport make_events
from siddhi._core.runtime.context cimport UNCHECKED_DEPTH, leave
from siddhi._core.runtime.lock cimport is_nested, lock_app, unlock_app
from siddhi._core.runtime.operator cimport refuse_blocks
from siddhi._core.stream.routing cimport PickedC


cdef class RowSource:
    """Owner of the rows of the current batch."""

    cdef int complete(self, EventC* event) except -1:
        return 0


cdef class StreamFeeder:
    """Operator that inserts into a stream and receives a call when the stream's receivers change."""

    cdef void follow(self, bint heard, BatchCallback sink, bint block_mode, bint retains) noexcept:
        pass


cdef class TombstoneReceiver(Receiver):
    """Replaces a receiver that was removed during a delivery."""

    cdef int receive(self, EventChunk* chunk) except -1:
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)
        traits.order_free = True
        traits.retains = False
        traits.reads = 0
        return 0


cdef Receiver TOMBSTONE = TombstoneReceiver()


cdef Py_ssize_t place_of(list items, object item) noexcept:
    """Return the place of an object in a list, -1: it is not there. It is compared with nothing."""
    cdef Py_ssize_t i
    for i in range(len(items) - 1, -1, -1):
        if PyList_GET_ITEM(items, i) == <PyObject*> item:
            return i
    return -1


cdef int keep_index(StreamJunction junction, Dispatch dispatch) except -1:
    """Go on with an index that knows the change of the receivers."""
    junction.dispatch = dispatch
    junction.arranged = True
    return 0


cdef class StreamJunction:
    """Junction of one stream.

    Args:
        app: context of the app.
        id: name of the stream.
        layout: names and types of its attributes.
        pool: pool of its records; created if None.
    """

    def __init__(self, AppContext app not None, str id not None, Layout layout not None, EventPool pool=None):
        self.app = app
        self.id = id
        self.layout = layout
        self.pool = EventPool(layout) if pool is None else pool
        self.times = TimestampCheck(app.name, id)
        self.receivers = []
        self.retired = []
        self.feeders = []
        self.retains = True
        self.plain = True

    def __dealloc__(self):
        PyMem_Free(self.array)

    def subscribe(self, Receiver receiver not None):
        """Add a receiver after the present ones."""
        self.insert(self.n, receiver)

    def insert(self, Py_ssize_t position, Receiver receiver not None):
        """Add a receiver before that at a position, or at the end; if there is one at it, no delivery is running."""
        cdef Dispatch dispatch = self.dispatch
        self.receivers.insert(position, receiver)
        self.extend(position)
        if dispatch is not None and self.app.depth == 0 and receiver.sleeper is None:
            if dispatch.insert(self.layout, position, receiver.filing):
                keep_index(self, dispatch)

    def unsubscribe(self, Receiver receiver not None):
        """Remove a receiver; ignore unknown ones."""
        cdef Dispatch dispatch = self.dispatch
        cdef Py_ssize_t position = place_of(self.receivers, receiver)
        if position < 0:
            return
        if self.app.depth == 0:
            del self.receivers[position]
            memmove(&self.array[position], &self.array[position + 1], (self.n - position - 1) * sizeof(SubscriptionC))
            self.extend(self.n - 1)
            if dispatch is not None and receiver.sleeper is None:
                if dispatch.remove(position, receiver.filing):
                    keep_index(self, dispatch)
            return
        # A delivery may be iterating over the receivers: the entry stays until it has ended.
        self.receivers = [TOMBSTONE if other is receiver else other for other in self.receivers]
        self.retire(receiver)
        self.rebuild()

    cdef int retire(self, Receiver receiver) except -1:
        """Keep a removed receiver alive until no delivery can be running through it."""
        if self.app.depth:
            self.retired.append(receiver)
            self.app.retired.append(self)
            self.app.depth_limit = 0
        return 0

    def leave(self, StreamFeeder feeder not None):
        """Forget an output that inserts into the stream no more."""
        del self.feeders[place_of(self.feeders, feeder)]

    def exchange(self, Receiver receiver not None, Receiver by not None):
        """Deliver to another receiver in place of one. No delivery is running."""
        self.receivers = [by if other is receiver else other for other in self.receivers]
        self.rebuild()

    def tidy(self):
        """Drop the receivers that were removed during a delivery."""
        if self.retired:
            self.receivers = [other for other in self.receivers if other is not TOMBSTONE]
            self.rebuild()
            self.retired = []

    cdef int rebuild(self) except -1:
        return self.extend(0)

    cdef int extend(self, Py_ssize_t known) except -1:
        """Take up the receivers behind the first ``known``."""
        cdef Py_ssize_t i, n = len(self.receivers), room = 1
        cdef SubscriptionC* array
        while room < n:
            room *= 2
        if known == 0 or 2 * known <= room:      # the array has a power of two as its length
            array = <SubscriptionC*> PyMem_Realloc(self.array, room * sizeof(SubscriptionC))
            if array is NULL:
                raise MemoryError
            self.array = array
        for i in range(known, n):
            self.array[i].receiver = <void*> self.receivers[i]
            self.array[i].on_chunk = (<Receiver> self.receivers[i]).on_chunk
        self.n = <int> n
        self.changes += 1
        self.dispatch = None
        self.arranged = False
        self.plain = False
        self.sink = self.receivers[0] if n == 1 and isinstance(self.receivers[0], BatchCallback) else None
        self.app.wiring += 1
        return self.tell_feeders()

    @property
    def counting(self):
        """Whether `events` counts incoming events."""
        return self.counts

    @counting.setter
    def counting(self, bint counting):
        self.counts = counting
        self.plain = False
        self.arranged = False
        self.tell_feeders()

    @property
    def dispatches(self):
        """Names of the attributes that events are routed by; None if every receiver gets every event."""
        self.arrange()
        if self.dispatch is None:
            return None
        return tuple([self.layout.names[position] for position in self.dispatch.positions])

    cdef int arrange(self) except -1:
        """Build the predicate index of the receivers, if the plan has filed any."""
        cdef Receiver receiver
        if self.arranged:
            return 0
        filings = [receiver.filing for receiver in self.receivers]
        if any([filing is not None for filing in filings]):
            self.dispatch = Dispatch(self.layout, filings, [receiver.sleeper for receiver in self.receivers])
        self.arranged = True
        self.plain = self.dispatch is None and not self.counts
        return 0

    cdef int send_special(self, EventChunk* chunk) except -1:
        """Deliver a chunk that needs counting or routing, or whose receivers have changed."""
        cdef int i = 0
        if not self.arranged:
            self.arrange()
        if self.counts:
            self.count(chunk)
        self.app.depth += 1
        if self.app.depth > self.app.depth_limit:
            self.check_depth()
        if self.dispatch is not None:
            i = self.send_routed(chunk)
            if i < 0:
                return self.fail(~i, chunk)
        while i < self.n:
            if self.array[i].on_chunk(self.array[i].receiver, chunk) == -1:
                return self.fail(i, chunk)
            i += 1
        self.app.depth -= 1
        return 0

    cdef int send_routed(self, EventChunk* chunk) except? -2147483648:
        """Deliver a chunk to the receivers that the index finds.

        Returns:
            The first receiver that is left to call: all have been called, or they have changed meanwhile. If receiver i
            has failed, ~i; its exception is set.
        """
        cdef int i = 0
        cdef Py_ssize_t at, end
        cdef long long wakes, changes = self.changes
        cdef Dispatch dispatch = self.dispatch   # sends inside this one may replace it
        cdef EventC* event = chunk.head
        wakes = dispatch.wakes
        at = dispatch.top
        end = at + (dispatch.find(event) if event.next is NULL else dispatch.find_any(event))
        cdef Py_ssize_t begin = at
        dispatch.top = end
        while at < end:
            i = dispatch.found[at]
            if self.array[i].on_chunk(self.array[i].receiver, chunk) == -1:
                dispatch.top = begin
                return ~i
            if self.changes != changes:
                dispatch.top = begin
                return i + 1                     # receivers were added or removed: deliver the rest one by one
            at += 1
            if dispatch.wakes != wakes:          # perhaps a later one, by a send inside this one
                wakes = dispatch.wakes
                dispatch.top = begin
                end = begin + (dispatch.find(event) if event.next is NULL else dispatch.find_any(event))
                dispatch.top = end
                at = begin
                while at < end and dispatch.found[at] <= i:
                    at += 1
        dispatch.top = begin
        return self.n

    cdef int send_block(self, EventC** events, Py_ssize_t n) except -1:
        """Send records, each as a chunk of its own; as a block if blocks are allowed."""
        if self.block_mode and not self.counts and self.app.has_room():
            if not self.arranged:
                self.arrange()
            self.app.depth += 1
            try:
                if self.n == 1:
                    (<Receiver> self.array[0].receiver).receive_block(events, n)
                else:
                    self.send_shared_block(events, n)
                self.begun += n
                return 0
            finally:
                self.app.depth -= 1
        return self.send_singly(events, n)

    cdef int send_singly(self, EventC** events, Py_ssize_t n) except -1:
        """Send records one by one, each as a chunk of its own."""
        cdef EventChunk chunk
        cdef Py_ssize_t i = 0
        while i < n:
            try:
                while i < n:
                    self.begun += 1        # counted first: an interrupted row must not be sent again
                    chunk.head = events[i]
                    chunk.tail = events[i]
                    send(self, &chunk)
                    if self.app.interrupt is not None and self.rows is not None:
                        return 0
                    i += 1
            except RecursionError as error:
                self.fault(error, events[i])
                i += 1
        return 0

    cdef int send_shared_block(self, EventC** events, Py_ssize_t n) except -1:
        """Pass a block to one receiver after the other; receivers after a failing one do not get the failed event."""
        cdef EventC* failed[MAX_BLOCK]
        cdef EventC* remaining[MAX_BLOCK]
        cdef EventC** outer = self.failed
        cdef Py_ssize_t n_outer = self.n_failed
        cdef int j = 0
        self.failed, self.n_failed = failed, 0
        try:
            if self.dispatch is not None:
                return self.send_picked_block(events, n)
            while j < self.n:
                (<Receiver> self.array[j].receiver).receive_block(events, n)
                if self.n_failed:
                    n = self.without_failed(events, n, remaining)
                    events = remaining
                j += 1
        finally:
            self.failed, self.n_failed = outer, n_outer
        return 0

    cdef Py_ssize_t without_failed(self, EventC** events, Py_ssize_t n, EventC** remaining) noexcept:
        cdef Py_ssize_t i, k, m = 0
        for i in range(n):
            remaining[m] = events[i]
            m += 1
            for k in range(self.n_failed):
                if events[i] is self.failed[k]:
                    m -= 1
                    break
        return m

    cdef int send_picked_block(self, EventC** events, Py_ssize_t n) except -1:
        """Pass to each receiver the events routed to it."""
        cdef Dispatch dispatch = self.dispatch   # sends inside this one may replace it
        cdef Py_ssize_t begin = 0, m, limit = dispatch.block_limit()
        while begin < n:
            m = min(limit, n - begin)
            self.n_failed = 0
            self.send_picked(dispatch, events + begin, m)
            begin += m
        return 0

    cdef int send_picked(self, Dispatch dispatch, EventC** events, Py_ssize_t n) except -1:
        cdef EventC* remaining[MAX_BLOCK]
        cdef EventC** routed
        cdef PickedC picked
        cdef Py_ssize_t m, j = 0
        cdef int i, k = 0
        try:
            dispatch.pick(events, n, &picked)
            while j < dispatch.c.n_always or k < picked.n:
                if k == picked.n or (j < dispatch.c.n_always and dispatch.c.always[j] < picked.receivers[k]):
                    i = dispatch.c.always[j]
                    routed, m = events, n
                    j += 1
                else:
                    i = picked.receivers[k]
                    routed, m = picked.events + picked.starts[k], picked.starts[k + 1] - picked.starts[k]
                    k += 1
                    if m != n and dispatch.may_sleep(i):
                        # The first event may wake it: it gets those that follow, too.
                        m = n
                        while events[n - m] is not routed[0]:
                            m -= 1
                        routed = events + (n - m)
                if self.n_failed:
                    m = self.without_failed(routed, m, remaining)
                    routed = remaining
                if m:
                    (<Receiver> self.array[i].receiver).receive_block(routed, m)
        finally:
            PyMem_Free(picked.receivers)
            PyMem_Free(picked.starts)
            PyMem_Free(picked.events)
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        """Report what happens to a block that is sent into the stream."""
        self.bind()
        traits.takes = self.block_mode
        traits.order_free = self.order_free
        traits.retains = self.retains
        traits.takes_pairs = False
        traits.reads = self.read_mask
        return 0

    cdef int bind(self) except -1:
        """Ask the receivers what they do with blocks, unless the wiring is unchanged since the last time."""
        cdef Receiver receiver
        cdef BlockTraits traits
        cdef bint order_free = True, retains = False, takes = len(self.receivers) == 1
        cdef uint64_t reads = 0
        if self.bound == self.app.wiring:
            return 0
        # Set first: this ends the recursion in a cycle of streams.
        self.bound = self.app.wiring
        self.block_mode = self.order_free = False
        self.retains = True
        self.read_mask = ~(<uint64_t> 0)
        if self.app.binding >= UNCHECKED_DEPTH:
            self.bound = 0                          # a block needs much stack: at greater depth rows go one by one
            return self.tell_feeders()
        self.app.binding += 1
        try:
            for receiver in self.receivers:
                receiver.bind_blocks(&traits)
                takes = takes and traits.takes
                order_free = order_free and traits.order_free
                retains = retains or traits.retains
                reads |= traits.reads
        finally:
            self.app.binding -= 1
        self.block_mode = order_free or (takes and not self.app.frame.playback)
        self.order_free, self.retains, self.read_mask = order_free, retains, reads
        return self.tell_feeders()

    cdef int tell_feeders(self) except -1:
        cdef StreamFeeder feeder
        for feeder in self.feeders:
            feeder.follow(self.n != 0 or self.counts, self.sink, self.block_mode, self.retains)
        return 0

    cdef int fault(self, object error, EventC* event) except -1:
        cdef EventChunk chunk
        if self.app.passes_on(error):
            if is_nested(self.app.lock):
                raise error
            # Rows of a block are independent: each has the full depth limit.
            self.app.reset_depth()
        if self.failed is not NULL and self.n_failed < MAX_BLOCK:
            self.failed[self.n_failed] = event
            self.n_failed += 1
        chunk.head = event
        chunk.tail = event
        return self.settle(error, &chunk)

    cdef void count(self, EventChunk* chunk) noexcept:
        cdef EventC* event = chunk.head
        while event is not NULL:
            self.events += 1
            event = event.next

    cdef int check_depth(self) except -1:
        """Check the depth limit, see AppContext.check_depth; a refusal ends the send."""
        try:
            return self.app.check_depth(self.id)
        except BaseException:
            self.app.depth -= 1
            raise

    cdef int fail(self, int receiver, EventChunk* chunk) except -1:
        """Pass the current exception to the error handling of the stream. Exceptions that are no Exception, and a
        RecursionError of the depth limit, propagate to the outermost send."""
        self.app.depth -= 1
        (<Receiver> self.array[receiver].receiver).abort()
        try:
            leave()
        except Exception as error:
            if self.app.passes_on(error):
                raise error
            if self.app.depth == 0:
                self.app.reset_depth()
            self.settle(error, chunk)
        return 0

    cdef int settle(self, object error, EventChunk* chunk) except -1:
        try:
            return self.handle(error, chunk)
        except RecursionError as deeper:
            if self.app.depth or not self.app.depth_exceeded:
                raise
            # The path through the fault stream may be endless as well.
            self.app.reset_depth()
            self.app.handle(deeper, self.id, make_events(chunk, self.pool, self.layout))
        return 0

    cdef int handle(self, object error, EventChunk* chunk) except -1:
        if self.rows is not None and chunk.head.next is NULL:
            self.rows.complete(chunk.head)
        events = make_events(chunk, self.pool, self.layout)
        if self.on_error is not None:
            self.on_error(error, events)
        else:
            self.app.handle(error, self.id, events)
        return 0

    def send_rows(self, rows):
        """Send rows as one chunk.

        Args:
            rows: pairs of timestamp (ms) and values.

        Raises:
            ValueError: a value does not fit its attribute; nothing was sent.
        """
        cdef EventChunk chunk
        cdef EventC* event
        cdef int i
        chunk_clear(&chunk)
        lock_app(self.app.lock)
        try:
            for timestamp, values in rows:
                event = acquire(self.pool)
                chunk_append(&chunk, event)
                event.timestamp = timestamp
                for i in range(self.layout.words):
                    event.body[i] = 0
                for i in range(self.layout.width):
                    cell_from_python(event, self.layout, i, values[i])
            if chunk.head is not NULL:
                send(self, &chunk)
        finally:
            chunk_release(&chunk, self.pool)
            unlock_app(self.app.lock)
