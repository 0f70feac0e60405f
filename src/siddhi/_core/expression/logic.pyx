"""Logic executors: and, or, not, is null. A null operand counts as false; the result is never null."""

from siddhi._core.expression.executor cimport VARIABLE, ExecC, Executor, eval_fn, evaluate_condition, new_executor
from siddhi._core.record.event cimport BOOL, CellC, EventC
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, TRUE, FrameC

cdef enum:
    MAX_BLOCK = 256                # as in runtime/operator.pxd; blocks are never longer
    MARKED = 2                     # flag of events during one call, beside BORROWED


cdef int conjunction(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    if evaluate_condition(x.left, e, f) == FALSE:
        return FALSE
    return evaluate_condition(x.right, e, f)


cdef int disjunction(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    if evaluate_condition(x.left, e, f) == TRUE:
        return TRUE
    return evaluate_condition(x.right, e, f)


cdef int negation(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    return evaluate_condition(x.left, e, f) == FALSE


cdef int value_is_null(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef CellC value
    return x.left.fn(x.left, e, f, &value) == NULL_VALUE


cdef int variable_is_null(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return (e.body[x.word] & x.bit) != 0


cdef Py_ssize_t select_both(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed) noexcept:
    n = x.left.select(x.left, events, n, passed)
    return x.right.select(x.right, passed, n, passed)


cdef Py_ssize_t select_either(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed) noexcept:
    # Both sides evaluate all rows and mark those that pass: reading the marks needs no branches.
    cdef EventC* first[MAX_BLOCK]
    cdef EventC* second[MAX_BLOCK]
    cdef EventC* e
    cdef Py_ssize_t i, m = 0
    cdef Py_ssize_t n_first = x.left.select(x.left, events, n, first)
    cdef Py_ssize_t n_second = x.right.select(x.right, events, n, second)
    for i in range(n_first):
        first[i].flags |= MARKED
    for i in range(n_second):
        second[i].flags |= MARKED
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += (e.flags & MARKED) != 0
        e.flags &= ~MARKED
    return m


def make_and(Executor left not None, Executor right not None):
    """Return an executor of ``left and right``: the right side is evaluated only if the left is true."""
    cdef Executor executor = new_executor(
        <eval_fn> conjunction, BOOL, (left, right), f"and({left.description}, {right.description})")
    if left.c.select is not NULL and right.c.select is not NULL:
        executor.c.select = select_both
    return executor


def make_or(Executor left not None, Executor right not None):
    """Return an executor of ``left or right``: the right side is evaluated only if the left is not true."""
    cdef Executor executor = new_executor(
        <eval_fn> disjunction, BOOL, (left, right), f"or({left.description}, {right.description})")
    if left.c.select is not NULL and right.c.select is not NULL:
        executor.c.select = select_either
    return executor


def make_not(Executor operand not None):
    """Return an executor of ``not operand``: true for false and for null."""
    return new_executor(<eval_fn> negation, BOOL, (operand,), f"not({operand.description})")


def make_is_null(Executor operand not None):
    """Return an executor of ``operand is null``."""
    cdef Executor executor = new_executor(<eval_fn> value_is_null, BOOL, (operand,), f"isNull({operand.description})")
    if operand.kind == VARIABLE:
        executor.c.fn = <eval_fn> variable_is_null
        executor.c.word, executor.c.bit = operand.c.word, operand.c.bit
    return executor
