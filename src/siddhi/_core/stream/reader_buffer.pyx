"""Buffers between an app and the readers of its output: iterators of a stream and asynchronous callbacks.

The thread that sends adds, under the app's lock; the reader takes, without it. What changes a buffer runs no Python code in
between, so that the interpreter lock is enough. Adding never waits and, except for lost events, never fails: a sender waits
at the gate of the app before its next event.
"""

cimport cython

from collections import deque

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC
from siddhi._core.runtime.context cimport AppContext


cdef class ReaderBuffer:
    """Events, calls or batches that a reader has not taken yet.

    Args:
        capacity: number of events from which on the buffer is full.
        policy: what happens to events beyond it: 0: senders wait; 1: the oldest ones are lost; 2: they are lost, and the
            reader gets an error.

    Attributes:
        detach: called by the first event after :meth:`close`; it detaches the buffer from the app.
        received: number of events that reached it.
        taken: number of events that were taken out.
        lost: number of events that were lost because it was full.
    """

    def __init__(self, Py_ssize_t capacity, int policy):
        self.capacity = capacity
        self.policy = policy
        self.items = deque()
        self.sleepers = []

    def __len__(self):
        return self.size()

    def set_gate(self, Gate gate):
        """Let senders wait at a gate while the buffer is full; it needs to know the buffer."""
        self.gate = gate
        if gate is not None and self.is_full:
            gate.shut()

    # --- adding, under the app's lock

    def add_events(self, list events not None):
        """Add the events of a chunk; the function of a stream callback."""
        cdef Py_ssize_t n = len(events), room
        if self.is_closed:
            self.detach_closed()
            return
        room = self.room_for(n)
        if room < n:
            events = events[:room]
        self.items.extend(events)
        if self.policy == DROP_OLDEST:
            while self.size() > self.capacity and self.items:
                self.items.popleft()
                self.lost += 1
        self.settle()

    def add_call(self, *arguments):
        """Add the arguments of a call of a callback: lists of events, batches, other values."""
        cdef Py_ssize_t n = 0
        if self.is_closed:
            self.detach_closed()
            return
        for argument in arguments:
            if argument is not None and not isinstance(argument, int):
                n += len(argument)
        self.received += n
        self.items.append((arguments, n))
        self.settle()

    cdef int detach_closed(self) except -1:
        detach, self.detach = self.detach, None
        if detach is not None:
            detach()
        return 0

    cdef Py_ssize_t room_for(self, Py_ssize_t n) except -1:
        """Count new events; return how many of them are kept."""
        cdef Py_ssize_t room = n
        if self.policy == RAISE:
            # Behind a gap nothing is kept until the reader knows of it: the order would hide where events are missing.
            room = 0 if self.gap else min(n, max(0, self.capacity - <Py_ssize_t> self.size()))
            self.gap += n - room
            self.lost += n - room
        self.received += n
        return room

    cdef int add_batch(self, EventBatch batch) except -1:
        cdef Py_ssize_t n = batch.size, room = self.room_for(n)
        if room < n:
            batch = batch[:room]
        if batch.size:
            self.items.append(batch)
        return 0

    cdef int drop_skipped(self) except -1:
        """Of batches: note which rows are lost, and drop the batches that consist of such rows only."""
        cdef EventBatch first
        cdef long long excess = self.size() - self.capacity
        if self.policy == DROP_OLDEST and excess > 0:
            self.lost += excess
            self.skipped += excess
            if self.receiver.rows.size > 2 * self.capacity:
                self.items.append(self.receiver.rows.take())
        while self.skipped and self.items:
            first = self.items[0]
            if first.size > self.skipped:
                break
            self.items.popleft()
            self.skipped -= first.size
        return 0

    cdef int settle(self) except -1:
        if self.policy == WAIT and not self.is_full and self.size() >= self.capacity:
            self.is_full = True
            if self.gate is not None:
                self.gate.shut()
        if self.sleepers:
            self.wake()
        return 0

    cdef int wake(self) except -1:
        sleepers, self.sleepers = self.sleepers, []
        for function in sleepers:
            function()
        return 0

    # --- taking, by the reader

    def take(self, default):
        """Return the next event or batch, or *default* if there is none."""
        cdef EventBatch batch
        cdef Py_ssize_t skipped
        if self.receiver is None:
            if not self.items:
                return default
            item = self.items.popleft()
            self.took(1)
            return item
        while True:
            if self.items:
                batch = self.items.popleft()
            elif self.receiver.rows.size:
                batch = self.receiver.rows.take()
            else:
                return default
            skipped = min(self.skipped, <long long> batch.size)
            self.skipped -= skipped
            self.took(batch.size - skipped)
            if skipped < batch.size:
                return batch[skipped:] if skipped else batch

    def take_call(self):
        """Return the arguments of the next call, or None."""
        if not self.items:
            return None
        arguments, n = self.items.popleft()
        self.took(n)
        return arguments

    def take_gap(self):
        """Return how many events are missing after those taken so far, and take new ones again."""
        gap, self.gap = self.gap, 0
        return gap

    cdef int took(self, Py_ssize_t n) except -1:
        self.taken += n
        if self.is_full and 2 * self.size() <= self.capacity:
            self.is_full = False
            if self.gate is not None:
                self.gate.notify()
        return 0

    def call_when_filled(self, function):
        """Call a function once when something can be taken, or the end is near: in the thread that adds it."""
        self.sleepers.append(function)

    def forget(self, function):
        """Do not call a function."""
        if function in self.sleepers:
            self.sleepers.remove(function)

    def has_news(self):
        """Return whether the reader must not wait: something can be taken, is missing, or will never come."""
        return (self.is_ended or self.is_closed or self.gap != 0 or len(self.items) != 0
                or (self.receiver is not None and self.receiver.rows.size != 0))

    @property
    def has_calls(self):
        """Whether a call can be taken."""
        return len(self.items) != 0

    # --- ending

    def end(self):
        """Nothing will be added: the reader takes what is left."""
        self.is_ended = True
        self.wake()

    def reopen(self):
        """The app starts again."""
        self.is_ended = False

    def close(self):
        """The reader takes no more: drop everything, now and from now on."""
        if self.is_closed:
            return
        self.is_closed = True
        self.items.clear()
        if self.receiver is not None:
            self.receiver.rows.take()
        self.taken, self.skipped, self.gap = self.received - self.lost, 0, 0
        self.wake()
        self.is_full = False
        if self.gate is not None:
            self.gate.notify()


