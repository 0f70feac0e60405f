# Corrections: results leave at once; a late event replays the app from a checkpoint before it.
#
# The app is a deterministic function of its tape: the events of its input streams in order of their starts, ties in order
# of arrival, and moves of the clock. The log is the newest part of the tape. A checkpoint is the state of the app between
# two entries of the tape. Positions count entries of the tape from its beginning.

from libc.stdint cimport int64_t, uint32_t

from siddhi._core.record.event cimport EventC
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.snapshot.format cimport SnapshotReader

cdef struct EntryC:
    int64_t start
    EventC* event                  # a reference is owned; NULL: the clock moves to the start
    uint32_t input                 # number of the stream

cdef struct InputC:
    void* junction                 # a StreamJunction, borrowed from `junctions`
    void* pool                     # its EventPool, borrowed from `pools`: a garbage collection may clear the junction first
    int64_t bound                  # ms by which an event may be late
    int64_t cti                    # nothing before it follows
    long long dropped              # number of events that came too late
    long long late                 # number of late events that were put in their place

cdef class Checkpoint:
    cdef bytes state
    cdef int64_t clock
    cdef int64_t high              # start of the last entry before it
    cdef Py_ssize_t position
    cdef list counts               # rows that each output had carried
    cdef list measured             # counters of the statistics; None: unknown

cdef class Corrections:
    cdef readonly AppContext app
    cdef list junctions
    cdef tuple pools               # unlike a list, a garbage collection does not clear it before the log is released
    cdef list outputs              # of RevisedOutput
    cdef object find_steps         # fn() -> the objects with state, in a fixed order
    cdef list steps                # its result; None: no checkpoint was taken yet
    cdef InputC* inputs
    cdef int n_inputs
    cdef EntryC* block             # memory of the log
    cdef EntryC* limit             # its end
    cdef EntryC* log               # its first entry; those before it were dropped
    cdef Py_ssize_t n              # entries of the log
    cdef Py_ssize_t base           # position of the first one
    cdef Py_ssize_t position       # that of the next entry to be processed
    cdef EntryC* waiting           # entries sent by callbacks while others are processed
    cdef Py_ssize_t n_waiting
    cdef Py_ssize_t waiting_capacity
    cdef readonly int64_t high     # highest start of the log
    cdef Py_ssize_t late_from      # position of the first late entry that was not replayed yet; -1: none
    cdef Py_ssize_t late_to        # position behind the last one, among the entries processed before
    cdef Py_ssize_t head           # while an entry is late: position behind the last entry processed before
    cdef Py_ssize_t hot            # position of the last late entry replayed: others are expected near it
    cdef bint busy
    cdef bint replaying
    cdef bint delivering           # callbacks get a correction
    cdef object counters           # what statistics count: read() -> list[int], write(list[int]); None: nothing
    cdef dict reported             # errors by event, or time of a timer: {origin: number}; see is_news()
    cdef dict met_errors           # those of the entry that is processed: {(what, origin): number}
    cdef long long met_at          # its number among those processed
    cdef list checkpoints          # the oldest first
    cdef list passed               # in a replay: checkpoints from before it, at positions still to be reached; newest first
    cdef Checkpoint met            # one of them, with the same state as the replay; None: not yet
    cdef Py_ssize_t since          # entries processed since the newest one
    cdef Py_ssize_t spacing        # entries after which the next one is due
    cdef Py_ssize_t replay_spacing  # the same in a replay
    cdef Py_ssize_t fixed_spacing  # a given spacing; 0: by cost
    cdef int64_t ended             # time in ns at which the newest one was complete
    cdef long long arrived         # entries taken
    cdef long long processed       # entries processed, also again
    cdef long long processed_before    # these counters at the newest checkpoint
    cdef long long arrived_before
    cdef long long replays_before
    cdef double late_share         # replays per entry taken, a moving average
    cdef readonly long long replays
    cdef readonly long long replayed       # entries processed again
    cdef int take(self, uint32_t input, int64_t start, EventC* event) except -1
    cdef int hold(self, uint32_t input, int64_t start, EventC* event, bint outermost) except -1
    cdef int finish(self) except -1
    cdef int take_waiting(self) except -1
    cdef int wait(self, const EntryC* entry) except -1
    cdef int accept(self, const EntryC* entry) except -1
    cdef int accept_special(self, const EntryC* entry) except -1
    cdef int append(self, const EntryC* entry) except -1
    cdef int make_room(self) except -1
    cdef int insert(self, const EntryC* entry) except -1
    cdef int process(self, const EntryC* entry) except -1
    cdef void shift(self, Py_ssize_t position) noexcept
    cdef int release_entry(self, const EntryC* entry) noexcept
    cdef int promise(self, uint32_t input, int64_t time) except -1
    cdef int64_t final(self) noexcept
    cdef int prune(self) except -1
    cdef int checkpoint(self) except -1
    cdef int choose_spacing(self, int64_t begun, int64_t ended) except -1
    cdef int thin_out(self) except -1
    cdef list stateful(self)
    cdef Checkpoint newest(self)
    cdef int forget_errors(self, Py_ssize_t passed) except -1
    cdef list shown_errors(self)
    cdef int load_errors(self, found) except -1
    cdef bint is_incomplete(self) noexcept
    cdef int restore(self, Checkpoint checkpoint) except -1
    cdef object replay(self, Py_ssize_t until, bint checks)
    cdef bint is_due(self, Py_ssize_t until) noexcept
    cdef bint is_met(self) except -1
    cdef object rejoin(self, Checkpoint begun, Py_ssize_t head)
    cdef int correct(self) except -1
    cdef int refill(self) except -1
    cdef int load_events(self, SnapshotReader reader, uint32_t input) except -1
    cdef int load_checkpoints(self, found) except -1
    cdef int clear(self) noexcept
