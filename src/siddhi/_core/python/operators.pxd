# What stream processors and windows written in Python have in common: an object of the user's class per partition key,
# its timers, and the way between records and Events.

from libc.stdint cimport int64_t, uint32_t

from siddhi._core.record.event cimport EventC, EventPool, Layout
from siddhi._core.record.user_event cimport Event
from siddhi._core.runtime.context cimport AppContext, Timed
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.runtime.ring cimport EventRingC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef class ProcessorContext:
    cdef AppContext app
    cdef Timed step                # whose timer it is
    cdef uint32_t partition
    cdef readonly tuple arguments
    cdef readonly tuple attributes
    cdef set pending               # due times of the timers on their way
    cdef bint dropped              # the key is gone
    cdef bint firing               # on_timer(fired) is at work
    cdef int64_t fired

cdef class PythonKey:
    cdef ProcessorContext context
    cdef object instance           # of the user's class; made with the first event
    cdef EventPool pool
    cdef EventRingC shown              # records of what a search was shown last

cdef class PythonStep:
    cdef readonly AppContext app
    cdef EventPool pool            # of the records that come by
    cdef Layout layout             # of the attributes that exist here, those it appends left out
    cdef object factory
    cdef str what                  # for messages
    cdef tuple arguments           # executors
    cdef tuple constants           # their values where they are literals, else None
    cdef int count                 # how many attributes it appends
    cdef object reset              # what stands for RESET in an answer; None: nothing does
    cdef object failed(self, str method, object error)
    cdef PythonKey key(self, Timed step, uint32_t partition)
    cdef object instance_of(self, PythonKey key)
    cdef list answer(self, PythonKey key, str method, tuple arguments)
    cdef bint offer(self, PythonKey key, EventC* event, Processor next) except -1
    cdef bint wake(self, PythonKey key, int64_t when, Processor next) except -1
    cdef bint end_chunk(self, PythonKey key, Processor next) except -1
    cdef Event show(self, EventC* event)
    cdef EventC* record(self, Event event) except NULL
    cdef bint emit_answer(self, list answer, EventC* lent, Event seen, Processor next) except -1
    cdef int show_content(self, PythonKey key) except -1
    cdef int write_key(self, PythonKey key, SnapshotWriter writer) except -1
    cdef int read_key(self, PythonKey key, SnapshotReader reader) except -1
