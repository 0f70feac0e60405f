"""Constant folding: a function of constants is evaluated once, when the app is built."""

from libc.string cimport memset

from siddhi._core.expression.executor import make_constant
from siddhi._core.expression.executor cimport CONSTANT, Executor, evaluate_to_python
from siddhi._core.record.event cimport OBJECT
from siddhi._core.record.frame cimport FrameC


def fold(Executor executor not None, tuple arguments not None):
    """Return a constant in place of a deterministic function of constants; else the executor itself.

    An object result stays computed, because events may change it. A function that fails stays: it fails with each event.
    """
    cdef Executor operand
    cdef FrameC frame
    if executor.type == OBJECT or executor.kind == CONSTANT:
        return executor
    # Not its children: a function may return one of its arguments, such as a variable, which has none.
    for operand in arguments:
        if operand.kind != CONSTANT:
            return executor
    memset(&frame, 0, sizeof(frame))
    try:
        value = evaluate_to_python(executor, NULL, &frame)
    except Exception:  # noqa: BLE001 - whatever it is, events report it
        return executor
    return make_constant(value, executor.type)
