"""Sampling of time while an app is profiled."""

cimport cython
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject

cdef extern from *:
    """
    #if defined(__linux__)
    #include <sys/resource.h>
    #include <time.h>
    static inline void siddhi_read_usage(int64_t* cpu_ns, int64_t* waited) {
        *cpu_ns = *waited = 0;
    #if defined(RUSAGE_THREAD)
        struct rusage usage;
        struct timespec cpu;
        if (getrusage(RUSAGE_THREAD, &usage) == 0 && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0) {
            *cpu_ns = (int64_t) cpu.tv_sec * 1000000000 + cpu.tv_nsec;
            *waited = usage.ru_nvcsw;
        }
    #endif
    }
    #else
    static inline void siddhi_read_usage(int64_t* cpu_ns, int64_t* waited) { *cpu_ns = *waited = 0; }
    #endif
    """
    void siddhi_read_usage(int64_t* cpu_ns, int64_t* waited) noexcept nogil

cdef enum:
    ALL_OF_FIRST = 256             # units of a site that are all measured in detail: short runs are measured whole
    MOST_APART = 1 << 20           # largest mean distance of bursts
    COUNTED = 8                    # units of a detailed burst that count, where units are short
    WARMING = 2                    # units of a detailed burst before them
    PLAIN_UNITS = 32               # units of a plain burst, where units are short
    AT_FIRST = 16                  # about as many bursts while the units become e times as many
    FIRST_COST_US = 200            # so much may measuring them cost
    SLACK_NS = 1000                # shorter losses of the processor do not count
    SHORT_US = 20                  # a unit that takes less is short
    MOST_NESTED = 64               # spans inside one another that get nodes of their own

cdef dict SITES = {}

profiling.sampler = NULL
profiling.sites = NULL
profiling.version = 1
profiling.open = 0


cdef void read_usage(UsageC* usage) noexcept:
    siddhi_read_usage(&usage.cpu_ns, &usage.waited)


@cython.final
cdef class Meter:
    """Events of one thing that is measured.

    Attributes:
        kind: what it is: input, clause, function, callback.
        key: identifies it.
        events_in, events_out: weighted counts.
    """

    def __init__(self, str kind not None, key):
        self.kind = kind
        self.key = key


@cython.final
cdef class Node:
    """A meter inside another one: a node of the call tree."""

    @property
    def ticks(self):
        """Own time, without that of the children; never negative."""
        return max(0.0, self.own)

    @property
    def children(self):
        """The nodes inside this one."""
        cdef list found = []
        cdef Node node = self.child
        while node is not None:
            found.append(node)
            node = node.sibling
        return found


cdef class Patches:
    """Put in place for detailed bursts."""

    cdef void place(self) noexcept:
        pass

    cdef void take_away(self) noexcept:
        pass


