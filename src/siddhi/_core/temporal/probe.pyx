"""Probes of temporal queries: operators that are put between others to measure, or to stop, while that is wanted."""

cimport cython
from libc.stdint cimport int64_t, uint64_t

from time import perf_counter_ns

from siddhi._core.record.event cimport EventPool, event_to_tuple
from siddhi._core.runtime.sampler cimport Meter, Patches, Sampler, SpanC, sampler_here
from siddhi._core.stream.probes cimport Stopwatch
from siddhi._core.temporal.lifetime cimport START, LifetimeC, TemporalOperator, WiringPatches, wiring


cdef class TemporalProbe(TemporalOperator):
    """Passes on what comes, to its only target.

    Args:
        app: context of the app.
        lifetimes: of the app.
    """

    def __init__(self, app, lifetimes):
        TemporalOperator.__init__(self, app, lifetimes, 1)

    def attach(self, TemporalOperator source not None, TemporalOperator target not None, int input):
        """Stand between two operators; the lock of the app must be held."""
        source.exchange(target, input, self, 0)
        self.row_pool = source.row_pool
        self.connect(target, input)

    def detach(self, TemporalOperator source not None):
        """Connect the operators before and after it again; the lock of the app must be held."""
        target, input = self.targets[0]
        source.exchange(self, 0, target, input)
        self.disconnect(target)

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        return self.emit(kind, lifetime)

    cdef int advance(self, int input, int64_t cti) except -1:
        return self.pass_on(cti)

    cdef int pass_on(self, int64_t cti) except -1:
        return (<TemporalOperator> self.outputs[0].operator).advance(self.outputs[0].input, cti)


@cython.final
cdef class EntryProbe(TemporalProbe):
    """Stands before a query and measures the time that it takes, without what is behind its exit.

    Args:
        stopwatch: of the app.

    Attributes:
        chunks: number of CTIs.
        nanoseconds: total time.
        slowest: longest time up to a CTI, ns.
    """

    cdef Stopwatch stopwatch
    cdef readonly int64_t chunks
    cdef readonly int64_t nanoseconds
    cdef readonly int64_t slowest
    cdef int64_t taken             # since the last CTI

    def __init__(self, app, lifetimes, Stopwatch stopwatch not None):
        TemporalProbe.__init__(self, app, lifetimes)
        self.stopwatch = stopwatch

    def reset(self):
        """Set the counters to zero."""
        self.chunks = self.nanoseconds = self.slowest = self.taken = 0

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        cdef int64_t before = self.stopwatch.inside, start
        self.stopwatch.inside = 0
        start = perf_counter_ns()
        try:
            return self.emit(kind, lifetime)
        finally:
            self.note(perf_counter_ns() - start, before)

    cdef int advance(self, int input, int64_t cti) except -1:
        cdef int64_t before = self.stopwatch.inside, start
        self.stopwatch.inside = 0
        start = perf_counter_ns()
        try:
            return self.pass_on(cti)
        finally:
            self.note(perf_counter_ns() - start, before)
            self.chunks += 1
            self.slowest = max(self.slowest, self.taken)
            self.taken = 0

    cdef void note(self, int64_t taken, int64_t before) noexcept:
        cdef int64_t own = max(<int64_t> 0, taken - self.stopwatch.inside)
        self.stopwatch.inside = before + taken
        self.nanoseconds += own
        self.taken += own


@cython.final
cdef class ExitProbe(TemporalProbe):
    """Stands behind a query, counts its rows, and measures the time that is not its own.

    Args:
        stopwatch: of the app.

    Attributes:
        events: number of rows.
    """

    cdef Stopwatch stopwatch
    cdef readonly int64_t events

    def __init__(self, app, lifetimes, Stopwatch stopwatch not None):
        TemporalProbe.__init__(self, app, lifetimes)
        self.stopwatch = stopwatch

    def reset(self):
        """Set the counter to zero."""
        self.events = 0

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        cdef int64_t before = self.stopwatch.inside
        cdef int64_t start = perf_counter_ns()
        self.events += kind == START
        try:
            return self.emit(kind, lifetime)
        finally:
            self.stopwatch.inside = before + <int64_t> (perf_counter_ns() - start)

    cdef int advance(self, int input, int64_t cti) except -1:
        cdef int64_t before = self.stopwatch.inside
        cdef int64_t start = perf_counter_ns()
        try:
            return self.pass_on(cti)
        finally:
            self.stopwatch.inside = before + <int64_t> (perf_counter_ns() - start)


# --- probes of a profile

cdef enum:
    MEASURED = 1024                # spans of a unit from which on not every lifetime is measured
    APART = 16                     # mean distance of those that are


@cython.final
cdef class LifetimeSampling:
    """Which lifetimes are measured in a unit that a profile samples: all of them, or in a large unit some, weighted.

    Args:
        sampler: of the app.
    """

    cdef Sampler sampler
    cdef int chain                 # measured calls of accept() inside one another
    cdef bint muted                # inside a lifetime that is not measured
    cdef int64_t left              # lifetimes up to the next one that is measured

    def __init__(self, Sampler sampler not None):
        self.sampler = sampler


