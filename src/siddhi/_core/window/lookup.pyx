"""Searching the events of a window."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport uint32_t
from libc.stdlib cimport qsort

from siddhi._core.expression.executor cimport ExecC
from siddhi._core.index.hash_index cimport NO_ID
from siddhi._core.index.sorted_index cimport PositionC, SortedEntryC, sort_key
from siddhi._core.record.event cimport BOOL, CURRENT, DOUBLE, FLOAT, INT, LONG, CellC, EventC, release, retain
from siddhi._core.record.frame cimport NULL_VALUE, TRUE, FrameC
from siddhi._core.runtime.lookup cimport FoundC, found_free, found_keep


@cython.final
cdef class WindowScan(Searchable):
    """Finds the events of a window that meet a condition, in the order in which the window shows them.

    Args:
        window: a searchable window.
        slot: slot in which the condition reads the window's event.
        condition: condition over event slots; None: every event matches.
        shared: all partition keys share the window's events.
        tells: the window needs a call when it is searched.
        calls_python: the condition calls Python, so that the window may change during the search.
    """

    def __init__(self, Window window not None, int slot, Executor condition=None, bint shared=False,
                 bint tells=False, bint calls_python=False):
        if not window.is_searchable:
            raise TypeError(f"{type(window).__name__} cannot be searched")
        self.window = window
        self.pool = window.pool
        self.slot = slot
        self.condition = condition
        self.shared = shared
        self.tells = tells
        self.calls_python = calls_python

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef Window window = self.window
        cdef uint32_t partition = 0 if self.shared else frame.partition
        cdef Py_ssize_t i, kept = found.size
        if partition >= window.capacity or window.states[partition] is NULL:
            return 0
        window.collect_events(window.states[partition], found)
        if self.tells:
            window.collect_events(window.states[partition], NULL)
        if self.condition is None or self.calls_python:
            for i in range(kept, found.size):
                retain(self.pool, found.events[i])
        if self.condition is not None:
            self.select(frame, found, kept)
        return 0

    cdef int select(self, FrameC* frame, FoundC* found, Py_ssize_t kept) except -1:
        """Keep the events from `kept` on that meet the condition."""
        cdef Py_ssize_t i = kept, n = found.size
        cdef bint passed
        cdef EventC* event
        found.size = kept
        try:
            while i < n:
                event = found.events[i]
                frame.slots[self.slot] = event
                passed = self.condition.c.fn(&self.condition.c, event, frame, NULL) == TRUE
                i += 1
                if passed:
                    found.events[found.size] = event
                    found.size += 1
                    if not self.calls_python:
                        retain(self.pool, event)
                elif self.calls_python:
                    release(self.pool, event)
        finally:
            while self.calls_python and i < n:
                release(self.pool, found.events[i])
                i += 1
        return 0


# --- Indexes over the events of a window.

cdef enum:
    MAX_PARTS = 16
    MAX_EMPTY = 256                # number of keys without events that may always stay


cdef inline bint key_of(tuple parts, int n, EventC* event, FrameC* frame, CellC* key) except -1:
    """Evaluate a key; return False if a part of it is null, which equals nothing."""
    cdef int i, status
    cdef Executor part
    for i in range(n):
        part = <Executor> parts[i]
        key[i].bits = 0
        status = part.c.fn(&part.c, event, frame, &key[i])
        if status == NULL_VALUE:
            return False
        if part.type == BOOL:
            key[i].i = status == TRUE
    return True


cdef inline bint is_nan(int code, const CellC* key) noexcept:
    return key.d != key.d if code == DOUBLE else code == FLOAT and key.f != key.f


@cython.final
cdef class EventIndex:
    """Hash index of events by key.

    Args:
        parts: executors of the key's parts, which read the event in ``slot``.
        slot: that event slot, 0 or 1.
        partitioned: events of different partition keys are kept apart.
    """

    def __init__(self, tuple parts not None, int slot, bint partitioned):
        cdef Executor part
        self.parts = parts
        self.n_parts = len(parts)
        if not 0 < self.n_parts < MAX_PARTS:
            raise ValueError(f"the key of an index must have 1 to {MAX_PARTS - 1} parts, not {self.n_parts}")
        if slot not in (0, 1):
            raise ValueError("the key of an index must be read from slot 0 or 1, not {slot}")
        self.slot = slot
        self.partitioned = partitioned
        self.keys = KeyMap([part.type for part in parts] + [INT] * partitioned)

    def __dealloc__(self):
        PyMem_Free(self.entries)
        PyMem_Free(self.lists)

    def __len__(self):
        return self.keys.size - self.n_empty

    def sort(self):
        """Also keep the keys sorted; each must be one number. Call it before the first event."""
        if self.partitioned or self.n_parts != 1 or self.keys.types[0] not in (INT, LONG, FLOAT, DOUBLE):
            raise ValueError("only an index of one numeric attribute can be sorted")
        if self.order is None:
            self.order = SortedKeys()

    cdef int sort_in(self, uint32_t key_id) except -1:
        cdef CellC* key = &self.keys.keys[key_id]
        if not is_nan(self.keys.codes[0], key):
            self.order.add(sort_key(self.keys.codes[0], key), key_id)
        return 0

    cdef int sort_out(self, uint32_t key_id) except -1:
        cdef CellC* key = &self.keys.keys[key_id]
        if not is_nan(self.keys.codes[0], key):
            self.order.remove(sort_key(self.keys.codes[0], key))
        return 0

    cdef int reserve(self, uint32_t number) except -1:
        cdef Py_ssize_t capacity = max(16, 2 * self.capacity, <Py_ssize_t> number + 1)
        cdef IndexEntryC* entries = <IndexEntryC*> PyMem_Realloc(self.entries, capacity * sizeof(IndexEntryC))
        if entries is NULL:
            raise MemoryError
        self.entries = entries
        self.capacity = capacity
        return 0

    cdef int reserve_list(self, uint32_t key_id) except -1:
        cdef Py_ssize_t capacity = max(16, 2 * self.list_capacity, <Py_ssize_t> key_id + 1)
        cdef KeyEventsC* lists = <KeyEventsC*> PyMem_Realloc(self.lists, capacity * sizeof(KeyEventsC))
        if lists is NULL:
            raise MemoryError
        self.lists = lists
        self.list_capacity = capacity
        return 0

    cdef int add(self, EventC* event, uint32_t number, FrameC* frame) except -1:
        """Add an event, which must be in its slot of the frame."""
        cdef CellC key[MAX_PARTS]
        cdef IndexEntryC* entry
        cdef KeyEventsC* events
        cdef bint is_new = False
        cdef uint32_t key_id
        if number >= self.capacity:
            self.reserve(number)
        entry = &self.entries[number]
        entry.event = event
        entry.sequence = self.sequence
        self.sequence += 1
        entry.previous = NO_ID
        entry.next = NO_ID
        entry.key_id = NO_ID
        if not key_of(self.parts, self.n_parts, event, frame, key):
            return 0
        if self.partitioned:
            key[self.n_parts].bits = 0
            key[self.n_parts].i = <int> frame.partition
        key_id = self.keys.insert(key, 0, &is_new)
        if key_id >= self.list_capacity:
            try:
                self.reserve_list(key_id)
            except:
                self.keys.remove(key_id)
                raise
        entry.key_id = key_id
        events = &self.lists[key_id]
        if is_new or events.head == NO_ID:
            events.head = number
            self.n_empty -= not is_new
            if self.order is not None:
                self.sort_in(key_id)
        else:
            entry.previous = events.tail
            self.entries[events.tail].next = number
        events.tail = number
        return 0

    cdef int remove(self, uint32_t number) except -1:
        cdef IndexEntryC* entry = &self.entries[number]
        cdef KeyEventsC* events
        entry.event = NULL
        if entry.key_id == NO_ID:
            return 0
        events = &self.lists[entry.key_id]
        if entry.previous != NO_ID:
            self.entries[entry.previous].next = entry.next
        elif entry.next != NO_ID:
            events.head = entry.next
        else:
            events.head = NO_ID
            self.n_empty += 1
            if self.order is not None:
                self.sort_out(entry.key_id)
            if self.n_empty > MAX_EMPTY and self.n_empty > self.keys.size // 2:
                return self.sweep()
            return 0
        if entry.next != NO_ID:
            self.entries[entry.next].previous = entry.previous
        else:
            events.tail = entry.previous
        return 0

    cdef int sweep(self) except -1:
        """Remove the keys without events; they are as many as the others."""
        cdef uint32_t key_id
        for key_id in range(self.keys.id_bound()):
            if self.keys.is_live(key_id) and self.lists[key_id].head == NO_ID:
                self.keys.remove(key_id)
        self.n_empty = 0
        return 0

    cdef int clear(self) except -1:
        self.n_empty = 0
        if self.order is not None:
            self.order.clear()
        return self.keys.clear()


@cython.final
cdef class NumberedEvents:
    """Numbers the events of a window and maintains indexes over them.

    Args:
        window: a window that holds what it has emitted as CURRENT and not yet as EXPIRED. If it goes on holding an event
            that it emits as EXPIRED, it must emit a copy without a number. It may hold a batch before it emits it, if it
            ``tells``.
        tells: the window needs a call when it is searched; it then reports events that it holds and has not emitted.
        shared: all partition keys share the window's events.
    """

    def __init__(self, Window window not None, bint tells=False, bint shared=False):
        self.window = window
        self.indexes = []
        self.tells = tells
        self.shared = shared

    def __dealloc__(self):
        PyMem_Free(self.free_numbers)

    def __len__(self):
        return <Py_ssize_t> self.used - self.n_free_numbers

    def add_index(self, EventIndex index not None):
        """Add an index. Call it before the first event."""
        self.indexes.append(index)

    cdef int follow(self, EventC* event, FrameC* frame) except -1:
        """Process an event emitted by the window."""
        if event.type == CURRENT:
            if self.stale:
                # The window may hold the event already: the refresh adds it then.
                self.refresh(frame)
            return self.add(event, frame) if event.group == 0 else 0
        return 0 if self.stale else self.remove(event)

    cdef int add(self, EventC* event, FrameC* frame) except -1:
        """Add an event that the window holds from now on."""
        cdef EventIndex index
        cdef uint32_t number
        if self.n_free_numbers:
            self.n_free_numbers -= 1
            number = self.free_numbers[self.n_free_numbers]
        else:
            number = self.used
            self.used += 1
        event.group = number + 1
        for index in self.indexes:
            frame.slots[index.slot] = event
            index.add(event, number, frame)
        return 0

    cdef int remove(self, EventC* event) except -1:
        """Remove an event that the window no longer holds; ignore unknown ones."""
        cdef EventIndex index
        cdef uint32_t number
        cdef uint32_t* numbers
        cdef Py_ssize_t capacity
        if event.group == 0:
            return 0
        number = event.group - 1
        event.group = 0
        for index in self.indexes:
            index.remove(number)
        if self.n_free_numbers == self.capacity:
            capacity = max(16, 2 * self.capacity)
            numbers = <uint32_t*> PyMem_Realloc(self.free_numbers, capacity * sizeof(uint32_t))
            if numbers is NULL:
                raise MemoryError
            self.free_numbers = numbers
            self.capacity = capacity
        self.free_numbers[self.n_free_numbers] = number
        self.n_free_numbers += 1
        return 0

    cdef int forget(self, unsigned int partition) except -1:
        cdef FoundC found = FoundC(NULL, 0, 0)
        cdef Py_ssize_t i
        if self.stale or partition >= self.window.capacity or self.window.states[partition] is NULL:
            return 0
        try:
            self.window.collect_events(self.window.states[partition], &found)
            for i in range(found.size):
                self.remove(found.events[i])
        finally:
            found_free(&found)
        return 0

    cdef int tell(self, FrameC* frame) except -1:
        cdef unsigned int partition = 0 if self.shared else frame.partition
        cdef void* state
        if partition < self.window.capacity and self.window.states[partition] is not NULL:
            state = self.window.states[partition]
            if self.window.collect_events(state, NULL):
                return self.add_remaining(state, frame)
        return 0

    cdef int add_remaining(self, void* state, FrameC* frame) except -1:
        """Add events that the window holds and has not emitted, or failed to emit."""
        cdef FoundC found = FoundC(NULL, 0, 0)
        cdef EventC* slots[2]
        cdef EventC** before = frame.slots
        cdef Py_ssize_t i = 0, n
        try:
            self.window.collect_events(state, &found)
            n = found.size
            while n and found.events[n - 1].group == 0:
                n -= 1
            while i < n and found.events[i].group:
                i += 1
            if i < n:
                # Later events were added before the missing ones. An index returns events in the order in which they
                # were added.
                return refresh_numbered(self, frame)
            # The searching event is in its slot, which the executors of a key may overwrite.
            frame.slots = slots
            for i in range(n, found.size):
                self.add(found.events[i], frame)
        finally:
            frame.slots = before
            found_free(&found)
        return 0

    cdef int refresh(self, FrameC* frame) except -1:
        """Rebuild the indexes from the window's events, for every partition key."""
        cdef FoundC found = FoundC(NULL, 0, 0)
        cdef EventIndex index
        cdef unsigned int partition
        cdef uint32_t before = frame.partition
        cdef Py_ssize_t i
        self.stale = False
        self.used = 0
        self.n_free_numbers = 0
        for index in self.indexes:
            index.clear()
        try:
            for partition in range(self.window.capacity):
                if self.window.states[partition] is NULL:
                    continue
                frame.partition = partition
                found.size = 0
                self.window.collect_events(self.window.states[partition], &found)
                for i in range(found.size):
                    self.add(found.events[i], frame)
        finally:
            frame.partition = before
            found_free(&found)
        return 0


