# How users send into a stream. See input.pyx.

from siddhi._core.stream.batches cimport BatchSender
from siddhi._core.stream.sender cimport EventSender

cdef class InputHandler:
    cdef EventSender events
    cdef BatchSender batches
