# The state of a pattern in a snapshot, for one partition key:
#
#   begun · renew · deadline · events of each slot, column by column · partial matches · the order of their starts,
#   of those that an absence began, too
#   for each state: its incoming and its pending list
#
# Events and partial matches are numbered in the order they are met, so that what shares them goes on sharing.

from siddhi._core.pattern cimport Pattern, RunC
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

cdef int write_run(Pattern pattern, RunC* run, SnapshotWriter writer) except -1
cdef int read_run(Pattern pattern, RunC* run, SnapshotReader reader) except -1     # into a fresh one; arms its timers