@cython.final
cdef class IndexProbe(Searchable):
    """Finds the events of one key that meet the residual predicate.

    Args:
        numbered: the events searched.
        index: one of their indexes.
        probe: executors of the searched key; they read other slots than this one.
        slot: slot in which the residual predicate reads the searched event.
        residual: the residual predicate, or None.
        calls_python: the residual predicate calls Python, so that the window may change during the search.
    """

    def __init__(self, NumberedEvents numbered not None, EventIndex index not None, tuple probe not None, int slot,
                 Executor residual=None, bint calls_python=False):
        self.numbered = numbered
        self.pool = numbered.window.pool
        self.calls_python = calls_python
        self.index = index
        self.probe = probe
        self.residual = residual
        self.slot = slot

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef EventIndex index = self.index
        cdef const ExecC* residual = NULL
        cdef CellC key[MAX_PARTS]
        cdef uint32_t key_id, number
        cdef Py_ssize_t before = found.size
        cdef EventC* event
        if self.numbered.stale:
            refresh_numbered(self.numbered, frame)
        if self.numbered.tells:
            self.numbered.tell(frame)
        if not key_of(self.probe, index.n_parts, NULL, frame, key):
            return 0
        if index.partitioned:
            key[index.n_parts].bits = 0
            key[index.n_parts].i = <int> frame.partition
        key_id = index.keys.find(key, 0)
        if key_id == NO_ID:
            return 0
        if self.residual is not None and not self.calls_python:
            residual = &self.residual.c
        number = index.lists[key_id].head
        while number != NO_ID:
            event = index.entries[number].event
            if residual is not NULL:
                frame.slots[self.slot] = event
                if residual.fn(residual, event, frame, NULL) != TRUE:
                    number = index.entries[number].next
                    continue
            found_keep(found, self.pool, event)
            number = index.entries[number].next
        if self.residual is None or not self.calls_python:
            return 0
        return keep_matching(self.pool, self.residual, self.slot, frame, found, before)


