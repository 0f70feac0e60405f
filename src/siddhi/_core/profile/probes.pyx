"""Probes of a profile: between the operators of a query in sampled units, and before its entries."""

cimport cython

from time import perf_counter_ns

from siddhi._core.pattern.automaton cimport Pattern
from siddhi._core.query.entry cimport QueryEntry
from siddhi._core.record.event cimport EventC
from siddhi._core.runtime.operator cimport BlockTraits, receive_fn
from siddhi._core.runtime.sampler cimport PLAIN, SpanC, begin_unit, end_unit, siddhi_ticks
from siddhi._core.stream.junction cimport StreamJunction

cdef enum:
    OF_PROCESSOR = 0
    OF_ENTRY = 1
    OF_PATTERN = 2

cdef enum:
    CALIBRATIONS = 16
    CALIBRATED_CALLS = 64


@cython.final
cdef class ClauseProbe(Processor):
    """Measures the operator that it calls, and what that calls.

    Args:
        sampler: of the app.
        meter: of the clause.
        inner: the operator.
    """

    def __init__(self, AppContext app not None, Sampler sampler not None, Meter meter not None, Processor inner not None):
        self.app = app
        self.sampler = sampler
        self.meter = meter
        self.inner = inner

    cdef int process(self, EventC* event) except -1:
        cdef SpanC span
        self.meter.events_in += self.sampler.weight
        self.sampler.open_span(self.meter, &span)
        try:
            return self.inner.process(event)
        finally:
            self.sampler.close_span(&span)

    cdef int process_one(self, EventC* event) except -1:
        cdef SpanC span
        self.meter.events_in += self.sampler.weight
        self.sampler.open_span(self.meter, &span)
        try:
            return self.inner.process_one(event)
        finally:
            self.sampler.close_span(&span)

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        cdef SpanC span
        cdef Py_ssize_t first = at[0]
        self.sampler.open_span(self.meter, &span)
        try:
            return self.inner.process_block(events, n, at)
        finally:
            self.meter.events_in += self.sampler.weight * (at[0] - first)
            self.sampler.close_span(&span)

    cdef bint pairs_ready(self) noexcept:
        return self.inner.pairs_ready()

    cdef int process_pairs(self, EventC** left, EventC** events, Py_ssize_t n) except -1:
        cdef SpanC span
        cdef Py_ssize_t i, m = n
        for i in range(n):
            m += left[i] is not NULL
        self.meter.events_in += self.sampler.weight * m
        self.sampler.open_span(self.meter, &span)
        try:
            return self.inner.process_pairs(left, events, n)
        finally:
            self.sampler.close_span(&span)

    cdef int finish(self) except -1:
        cdef SpanC span
        self.sampler.open_span(self.meter, &span)
        try:
            return self.inner.finish()
        finally:
            self.sampler.close_span(&span)

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        return self.inner.bind_blocks(traits)

    cdef int prefetch(self, EventC** events, Py_ssize_t n) except -1:
        return self.inner.prefetch(events, n)

    cdef int reset(self, int64_t timestamp) except -1:
        return self.inner.reset(timestamp)

    cdef void abort(self) noexcept:
        self.inner.abort()

    cdef int ensure(self, unsigned int partition) except -1:
        return self.inner.ensure(partition)

    cdef int drop(self, unsigned int partition) except -1:
        return self.inner.drop(partition)


@cython.final
cdef class Link:
    """The place of a probe between two operators.

    Args:
        owner: what calls the operator: the entry of a query, a pattern, or another operator.
        probe: stands before the operator that the owner calls.
    """

    def __init__(self, owner not None, ClauseProbe probe not None):
        self.owner = owner
        self.kind = OF_ENTRY if isinstance(owner, QueryEntry) else OF_PATTERN if isinstance(owner, Pattern) else OF_PROCESSOR
        if self.kind == OF_PROCESSOR and not isinstance(owner, Processor):
            raise TypeError(f"{type(owner).__name__} calls no operator")
        self.probe = probe

    cdef void set(self, Processor next) noexcept:
        if self.kind == OF_ENTRY:
            (<QueryEntry> self.owner).next = next
        elif self.kind == OF_PATTERN:
            (<Pattern> self.owner).found.next = next
        else:
            (<Processor> self.owner).next = next


def next_of(owner not None):
    """Return the operator that an entry, a pattern or an operator calls; None: it calls none."""
    if isinstance(owner, QueryEntry):
        return (<QueryEntry> owner).next
    if isinstance(owner, Pattern):
        return (<Pattern> owner).found.next
    return (<Processor?> owner).next


