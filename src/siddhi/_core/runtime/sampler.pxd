# Sampling of time while an app is profiled.
#
# A unit is what one call from outside makes an app do: a send, a block of rows of a batch, a timer. A site is where units
# begin. Of most units a site only counts that they happen. Bursts of a few units in a row are measured, in turn
#
#   in detail   spans are opened and closed inside one another; each adds its time, without that of the spans inside it,
#               to a node of the call tree, weighted by the units since the last such burst
#   plainly     nothing but the time of each unit: it says what the tree has to add up to
#
# The distance between bursts is random, and so long that measuring costs a given part of the time. Operators are linked
# to probes in detailed bursts only (Patches, SampleSite.enter).
#
# The lock of the app guards its sampler. One unit is measured in detail at a time in the process: `profiling.sampler` is
# its sampler, and hooks (Python functions, callbacks) test this pointer alone while nothing is measured.

from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    """
    /* A clock for short intervals: monotonic, of constant rate on the machines of today, and cheap to read. */
    #include <stdint.h>
    #if defined(__x86_64__) || defined(__i386__)
    #include <x86intrin.h>
    static inline int64_t siddhi_ticks(void) { return (int64_t) __rdtsc(); }
    #elif defined(_M_X64) || defined(_M_IX86)
    #include <intrin.h>
    static inline int64_t siddhi_ticks(void) { return (int64_t) __rdtsc(); }
    #elif defined(__aarch64__) && !defined(_MSC_VER)
    static inline int64_t siddhi_ticks(void) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return (int64_t) ticks;
    }
    #elif defined(_MSC_VER)
    #include <windows.h>
    static inline int64_t siddhi_ticks(void) {
        LARGE_INTEGER ticks;
        QueryPerformanceCounter(&ticks);
        return ticks.QuadPart;
    }
    #else
    #include <time.h>
    static inline int64_t siddhi_ticks(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
    }
    #endif
    """
    int64_t siddhi_ticks() noexcept nogil

# What the thread got of the processor: a burst during which it had to wait for it is corrected by that time. Zeros where
# the system does not tell.
cdef struct UsageC:
    int64_t cpu_ns                 # CPU time of the thread
    int64_t waited                 # times that it waited of its own accord

cdef void read_usage(UsageC* usage) noexcept

cdef struct ProfilingC:
    void* sampler                  # borrowed; of the unit that is being sampled; NULL: none
    void* sites                    # borrowed dict: junction or timed operator -> SampleSite; NULL: nothing is profiled
    uint64_t version               # number of changes of `sites`
    int open                       # units that have begun and not ended, measured or not

cdef ProfilingC profiling

cdef struct SpanC:                 # an open span
    void* node                     # borrowed
    void* outer                    # the node it is inside of, borrowed
    int64_t start                  # ticks
    int64_t inside                 # ticks of spans inside `outer` so far

cdef class Meter:
    cdef readonly str kind
    cdef readonly object key       # identifies it for who made it
    cdef object owner              # whose calls it counts
    cdef public bint waits         # it may wait, as for a database: that is time it takes
    cdef public double events_in
    cdef public double events_out

cdef class Node:
    cdef readonly Meter meter
    cdef readonly Node parent      # None: the root
    cdef Node child
    cdef Node sibling
    cdef double own                # ticks
    cdef readonly double calls

cdef class Patches:                # what is put in the way of events for detailed bursts only
    cdef int users                 # sites in a detailed burst
    cdef void place(self) noexcept
    cdef void take_away(self) noexcept

cdef class Sampler:
    cdef readonly Node root
    cdef void* current             # the innermost open node, borrowed
    cdef Node deep                 # holds the nodes of spans nested deeper than MOST_NESTED
    cdef int nested
    cdef readonly bint sampling    # a unit of this app is being measured in detail
    cdef int depth                 # open units
    cdef unsigned long thread      # that samples
    cdef readonly unsigned long home       # the thread of the first burst
    cdef readonly bint several     # other threads had bursts, too
    cdef double weight             # of the unit being sampled
    cdef int64_t inside            # ticks of spans inside the current one
    cdef int64_t spans             # opened in this unit
    cdef void* longest             # the node with the longest span of this unit, without the spans inside it
    cdef int64_t longest_own       # ticks
    cdef double ticks_per_us
    cdef int64_t clock_cost        # ticks to read the clock once
    cdef int64_t empty_unit        # ticks that a plain unit which does nothing seems to take
    cdef int64_t inner_cost        # ticks of a span that the span itself measures
    cdef int64_t outer_cost        # ticks of a span that the span around it measures
    cdef dict hooked               # address of a function, callback or output -> its meter
    cdef Patches patches           # or None
    cdef uint64_t random
    cdef readonly double budget    # the part of the time that sampling may cost
    cdef readonly int64_t every    # 0: by the budget
    cdef int open_span(self, Meter meter, SpanC* span) noexcept
    cdef int64_t close_span(self, SpanC* span) noexcept    # ticks it took, with the spans inside it
    cdef Node child_of(self, Node node, Meter meter)
    cdef Meter meter_of(self, object owner, str kind, object key)
    # Ticks without the processor; negative if the thread has waited of its own accord, too.
    cdef int64_t lost(self, const UsageC* before, int64_t taken) noexcept
    cdef int64_t draw(self, double mean) noexcept

