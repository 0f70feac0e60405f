# Lifetimes in snapshots:
#
#   u32 version · u32 pools · per pool: events, timestamps · u32 n · n StoredC
#
# Operators refer to lifetimes by number. The number is the index, so that increments of a snapshot stay small: a lifetime
# that is gone moves no other one. Only where most indexes are free, lifetimes are numbered anew. Rows that lifetimes share
# are written once.

cdef enum:
    VERSION = 1
    SPARSE = 4                     # numbers per lifetime, at most
    FEW = 1024                     # and so many more
    NO_LIFETIME = 0xffffffff

cdef struct StoredC:               # a lifetime in a snapshot
    int64_t start
    int64_t end
    int64_t given
    uint32_t number
    uint32_t row                   # 0: the next one of its pool; else 1 + number of a lifetime before, which has the same
    uint32_t pool
    uint32_t flags


cdef int refuse_damage(str why) except -1:
    raise ValueError(f"snapshot is damaged: {why}")


cdef Py_ssize_t get_size(SnapshotReader reader) except -1:
    cdef Py_ssize_t n = reader.get_u32()
    if n > (reader.size - reader.position) // 4:
        refuse_damage(f"{n} items announced at {reader.position}, {reader.size - reader.position} bytes left")
    return n


cdef int write_rows(SnapshotWriter writer, EventPool pool, EventC** rows, Py_ssize_t n) except -1:
    """Write rows with their timestamps, which may be any number: those of events in snapshots may not."""
    cdef Py_ssize_t i
    cdef int64_t* timestamps = <int64_t*> PyMem_Malloc(max(1, n) * sizeof(int64_t))
    if timestamps is NULL:
        raise MemoryError
    try:
        for i in range(n):
            timestamps[i] = rows[i].timestamp
            rows[i].timestamp = 0
        try:
            writer.put_events(rows, n, pool.layout)
        finally:
            for i in range(n):
                rows[i].timestamp = timestamps[i]
        writer.put_bytes(timestamps, n * sizeof(int64_t))
    finally:
        PyMem_Free(timestamps)
    return 0


cdef Py_ssize_t read_rows(SnapshotReader reader, EventPool pool, EventC*** rows) except -1:
    """Read rows into an array; the caller owns both."""
    cdef Py_ssize_t i, n = reader.get_events(pool, rows)
    cdef const uint8_t* timestamps
    try:
        timestamps = reader.take(n * sizeof(int64_t))
    except BaseException:
        for i in range(n):
            release(pool, rows[0][i])
        PyMem_Free(rows[0])
        raise
    for i in range(n):
        memcpy(&rows[0][i].timestamp, timestamps + i * sizeof(int64_t), sizeof(int64_t))
    return n


cdef int write_lifetimes(LifetimePool pool, SnapshotWriter writer) except -1:
    cdef uint32_t index, n = 0
    cdef Py_ssize_t n_rows, number
    cdef LifetimeC* lifetime
    cdef StoredC* stored
    cdef EventC** rows
    cdef dict known, pool_numbers = {<size_t> <void*> each: at for at, each in enumerate(pool.pools)}
    cdef list known_by_pool = [{} for _ in pool.pools]       # number of the first lifetime of a row
    cdef bint dense = pool.used > SPARSE * pool.alive + FEW
    PyMem_Free(pool.numbers)
    pool.n_numbered = 0
    pool.numbers = <uint32_t*> PyMem_Malloc(max(<uint32_t> 1, pool.used) * sizeof(uint32_t))
    stored = <StoredC*> PyMem_Malloc(max(<Py_ssize_t> 1, pool.alive) * sizeof(StoredC))
    rows = <EventC**> PyMem_Malloc(max(<Py_ssize_t> 1, pool.alive) * sizeof(EventC*))
    try:
        if pool.numbers is NULL or stored is NULL or rows is NULL:
            raise MemoryError
        memset(stored, 0, pool.alive * sizeof(StoredC))
        for index in range(pool.used):
            lifetime = pool.lifetimes[index]
            pool.numbers[index] = NO_LIFETIME
            if lifetime is NULL:
                continue
            pool.numbers[index] = n if dense else index
            stored[n].start, stored[n].end, stored[n].given = lifetime.start, lifetime.end, lifetime.given
            stored[n].flags = lifetime.flags
            stored[n].pool = pool_numbers[<size_t> lifetime.pool]
            known = known_by_pool[stored[n].pool]
            stored[n].number = pool.numbers[index]
            first = known.setdefault(<size_t> lifetime.row, stored[n].number)
            stored[n].row = 0 if first == stored[n].number else <uint32_t> first + 1
            n += 1
        pool.n_numbered = pool.used
        writer.put_u32(VERSION)
        writer.put_u32(<uint32_t> len(pool.pools))
        for number in range(len(pool.pools)):
            n_rows = 0
            for row in <dict> known_by_pool[number]:
                rows[n_rows] = <EventC*> <size_t> row
                n_rows += 1
            write_rows(writer, pool.pools[number], rows, n_rows)
        writer.put_u32(n)
        writer.put_bytes(stored, n * sizeof(StoredC))
    finally:
        PyMem_Free(stored)
        PyMem_Free(rows)
    return 0


