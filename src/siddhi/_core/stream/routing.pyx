"""Predicate index of a stream."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport uint32_t

from siddhi._core.index.hash_index cimport NO_ID
from siddhi._core.record.event cimport BOOL, INT, LONG, STRING, CellC, Layout
from siddhi._core.record.frame cimport MAX_BLOCK

_KEYS = (STRING, INT, LONG, BOOL)


@cython.final
cdef class Dispatch:
    """Routes events to receivers by the value of one attribute.

    Args:
        layout: layout of the stream.
        position: index of the attribute: a string, int, long or bool.
        guards: for each receiver in order of subscription the value in its equality guard; None: it gets every event.
    """

    def __cinit__(self, Layout layout not None, int position, list guards not None):
        cdef CellC key
        cdef bint is_new
        cdef int i, code = layout.codes[position]
        cdef int n = <int> len(guards)
        if code not in _KEYS:
            raise TypeError("events cannot be routed by an attribute of this type: expected string, int, long or bool")
        self.position = position
        self.cell = layout.cell(position)
        self.word = layout.null_word(position)
        self.bit = (<uint64_t> 1) << (position & 63)
        self.values = KeyMap((code,))
        self.guards = <int32_t*> PyMem_Calloc(max(1, n), sizeof(int32_t))
        if self.guards is NULL:
            raise MemoryError
        for i in range(n):
            value = guards[i]           # `guards` owns the object, so the key may borrow it
            if value is None:
                self.guards[i] = -1
                continue
            self.n_guarded += 1
            key.bits = 0
            if code == STRING:
                if not isinstance(value, str):
                    raise TypeError(f"the guard of a string attribute must be a string, not {value!r}")
                key.o = <void*> value
            elif code == LONG:
                key.l = value
            else:
                key.i = value
            self.guards[i] = 1 + <int32_t> self.values.insert(&key, 0, &is_new)
        self.lists = <ReceiverListC*> PyMem_Calloc(self.n_lists(), sizeof(ReceiverListC))
        self.indexes = <int32_t*> PyMem_Calloc(
            max(1, self.n_guarded + self.n_lists() * (n - self.n_guarded)), sizeof(int32_t))
        if self.lists is NULL or self.indexes is NULL:
            raise MemoryError
        self.fill(n)

    cdef void fill(self, int n) noexcept:
        """Write the lists: their lengths, their starts, then the receivers in turn."""
        cdef int i, j
        cdef int32_t* at = self.indexes
        for i in range(n):
            if self.guards[i] != -1:
                self.lists[self.guards[i]].n += 1
        for j in range(self.n_lists()):
            self.lists[j].at = at
            at += self.lists[j].n + n - self.n_guarded
            self.lists[j].n = 0
        for i in range(n):
            if self.guards[i] != -1:
                self.add(self.guards[i], i)
                continue
            for j in range(self.n_lists()):
                self.add(j, i)

    cdef inline void add(self, int j, int i) noexcept:
        self.lists[j].at[self.lists[j].n] = i
        self.lists[j].n += 1

    def __dealloc__(self):
        PyMem_Free(self.lists)
        PyMem_Free(self.indexes)
        PyMem_Free(self.guards)

    cdef int n_lists(self) noexcept:
        return 1 + <int> self.values.size

    cdef int list_of(self, const EventC* event) except -1:
        """Return the index of the list of receivers for an event."""
        cdef uint32_t key_id
        if event.body[self.word] & self.bit:
            return 0                       # null equals nothing
        key_id = self.values.find(<const CellC*> &event.body[self.cell], 0)
        return 0 if key_id == NO_ID else 1 + <int> key_id

    cdef int sort_block(self, EventC** events, Py_ssize_t n, EventC** sorted, Py_ssize_t* starts) except -1:
        """Group the events of a block by list, in order: list i is sorted[starts[i]:starts[i + 1]].

        ``starts`` must have room for one more than the number of lists.
        """
        cdef int lists[MAX_BLOCK]
        cdef Py_ssize_t i, before = 0, count
        cdef int j
        for j in range(self.n_lists() + 1):
            starts[j] = 0
        for i in range(n):
            lists[i] = self.list_of(events[i])
            starts[lists[i]] += 1
        for j in range(self.n_lists() + 1):
            count = starts[j]
            starts[j] = before
            before += count
        for i in range(n):
            sorted[starts[lists[i]]] = events[i]
            starts[lists[i]] += 1
        for j in range(self.n_lists(), 0, -1):
            starts[j] = starts[j - 1]
        starts[0] = 0
        return 0
