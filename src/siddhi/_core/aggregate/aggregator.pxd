# Attribute aggregators: executors with one C state per group id (a group within a partition key; FrameC.group).
#
# An evaluation updates the state with the current event (adds it if FrameC.type is CURRENT, removes it if EXPIRED) and
# returns the new value. The selector owns the groups: it calls create before the first evaluation of a group, reset on
# RESET, destroy when it drops the group. States are plain structs in one array, indexed by group id.

from libc.stdint cimport uint32_t

from siddhi._core.expression.executor cimport Executor, eval_fn
from siddhi._core.record.event cimport EventC
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.key_limit cimport KeyLimit
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef class Aggregator(Executor):
    cdef char* states                # [capacity] structs of `stride` bytes; Executor.c.data points at this field
    cdef Py_ssize_t stride
    cdef Py_ssize_t capacity
    cdef bint value_optional                 # `out` may be NULL: the state is updated and no value is computed
    cdef bint is_safe(self) noexcept         # arguments are numbers or plain strings: updates cannot fail
    cdef int setup(self, Py_ssize_t stride) except -1
    cdef int create(self, uint32_t group_id) except -1           # initializes the state of a new or reused id
    cdef int reset(self, uint32_t group_id) except -1            # clears the state (RESET)
    cdef int destroy(self, uint32_t group_id) except -1          # releases what the state owns
    cdef bint is_empty(self, uint32_t group_id) noexcept         # no values: the group may be dropped
    # Whether an event's values fit into the state of its group (FrameC.group, NO_ID: a new one) under a limit of
    # values.
    cdef bint has_room(self, EventC* event, FrameC* frame, KeyLimit limit) except -1
    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1
    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1     # the state must exist
    cdef int check(self, uint32_t group_id) except -1                           # IndexError: no such group id

cdef int found(Aggregator aggregator, eval_fn fn, int type, tuple arguments, str name, Py_ssize_t stride) except -1

# --- States of aggregators that are not grouped: one per partition id.
cdef class AggregatorStates(Processor):
    cdef readonly list aggregators
    cdef set live                  # partition ids that have states
    cdef int reset_partition(self, unsigned int partition) except -1
