"""Executors that create Python objects. The header states the ownership rule."""

from siddhi._core.expression.executor cimport COMPUTED, Executor, eval_fn


cdef class ObjectExecutor(Executor):
    """An executor that owns the object it created last."""

    cdef int prepare(self, eval_fn fn, int type, tuple children, str description) except -1:
        """Initialize the executor, as new_executor does for other executors."""
        self.c.fn = fn
        self.c.data = <void*> self
        self.type = type
        self.kind = COMPUTED
        self.description = description
        self.adopt(children)
        return 0


cdef ObjectExecutor new_object_executor(eval_fn fn, int type, tuple children, str description):
    cdef ObjectExecutor executor = ObjectExecutor.__new__(ObjectExecutor)
    executor.prepare(fn, type, children, description)
    return executor
