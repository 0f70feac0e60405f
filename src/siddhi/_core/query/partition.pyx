"""Partitions: the keys of a partition, and the receivers that determine the key of an event.

The operators inside a partition exist once. Each key has an id. FrameC.partition holds the id while an event of that
key, and everything that follows from it, is processed; operators use the state with that id.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t, uint32_t

from siddhi._core.expression.executor cimport Executor
from siddhi._core.index.hash_index cimport NO_ID, KeyMap
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport BOOL, CellC, EventC
from siddhi._core.record.frame cimport NULL_VALUE, TRUE, VALUE, box, now_ms
from siddhi._core.runtime.context cimport AppContext, FaultSink, fault_alone, next_tick_of, restored_tick
from siddhi._core.runtime.key_limit cimport DROP_OLDEST, KeyLimit
from siddhi._core.runtime.lock cimport is_nested
from siddhi._core.runtime.operator cimport Processor, Receiver
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef int64_t NEVER = -(<int64_t> 1 << 62)    # time of a key that is never purged


@cython.final
cdef class PartitionKeys(Processor):
    """The keys of one partition, their ids, and the time each was last seen.

    Args:
        app: context of the app.
        type: TypeCode of the keys.
        make_state: ``fn(partition id)``, called when a key is created.
        drop_state: ``fn(partition id)``, called when a key is removed.
        purge_interval_ms, idle_period_ms: how often keys are checked, and how long one may be idle; 0: never.
    """

    cdef KeyMap keys
    cdef int type
    cdef object make_state_of
    cdef object drop_state_of
    cdef int64_t* seen                 # [capacity] by partition id, ms; only with purging
    cdef Py_ssize_t capacity
    cdef int64_t interval
    cdef int64_t idle
    cdef bint purging                  # the timer is scheduled
    cdef int64_t due                   # due time of the timer, ms
    cdef readonly long long purged     # number of keys removed because they were idle
    cdef KeyLimit limit                # or None
    cdef list working                  # with a limit: partition ids of events being processed, innermost last

    def __init__(self, AppContext app not None, int type, make_state not None, drop_state not None,
                 int64_t purge_interval_ms=0, int64_t idle_period_ms=0):
        self.app = app
        self.type = type
        self.keys = KeyMap([type])
        self.make_state_of = make_state
        self.drop_state_of = drop_state
        self.interval = purge_interval_ms
        self.idle = idle_period_ms

    def set_limit(self, KeyLimit limit not None):
        """Limit the number of keys. Return the object that saves the order of use in snapshots."""
        self.limit = limit
        self.working = []
        return PartitionUses(self)

    def __dealloc__(self):
        PyMem_Free(self.seen)

    def __len__(self):
        return self.keys.size

    cdef uint32_t id_of(self, const CellC* key) except? 0xfffffffe:
        cdef bint is_new = False
        cdef uint32_t partition_id = self.keys.insert(key, 0, &is_new)
        if is_new:
            try:
                self.make_state_of(partition_id)
            except:
                self.drop_state_of(partition_id)
                self.keys.remove(partition_id)
                raise
        if self.interval:
            self.see(partition_id)
        return partition_id

    cdef uint32_t limited_id(self, const CellC* key, EventC* event, FaultSink source) except? 0xfffffffe:
        """Return the id of a key under a limit; NO_ID if the event was refused. `source`: that of its chunk; None if
        alone."""
        cdef uint32_t partition_id = self.keys.find(key, 0)
        if partition_id == NO_ID and self.keys.size >= self.limit.most and not self.make_room():
            error = self.limit.refuse((key.i == TRUE if self.type == BOOL else box(VALUE, self.type, key),))
            if error is not None:
                if source is None:
                    raise error
                fault_alone(source, error, event)
            return NO_ID
        if partition_id == NO_ID:
            self.limit.allows(self.keys.size + 1)      # logs the warning
        partition_id = self.id_of(key)
        self.limit.use(partition_id, now_ms(&self.app.frame))
        return partition_id

    cdef bint make_room(self) except -1:
        """Remove the least recently used key, unless its events are being processed."""
        cdef uint32_t partition_id = self.limit.oldest
        if self.limit.on_full != DROP_OLDEST or partition_id == NO_ID or partition_id in self.working:
            return False
        self.forget(partition_id)
        self.limit.drop()
        return True

    cdef int forget(self, uint32_t partition_id) except -1:
        self.drop_state_of(partition_id)
        self.keys.remove(partition_id)
        if self.limit is not None:
            self.limit.unlist(partition_id)
        return 0

    cdef int see(self, uint32_t partition_id) except -1:
        cdef int64_t now = now_ms(&self.app.frame)
        cdef int64_t* seen
        cdef Py_ssize_t capacity
        if partition_id >= self.capacity:
            capacity = max(16, 2 * self.capacity, <Py_ssize_t> partition_id + 1)
            seen = <int64_t*> PyMem_Realloc(self.seen, capacity * sizeof(int64_t))
            if seen is NULL:
                raise MemoryError
            self.seen = seen
            self.capacity = capacity
        self.seen[partition_id] = now
        if not self.purging:
            self.order(now + self.interval)
        return 0

    cdef int order(self, int64_t due) except -1:
        self.purging = True
        self.due = due
        return self.app.schedule(self, due, 0)

    cdef int on_timer(self, int64_t when) except -1:
        """Remove the keys that were idle for too long."""
        cdef uint32_t partition_id
        cdef int64_t now = now_ms(&self.app.frame)
        if not self.purging or when != self.due:
            return 0
        if is_nested(self.app.lock):
            # A callback moved the clock: events of some key are being processed further up the stack, and their state
            # must stay.
            return self.order(next_tick_of(self.app, now, self.interval))
        self.purging = False
        for partition_id in range(self.keys.id_bound()):
            if self.keys.is_live(partition_id):
                # Last seen in the future, because the clock was set back since: treat it as seen now.
                self.seen[partition_id] = min(self.seen[partition_id], now)
                if self.seen[partition_id] + self.idle <= now:
                    self.forget(partition_id)
                    self.purged += 1
        if self.keys.size:
            self.order(next_tick_of(self.app, now, self.interval))
        return 0

    cdef bint is_idle(self, uint32_t partition) noexcept:
        return True

    def retain(self, wanted not None):
        """Remove the keys for which ``wanted(key)`` is false, with their state; return the number of keys left.

        No event may be processed meanwhile.
        """
        cdef uint32_t partition_id
        for partition_id in range(self.keys.id_bound()):
            if self.keys.is_live(partition_id) and not wanted(self.keys.key_to_python(partition_id)):
                self.forget(partition_id)
        return self.keys.size

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef uint32_t partition_id
        self.keys.write(writer)
        for partition_id in range(self.keys.id_bound()):
            if self.keys.is_live(partition_id):
                writer.put_time(self.seen[partition_id] if self.interval else NEVER)
        writer.put_bool(self.purging)
        writer.put_due(self.due)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        # Purging and its interval may differ from those at the time of the snapshot.
        cdef uint32_t partition_id
        cdef int64_t seen, due, now = now_ms(&self.app.frame)
        cdef bint purging
        for partition_id in range(self.keys.id_bound()):
            if self.keys.is_live(partition_id):
                self.drop_state_of(partition_id)
        self.keys.clear()
        if self.limit is not None:
            self.limit.clear()
        self.keys.read(reader)
        self.purging = True                # prevents a timer until everything is read
        for partition_id in range(self.keys.id_bound()):
            if self.keys.is_live(partition_id):
                self.make_state_of(partition_id)
                seen = reader.get_time()
                if self.interval:
                    self.see(partition_id)
                    if seen != NEVER:
                        self.seen[partition_id] = seen
        purging = reader.get_bool()
        due = reader.get_due()
        self.purging = False
        if self.interval and purging:
            self.order(min(restored_tick(self.app, due, self.interval), now + self.interval))
        elif self.interval and self.keys.size:
            self.order(now + self.interval)
        return 0


@cython.final
cdef class PartitionUses(Processor):
    """Order of use of the keys of a partition with a limit. Read after the keys."""

    cdef PartitionKeys keys

    def __init__(self, PartitionKeys keys not None):
        self.app = keys.app
        self.keys = keys

    cdef int write(self, SnapshotWriter writer) except -1:
        return self.keys.limit.write(self.keys.keys, writer, [])

    cdef int read(self, SnapshotReader reader) except -1:
        self.keys.limit.read(self.keys.keys, reader)
        return 0

    def renew(self):
        """Reset the order of use: as if all keys had been used now, in the order of their partition ids."""
        cdef uint32_t partition_id
        self.keys.limit.clear()
        for partition_id in range(self.keys.keys.id_bound()):
            if self.keys.keys.is_live(partition_id):
                self.keys.limit.use(partition_id, now_ms(&self.app.frame))


cdef class PartitionReceiver(Receiver):
    """Base class: receives a stream for the queries of a partition. Subclasses determine the keys.

    Consecutive events of one key are passed on as one chunk.
    """

    cdef AppContext app
    cdef PartitionKeys keys
    cdef FaultSink source          # the stream; handles events refused by a limit
    cdef public list receivers     # replaced as a whole

    def __init__(self, AppContext app not None, PartitionKeys keys not None, FaultSink source not None):
        self.app = app
        self.keys = keys
        self.source = source
        self.receivers = []

    def subscribe(self, Receiver receiver not None):
        """Add the entry of a query after the present ones."""
        self.receivers.append(receiver)

    cdef void abort(self) noexcept:
        cdef Receiver receiver
        for receiver in self.receivers:
            receiver.abort()

    cdef int hand_on(self, EventC* first, EventC* last, uint32_t partition_id) except -1:
        """Pass the events first..last of a chunk, all of one key, to the queries."""
        cdef EventChunk chunk
        cdef EventC* following = last.next
        cdef uint32_t before = self.app.frame.partition
        cdef Receiver receiver
        chunk.head = first
        chunk.tail = last
        last.next = NULL
        self.app.frame.partition = partition_id
        if self.keys.working is not None:
            self.keys.working.append(partition_id)
        try:
            for receiver in self.receivers:
                receiver.receive(&chunk)
        finally:
            self.app.frame.partition = before
            last.next = following
            if self.keys.working is not None:
                self.keys.working.pop()
        return 0


@cython.final
cdef class ValuePartitionReceiver(PartitionReceiver):
    """Determines keys by an expression; events with a null key are dropped.

    Args:
        app: context of the app.
        keys: keys of the partition.
        expression: executor of the key; type as the keys.
    """

    cdef Executor expression

    def __init__(self, AppContext app not None, PartitionKeys keys not None, FaultSink source not None,
                 Executor expression not None):
        PartitionReceiver.__init__(self, app, keys, source)
        self.expression = expression

    cdef inline bint read_key(self, EventC* event, CellC* key) except -1:
        """Return whether an event has a key."""
        cdef int status
        key.bits = 0
        status = self.expression.c.fn(&self.expression.c, event, &self.app.frame, key)
        if self.expression.type == BOOL:
            key.i = status == TRUE
        return status != NULL_VALUE

    cdef uint32_t id_of_event(self, EventC* event) except? 0xfffffffe:
        cdef CellC key
        return self.keys.id_of(&key) if self.read_key(event, &key) else NO_ID

    cdef int receive_limited(self, EventC* event) except -1:
        """Create a key only after earlier events were passed on: the key removed to make room may be theirs."""
        cdef EventC* last
        cdef EventC* following
        cdef CellC key
        cdef uint32_t partition_id
        cdef FaultSink source = None if event.next is NULL else self.source
        while event is not NULL:
            partition_id = NO_ID
            if self.read_key(event, &key):
                partition_id = self.keys.limited_id(&key, event, source)
            last = event
            following = event.next
            while partition_id != NO_ID and following is not NULL and self.read_key(following, &key) and (
                    self.keys.keys.find(&key, 0) == partition_id):
                last = following
                following = last.next
            if partition_id != NO_ID:
                self.hand_on(event, last, partition_id)
            event = following
        return 0

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef EventC* last
        cdef EventC* following
        cdef uint32_t partition_id, other
        if self.keys.limit is not None:
            return self.receive_limited(event)
        partition_id = self.id_of_event(event)
        while event is not NULL:
            last = event
            other = NO_ID
            while last.next is not NULL:
                other = self.id_of_event(last.next)
                if other != partition_id:
                    break
                last = last.next
            following = last.next
            if partition_id != NO_ID:
                self.hand_on(event, last, partition_id)
            event = following
            partition_id = other
        return 0


@cython.final
cdef class RangePartitionReceiver(PartitionReceiver):
    """Determines keys by labelled conditions: an event is processed under every label whose condition is true, in order.

    Args:
        app: context of the app.
        keys: keys of the partition, of type string.
        labels: the labels.
        conditions: their executors.
    """

    cdef tuple labels                  # labels in use
    cdef tuple conditions
    cdef tuple all                     # (label, condition)

    def __init__(self, AppContext app not None, PartitionKeys keys not None, FaultSink source not None,
                 tuple labels not None, tuple conditions not None):
        PartitionReceiver.__init__(self, app, keys, source)
        self.labels = labels
        self.conditions = conditions
        self.all = tuple(zip(labels, conditions))

    def look_for(self, wanted not None):
        """Process events only under labels for which ``wanted(label)`` is true. No event may be processed meanwhile."""
        cdef list chosen = [one for one in self.all if wanted(one[0])]
        self.labels = tuple([label for label, _ in chosen])
        self.conditions = tuple([condition for _, condition in chosen])

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef EventC* first = NULL
        cdef EventC* last = NULL
        cdef Executor condition
        cdef CellC key
        cdef uint32_t partition_id, pending = NO_ID
        cdef int i
        while event is not NULL:
            for i in range(len(self.labels)):
                condition = self.conditions[i]
                if condition.c.fn(&condition.c, event, &self.app.frame, NULL) != TRUE:
                    continue
                key.o = <void*> self.labels[i]
                if self.keys.limit is None:
                    partition_id = self.keys.id_of(&key)
                else:
                    # Create a key only after earlier events were passed on: the key removed to make room may be theirs.
                    if pending != NO_ID and self.keys.keys.find(&key, 0) == NO_ID:
                        self.hand_on(first, last, pending)
                        pending = NO_ID
                    partition_id = self.keys.limited_id(&key, event, None if chunk.head is chunk.tail else self.source)
                    if partition_id == NO_ID:
                        continue
                if partition_id != pending or last is event:
                    if pending != NO_ID:
                        self.hand_on(first, last, pending)
                    first, pending = event, partition_id
                elif last.next is not event:
                    # Events without a label lie between: end the chunk.
                    self.hand_on(first, last, pending)
                    first = event
                last = event
            event = event.next
        if pending != NO_ID:
            self.hand_on(first, last, pending)
        return 0


@cython.final
cdef class BroadcastReceiver(PartitionReceiver):
    """Receives a stream without key inside a partition: passes its events to every existing key."""

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef uint32_t partition_id
        cdef EventC* event = chunk.head
        cdef EventC* last = chunk.head
        while last.next is not NULL:
            last = last.next
        for partition_id in range(self.keys.keys.id_bound()):
            if self.keys.keys.is_live(partition_id):
                self.hand_on(event, last, partition_id)
        return 0
