# How users send into a stream. See input.pyx.

from siddhi._core.runtime.context cimport AppContext
from siddhi._core.stream.batches cimport BatchSender
from siddhi._core.stream.sender cimport AwaitedSends, EventSender

cdef class InputHandler(AwaitedSends):
    cdef BatchSender batches

cdef class RowInput:
    cdef EventSender events
    cdef AppContext app
