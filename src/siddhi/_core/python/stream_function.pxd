# Stream functions written in Python: what they return becomes attributes of the event.

from siddhi._core.record.event cimport EventC, EventPool

cdef int set_appended(EventC* event, EventPool pool, int first, int count, object answer, object function) except -1