cdef int refresh_numbered(NumberedEvents numbered, FrameC* frame) except -1:
    # The searching event is in its slot, which the refresh may overwrite.
    cdef EventC* slots[2]
    cdef EventC** before = frame.slots
    frame.slots = slots
    try:
        return numbered.refresh(frame)
    finally:
        frame.slots = before


cdef int keep_matching(
        EventPool pool, Executor condition, int slot, FrameC* frame, FoundC* found, Py_ssize_t kept) except -1:
    cdef Py_ssize_t i = kept, n = found.size
    cdef EventC* event
    cdef bint passed
    found.size = kept
    try:
        while i < n:
            event = found.events[i]
            frame.slots[slot] = event
            passed = condition.c.fn(&condition.c, event, frame, NULL) == TRUE
            i += 1
            if passed:
                found.events[found.size] = event
                found.size += 1
            else:
                release(pool, event)
    finally:
        while i < n:
            release(pool, found.events[i])
            i += 1
    return 0


# --- Range search.

cdef enum:
    MIN_LIMIT = 64  # number of events that a range may find before it is compared with the number of buffered events


cdef int compare_arrivals(const void* a, const void* b) noexcept nogil:
    cdef uint64_t left = (<const ArrivalC*> a).sequence, right = (<const ArrivalC*> b).sequence
    return (left > right) - (left < right)