@cython.final
cdef class Sampler:
    """The call tree of a profiled app.

    Args:
        budget: the part of the time that sampling may cost, as 0.01.
        every: sample every n-th unit; 0: as the budget allows.
    """

    def __init__(self, double budget=0.01, int64_t every=0):
        self.root = Node()
        self.deep = Node()
        self.deep.parent = self.root
        self.root.child = self.deep
        self.current = <void*> self.root
        self.hooked = {}
        self.random = 0x9E3779B97F4A7C15
        self.ticks_per_us = 1000
        self.budget = budget
        self.every = every

    def set_costs(self, int64_t inner, int64_t outer, int64_t clock, int64_t empty, double ticks_per_us):
        """Set what measuring costs in ticks: what a span adds to itself and to the span around it, what reading the clock
        takes, and what a plain unit seems to take that does nothing."""
        self.inner_cost, self.outer_cost = max(0, inner), max(0, outer)
        self.clock_cost = max(0, clock)
        self.empty_unit = max(0, empty)
        self.ticks_per_us = ticks_per_us

    def set_patches(self, Patches patches):
        """Set what is put in place for detailed bursts."""
        self.patches = patches

    def forget(self):
        """Drop what was measured; no unit may be open."""
        self.root.child = self.deep
        self.deep.sibling = self.deep.child = None
        self.root.own = self.deep.own = 0

    cdef Node child_of(self, Node node, Meter meter):
        cdef Node child = node.child
        while child is not None:
            if child.meter is meter:
                return child
            child = child.sibling
        child = Node.__new__(Node)
        child.meter = meter
        child.parent = node
        child.sibling = node.child
        node.child = child
        return child

    cdef int open_span(self, Meter meter, SpanC* span) noexcept:
        cdef Node node
        self.nested += 1
        self.spans += 1
        # A node is alive as long as the tree: pointers to it need no reference.
        try:
            node = self.child_of(<Node> self.current if self.nested < MOST_NESTED else self.deep, meter)
        except MemoryError:
            node = <Node> self.current
        span.node = <void*> node
        span.outer = self.current
        span.inside = self.inside
        self.current = <void*> node
        self.inside = 0
        span.start = siddhi_ticks()
        return 0

    cdef int64_t close_span(self, SpanC* span) noexcept:
        cdef int64_t taken = siddhi_ticks() - span.start
        cdef int64_t own = taken - self.inside - self.inner_cost
        if own > self.longest_own:
            self.longest, self.longest_own = span.node, own
        (<Node> span.node).own += <double> own * self.weight
        (<Node> span.node).calls += self.weight
        self.inside = span.inside + taken + self.outer_cost
        self.current = span.outer
        self.nested -= 1
        return taken

    cdef Meter meter_of(self, object owner, str kind, object key):
        """Return the meter of a function or callback; made when it is first called."""
        cdef PyObject* found = PyDict_GetItem(self.hooked, <size_t> <void*> owner)
        if found is not NULL:
            return <Meter> found
        meter = Meter(kind, key)
        meter.waits = kind != "output"
        self.hook(owner, meter)
        return meter

    def hook(self, owner not None, Meter meter not None):
        """Let a meter measure the calls of a function, callback or output."""
        meter.owner = owner        # alive: its address is used as a key
        self.hooked[<size_t> <void*> owner] = meter

    cdef int64_t lost(self, const UsageC* before, int64_t taken) noexcept:
        cdef UsageC now
        cdef int64_t lost
        read_usage(&now)
        if now.cpu_ns == before.cpu_ns:
            return 0               # the system does not tell
        lost = max(<int64_t> 0, taken - <int64_t> (
            <double> (now.cpu_ns - before.cpu_ns + SLACK_NS) * self.ticks_per_us / 1000))
        return -lost if now.waited != before.waited else lost

    cdef int64_t draw(self, double mean) noexcept:
        """Return a random distance between 1 and 2 mean - 1."""
        cdef int64_t whole = <int64_t> max(1.0, min(mean, <double> MOST_APART))
        if whole == 1:
            return 1
        self.random ^= self.random << 13
        self.random ^= self.random >> 7
        self.random ^= self.random << 17
        return 1 + <int64_t> (self.random % <uint64_t> (2 * whole - 1))


cdef double correct(void* longest, int64_t own, int64_t lost, double weight) noexcept:
    """Take the time without the processor from the node with the longest span, which most likely lost it; return the ticks.

    `lost` is negative if the thread has waited as well: as for a database, which is time that a function or store takes.
    """
    cdef Node node
    if lost == 0 or longest is NULL:
        return 0
    node = <Node> longest
    if lost < 0 and node.meter is not None and node.meter.waits:
        return 0
    own = min(abs(lost), own)
    node.own -= <double> own * weight
    return <double> own