@cython.final
cdef class BatchReceiver(BatchCallback):
    """Adds the events of a stream to a buffer as batches. What is sent row by row becomes one batch per taking.

    Args:
        app: context of the app.
        layout: attributes of the stream.
        stream: name of the stream.
        buffer: the buffer; what an earlier receiver has not given to it stays in front.
    """

    def __init__(self, AppContext app not None, BatchBuilder builder not None, str stream not None,
                 ReaderBuffer buffer not None):
        BatchCallback.__init__(self, app, builder, stream, ())
        self.rows = BatchBuilder(builder.layout)
        self.buffer = buffer
        if buffer.receiver is not None and buffer.receiver.rows.size:
            buffer.items.append(buffer.receiver.rows.take())
        buffer.receiver = self

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef ReaderBuffer buffer = self.buffer
        cdef EventC* event = chunk.head
        cdef Py_ssize_t n = 0, room
        if self.app.in_batch:
            return BatchCallback.receive(self, chunk)
        if buffer.is_closed:
            buffer.detach_closed()
            return 0
        while event is not NULL:
            n += 1
            event = event.next
        room = buffer.room_for(n)
        event = chunk.head
        while room:
            self.rows.append(event)
            event = event.next
            room -= 1
        buffer.drop_skipped()
        return buffer.settle()

    cpdef int flush(self) except -1:
        """Hand over the rows of a batch that was sent."""
        cdef ReaderBuffer buffer = self.buffer
        self.waiting = False
        if self.builder.size == 0:
            return 0
        batch = self.builder.take()
        if buffer.is_closed:
            buffer.detach_closed()
            return 0
        if self.rows.size:
            buffer.items.append(self.rows.take())
        buffer.add_batch(batch)
        buffer.drop_skipped()
        return buffer.settle()
