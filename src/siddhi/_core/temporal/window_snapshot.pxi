# Groups in snapshots, by number: each with its rows, the members that are no rows, its results and aggregates.

cdef int write_groups(Groups self, SnapshotWriter writer) except -1:
    cdef uint32_t index, group_id
    cdef LifetimeC* lifetime
    cdef Aggregator aggregator
    cdef list rejected = [[] for _ in range(self.capacity)], live
    self.numbers = [None] * self.capacity
    for index in range(self.group_capacity):
        if self.group_of[index] and is_numbered(self.lifetimes, index) and not is_row(self, index):
            (<list> rejected[self.group_of[index] - 1]).append(index)
    live = [group_id for group_id in range(self.capacity)
            if self.groups[group_id].live and (self.groups[group_id].n or rejected[group_id])]
    writer.put_u32(<uint32_t> len(live))
    for number, group_id in enumerate(live):
        self.numbers[group_id] = number
        write_group(self, &self.groups[group_id], writer)
        writer.put_u32(<uint32_t> len(rejected[group_id]))
        for index in rejected[group_id]:
            put_lifetime(writer, self.lifetimes, self.lifetimes.lifetimes[index])
        for aggregator in self.aggregators:
            aggregator.write(group_id, writer)
        for aggregator in self.weighted:
            aggregator.write(group_id, writer)
    return 0


cdef bint is_row(Groups self, uint32_t index) noexcept:
    """Return whether a member is a row of the window, and not rejected."""
    if self.order is not None:
        return index < self.out_capacity and self.out_of[index] is not NULL
    return self.has(index)


cdef int write_group(Groups self, GroupC* group, SnapshotWriter writer) except -1:
    cdef Py_ssize_t i, n = 0
    cdef uint32_t block, entry
    cdef EventC** out
    writer.put_u32(<uint32_t> group.n)
    if not self.aggregates:
        out = <EventC**> PyMem_Malloc(max(<Py_ssize_t> 1, group.n) * sizeof(EventC*))
        if out is NULL:
            raise MemoryError
        try:
            for block in range(group.ordered.n_blocks):
                for entry in range(group.ordered.blocks[block].n):
                    out[n] = group.ordered.blocks[block].rows[entry].out
                    n += 1
            for i in range(group.n if self.order is None else 0):
                out[i] = group.rows[i].out
            write_rows(writer, self.rows.pool, out, group.n)
        finally:
            PyMem_Free(out)
    for block in range(group.ordered.n_blocks):
        for entry in range(group.ordered.blocks[block].n):
            put_lifetime(writer, self.lifetimes, group.ordered.blocks[block].rows[entry].lifetime)
    for i in range(group.n if self.order is None else 0):
        put_lifetime(writer, self.lifetimes, group.rows[i].lifetime)
    writer.put_u32(<uint32_t> group.n_results)
    for i in range(group.n_results):
        put_lifetime(writer, self.lifetimes, group.results[i])
    return 0


cdef int read_groups(Groups self, SnapshotReader reader, EventPool rows) except -1:
    """Read the groups into an empty window; the number of a group becomes its id."""
    cdef Py_ssize_t i, n, number, n_groups = get_size(reader)
    cdef uint32_t group_id
    cdef Aggregator aggregator
    for number in range(n_groups):
        read_group(self, <uint32_t> number, reader, rows)
        n = get_size(reader)
        for i in range(n):
            read_member(self, <uint32_t> number, reader, rows)
        if number >= self.capacity or not self.groups[number].live:
            refuse_damage("a group of a window has no members")
        group_id = <uint32_t> number
        for aggregator in self.aggregators:
            aggregator.read(group_id, reader)
        for aggregator in self.weighted:
            aggregator.read(group_id, reader)
    return 0


cdef LifetimeC* read_member(Groups self, uint32_t group_id, SnapshotReader reader, EventPool rows) except NULL:
    cdef LifetimeC* lifetime = get_lifetime(reader, self.lifetimes, rows)
    if lifetime is NULL or self.is_member(lifetime.index):
        refuse_damage("a row of a window is missing, or there twice")
    if self.enter(lifetime) != group_id:
        refuse_damage("a row of a window is in the wrong group")
    if self.aggregates or self.order is None:
        self.row_of = <uint32_t*> grow_by_index(self.row_of, &self.row_capacity, lifetime.index, sizeof(uint32_t))
    return lifetime


cdef int read_group(Groups self, uint32_t group_id, SnapshotReader reader, EventPool rows) except -1:
    cdef Py_ssize_t i, n_out = 0, n = get_size(reader), n_placed = 0
    cdef EventC** out = NULL
    cdef LifetimeC* lifetime
    try:
        if not self.aggregates:
            n_out = read_rows(reader, self.rows.pool, &out)
            if n_out != n:
                refuse_damage("a group of a window has another number of output rows")
        for i in range(n):
            lifetime = read_member(self, group_id, reader, rows)
            n_placed += 1
            self.place(group_id, lifetime, NULL if self.aggregates else out[i])
    finally:
        for i in range(n_placed, n_out):
            release(self.rows.pool, out[i])
        PyMem_Free(out)
    n = get_size(reader)
    for i in range(n):
        lifetime = get_lifetime(reader, self.lifetimes, self.rows.pool)
        if lifetime is NULL or group_id >= self.capacity or not self.groups[group_id].live:
            refuse_damage("a result of a window is missing, or its group")
        self.keep_result(group_id, lifetime)
    return 0


cdef Py_ssize_t count_members(Groups self) noexcept:
    cdef uint32_t group_id
    cdef Py_ssize_t n = 0
    for group_id in range(self.capacity):
        n += self.groups[group_id].members
    return n


cdef int write_group_ids(Groups self, SnapshotWriter writer, list ids) except -1:
    """Write the numbers of groups, without those that are left out."""
    cdef list kept = [self.numbers[group_id] for group_id in ids if self.numbers[group_id] is not None]
    writer.put_u32(<uint32_t> len(kept))
    for number in kept:
        writer.put_u32(number)
    return 0


cdef list read_group_ids(Groups self, SnapshotReader reader):
    cdef Py_ssize_t i, n = get_size(reader)
    cdef uint32_t group_id
    cdef list ids = []
    for i in range(n):
        group_id = reader.get_u32()
        if group_id >= self.capacity or not self.groups[group_id].live:
            refuse_damage(f"a window has no group {group_id}")
        ids.append(group_id)
    if len(set(ids)) != n:
        refuse_damage("a group of a window is there twice")
    return ids


cdef int clear_groups(Groups self) except -1:
    cdef uint32_t group_id
    for group_id in range(self.capacity):
        if self.groups[group_id].live:
            self.drop(group_id)
    memset(self.group_of, 0, self.group_capacity * sizeof(uint32_t))
    memset(self.row_of, 0, self.row_capacity * sizeof(uint32_t))
    memset(self.out_of, 0, self.out_capacity * sizeof(EventC*))
    return 0 if self.keys is None else self.keys.clear()
