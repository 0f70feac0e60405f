# Where a limit on partial matches refuses events (`fail`): an event that would leave more of them waiting than may be is
# taken by none, and the run stays as if it had not come.
#
#   1. Most events can't overfill a pattern: there is room for all that an event could begin (`has_room`).
#   2. Where every state takes one event, what begins and what is done is counted beforehand.
#   3. Elsewhere a copy of the run is made, the event is taken, and if too many wait then, the copy takes the run's place.
#      It shares all events, so that it costs two small blocks for each partial match of the key.

from siddhi._core.context cimport FaultSink
from siddhi._core.event cimport EventC
from siddhi._core.pattern cimport Pattern, RunC, StreamC

cdef int refuse_one(Pattern pattern) except -1           # raises
# Those that a chunk holds: what the others have found goes on, and each fails by itself.
cdef list note_refused(Pattern pattern, list refused, EventC* event)
cdef int deliver_but(Pattern pattern, list refused, FaultSink source) except -1
cdef int take_limited(Pattern pattern, RunC* run, StreamC* stream, EventC* event) except -1      # 1: it is refused
