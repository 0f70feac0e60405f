# What an event, or the time, does to the partial matches that wait in a state: one function for each kind of state.

from libc.stdint cimport int64_t

from siddhi._core.event cimport EventC
from siddhi._core.pattern cimport InletC, Pattern, RunC
from siddhi._core.pattern_match cimport EntryC
from siddhi._core.pattern_state cimport State

# `kept` is the record of the event that slots share; who fills the first slot makes it, and the caller gives it up.
cdef int offer_kind(Pattern pattern, RunC* run, InletC* inlet, EventC* event, EventC** kept) except -1
cdef int wait_over(Pattern pattern, RunC* run, int number, int64_t when) except -1
cdef int complete(Pattern pattern, RunC* run, State state, EntryC* entry, int number, int64_t timestamp) except -1
