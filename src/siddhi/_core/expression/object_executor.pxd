# Executors that make new Python objects, and who owns what they make.
#
# The rule for every executor of type string or object: the pointer written to `out` is BORROWED. It stays valid until
# the same executor is evaluated again, or the event it was read from is released, whichever comes first. Whoever keeps
# it longer (a record, a selector, an aggregator) takes a reference of its own.
#
# Variables and constants lend the object of their cell. An executor that makes a new object keeps it in its own `held`,
# where the next evaluation replaces it. Hence an ObjectExecutor has one parent: a plan that shared it between two
# operands would see the first result vanish while the second is made.

from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.record.frame cimport VALUE

cdef class ObjectExecutor(Executor):
    cdef object held             # the last object made: alive until the next evaluation
    cdef int prepare(self, eval_fn fn, int type, tuple children, str description) except -1

cdef ObjectExecutor new_object_executor(eval_fn fn, int type, tuple children, str description)

cdef inline int lend(const ExecC* x, object value, void** out) except -1:
    """Keep a new object in the executor and write the borrowed pointer."""
    cdef ObjectExecutor executor = <ObjectExecutor> x.data
    # The previous object dies last, when the new one is in place: its end may run Python code.
    cdef object _previous = executor.held
    executor.held = value
    out[0] = <void*> value
    return VALUE