cdef enum Unit:
    UNMEASURED = 0
    DETAILED = 1
    PLAIN = 2
    INNER = 3                      # inside a unit that is measured in detail

cdef class SampleSite:
    cdef readonly Sampler sampler
    cdef readonly Meter meter      # of what is in no span inside the unit
    cdef readonly SampleSite blocks        # of a stream: the blocks of batches; None: not a stream
    cdef readonly SampleSite flushes       # of a stream: callbacks at the end of batches
    cdef bint is_flush             # blocks come between its units: patches are not left in place
    cdef readonly Meter reading            # of a stream: reading of tables, before the lock is taken
    cdef int64_t more_rows         # rows of units with several rows, without the first one of each
    # Units are counted by the countdown alone: `base` + `gap` - `left`.
    cdef int64_t left              # units up to the next burst, that one included
    cdef int64_t gap               # `left` after the last burst
    cdef int64_t base
    cdef readonly int64_t covered  # units that the weights of detailed ones stand for
    cdef int kind                  # of the burst
    cdef bint placed               # the sampler's patches are in place for this site
    cdef int64_t remaining         # units of the burst that are still to come
    cdef int64_t counted           # the last ones, which count: the first ones warm the caches up
    cdef double weight
    cdef UsageC usage              # when the burst began
    cdef int64_t started
    cdef int64_t unit_started
    cdef int64_t way_in            # ticks of the current unit before the app's lock was taken
    cdef double burst_ticks
    cdef double burst_cost         # ticks: of its begin, and at least of its spans
    cdef double burst_taken        # ticks of all of its units, with what measuring costs
    cdef double burst_begin        # ticks that its begin took
    cdef int64_t burst_units
    cdef void* longest             # the node with the longest span of the burst
    cdef int64_t longest_own
    cdef double detailed_ticks     # of `detailed` units, without what measuring costs
    cdef readonly int64_t detailed
    cdef double plain_ticks        # of `plain` units
    cdef readonly int64_t plain
    cdef double detail_cost        # ticks that a detailed burst costs
    cdef double plain_cost
    cdef readonly double spent     # ticks that detailed bursts have cost
    # A batch of many blocks is measured as a whole, so that no plain bursts are needed.
    cdef bint whole
    cdef double whole_ticks        # of `whole_units` units
    cdef int64_t whole_units
    cdef UsageC whole_usage
    cdef int64_t whole_started
    cdef double spent_before
    cdef int64_t units_before
    cdef void add_way_in(self, int64_t ticks) noexcept     # to the unit that has begun; 0: not measured
    cdef int begin(self, SpanC* span) noexcept
    cdef void end(self, SpanC* span, int unit) noexcept
    cdef bint is_whole_run(self) noexcept
    cdef void begin_burst(self) noexcept
    cdef void end_burst(self) noexcept
    cdef void begin_whole(self) noexcept
    cdef void end_whole(self) noexcept
    cdef int64_t count_units(self) noexcept
    cdef void start(self, double weight, SpanC* span) noexcept
    cdef bint is_large             # the last batch was: reading the next one is worth a look at the thread's usage
    cdef void add_reading(self, int64_t ticks, const UsageC* before) noexcept      # `before` if it is large, else NULL
    cdef void enter(self) noexcept         # link probes for a unit
    cdef void leave(self) noexcept

cdef inline int begin_unit(SampleSite site, SpanC* span) noexcept:
    """Begin a unit; each one needs an end_unit(). The app's lock must be held."""
    profiling.open += 1
    if site.left > 1 and site.sampler.depth == 0:
        site.left -= 1
        site.sampler.depth = 1
        return UNMEASURED
    return site.begin(span)

cdef inline void end_unit(SampleSite site, SpanC* span, int unit) noexcept:
    profiling.open -= 1
    if unit == UNMEASURED:
        site.sampler.depth -= 1
    else:
        site.end(span, unit)

cdef SampleSite site_of(object place)      # None: not profiled

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept nogil

cdef inline Sampler sampler_here():
    """Return the sampler of the unit that the calling thread is in, if it is sampled; else None."""
    if profiling.sampler is NULL or (<Sampler> profiling.sampler).thread != PyThread_get_thread_ident():
        return None
    return <Sampler> profiling.sampler
