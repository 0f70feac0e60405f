# Parameters of on-demand queries: constants whose values are set before each run.

from siddhi._core.expression.executor cimport Executor, eval_fn

cdef enum:
    PARAMETER = 100                  # kind of the executor, besides those of ExecutorKind

cdef class ParameterExecutor(Executor):
    cdef object held                 # the current value, which owns the object in c.value
    cdef bint is_null
    cdef eval_fn plain               # the function of a value that is not null
    cdef list copies                 # [ValueCopy] executors that have a copy of the value
    cdef int set(self, object value) except -1
    cdef int add_copy(self, Executor user, eval_fn for_null) except -1

cdef class ValueCopy:
    cdef Executor user
    cdef eval_fn plain
    cdef eval_fn for_null            # its function while the value is null

# The parameters of a query.
cdef class ParameterSet:
    cdef tuple names
    cdef tuple readers               # functions that convert values, by position
    cdef tuple executors             # tuples of executors, by position
    # Set the values. The app's lock must be held. Raises ParameterMismatchError, before any value is set for a wrong name.
    cdef int set(self, dict values) except -1