cdef class SampleSite:
    """Where units begin: a stream that is sent into, an operator with timers.

    Args:
        sampler: that of the app.
        meter: the time of a unit that is in no span inside it.
    """

    def __init__(self, Sampler sampler not None, Meter meter not None):
        self.sampler = sampler
        self.meter = meter
        self.left = self.gap = 1
        self.is_large = True

    def divide(self, SampleSite blocks not None, SampleSite flushes not None, Meter reading not None):
        """Measure batches of a stream apart from its rows."""
        self.blocks, self.flushes, self.reading = blocks, flushes, reading
        flushes.is_flush = True

    @property
    def units(self):
        """Number of units that have begun."""
        return self.count_units()

    @property
    def rows(self):
        """Number of rows that were sent, without those of batches."""
        return self.count_units() + self.more_rows

    @property
    def represented(self):
        """Number of units that the weights of measured ones stand for, without those of a burst that are still to come."""
        return self.covered - (min(self.remaining, self.counted) * self.weight if self.kind == DETAILED else 0)

    @property
    def ticks(self):
        """Time of all units, as far as they were measured."""
        cdef int64_t others = self.count_units() - self.whole_units
        if self.plain:
            return self.whole_ticks + others * self.plain_ticks / self.plain
        return self.whole_ticks + (others * self.detailed_ticks / self.detailed if self.detailed else 0)

    cdef void enter(self) noexcept:
        pass

    cdef void leave(self) noexcept:
        pass

    cdef int64_t count_units(self) noexcept:
        return self.base + self.gap - self.left

    cdef void start(self, double weight, SpanC* span) noexcept:
        cdef Sampler sampler = self.sampler
        sampler.sampling = True
        sampler.thread = PyThread_get_thread_ident()
        sampler.weight = weight
        sampler.spans = sampler.inside = 0
        sampler.nested = 0
        sampler.current = <void*> sampler.root
        sampler.longest = NULL
        sampler.longest_own = 0
        profiling.sampler = <void*> sampler
        self.enter()
        sampler.open_span(self.meter, span)

    cdef void begin_burst(self) noexcept:
        cdef Sampler sampler = self.sampler
        cdef int64_t units = self.count_units(), begun = siddhi_ticks()
        cdef double mean = self.plain_ticks / self.plain if self.plain else (
            self.detailed_ticks / self.detailed if self.detailed else 0)
        cdef bint is_short = self.detailed and mean < SHORT_US * sampler.ticks_per_us
        cdef unsigned long thread = PyThread_get_thread_ident()
        if sampler.home == 0:
            sampler.home = thread
        elif thread != sampler.home:
            sampler.several = True
        if self.is_whole_run():
            self.kind = DETAILED
            self.remaining = self.counted = COUNTED if is_short and not sampler.every else 1
        elif self.kind == DETAILED and not self.whole:
            self.kind = PLAIN
            self.remaining = self.counted = PLAIN_UNITS if is_short else 1
        else:
            self.kind = DETAILED
            self.counted = COUNTED if is_short else 1
            self.remaining = COUNTED + WARMING if is_short else 1
        self.burst_ticks = self.burst_taken = 0
        self.burst_units = self.remaining
        self.longest = NULL
        self.longest_own = 0
        if self.kind == DETAILED:
            self.weight = <double> (units + self.remaining - 1 - self.covered) / self.counted
            self.covered = units + self.remaining - 1
        if self.kind == DETAILED and sampler.patches is not None:
            sampler.patches.users += not self.placed
            self.placed = True
            sampler.patches.place()        # also where they are: receivers may have come and gone
        elif self.placed:
            put_back(self)
        self.started = siddhi_ticks()
        read_usage(&self.usage)
        self.burst_begin = self.burst_cost = <double> (siddhi_ticks() - begun)

    cdef bint is_whole_run(self) noexcept:
        """Whether each unit is measured in detail: few have been, and at little cost, or very few."""
        cdef int64_t units = self.count_units()
        return self.sampler.every or units <= AT_FIRST or (
            units <= ALL_OF_FIRST and self.spent < FIRST_COST_US * self.sampler.ticks_per_us)

    cdef void end_burst(self) noexcept:
        cdef Sampler sampler = self.sampler
        cdef int64_t ended = siddhi_ticks()
        cdef int64_t lost = sampler.lost(&self.usage, ended - self.started)
        cdef double apart = 1, mean
        if self.kind == PLAIN:
            if lost <= 0:          # else another thread had the processor: it is not known in which unit
                self.plain_ticks += self.burst_ticks
                self.plain += self.counted
            self.plain_cost = self.burst_begin + <double> (
                2 * self.counted * (sampler.clock_cost + sampler.empty_unit) + siddhi_ticks() - ended)
        else:
            mean = self.plain_ticks / self.plain if self.plain else (
                self.whole_ticks / self.whole_units if self.whole_units else 0)
            if mean:
                # What the units took more than others do: caches are cold, too.
                self.burst_cost = max(
                    self.burst_cost, self.burst_begin + self.burst_taken - abs(lost) - self.burst_units * mean)
            if sampler.patches is not None and not self.is_whole_run():
                put_back(self)
            self.burst_cost += <double> (siddhi_ticks() - ended)
            if self.detail_cost:
                # More is not its cost: the processor was given to others.
                self.burst_cost = min(self.burst_cost, 4 * self.detail_cost)
            self.detail_cost = self.burst_cost if self.detail_cost == 0 else (
                0.9 * self.detail_cost + 0.1 * self.burst_cost)
            self.spent += self.burst_cost
            self.detailed += self.counted
            self.detailed_ticks += self.burst_ticks - correct(self.longest, self.longest_own, lost, self.weight)
        if sampler.every > 1:
            apart = <double> sampler.every
        elif not self.is_whole_run():
            mean = self.plain_ticks / self.plain if self.plain else self.detailed_ticks / max(1, self.detailed)
            apart = (self.detail_cost + self.plain_cost) / (sampler.budget * (mean + 1))
            if self.spent < FIRST_COST_US * sampler.ticks_per_us + sampler.budget * mean * self.count_units():
                # At first more of them: short runs would rest on a few. Their number grows with the logarithm of the units.
                apart = min(apart, <double> self.count_units() / AT_FIRST)
        self.base = self.count_units()
        self.gap = self.left = sampler.draw(apart)
        if self.placed and (self.left > 1 or self.is_flush):
            put_back(self)

    cdef void add_way_in(self, int64_t ticks) noexcept:
        if ticks:
            self.way_in = max(<int64_t> 0, ticks - self.sampler.clock_cost)

    cdef int begin(self, SpanC* span) noexcept:
        cdef Sampler sampler = self.sampler
        sampler.depth += 1
        if sampler.depth > 1:
            self.more_rows += 1    # inside another unit, which it is a part of
            if not sampler.sampling:
                return UNMEASURED
            self.enter()
            sampler.open_span(self.meter, span)
            return INNER
        self.base += self.gap - self.left + 1
        self.gap = self.left = 1
        if profiling.sampler is not NULL:
            return UNMEASURED      # another app is being measured
        if self.remaining == 0:
            self.begin_burst()
        self.remaining -= 1
        if self.kind == PLAIN:
            self.unit_started = siddhi_ticks()
            return PLAIN
        self.unit_started = siddhi_ticks()
        self.start(self.weight if self.remaining < self.counted else 0, span)
        return DETAILED

    cdef void end(self, SpanC* span, int unit) noexcept:
        cdef Sampler sampler = self.sampler
        cdef int64_t taken, cost
        sampler.depth -= 1
        if unit == INNER:
            sampler.close_span(span)
            self.leave()
            return
        if unit == PLAIN:
            self.burst_ticks += <double> (siddhi_ticks() - self.unit_started - sampler.empty_unit + self.way_in)
        else:
            taken = sampler.close_span(span) + self.way_in
            (<Node> span.node).own += <double> self.way_in * sampler.weight
            self.leave()
            sampler.sampling = False
            profiling.sampler = NULL
            cost = sampler.spans * (sampler.inner_cost + sampler.outer_cost)
            # Twice: what links the probes, and what the caches lose to them, takes about as long as the spans.
            self.burst_cost += <double> (2 * cost)
            self.burst_taken += <double> (siddhi_ticks() - self.unit_started + self.way_in)
            if sampler.weight > 0:
                self.burst_ticks += <double> max(<int64_t> 0, taken - cost)
                if sampler.longest_own > self.longest_own:
                    self.longest, self.longest_own = sampler.longest, sampler.longest_own
        self.way_in = 0
        if self.remaining == 0:
            self.end_burst()

    cdef void begin_whole(self) noexcept:
        self.whole = True
        self.spent_before = self.spent
        self.units_before = self.count_units()
        self.remaining = 0         # of a burst of smaller batches
        read_usage(&self.whole_usage)
        self.whole_started = siddhi_ticks()

    cdef void end_whole(self) noexcept:
        cdef double taken = <double> (siddhi_ticks() - self.whole_started)
        cdef int64_t lost = self.sampler.lost(&self.whole_usage, <int64_t> taken)
        self.whole = False
        # Waiting, as for a database, is time that the app takes.
        self.whole_ticks += max(0.0, taken - max(<int64_t> 0, lost) - (self.spent - self.spent_before))
        self.whole_units += self.count_units() - self.units_before

    cdef void add_reading(self, int64_t ticks, const UsageC* before) noexcept:
        cdef Node node
        if before is not NULL:
            ticks -= max(<int64_t> 0, self.sampler.lost(before, ticks))
        try:
            node = self.sampler.child_of(self.sampler.root, self.reading)
        except MemoryError:
            return
        node.own += <double> ticks


cdef SampleSite site_of(object place):
    cdef PyObject* found = PyDict_GetItem(SITES, place) if profiling.sites is not NULL else NULL
    return None if found is NULL else <SampleSite> found


def add_site(place, SampleSite site not None):
    """Let units that begin at a place be sampled; the app's lock must be held."""
    SITES[place] = site
    profiling.sites = <void*> SITES
    profiling.version += 1


cdef void put_back(SampleSite site) noexcept:
    """Remove what a burst that goes on has placed."""
    cdef Patches patches = site.sampler.patches
    if site.placed and patches is not None:
        patches.users -= 1
        if patches.users == 0:
            patches.take_away()
    site.placed = False


def remove_site(place, SampleSite site not None):
    """Undo :func:`add_site`."""
    if SITES.get(place) is site:
        del SITES[place]
    profiling.version += 1
    if not SITES:
        profiling.sites = NULL
    for one in (site, site.blocks, site.flushes):
        if one is not None:
            put_back(one)
