# Keys in a snapshot:
#
#   u32 width · type code of each part · u32 slots · u32 free slots, in the order they are to be reused · null words if
#   any part is null · columns: numbers raw, strings and objects as tagged values; nulls of those are left out

from siddhi._core.keymap cimport KeyMap
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

cdef int write_keys(KeyMap keys, SnapshotWriter writer) except -1
cdef int read_keys(KeyMap keys, SnapshotReader reader) except -1     # into an empty map; half filled on failure