@cython.final
cdef class RangeProbe(Searchable):
    """Finds the events of a range that meet a condition, in order of arrival.

    If the range has more than an eighth of the buffered events, a scan is used: it costs no more.

    Args:
        numbered: the events searched.
        index: one of their indexes, over one number; it is sorted.
        bounds: bounds of the range, as SortedRange takes them; they read other slots than this one.
        slot: slot in which the condition reads the searched event.
        condition: the whole condition, including the range.
        scan: finds the same events by a scan.
        calls_python: the condition calls Python, so that the window may change during the search.
    """

    def __init__(self, NumberedEvents numbered not None, EventIndex index not None, tuple bounds not None, int slot,
                 Executor condition not None, Searchable scan not None, bint calls_python=False):
        index.sort()
        self.numbered = numbered
        self.pool = numbered.window.pool
        self.index = index
        self.range = SortedRange(index.keys.types[0], bounds)
        self.slot = slot
        self.condition = condition
        self.scan = scan
        self.calls_python = calls_python

    def __dealloc__(self):
        PyMem_Free(self.arrivals)

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef uint64_t low, high
        cdef bint any_in_range
        cdef Py_ssize_t i, before = found.size
        cdef const ExecC* test = &self.condition.c
        cdef EventC* event
        if self.numbered.stale:
            refresh_numbered(self.numbered, frame)
        any_in_range = self.range.find(NULL, frame, &low, &high)
        if self.numbered.tells:
            self.numbered.tell(frame)
        if not any_in_range:
            return 0
        if not self.collect(low, high, MIN_LIMIT + len(self.numbered) // 8):
            return self.scan.find(frame, found)
        for i in range(self.n):
            event = self.arrivals[i].event
            if not self.calls_python:
                frame.slots[self.slot] = event
                if test.fn(test, event, frame, NULL) != TRUE:
                    continue
            found_keep(found, self.pool, event)
        return keep_matching(self.pool, self.condition, self.slot, frame, found, before) if self.calls_python else 0

    cdef bint collect(self, uint64_t low, uint64_t high, Py_ssize_t limit) except -1:
        """Collect the events of the range in order of arrival; return False if there are more than the limit."""
        cdef PositionC at = self.index.order.seek(low, False)
        cdef SortedEntryC* entry
        cdef uint32_t number
        cdef Py_ssize_t capacity
        cdef ArrivalC* arrivals
        self.n = 0
        while True:
            entry = self.index.order.take(&at)
            if entry is NULL or entry.key > high:
                break
            number = self.index.lists[entry.key_id].head
            while number != NO_ID:
                if self.n == limit:
                    return False
                if self.n == self.capacity:
                    capacity = max(16, 2 * self.capacity)
                    arrivals = <ArrivalC*> PyMem_Realloc(self.arrivals, capacity * sizeof(ArrivalC))
                    if arrivals is NULL:
                        raise MemoryError
                    self.arrivals = arrivals
                    self.capacity = capacity
                self.arrivals[self.n].sequence = self.index.entries[number].sequence
                self.arrivals[self.n].event = self.index.entries[number].event
                self.n += 1
                number = self.index.entries[number].next
        if self.n > 1:
            qsort(self.arrivals, self.n, sizeof(ArrivalC), compare_arrivals)
        return True
