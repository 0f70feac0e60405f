# The heap of edges; lifetime.pxd describes it.

cdef inline bint earlier(const EdgeC* a, const EdgeC* b) noexcept:
    if a.time != b.time:
        return a.time < b.time
    if a.kind != b.kind:
        return a.kind < b.kind
    return a.order < b.order


# --- the small heap

cdef void small_push(EdgeC* edges, Py_ssize_t at, EdgeC edge) noexcept:
    cdef Py_ssize_t parent
    while at > 0:
        parent = (at - 1) >> 1
        if not earlier(&edge, &edges[parent]):
            break
        edges[at] = edges[parent]
        at = parent
    edges[at] = edge


cdef void small_pop(EdgeC* edges, Py_ssize_t n) noexcept:
    """Remove the first of n + 1 edges."""
    cdef EdgeC last = edges[n]
    cdef Py_ssize_t at = 0, child
    if n == 0:
        return
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and earlier(&edges[child + 1], &edges[child]):
            child += 1
        if not earlier(&edges[child], &last):
            break
        edges[at] = edges[child]
        at = child
    edges[at] = last


cdef void sort_edges(EdgeC* edges, EdgeC* spare, Py_ssize_t n) noexcept:
    """Sort by merging."""
    cdef Py_ssize_t half = n // 2, left = 0, right = half, at = 0, i
    cdef EdgeC edge
    if n <= 8:
        for at in range(1, n):
            edge = edges[at]
            i = at
            while i > 0 and earlier(&edge, &edges[i - 1]):
                edges[i] = edges[i - 1]
                i -= 1
            edges[i] = edge
        return
    sort_edges(edges, spare, half)
    sort_edges(edges + half, spare, n - half)
    memcpy(spare, edges, half * sizeof(EdgeC))
    while left < half:
        if right == n or earlier(&spare[left], &edges[right]):
            edges[at] = spare[left]
            left += 1
        else:
            edges[at] = edges[right]
            right += 1
        at += 1


# --- lines and runs

cdef int line_append(EdgeRunC* line, const EdgeC* edge) except -1:
    cdef Py_ssize_t capacity
    cdef EdgeC* larger
    if line.n == line.capacity:
        if 2 * line.first >= line.n and line.n:
            line.n -= line.first
            memmove(line.edges, line.edges + line.first, line.n * sizeof(EdgeC))
            line.first = 0
        else:
            capacity = max(16, 2 * line.capacity)
            larger = <EdgeC*> enlarge(line.edges, line.n * sizeof(EdgeC), capacity * sizeof(EdgeC))
            if larger is NULL:
                raise MemoryError
            line.edges = larger
            line.capacity = capacity
    line.edges[line.n] = edge[0]
    line.n += 1
    return 0


cdef int new_run(EdgeHeapC* heap) except -1:
    """Make a sorted run of the edges of the small heap."""
    cdef EdgeC* edges
    cdef EdgeC* spare
    cdef EdgeRunC* run
    if heap.runs is NULL:
        heap.runs = <EdgeRunC*> PyMem_Malloc(RUNS * sizeof(EdgeRunC))
        if heap.runs is NULL:
            raise MemoryError
    merge_runs(heap)
    edges = <EdgeC*> PyMem_Malloc(heap.n_small * sizeof(EdgeC))
    spare = <EdgeC*> PyMem_Malloc(heap.n_small * sizeof(EdgeC))
    if edges is NULL or spare is NULL:
        PyMem_Free(edges)
        PyMem_Free(spare)
        raise MemoryError
    sort_edges(heap.small, spare, heap.n_small)
    memcpy(edges, heap.small, heap.n_small * sizeof(EdgeC))
    PyMem_Free(spare)
    run = &heap.runs[heap.n_runs]
    run.edges, run.first, run.n, run.capacity, run.level = edges, 0, heap.n_small, heap.n_small, 0
    heap.n_runs += 1
    heap.n_small = 0
    heap.least = -1
    return 0


