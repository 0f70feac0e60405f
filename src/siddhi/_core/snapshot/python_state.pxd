# Conversion of the state of users' objects for snapshots: events and deques besides the built-in types.

from siddhi._core.record.event cimport Layout

cdef object plain_state(object value)                      # return a value that snapshots can store
cdef object living_state(object value, Layout layout)      # the inverse; events get the names of the layout