def limiter_of(QueryOutput output not None):
    """Return the rate limiter of a query, or None."""
    return output.limiter


@cython.final
cdef class QueryProbe:
    """The probes between the operators of a query.

    Args:
        app: context of the app.
        sampler: of the app.
        output: the query's output, or None.
        emitted: its meter.
    """

    def __init__(self, AppContext app not None, Sampler sampler not None, QueryOutput output, Meter emitted not None):
        self.app = app
        self.sampler = sampler
        self.output = output
        self.emitted = emitted
        self.links = []
        self.size = -1
        if output is not None:
            sampler.hook(output, emitted)

    def measure(self, owner not None, Meter meter not None):
        """Let a meter measure the operator that an entry, a pattern or another operator calls."""
        self.links.append(Link(owner, ClauseProbe(self.app, self.sampler, meter, next_of(owner))))

    cdef void enter(self, bint block) noexcept:
        cdef Link link
        self.depth += 1
        if self.depth > 1:
            return
        for link in self.links:
            link.set(link.probe)
        if self.output is None:
            return
        self.size = -1
        if self.output.plain and self.app.in_batch and self.output.sink is not None:
            self.size = self.output.sink.builder.size
        elif not block:
            self.output.plain = False      # single rows go through emit(), which measures them

    cdef void leave(self) noexcept:
        cdef Link link
        cdef double rows
        self.depth -= 1
        if self.depth > 0:
            return
        for link in self.links:
            link.set(link.probe.inner)
        if self.output is None:
            return
        if self.size >= 0 and self.output.sink is not None and self.output.sink.builder.size > self.size:
            rows = self.sampler.weight * (self.output.sink.builder.size - self.size)
            self.emitted.events_in += rows
            self.emitted.events_out += rows
        self.output.choose()


cdef int receive_probed(ProfiledEntry probe, EventChunk* chunk) except -1:
    if probe.sampler.sampling:
        return probe.receive_sampled(chunk)
    return probe.inner.on_chunk(<void*> probe.inner, chunk)


