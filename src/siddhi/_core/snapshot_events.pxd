# Events in a snapshot, column by column:
#
#   u32 n · u32 width · type code of each cell · type of the events · timestamps · columns
#
# A column is its null bits and its values, both in place: numbers raw, bools as bits, strings as utf-8 with lengths of
# one, two or four bytes, or as references into a list of the distinct ones; objects as tagged values.
# What a selector remembers in an event (group and its stamp) is not part of it: it is found again by the key. That a limit
# has refused an event could not be found again: it is a bit of the type.

from siddhi._core.event cimport EventC, EventPool, Layout
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

cdef enum:
    REFUSED = 0xffffffff           # EventC.group of an event that a limit has refused

cdef int write_events(SnapshotWriter writer, const EventC** events, Py_ssize_t n, Layout layout) except -1
# The events are the caller's (refs == 1), and so is the array (PyMem_Free); nothing is left behind on failure.
cdef Py_ssize_t read_events(SnapshotReader reader, EventPool pool, EventC*** events) except -1