cdef int merge_runs(EdgeHeapC* heap) except -1:
    """Merge the last four runs while they are of one level; levels never increase from run to run."""
    cdef EdgeRunC* four
    cdef EdgeC* merged
    cdef Py_ssize_t total, at
    cdef int i, best
    while heap.n_runs >= 4 and heap.runs[heap.n_runs - 4].level == heap.runs[heap.n_runs - 1].level:
        four = &heap.runs[heap.n_runs - 4]
        total = at = 0
        for i in range(4):
            total += four[i].n - four[i].first
        merged = <EdgeC*> PyMem_Malloc(max(<Py_ssize_t> 1, total) * sizeof(EdgeC))
        if merged is NULL:
            raise MemoryError
        advise_large(merged, total * sizeof(EdgeC))
        while at < total:
            best = -1
            for i in range(4):
                if four[i].first < four[i].n and (
                        best < 0 or earlier(&four[i].edges[four[i].first], &four[best].edges[four[best].first])):
                    best = i
            merged[at] = four[best].edges[four[best].first]
            four[best].first += 1
            at += 1
        for i in range(4):
            PyMem_Free(four[i].edges)
        four.edges, four.first, four.n, four.capacity = merged, 0, total, total
        four.level += 1
        heap.n_runs -= 3
        heap.least = -1
    return 0


cdef inline EdgeRunC* run_at(EdgeHeapC* heap, int place) noexcept:
    return &heap.lines[place] if place < LINES else &heap.runs[place - LINES - 1]


cdef int find_least(EdgeHeapC* heap) noexcept:
    """Return where the first edge is."""
    cdef int i, best = -1
    cdef EdgeRunC* run
    cdef const EdgeC* edge
    cdef const EdgeC* first = NULL
    if heap.n_small:
        first = &heap.small[0]
        best = LINES
    for i in range(LINES + 1 + heap.n_runs):
        if i == LINES:
            continue
        run = run_at(heap, i)
        if run.first == run.n:
            continue
        edge = &run.edges[run.first]
        if first is NULL or earlier(edge, first):
            first = edge
            best = i
    return best


cdef int heap_push(EdgeHeapC* heap, int64_t time, int kind, int input, LifetimeC* lifetime) except -1:
    cdef EdgeC edge
    cdef EdgeRunC* line = &heap.lines[(input & 1) << 1 | kind]
    cdef EdgeC* small
    cdef int place = LINES
    edge.time, edge.order, edge.kind, edge.input = time, heap.order, kind, input
    edge.lifetime = lifetime
    if line.first == line.n or not earlier(&edge, &line.edges[line.n - 1]):
        line_append(line, &edge)
        place = (input & 1) << 1 | kind
    else:
        if heap.small is NULL:
            small = <EdgeC*> PyMem_Malloc(SMALL * sizeof(EdgeC))
            if small is NULL:
                raise MemoryError
            heap.small = small
        if heap.n_small == SMALL:
            new_run(heap)
        small_push(heap.small, heap.n_small, edge)
        heap.n_small += 1
    retain_lifetime(lifetime)
    heap.order += 1
    heap.n += 1
    if heap.n == 1:
        heap.least = place
    elif heap.least >= 0 and heap.least != place:
        # The order is that of arrival: at the same time and kind the older edge stays the first one.
        if earlier(&edge, first_at(heap, heap.least)):
            heap.least = place
    return 0


cdef inline const EdgeC* first_at(EdgeHeapC* heap, int place) noexcept:
    cdef EdgeRunC* run
    if place == LINES:
        return &heap.small[0]
    run = run_at(heap, place)
    return &run.edges[run.first]


cdef const EdgeC* heap_first(EdgeHeapC* heap) noexcept:
    if heap.least < 0:
        heap.least = find_least(heap)
    return first_at(heap, heap.least)


cdef EdgeC heap_pop(EdgeHeapC* heap) noexcept:
    cdef EdgeC first = heap_first(heap)[0]
    cdef EdgeRunC* run
    cdef int place = heap.least, i
    heap.n -= 1
    heap.least = -1
    if place == LINES:
        heap.n_small -= 1
        small_pop(heap.small, heap.n_small)
        return first
    run = run_at(heap, place)
    run.first += 1
    if run.first + 4 < run.n:
        prefetch(run.edges[run.first + 4].lifetime)
        prefetch(run.edges[run.first + 1].lifetime.row)
    if run.first < run.n:
        return first
    if place < LINES:
        run.first = run.n = 0
        return first
    PyMem_Free(run.edges)
    heap.n_runs -= 1
    for i in range(place - LINES - 1, heap.n_runs):
        heap.runs[i] = heap.runs[i + 1]
    if heap.n_runs == 0:
        PyMem_Free(heap.runs)
        heap.runs = NULL
    return first