@cython.final
cdef class ProfiledEntry(Receiver):
    """Stands before the entry of a query, or before the receiver of a partition, in bursts that are measured in detail.

    The list of receivers stays as it is: only the array that a junction delivers by is changed.

    Args:
        entry: the entry.
        target: the junction, or receiver of a partition, that it is subscribed to.
        meter: of what the entry does itself.
        query: the probes inside.
    """

    def __init__(self, Receiver entry not None, target not None, Meter meter not None, QueryProbe query not None):
        self.entry = self.inner = entry
        self.target = target
        self.junction = target if isinstance(target, StreamJunction) else None
        self.index = -1
        self.sampler = query.sampler
        self.meter = meter
        self.query = query
        self.on_chunk = <receive_fn> receive_probed

    cdef int look(self) except -1:
        """Find what stands before the entry; -1 as its index: nothing, it is not subscribed."""
        cdef int index = 0
        self.index = -1
        for receiver in self.target.receivers:
            before = receiver
            while before is not None and before is not self.entry:
                before = getattr(before, "inner", None)
            if before is not None:
                self.inner = receiver
                self.index = index
                return 0
            index += 1
        return 0

    cdef int place(self) except -1:
        cdef StreamJunction junction = self.junction
        if junction is None:
            if self in self.target.receivers:
                return 0
            self.look()
            if self.index >= 0:
                self.target.receivers = [self if one is self.inner else one for one in self.target.receivers]
            return 0
        if 0 <= self.index < junction.n and junction.array[self.index].receiver == <void*> self:
            return 0
        if self.index < 0 or self.index >= junction.n or junction.array[self.index].receiver != <void*> self.inner:
            self.look()
        if 0 <= self.index < junction.n:
            junction.array[self.index].receiver = <void*> self
            junction.array[self.index].on_chunk = self.on_chunk
        return 0

    cdef int take_away(self) except -1:
        cdef StreamJunction junction = self.junction
        if junction is None:
            self.target.receivers = [self.inner if one is self else one for one in self.target.receivers]
        elif 0 <= self.index < junction.n and junction.array[self.index].receiver == <void*> self:
            junction.array[self.index].receiver = <void*> self.inner
            junction.array[self.index].on_chunk = self.inner.on_chunk
        return 0

    cdef int receive(self, EventChunk* chunk) except -1:
        return receive_probed(self, chunk)

    cdef int receive_sampled(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef SpanC span
        cdef int status
        while event is not NULL:
            self.meter.events_in += self.sampler.weight
            event = event.next
        self.query.enter(False)
        self.sampler.open_span(self.meter, &span)
        # Called without exception check: what follows neither sets nor clears an exception.
        status = self.inner.on_chunk(<void*> self.inner, chunk)
        self.sampler.close_span(&span)
        self.query.leave()
        return status

    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1:
        cdef SpanC span
        if not self.sampler.sampling:
            return self.inner.receive_block(events, n)
        self.meter.events_in += self.sampler.weight * n
        self.query.enter(True)
        self.sampler.open_span(self.meter, &span)
        try:
            return self.inner.receive_block(events, n)
        finally:
            self.sampler.close_span(&span)
            self.query.leave()

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        return self.inner.bind_blocks(traits)

    cdef void abort(self) noexcept:
        self.inner.abort()


@cython.final
cdef class ProfiledEntries(Patches):
    """The entries of all queries of an app.

    Args:
        entries: a :class:`ProfiledEntry` for each.
    """

    def __init__(self, list entries not None):
        self.entries = entries

    cdef void place(self) noexcept:
        cdef ProfiledEntry entry
        for entry in self.entries:
            entry.place()

    cdef void take_away(self) noexcept:
        cdef ProfiledEntry entry
        for entry in reversed(self.entries):
            entry.take_away()


@cython.final
cdef class TimerSite(SampleSite):
    """Units of an operator's timers.

    Args:
        sampler: of the app.
        meter: of the operator.
        query: the probes of its query.
    """

    def __init__(self, Sampler sampler not None, Meter meter not None, QueryProbe query not None):
        SampleSite.__init__(self, sampler, meter)
        self.query = query

    cdef void enter(self) noexcept:
        self.query.enter(False)

    cdef void leave(self) noexcept:
        self.query.leave()


cdef class Idle(Processor):
    """Does nothing: what is measured is the probe."""

    cdef int process(self, EventC* event) except -1:
        return 0


def read_both():
    """Return the monotonic clock in ns, and in ticks, of one moment: of several attempts the least interrupted one."""
    cdef int64_t before, after, ns, best = 1 << 62
    cdef int k
    found = (0, 0)
    for k in range(5):  # no-cython-lint
        before = siddhi_ticks()
        ns = perf_counter_ns()
        after = siddhi_ticks()
        if after - before < best:
            best, found = after - before, (ns, before + (after - before) // 2)
    return found


def calibrate(AppContext app not None, Sampler sampler not None):
    """Measure what a span costs, and let a sampler subtract it."""
    cdef Sampler trial = Sampler()
    cdef Meter meter = Meter("clause", None)
    cdef Processor probe = ClauseProbe(app, trial, meter, Idle())
    cdef int64_t start, taken, inner, best_inner = 1 << 40, best_outer = 1 << 40
    cdef int64_t first, last, clock, empty = 1 << 40
    cdef SampleSite site = SampleSite(trial, meter)
    cdef SpanC span
    cdef int kind
    cdef int i, k
    trial.weight = 1
    begun, first = read_both()
    start = siddhi_ticks()
    for k in range(CALIBRATIONS):  # no-cython-lint
        last = siddhi_ticks()
    clock = (last - start) // CALIBRATIONS
    for k in range(CALIBRATIONS):  # no-cython-lint
        trial.forget()
        start = siddhi_ticks()
        for i in range(CALIBRATED_CALLS):  # no-cython-lint
            probe.process(NULL)
        taken = siddhi_ticks() - start
        inner = <int64_t> trial.child_of(trial.root, meter).own // CALIBRATED_CALLS
        best_inner = min(best_inner, inner)
        best_outer = min(best_outer, taken // CALIBRATED_CALLS - inner)
    for k in range(CALIBRATIONS):  # no-cython-lint
        site.kind = PLAIN
        site.remaining = CALIBRATED_CALLS + 1
        site.burst_ticks = 0
        for i in range(CALIBRATED_CALLS):  # no-cython-lint
            kind = begin_unit(site, &span)
            end_unit(site, &span, kind)
        empty = min(empty, <int64_t> site.burst_ticks // CALIBRATED_CALLS)
    ended, last = read_both()
    sampler.set_costs(best_inner, best_outer, clock, empty, 1000.0 * (last - first) / max(1, ended - begun))
    return sampler.inner_cost, sampler.outer_cost
