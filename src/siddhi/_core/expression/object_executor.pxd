# Executors that create Python objects, and the ownership of these objects.
#
# Ownership: an executor of type string or object writes a BORROWED pointer to `out`. It is valid until the same
# executor is evaluated again or the event it was read from is released. A caller that keeps it longer (a record, a
# selector, an aggregator) must take a reference.
#
# Variables and constants return the object of their cell. An executor that creates an object keeps it in `held` until
# the next evaluation. Hence an ObjectExecutor must have one parent: if two operands shared it, the first result would
# be freed when the second is created.

from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.record.frame cimport VALUE

cdef class ObjectExecutor(Executor):
    cdef object held             # last object created: alive until the next evaluation
    cdef int prepare(self, eval_fn fn, int type, tuple children, str description) except -1

cdef ObjectExecutor new_object_executor(eval_fn fn, int type, tuple children, str description)

cdef inline int lend(const ExecC* x, object value, void** out) except -1:
    """Keep a new object in the executor and write the borrowed pointer."""
    cdef ObjectExecutor executor = <ObjectExecutor> x.data
    # The previous object is released last: its destructor may run Python code.
    cdef object _previous = executor.held
    executor.held = value
    out[0] = <void*> value
    return VALUE