cdef int read_lifetimes(LifetimePool pool, SnapshotReader reader) except -1:
    cdef Py_ssize_t number, i, n
    cdef uint32_t version
    cdef EventC*** rows = NULL
    cdef Py_ssize_t* n_rows = NULL
    cdef Py_ssize_t* taken = NULL
    cdef list gaps = []
    cdef Py_ssize_t most
    cdef EventC* row
    cdef StoredC stored
    cdef LifetimeC* lifetime
    cdef Py_ssize_t n_pools = len(pool.pools)
    cdef const uint8_t* cursor
    version = reader.get_u32()
    pool.release_restored()
    if pool.alive:
        raise RuntimeError(f"{pool.alive} lifetimes are in use although every operator has been cleared")
    pool.used = pool.n_free = pool.n_numbered = 0
    if version != VERSION:
        raise ValueError(f"the state of temporal queries has version {version}, and this release reads version {VERSION}")
    if <Py_ssize_t> reader.get_u32() != n_pools:
        refuse_damage("temporal queries have another number of kinds of rows")
    rows = <EventC***> PyMem_Calloc(max(<Py_ssize_t> 1, n_pools), sizeof(EventC**))
    n_rows = <Py_ssize_t*> PyMem_Calloc(max(<Py_ssize_t> 1, n_pools), sizeof(Py_ssize_t))
    taken = <Py_ssize_t*> PyMem_Calloc(max(<Py_ssize_t> 1, n_pools), sizeof(Py_ssize_t))
    most, pool.most = pool.most, -1    # what was held may be held
    try:
        if rows is NULL or n_rows is NULL or taken is NULL:
            raise MemoryError
        for number in range(n_pools):
            n_rows[number] = read_rows(reader, pool.pools[number], &rows[number])
        n = get_size(reader)
        cursor = reader.take(n * sizeof(StoredC))
        for i in range(n):
            memcpy(&stored, cursor + i * sizeof(StoredC), sizeof(StoredC))
            if (stored.pool >= n_pools or stored.flags > (COMPLETE | REMOVED | ENDED | FOREVER) or stored.end < stored.start
                    or stored.number < pool.used or stored.number > SPARSE * n + FEW):
                refuse_damage(f"lifetime {i} has an unknown row, number or flag, or ends before its start")
            row = restored_row(pool, &stored, rows[stored.pool], n_rows[stored.pool], &taken[stored.pool])
            while pool.used < stored.number:
                gaps.append(pool.used)
                pool.acquire(pool.pools[stored.pool], row, 0, 1)
                pool.n_restored = pool.used
            lifetime = pool.acquire(pool.pools[stored.pool], row, stored.start, stored.end)
            pool.n_restored = pool.used
            lifetime.given = stored.given
            lifetime.flags = <uint8_t> stored.flags
        for number in gaps:
            release_lifetime(pool, pool.lifetimes[number])
    finally:
        for number in range(n_pools if rows is not NULL and n_rows is not NULL else 0):
            for i in range(n_rows[number]):
                release(<EventPool> pool.pools[number], rows[number][i])
            PyMem_Free(rows[number])
        PyMem_Free(rows)
        PyMem_Free(n_rows)
        PyMem_Free(taken)
        pool.most = most
    return 0