cdef const EdgeC* heap_ahead(EdgeHeapC* heap, int place, Py_ssize_t n) noexcept:
    cdef EdgeRunC* run
    if place == LINES or place > LINES + heap.n_runs:
        return NULL
    run = run_at(heap, place)
    return &run.edges[run.first + n] if run.first + n < run.n else NULL


cdef int heap_copy(EdgeHeapC* heap, EdgeC* edges) except -1:
    """Copy all edges in their order; the references stay those of the heap."""
    cdef EdgeC* spare = <EdgeC*> PyMem_Malloc(max(<Py_ssize_t> 1, heap.n) * sizeof(EdgeC))
    cdef EdgeRunC* run
    cdef Py_ssize_t n = heap.n_small
    cdef int i
    if spare is NULL:
        raise MemoryError
    if n:
        memcpy(edges, heap.small, n * sizeof(EdgeC))
    for i in range(LINES + heap.n_runs):
        run = &heap.lines[i] if i < LINES else &heap.runs[i - LINES]
        if run.first < run.n:
            memcpy(edges + n, run.edges + run.first, (run.n - run.first) * sizeof(EdgeC))
            n += run.n - run.first
    sort_edges(edges, spare, n)
    PyMem_Free(spare)
    return 0


cdef void heap_clear(EdgeHeapC* heap, LifetimePool pool) noexcept:
    """Release the edges and the memory."""
    cdef EdgeRunC* run
    cdef int i
    while heap.n_small:
        heap.n_small -= 1
        release_lifetime(pool, heap.small[heap.n_small].lifetime)
    for i in range(LINES + heap.n_runs):
        run = &heap.lines[i] if i < LINES else &heap.runs[i - LINES]
        while run.first < run.n:
            run.n -= 1
            release_lifetime(pool, run.edges[run.n].lifetime)
        PyMem_Free(run.edges)
    PyMem_Free(heap.small)
    PyMem_Free(heap.runs)
    memset(heap, 0, sizeof(EdgeHeapC))


@cython.final
@cython.no_gc_clear
cdef class EdgeHeap:
    """A heap of edges, for tests."""

    cdef EdgeHeapC heap
    cdef LifetimePool lifetimes
    cdef EventPool pool

    def __init__(self, EventPool pool not None):
        self.pool = pool
        self.lifetimes = LifetimePool()
        self.lifetimes.keep(pool)

    def __dealloc__(self):
        if self.lifetimes is not None:
            heap_clear(&self.heap, self.lifetimes)

    def push(self, int64_t time, int kind, int input):
        """Add an edge; return its number."""
        cdef EventC* row = acquire_event(self.pool)
        cdef LifetimeC* lifetime
        memset(row.body, 0, 8 * (self.pool.layout.words + self.pool.layout.width))
        try:
            lifetime = self.lifetimes.acquire(self.pool, row, time, TIME_MAX)
        finally:
            release(self.pool, row)
        lifetime.given = <int64_t> self.heap.order
        try:
            heap_push(&self.heap, time, kind, input, lifetime)
        finally:
            release_lifetime(self.lifetimes, lifetime)
        return lifetime.given

    def pop(self):
        """Return (time, kind, input, number) of the first edge."""
        cdef EdgeC edge
        if self.heap.n == 0:
            raise IndexError("the heap is empty")
        edge = heap_pop(&self.heap)
        try:
            return edge.time, edge.kind, edge.input, edge.lifetime.given
        finally:
            release_lifetime(self.lifetimes, edge.lifetime)

    def copy(self):
        """Return (time, kind, input, number) of all edges."""
        cdef EdgeC* edges = <EdgeC*> PyMem_Malloc(max(<Py_ssize_t> 1, self.heap.n) * sizeof(EdgeC))
        cdef Py_ssize_t i
        if edges is NULL:
            raise MemoryError
        try:
            heap_copy(&self.heap, edges)
            return [(edges[i].time, edges[i].kind, edges[i].input, edges[i].lifetime.given) for i in range(self.heap.n)]
        finally:
            PyMem_Free(edges)

    def clear(self):
        """Drop all edges."""
        heap_clear(&self.heap, self.lifetimes)

    @property
    def runs(self):
        """Number of sorted runs."""
        return self.heap.n_runs

    @property
    def alive(self):
        """Number of lifetimes that are not freed."""
        return self.lifetimes.alive

    def __len__(self):
        return self.heap.n
