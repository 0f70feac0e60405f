# Besides the list of its state, an entry is in the state's index, as itself or, in a logical group, by a mark for each
# operand that has a key; or it is among those of a counting state that collect no more and are forgotten with the state's
# next event.

from siddhi._core.pattern cimport Pattern, RunC
from siddhi._core.pattern_match cimport EntryC, PartialC
from siddhi._core.pattern_state cimport State

cdef int place(Pattern pattern, State state, EntryC* entry) except -1
cdef void give_up_places(Pattern pattern, EntryC* entry) noexcept
cdef void stop_counting(Pattern pattern, RunC* run, int slot, PartialC* partial) noexcept
cdef void stop_entry(RunC* run, EntryC* entry) noexcept
cdef void forget_stopped(Pattern pattern, RunC* run, int number) noexcept
