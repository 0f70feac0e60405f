# Common parts of stream processors and windows written in Python: an object of the user's class per partition key, its
# timers, and the conversion between records and Events.

from libc.stdint cimport int64_t, uint32_t

from siddhi._core.record.event cimport EventC, EventPool, Layout
from siddhi._core.record.user_event cimport Event
from siddhi._core.runtime.context cimport AppContext, Timed
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.runtime.ring cimport EventRingC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef class ProcessorContext:
    cdef AppContext app
    cdef Timed step                # owner of the timers
    cdef uint32_t partition
    cdef readonly tuple arguments
    cdef readonly tuple attributes
    cdef readonly tuple argument_names
    cdef set pending               # due times of the pending timers
    cdef bint dropped              # the key was removed
    cdef bint firing               # on_timer(fired) is running
    cdef int64_t fired

cdef class PythonKey:
    cdef ProcessorContext context
    cdef object instance           # of the user's class; created with the first event
    cdef EventPool pool
    cdef EventRingC shown          # records shown to the last search

cdef class PythonStep:
    cdef readonly AppContext app
    cdef EventPool pool            # of the incoming records
    cdef Layout layout             # attributes at this point, without the appended ones
    cdef object factory
    cdef str what                  # for messages
    cdef tuple arguments           # executors
    cdef tuple constants           # literal values, else None
    cdef tuple argument_names      # names of the attributes that the arguments are, else None
    cdef int count                 # number of appended attributes
    cdef object reset              # represents RESET in an answer; None: nothing does
    cdef object failed(self, str method, object error)
    cdef PythonKey key(self, Timed step, uint32_t partition)
    cdef object instance_of(self, PythonKey key)
    cdef list answer(self, PythonKey key, str method, tuple arguments)
    cdef bint offer(self, PythonKey key, EventC* event, Processor next) except -1
    cdef bint wake(self, PythonKey key, int64_t when, Processor next) except -1
    cdef bint end_chunk(self, PythonKey key, Processor next) except -1
    cdef Event show(self, EventC* event)
    cdef EventC* record(self, Event event) except NULL
    cdef bint emit_answer(self, list answer, EventC* borrowed, Event seen, Processor next) except -1
    cdef int show_content(self, PythonKey key) except -1
    cdef int write_key(self, PythonKey key, SnapshotWriter writer) except -1
    cdef int read_key(self, PythonKey key, SnapshotReader reader) except -1