@cython.final
cdef class TemporalClauseProbe(TemporalProbe):
    """Stands before an operator, or behind a query, during detailed bursts of a profile and measures it.

    Args:
        app: context of the app.
        lifetimes: of the app.
        sampling: of the app.
        meter: gets the time, and the number of lifetimes that start.
        source: the operator before it.
        target: the operator after it.
        input: which input of that one.
    """

    cdef LifetimeSampling sampling
    cdef Meter meter
    cdef TemporalOperator source
    cdef TemporalOperator target
    cdef int input

    def __init__(self, app, lifetimes, LifetimeSampling sampling not None, Meter meter not None,
                 TemporalOperator source not None, TemporalOperator target not None, int input):
        TemporalProbe.__init__(self, app, lifetimes)
        self.sampling, self.meter = sampling, meter
        self.source, self.target, self.input = source, target, input
        self.row_pool = source.row_pool
        self.connect(target, input)

    cdef void exchange_pointer(self, void* old, int input, void* new, int new_input) noexcept:
        cdef int i
        for i in range(self.source.n_outputs):
            if self.source.outputs[i].operator is old and self.source.outputs[i].input == input:
                self.source.outputs[i].operator = new
                self.source.outputs[i].input = new_input

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        cdef LifetimeSampling how = self.sampling
        cdef Sampler sampler = how.sampler
        cdef unsigned long thread
        if not sampler.sampling:
            return self.emit(kind, lifetime)
        if kind == START and (how.muted or sampler_here() is sampler):
            self.meter.events_in += sampler.weight / (APART if how.chain and how.left < 0 else 1)
            self.meter.events_out = self.meter.events_in
        if how.muted or sampler_here() is not sampler:
            return self.emit(kind, lifetime)
        if how.chain or sampler.spans < MEASURED:
            return self.measure(kind, lifetime)
        how.left -= 1
        if how.left <= 0:
            return self.measure_weighted(kind, lifetime)
        # Nothing inside is measured: hooks of functions look at the thread as well.
        thread, sampler.thread, how.muted = sampler.thread, 0, True
        try:
            return self.emit(kind, lifetime)
        finally:
            sampler.thread, how.muted = thread, False

    cdef int measure(self, int kind, LifetimeC* lifetime) except -1:
        cdef SpanC span
        self.sampling.chain += 1
        self.sampling.sampler.open_span(self.meter, &span)
        try:
            return self.emit(kind, lifetime)
        finally:
            self.sampling.sampler.close_span(&span)
            self.sampling.chain -= 1

    cdef int measure_weighted(self, int kind, LifetimeC* lifetime) except -1:
        """Measure a lifetime that stands for those that were not."""
        cdef LifetimeSampling how = self.sampling
        cdef Sampler sampler = how.sampler
        cdef double weight = sampler.weight
        cdef SpanC span
        cdef int64_t taken
        how.left = -1
        how.chain += 1
        sampler.weight *= APART
        sampler.open_span(self.meter, &span)
        try:
            return self.emit(kind, lifetime)
        finally:
            taken = sampler.close_span(&span)
            # The others are no time of the operator before, either.
            sampler.inside += (APART - 1) * max(<int64_t> 0, taken - sampler.inner_cost)
            sampler.weight = weight
            how.chain -= 1
            how.left = sampler.draw(APART)

    cdef int advance(self, int input, int64_t cti) except -1:
        cdef Sampler sampler = self.sampling.sampler
        cdef SpanC span
        if not sampler.sampling or sampler_here() is not sampler:
            return self.pass_on(cti)
        sampler.open_span(self.meter, &span)
        try:
            return self.pass_on(cti)
        finally:
            sampler.close_span(&span)


@cython.final
cdef class TemporalPatches(WiringPatches):
    """Puts the probes of the temporal queries in place.

    Args:
        find: returns a :class:`TemporalClauseProbe` for each place where one stands, as the operators are connected now.
    """

    cdef object find
    cdef list probes
    cdef uint64_t seen             # number of changes of the wiring when they were found

    def __init__(self, find not None):
        self.find = find
        self.probes = []

    cdef void place(self) noexcept:
        cdef TemporalClauseProbe probe
        if self.placed:
            return
        if not self.probes or self.seen != wiring.changes:
            try:
                self.probes = self.find()
            except Exception:
                self.probes = []
            self.seen = wiring.changes
        for probe in self.probes:
            probe.exchange_pointer(<void*> probe.target, probe.input, <void*> probe, 0)
        self.note(True)

    cdef void take_away(self) noexcept:
        cdef TemporalClauseProbe probe
        if not self.placed:
            return
        for probe in self.probes:
            probe.exchange_pointer(<void*> probe, 0, <void*> probe.target, probe.input)
        self.note(False)


@cython.final
cdef class AllPatches(Patches):
    """Those of classical and those of temporal queries."""

    cdef list patches

    def __init__(self, list patches not None):
        self.patches = patches

    cdef void place(self) noexcept:
        cdef Patches patches
        for patches in self.patches:
            patches.place()

    cdef void take_away(self) noexcept:
        cdef Patches patches
        for patches in self.patches:
            patches.take_away()


@cython.final
cdef class TemporalBreakpoint(TemporalProbe):
    """Calls a function with each item before it passes.

    Args:
        make: makes an item: fn(kind, start, end, data).
        function: ``fn(items)``; its exceptions go to the app's error handling.
    """

    cdef object make
    cdef object function

    def __init__(self, app, lifetimes, make not None, function not None):
        TemporalProbe.__init__(self, app, lifetimes)
        self.make = make
        self.function = function

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        data = event_to_tuple(lifetime.row, (<EventPool> lifetime.pool).layout)
        self.stop(self.make("start", lifetime.start, None, data) if kind == START
                  else self.make("end", lifetime.start, lifetime.end, data))
        return self.emit(kind, lifetime)

    cdef int advance(self, int input, int64_t cti) except -1:
        self.stop(self.make("cti", cti, None, None))
        return self.pass_on(cti)

    cdef int stop(self, item) except -1:
        try:
            self.function([item])
        except Exception as error:
            if self.app.passes_on(error):
                raise error
            self.app.handle(error, "debugger callback", [])
        return 0
