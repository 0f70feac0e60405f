"""Filter after a window or a stream function."""

from siddhi._core.expression.executor cimport evaluate_condition
from siddhi._core.record.event cimport EventC
from siddhi._core.record.frame cimport TRUE
from siddhi._core.runtime.context cimport AppContext


cdef class FilterProcessor(Processor):
    """Filter after a window or a stream function. RESET always passes: a filter applies to events only."""

    def __init__(self, AppContext app not None, Executor condition not None):
        self.app = app
        self.condition = condition

    cdef int process(self, EventC* event) except -1:
        self.app.frame.type = event.type
        self.app.frame.group = self.app.frame.partition
        if evaluate_condition(&self.condition.c, event, &self.app.frame) == TRUE:
            return self.next.process(event)
        return 0