cdef EventC* restored_row(LifetimePool pool, const StoredC* stored, EventC** rows, Py_ssize_t n,
                          Py_ssize_t* taken) except NULL:
    """Return the row of a lifetime: the next one, or that of a lifetime before."""
    cdef LifetimeC* other
    if stored.row == 0:
        if taken[0] == n:
            refuse_damage("there are more lifetimes than rows")
        taken[0] += 1
        return rows[taken[0] - 1]
    if stored.row > pool.n_restored:
        refuse_damage(f"there is no lifetime {stored.row - 1}")
    other = pool.lifetimes[stored.row - 1]
    if other.pool is not <void*> pool.pools[stored.pool]:
        refuse_damage(f"lifetime {stored.row - 1} has a row of another stream")
    return other.row


cdef bint is_numbered(LifetimePool pool, uint32_t index) noexcept:
    return index < pool.used and pool.lifetimes[index] is not NULL


cdef int put_lifetime(SnapshotWriter writer, LifetimePool pool, LifetimeC* lifetime) except -1:
    if writer.items is not None:
        if lifetime is NULL:
            return writer.show(None)
        return writer.show((lifetime.start, lifetime.end,
                            event_to_tuple(lifetime.row, (<EventPool> lifetime.pool).layout)))
    return writer.put_u32(NO_LIFETIME if lifetime is NULL else pool.numbers[lifetime.index])


cdef LifetimeC* get_lifetime(SnapshotReader reader, LifetimePool pool, EventPool rows) except? NULL:
    cdef uint32_t number = reader.get_u32()
    if number == NO_LIFETIME:
        return NULL
    if number >= pool.n_restored or pool.lifetimes[number] is NULL:
        refuse_damage(f"there is no lifetime {number}")
    if pool.lifetimes[number].pool is not <void*> rows:
        refuse_damage(f"lifetime {number} has a row of another stream")
    return pool.lifetimes[number]


cdef int write_heap(EdgeHeapC* heap, SnapshotWriter writer, LifetimePool pool) except -1:
    """Write the edges in their order."""
    cdef EdgeC* edges
    cdef Py_ssize_t i
    writer.put_u32(<uint32_t> heap.n)
    if heap.n == 0:
        return 0
    edges = <EdgeC*> PyMem_Malloc(heap.n * sizeof(EdgeC))
    if edges is NULL:
        raise MemoryError
    try:
        heap_copy(heap, edges)
        for i in range(heap.n):
            if writer.items is None:
                writer.put_i64(edges[i].time)
                writer.put_u32(edges[i].kind | <uint32_t> edges[i].input << 8)
            put_lifetime(writer, pool, edges[i].lifetime)
    finally:
        PyMem_Free(edges)
    return 0


cdef int read_heap(EdgeHeapC* heap, SnapshotReader reader, LifetimePool pool, list rows) except -1:
    cdef Py_ssize_t i, n = get_size(reader)
    cdef int64_t time
    cdef uint32_t kind, input
    cdef LifetimeC* lifetime
    for i in range(n):
        time = reader.get_i64()
        kind = reader.get_u32()
        input, kind = kind >> 8, kind & 0xff
        if kind > START or input >= <uint32_t> len(rows):
            refuse_damage(f"{kind} and {input} are not kind and input of an edge")
        lifetime = get_lifetime(reader, pool, rows[input])
        if lifetime is NULL or kind == START and time != lifetime.start:
            refuse_damage("an edge has no lifetime or another time")
        heap_push(heap, time, kind, <int> input, lifetime)
    return 0
