"""Predicate index of a stream."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from libc.stdint cimport uint32_t
from libc.string cimport memcpy, memmove

from siddhi._core.index.hash_index cimport NO_ID, KeyMap
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, STRING, CellC, Layout
from siddhi._core.record.frame cimport MAX_BLOCK
from siddhi._core.runtime.operator cimport Sleeper

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static int siddhi_lowest_bit(uint64_t word) { unsigned long i; _BitScanForward64(&i, word); return (int) i; }
    #else
    #define siddhi_lowest_bit(word) __builtin_ctzll(word)
    #endif
    """
    int lowest_bit "siddhi_lowest_bit"(uint64_t word) noexcept nogil

_KEYS = (STRING, INT, LONG, BOOL)
_NUMBERS = (INT, LONG, FLOAT, DOUBLE)

cdef enum:
    MOST_PICKED = 1 << 22
    SMALL = 16                           # so many numbers are sorted by insertion, so many intervals tested one by one


cdef inline int64_t in_order(double number) noexcept:
    """Return the 64-bit integer whose order is that of the doubles without NaN; both zeros have one."""
    cdef CellC cell
    cell.d = number + 0.0
    return cell.l ^ ((cell.l >> 63) & 0x7fffffffffffffff)


cdef inline bint view_number(const FiledViewC* view, const EventC* event, int64_t* number) noexcept:
    """Write the attribute of an event as intervals compare it; return whether it is in any: not null, not NaN."""
    cdef const CellC* cell = <const CellC*> &event.body[view.cell]
    cdef double real
    if event.body[view.word] & view.bit:
        return False
    if not view.as_double:
        number[0] = cell.i if view.code == INT else cell.l
        return True
    if view.code == DOUBLE:
        real = cell.d
    elif view.code == FLOAT:
        real = cell.f
    elif view.code == INT:
        real = cell.i
    else:
        real = <double> cell.l
    number[0] = in_order(real)
    return real == real


cdef int32_t* stab(const FiledC* filed, Py_ssize_t left, Py_ssize_t right, int64_t number, int32_t* out) noexcept:
    """Append the receivers of filed[left:right] whose interval contains the number; return the end."""
    cdef Py_ssize_t i, middle
    while right - left > SMALL:
        middle = left + (right - left) // 2
        if filed[middle].most < number:
            return out
        out = stab(filed, left, middle, number, out)
        if filed[middle].low > number:
            return out
        if filed[middle].high >= number:
            out[0] = filed[middle].receiver
            out += 1
        left = middle + 1
    for i in range(left, right):
        # without a branch that depends on the numbers: the place is overwritten if the interval does not contain them
        out[0] = filed[i].receiver
        out += (filed[i].low <= number) & (number <= filed[i].high)
    return out


cdef int64_t set_most(FiledC* filed, Py_ssize_t left, Py_ssize_t right) noexcept:
    cdef Py_ssize_t middle, i
    cdef int64_t most, other
    if right - left <= SMALL:
        most = filed[left].high
        for i in range(left, right):
            most = max(most, filed[i].high)
        return most
    middle = left + (right - left) // 2
    most = max(filed[middle].high, set_most(filed, left, middle))
    other = set_most(filed, middle + 1, right)
    filed[middle].most = max(most, other)
    return filed[middle].most


cdef int set_key(CellC* key, int code, value) except -1:
    """Write a value as a key, which borrows it."""
    key.bits = 0
    if code == STRING:
        if not isinstance(value, str):
            raise TypeError(f"the value of a string attribute must be a string, not {value!r}")
        key.o = <void*> value
    elif code == LONG:
        key.l = value
    else:
        key.i = value
    return 0


cdef int set_view(FiledViewC* view, Layout layout, int position, bint as_double) except -1:
    view.cell = layout.cell(position)
    view.word = layout.null_word(position)
    view.bit = (<uint64_t> 1) << (position & 63)
    view.code = layout.codes[position]
    view.as_double = as_double
    return 0


cdef void* grown(void* array, Py_ssize_t n, size_t size) except NULL:
    """Return an array with room for n items."""
    cdef void* found = PyMem_Realloc(array, n * size)
    if found is NULL:
        raise MemoryError
    return found


# --- Changes while no delivery is running: the flat arrays grow and shrink, and the pointers into them follow.

cdef void renumber(IndexC* c, int32_t first, int32_t by) noexcept:
    cdef Py_ssize_t i
    for i in range(c.n_always):
        if c.always[i] >= first:
            c.always[i] += by
    for i in range(c.n_plain):
        if c.plain[i] >= first:
            c.plain[i] += by
    for i in range(c.n_filed):
        if c.filed[i].receiver >= first:
            c.filed[i].receiver += by


cdef int set_receivers(IndexC* c, int before, int n) except -1:
    """Make the sets of receivers, which are empty, as large as so many need."""
    cdef Py_ssize_t words = max(1, (n + 63) >> 6)
    cdef int i
    PyMem_Free(c.counts)
    c.counts = NULL
    if words != max(1, (before + 63) >> 6):
        for i in range(c.n_levels):
            PyMem_Free(c.levels[i])
            c.levels[i] = NULL
        c.n_levels = 0
        make_levels(c, words)
    return 0


cdef int make_levels(IndexC* c, Py_ssize_t words) except -1:
    while True:
        c.levels[c.n_levels] = <uint64_t*> PyMem_Calloc(words, sizeof(uint64_t))
        if c.levels[c.n_levels] is NULL:
            raise MemoryError
        c.n_levels += 1
        if words == 1 or c.n_levels == 4:
            return 0
        words = (words + 63) >> 6


cdef int add_always(IndexC* c, int32_t receiver) except -1:
    cdef Py_ssize_t at = c.n_always
    c.always = <int32_t*> grown(c.always, at + 1, sizeof(int32_t))
    while at > 0 and c.always[at - 1] > receiver:
        c.always[at] = c.always[at - 1]
        at -= 1
    c.always[at] = receiver
    c.n_always += 1
    return 0


cdef FiledBucketC* bucket_of(IndexC* c, list maps, Layout layout, int position, value) except NULL:
    """Return the bucket of a value of an attribute, of null, or without an attribute (-1); make it if need be."""
    cdef CellC key
    cdef bint is_new
    cdef uint32_t key_id
    cdef Py_ssize_t i, first
    cdef KeyMap map
    cdef FiledPartC* part = NULL
    if position < 0:
        c.root = c.buckets
        return c.root
    for i in range(c.n_parts):
        if c.parts[i].cell == layout.cell(position):
            part = &c.parts[i]
    if part is NULL:
        c.parts = <FiledPartC*> grown(c.parts, c.n_parts + 1, sizeof(FiledPartC))
        part = &c.parts[c.n_parts]
        part.cell = layout.cell(position)
        part.word = layout.null_word(position)
        part.bit = (<uint64_t> 1) << (position & 63)
        part.values = NULL
        part.nulls = NULL
        part.buckets = c.buckets + c.n_buckets
        c.n_parts += 1
    first = part.buckets - c.buckets
    if value is None:
        if part.nulls is NULL:
            i = first + (0 if part.values is NULL else (<KeyMap> <PyObject*> part.values).size)
            insert_bucket(c, part, i)
            part.nulls = c.buckets + i
        return part.nulls
    if part.values is NULL:
        if layout.codes[position] not in _KEYS:
            raise TypeError(
                "events cannot be looked up by an attribute of this type: expected string, int, long or bool")
        map = KeyMap((layout.codes[position],))
        maps.append(map)
        part.values = <void*> map
    map = <KeyMap> <PyObject*> part.values
    set_key(&key, layout.codes[position], value)
    key_id = map.insert(&key, 0, &is_new)
    if is_new:
        insert_bucket(c, part, first + key_id)
    return c.buckets + first + key_id


cdef int insert_bucket(IndexC* c, FiledPartC* part, Py_ssize_t at) except -1:
    cdef FiledBucketC* before = c.buckets
    cdef FiledBucketC* buckets = <FiledBucketC*> grown(before, c.n_buckets + 1, sizeof(FiledBucketC))
    cdef FiledPartC* other
    cdef Py_ssize_t i, first
    c.buckets = buckets
    memmove(buckets + at + 1, buckets + at, (c.n_buckets - at) * sizeof(FiledBucketC))
    buckets[at] = FiledBucketC(plain=c.plain, runs=c.runs, n_plain=0, n_runs=0)
    c.n_buckets += 1
    for i in range(c.n_parts):
        other = &c.parts[i]
        first = other.buckets - before
        other.buckets = buckets + first + (first >= at and other is not part)
        if other.nulls is not NULL:
            first = other.nulls - before
            other.nulls = buckets + first + (first >= at)
    if c.root is not NULL:
        c.root = buckets
    return 0


cdef int add_plain(IndexC* c, FiledBucketC* bucket, int32_t receiver) except -1:
    cdef int32_t* before = c.plain
    # An empty bucket has no place of its own.
    cdef Py_ssize_t i, end = bucket.plain - before + bucket.n_plain if bucket.n_plain else c.n_plain
    cdef Py_ssize_t at = end, first = end - bucket.n_plain, place
    cdef int32_t* plain = <int32_t*> grown(before, c.n_plain + 1, sizeof(int32_t))
    c.plain = plain
    while at > first and plain[at - 1] > receiver:
        at -= 1
    memmove(plain + at + 1, plain + at, (c.n_plain - at) * sizeof(int32_t))
    plain[at] = receiver
    c.n_plain += 1
    for i in range(c.n_buckets):
        place = c.buckets[i].plain - before
        c.buckets[i].plain = plain + place + (place >= end)
    bucket.plain = plain + first
    bucket.n_plain += 1
    return 0


cdef void drop_plain(IndexC* c, FiledBucketC* bucket, int32_t receiver) noexcept:
    cdef Py_ssize_t i, at, k = 0
    while k < bucket.n_plain:
        if bucket.plain[k] != receiver:
            k += 1
            continue
        at = bucket.plain - c.plain + k
        memmove(c.plain + at, c.plain + at + 1, (c.n_plain - at - 1) * sizeof(int32_t))
        c.n_plain -= 1
        bucket.n_plain -= 1
        for i in range(c.n_buckets):
            if c.buckets[i].plain - c.plain > at:
                c.buckets[i].plain -= 1


cdef int view_of(IndexC* c, Layout layout, int position, bint as_double) except -1:
    """Return the number of a view; make it if need be."""
    cdef int i, n = 0
    cdef FiledViewC* view
    for i in range(c.n_runs):
        n = max(n, c.runs[i].view + 1)
    for i in range(n):
        view = &c.views[i]
        if view.cell == layout.cell(position) and view.as_double == as_double:
            return i
    c.views = <FiledViewC*> grown(c.views, n + 1, sizeof(FiledViewC))
    set_view(&c.views[n], layout, position, as_double)
    return n


cdef FiledRunC* run_of(IndexC* c, FiledBucketC* bucket, int view) except NULL:
    """Return the run of a bucket on a view; make it if need be."""
    cdef FiledRunC* before = c.runs
    cdef FiledRunC* runs
    cdef Py_ssize_t i, at, place
    for i in range(bucket.n_runs):
        if bucket.runs[i].view == view:
            return &bucket.runs[i]
    at = bucket.runs - before + bucket.n_runs if bucket.n_runs else c.n_runs
    runs = <FiledRunC*> grown(before, c.n_runs + 1, sizeof(FiledRunC))
    c.runs = runs
    memmove(runs + at + 1, runs + at, (c.n_runs - at) * sizeof(FiledRunC))
    runs[at] = FiledRunC(filed=c.filed, n=0, view=view)
    c.n_runs += 1
    for i in range(c.n_buckets):
        place = c.buckets[i].runs - before
        c.buckets[i].runs = runs + place + (place >= at)
    bucket.runs = runs + at - bucket.n_runs
    bucket.n_runs += 1
    return &runs[at]


cdef int add_filed(IndexC* c, FiledRunC* run, int64_t low, int64_t high, int32_t receiver) except -1:
    cdef FiledC* before = c.filed
    cdef Py_ssize_t i, end = run.filed - before + run.n if run.n else c.n_filed
    cdef Py_ssize_t at = end, first = end - run.n, place
    cdef FiledC* filed = <FiledC*> grown(before, c.n_filed + 1, sizeof(FiledC))
    c.filed = filed
    while at > first and filed[at - 1].low > low:
        at -= 1
    memmove(filed + at + 1, filed + at, (c.n_filed - at) * sizeof(FiledC))
    filed[at] = FiledC(low=low, high=high, most=high, receiver=receiver)
    c.n_filed += 1
    for i in range(c.n_runs):
        place = c.runs[i].filed - before
        c.runs[i].filed = filed + place + (place >= end)
    run.filed = filed + first
    run.n += 1
    set_most(run.filed, 0, run.n)
    return 0


cdef void drop_filed(IndexC* c, FiledRunC* run, int32_t receiver) noexcept:
    cdef Py_ssize_t i, at, k = 0
    while k < run.n:
        if run.filed[k].receiver != receiver:
            k += 1
            continue
        at = run.filed - c.filed + k
        memmove(c.filed + at, c.filed + at + 1, (c.n_filed - at - 1) * sizeof(FiledC))
        c.n_filed -= 1
        run.n -= 1
        for i in range(c.n_runs):
            if c.runs[i].filed - c.filed > at:
                c.runs[i].filed -= 1
        if run.n:
            set_most(run.filed, 0, run.n)


@cython.final
cdef class Dispatch(Wakes):
    """Routes events to receivers by the values of attributes.

    Args:
        layout: layout of the stream.
        filings: for each receiver in order of subscription its entries: tuples of the attribute whose value is looked
            up (-1: none), the value (None: null), the attribute that lies in an interval (-1: none), whether it is
            compared as double, and the bounds. None instead of entries: the receiver gets every event.
        sleepers: for each receiver its sleeper, or None.
    """

    def __cinit__(self, Layout layout not None, list filings not None, list sleepers=None):
        self.build(layout, filings)
        if sleepers is not None and any([sleeper is not None for sleeper in sleepers]):
            self.follow(sleepers)

    cdef int build(self, Layout layout, list filings) except -1:
        cdef dict views = {}, roots = {}, parts = {}
        cdef list always = []
        cdef Py_ssize_t i
        self.c = <IndexC*> PyMem_Calloc(1, sizeof(IndexC))
        if self.c is NULL:
            raise MemoryError
        self.n_receivers = <int> len(filings)
        self.maps = []
        for i in range(self.n_receivers):
            entries = filings[i]
            if entries is None:
                always.append(i)
                continue
            self.n_filed += 1
            for position, value, viewed, as_double, low, high in entries:
                bucket = roots if position < 0 else parts.setdefault(position, {}).setdefault(value, {})
                if viewed < 0:
                    bucket.setdefault(-1, []).append(i)
                    continue
                if layout.codes[viewed] not in _NUMBERS:
                    raise TypeError("an interval needs an attribute with numbers")
                view = views.setdefault((viewed, as_double), len(views))
                if as_double:
                    low, high = in_order(low), in_order(high)
                bucket.setdefault(view, []).append((low, high, i))
        self.positions = tuple(dict.fromkeys([*sorted(parts), *(viewed for viewed, _ in views)]))
        self.c.n_always = len(always)
        self.c.always = <int32_t*> PyMem_Calloc(max(1, self.c.n_always), sizeof(int32_t))
        self.c.views = <FiledViewC*> PyMem_Calloc(max(1, len(views)), sizeof(FiledViewC))
        self.c.n_parts = <int> len(parts)
        self.c.parts = <FiledPartC*> PyMem_Calloc(max(1, self.c.n_parts), sizeof(FiledPartC))
        if self.c.always is NULL or self.c.views is NULL or self.c.parts is NULL:
            raise MemoryError
        for i in range(self.c.n_always):
            self.c.always[i] = always[i]
        for (viewed, as_double), view in views.items():
            set_view(&self.c.views[<int> view], layout, viewed, as_double)
        self.build_buckets(layout, parts, roots)
        make_levels(self.c, max(1, (self.n_receivers + 63) >> 6))
        return 0

    cdef int follow(self, list sleepers) except -1:
        """Take up which receivers are awake."""
        cdef Sleeper sleeper
        cdef Py_ssize_t i, words = max(1, (self.n_receivers + 63) >> 6)
        cdef int level
        self.c.sleepers = <uint64_t*> PyMem_Calloc(words, sizeof(uint64_t))
        if self.c.sleepers is NULL:
            raise MemoryError
        for level in range(self.c.n_levels):
            self.c.awake[level] = <uint64_t*> PyMem_Calloc(words, sizeof(uint64_t))
            if self.c.awake[level] is NULL:
                raise MemoryError
            words = (words + 63) >> 6
        for i in range(self.n_receivers):
            sleeper = sleepers[i]
            if sleeper is None:
                continue
            self.n_sleepers += 1
            self.c.sleepers[i >> 6] |= (<uint64_t> 1) << (i & 63)
            sleeper.index = self
            sleeper.receiver = <int32_t> i
            if sleeper.awake:
                self.wake(sleeper.receiver, True)
        return 0

    cdef void wake(self, int32_t receiver, bint awake) noexcept:
        """Take up that a receiver needs every event, or no longer does."""
        cdef int level
        cdef Py_ssize_t index = receiver
        cdef uint64_t before
        self.n_awake += 1 if awake else -1
        for level in range(self.c.n_levels):
            before = self.c.awake[level][index >> 6]
            if awake:
                self.c.awake[level][index >> 6] = before | (<uint64_t> 1) << (index & 63)
                if before:
                    return
            else:
                before &= ~((<uint64_t> 1) << (index & 63))
                self.c.awake[level][index >> 6] = before
                if before:
                    return
            index >>= 6

    cdef bint may_sleep(self, int receiver) noexcept:
        return self.n_sleepers and (self.c.sleepers[receiver >> 6] >> (receiver & 63)) & 1

    cdef Py_ssize_t write_awake(self, int level, Py_ssize_t word, int32_t* out) noexcept:
        """Write the receivers that are awake below a word of a level, ascending; return their number."""
        cdef uint64_t bits = self.c.awake[level][word]
        cdef Py_ssize_t n = 0, index
        while bits:
            index = (word << 6) + lowest_bit(bits)
            bits &= bits - 1
            if level:
                n += self.write_awake(level - 1, index, out + n)
            else:
                out[n] = <int32_t> index
                n += 1
        return n

    cdef int build_buckets(self, Layout layout, dict parts, dict roots) except -1:
        """Fill the keys, the buckets and their runs: for each part its values, for each value its receivers by view."""
        cdef CellC key
        cdef bint is_new
        cdef int part_index = 0, code
        cdef Py_ssize_t i
        cdef FiledPartC* part
        cdef KeyMap map
        cdef FiledBucketC* bucket
        cdef FiledC* filed
        contents = [roots]
        for values in parts.values():
            contents += values.values()
        self.c.n_buckets = len(contents)
        self.c.n_plain = sum([len(content.get(-1, ())) for content in contents])
        self.c.n_runs = sum([len(content) - (-1 in content) for content in contents])
        self.c.n_filed = sum([len(found) for content in contents for found in content.values()]) - self.c.n_plain
        self.c.buckets = <FiledBucketC*> PyMem_Calloc(self.c.n_buckets, sizeof(FiledBucketC))
        self.c.plain = <int32_t*> PyMem_Calloc(max(1, self.c.n_plain), sizeof(int32_t))
        self.c.runs = <FiledRunC*> PyMem_Calloc(max(1, self.c.n_runs), sizeof(FiledRunC))
        self.c.filed = <FiledC*> PyMem_Calloc(max(1, self.c.n_filed), sizeof(FiledC))
        if self.c.buckets is NULL or self.c.plain is NULL or self.c.runs is NULL or self.c.filed is NULL:
            raise MemoryError
        cdef int32_t* plain = self.c.plain
        cdef FiledRunC* run = self.c.runs
        filed = self.c.filed
        bucket = self.c.buckets
        for content in contents:
            bucket.plain = plain
            bucket.runs = run
            bucket.n_plain = <int32_t> len(content.get(-1, ()))
            for receiver in content.get(-1, ()):
                plain[0] = receiver
                plain += 1
            for view in content:
                if view == -1:
                    continue
                run.filed = filed
                run.view = view
                run.n = <int32_t> len(content[view])
                for low, high, receiver in sorted(content[view]):
                    filed.low, filed.high, filed.receiver = low, high, receiver
                    filed += 1
                set_most(run.filed, 0, run.n)
                run += 1
                bucket.n_runs += 1
            bucket += 1
        self.c.root = self.c.buckets if roots else NULL
        bucket = self.c.buckets + 1
        for position, values in parts.items():
            part = &self.c.parts[part_index]
            part_index += 1
            code = layout.codes[position]
            part.cell = layout.cell(position)
            part.word = layout.null_word(position)
            part.bit = (<uint64_t> 1) << (position & 63)
            part.buckets = bucket
            if any([value is not None for value in values]):
                if code not in _KEYS:
                    raise TypeError(
                        "events cannot be looked up by an attribute of this type: expected string, int, long or bool")
                map = KeyMap((code,))
                self.maps.append(map)
                part.values = <void*> map
            # The ids of the map number the buckets: those of values come first, in order of insertion.
            i = 0
            for value in values:
                if value is None:
                    continue
                set_key(&key, code, value)
                map.insert(&key, 0, &is_new)
                i += 1
            bucket += len(values)
            if None in values:
                self.move_last(part, list(values).index(None), i)
                part.nulls = part.buckets + i
        return 0

    cdef int move_last(self, FiledPartC* part, Py_ssize_t at, Py_ssize_t last) except -1:
        """Move a bucket behind those after it."""
        cdef FiledBucketC moved = part.buckets[at]
        cdef Py_ssize_t i
        for i in range(at, last):
            part.buckets[i] = part.buckets[i + 1]
        part.buckets[last] = moved
        return 0

    def insert(self, Layout layout not None, int32_t position, entries):
        """Take up a receiver before that at a position, with its entries or None.

        Returns:
            Whether the index is up to date. If not, another one must be built.

        Raises:
            TypeError: an attribute has a type by which it can't be looked up; another index must be built.
        """
        cdef FiledBucketC* bucket
        if self.n_sleepers or self.top:
            return False
        renumber(self.c, position, 1)
        set_receivers(self.c, self.n_receivers, self.n_receivers + 1)
        self.n_receivers += 1
        if entries is None:
            add_always(self.c, position)
            return True
        self.n_filed += 1
        for attribute, value, viewed, as_double, low, high in entries:
            bucket = bucket_of(self.c, self.maps, layout, attribute, value)
            if viewed < 0:
                add_plain(self.c, bucket, position)
                continue
            if layout.codes[viewed] not in _NUMBERS:
                raise TypeError("an interval needs an attribute with numbers")
            if as_double:
                low, high = in_order(low), in_order(high)
            add_filed(self.c, run_of(self.c, bucket, view_of(self.c, layout, viewed, as_double)), low, high, position)
        used = [entry[0] for entry in entries] + [entry[2] for entry in entries]
        self.positions = tuple(dict.fromkeys([*self.positions, *[position for position in used if position >= 0]]))
        return True

    def remove(self, int32_t position, entries):
        """Drop the receiver at a position, whose entries are given.

        Returns:
            As :meth:`insert`.
        """
        cdef Py_ssize_t i, k
        if self.n_sleepers or self.top:
            return False
        if entries is None:
            k = 0
            for i in range(self.c.n_always):
                if self.c.always[i] != position:
                    self.c.always[k] = self.c.always[i]
                    k += 1
            self.c.n_always = k
        else:
            if self.n_filed == 1:
                return False
            self.n_filed -= 1
            for i in range(self.c.n_buckets):
                drop_plain(self.c, &self.c.buckets[i], position)
            for i in range(self.c.n_runs):
                drop_filed(self.c, &self.c.runs[i], position)
        renumber(self.c, position + 1, -1)
        set_receivers(self.c, self.n_receivers, self.n_receivers - 1)
        self.n_receivers -= 1
        return True

    def __dealloc__(self):
        cdef int i
        PyMem_Free(self.found)
        if self.c is NULL:
            return
        PyMem_Free(self.c.always)
        PyMem_Free(self.c.views)
        PyMem_Free(self.c.parts)
        PyMem_Free(self.c.buckets)
        PyMem_Free(self.c.plain)
        PyMem_Free(self.c.runs)
        PyMem_Free(self.c.filed)
        PyMem_Free(self.c.counts)
        PyMem_Free(self.c.sleepers)
        for i in range(self.c.n_levels):
            PyMem_Free(self.c.levels[i])
            PyMem_Free(self.c.awake[i])
        PyMem_Free(self.c)

    cdef int reserve(self) except -1:
        """Make room for the receivers of one more event; pages that are not written cost nothing."""
        cdef Py_ssize_t needed = self.top + self.c.n_plain + self.c.n_filed + self.c.n_always + self.n_sleepers + SMALL
        cdef int32_t* found
        if needed > self.capacity:
            found = <int32_t*> PyMem_Realloc(self.found, needed * sizeof(int32_t))
            if found is NULL:
                raise MemoryError
            self.found = found
            self.capacity = needed
        return 0

    cdef inline int32_t* scan(self, const FiledBucketC* bucket, const EventC* event, int32_t* out) noexcept:
        cdef int i
        cdef int64_t number
        cdef const FiledRunC* run
        for i in range(bucket.n_plain):
            out[0] = bucket.plain[i]
            out += 1
        for i in range(bucket.n_runs):
            run = &bucket.runs[i]
            if view_number(&self.c.views[run.view], event, &number):
                out = stab(run.filed, 0, run.n, number, out)
        return out

    cdef Py_ssize_t find_filed(self, const EventC* event, int32_t* out) except -1:
        """Write the filed receivers that an event concerns, unordered; return their number."""
        cdef int i
        cdef uint32_t key_id
        cdef int32_t* start = out
        cdef const FiledPartC* part
        cdef const FiledBucketC* bucket
        for i in range(self.c.n_parts):
            part = &self.c.parts[i]
            if event.body[part.word] & part.bit:
                bucket = part.nulls
            elif part.values is NULL:
                continue
            else:
                key_id = (<KeyMap> <PyObject*> part.values).find(<const CellC*> &event.body[part.cell], 0)
                bucket = NULL if key_id == NO_ID else part.buckets + key_id
            if bucket is not NULL:
                out = self.scan(bucket, event, out)
        if self.c.root is not NULL:
            out = self.scan(self.c.root, event, out)
        return out - start

    cdef Py_ssize_t find_unordered(self, const EventC* event, int32_t* out) except -1:
        """The same with those that are awake; a receiver may be there several times."""
        cdef Py_ssize_t n = self.find_filed(event, out)
        if self.n_awake:
            n += self.write_awake(self.c.n_levels - 1, 0, out + n)
        return n

    cdef Py_ssize_t find(self, const EventC* event) except -1:
        """Write the receivers that an event concerns to found[top:], in order of subscription; return their number.

        The caller adds the number to ``top`` until it has delivered the event.
        """
        self.reserve()
        cdef Py_ssize_t n = self.find_unordered(event, self.found + self.top)
        return self.with_always(self.ordered(self.found + self.top, n))

    cdef Py_ssize_t find_any(self, const EventC* event) except -1:
        """The same for a chunk: the receivers that any of its events concerns."""
        cdef Py_ssize_t i, n
        self.reserve()
        while event is not NULL:
            n = self.find_unordered(event, self.found + self.top)
            for i in range(n):
                self.mark(self.found[self.top + i])
            event = event.next
        return self.with_always(self.take_marked(self.c.n_levels - 1, 0, self.found + self.top))

    cdef Py_ssize_t with_always(self, Py_ssize_t n) noexcept:
        """Merge the receivers that get every event into those found."""
        cdef int32_t* found = self.found + self.top
        cdef Py_ssize_t i = n - 1, j = self.c.n_always - 1, to = n + self.c.n_always - 1
        while j >= 0:
            if i >= 0 and found[i] > self.c.always[j]:
                found[to] = found[i]
                i -= 1
            else:
                found[to] = self.c.always[j]
                j -= 1
            to -= 1
        return n + self.c.n_always

    cdef Py_ssize_t ordered(self, int32_t* found, Py_ssize_t n) noexcept:
        """Sort receivers and drop duplicates; return the number of those left."""
        cdef Py_ssize_t i, j, m = 0
        cdef int32_t receiver
        for i in range(1, n):
            if found[i - 1] >= found[i]:
                break
        else:
            return n
        if n > SMALL:
            for i in range(n):
                self.mark(found[i])
            return self.take_marked(self.c.n_levels - 1, 0, found)
        for i in range(n):
            receiver = found[i]
            j = m
            while j > 0 and found[j - 1] > receiver:
                j -= 1
            if j > 0 and found[j - 1] == receiver:
                continue
            memmove(found + j + 1, found + j, (m - j) * sizeof(int32_t))
            found[j] = receiver
            m += 1
        return m

    cdef inline void mark(self, int32_t receiver) noexcept:
        cdef int level
        cdef Py_ssize_t index = receiver
        cdef uint64_t before
        for level in range(self.c.n_levels):
            before = self.c.levels[level][index >> 6]
            self.c.levels[level][index >> 6] = before | (<uint64_t> 1) << (index & 63)
            if before:
                return
            index >>= 6

    cdef Py_ssize_t take_marked(self, int level, Py_ssize_t word, int32_t* out) noexcept:
        """Take the receivers below a word of a level out of the set; write them, ascending; return their number."""
        cdef uint64_t bits = self.c.levels[level][word]
        cdef Py_ssize_t n = 0, index
        self.c.levels[level][word] = 0
        while bits:
            index = (word << 6) + lowest_bit(bits)
            bits &= bits - 1
            if level:
                n += self.take_marked(level - 1, index, out + n)
            else:
                out[n] = <int32_t> index
                n += 1
        return n

    cdef Py_ssize_t block_limit(self) noexcept:
        """The number of events that pick() may be given: it needs memory for each receiver of each event."""
        return max(1, MOST_PICKED // (self.c.n_plain + self.c.n_filed + self.n_sleepers + 1))

    cdef int pick(self, EventC** events, Py_ssize_t n, PickedC* picked) except -1:
        """Distribute a block of events to the filed receivers that they concern; the caller frees the arrays."""
        cdef Py_ssize_t ends[MAX_BLOCK]
        cdef Py_ssize_t i, k, m, at = 0, total = 0, room = 4 * n
        cdef int32_t* found
        cdef int32_t* grown
        cdef int32_t* pairs
        picked.receivers, picked.starts, picked.events, picked.n = NULL, NULL, NULL, 0
        self.reserve()
        if self.c.counts is NULL:
            self.c.counts = <int32_t*> PyMem_Calloc(self.n_receivers, sizeof(int32_t))
        pairs = <int32_t*> PyMem_Malloc(room * sizeof(int32_t))
        if self.c.counts is NULL or pairs is NULL:
            PyMem_Free(pairs)
            raise MemoryError
        found = self.found + self.top
        try:
            for i in range(n):
                m = self.ordered(found, self.find_unordered(events[i], found))
                if total + m > room:
                    room = 2 * (total + m)
                    grown = <int32_t*> PyMem_Realloc(pairs, room * sizeof(int32_t))
                    if grown is NULL:
                        raise MemoryError
                    pairs = grown
                memcpy(pairs + total, found, m * sizeof(int32_t))
                total += m
                ends[i] = total
            for k in range(total):
                self.c.counts[pairs[k]] += 1
                self.mark(pairs[k])
            m = self.take_marked(self.c.n_levels - 1, 0, found)
            picked.n = <int32_t> m
            picked.receivers = <int32_t*> PyMem_Malloc((m + 1) * sizeof(int32_t))
            picked.starts = <Py_ssize_t*> PyMem_Malloc((m + 1) * sizeof(Py_ssize_t))
            picked.events = <EventC**> PyMem_Malloc((total + 1) * sizeof(EventC*))
            if picked.receivers is NULL or picked.starts is NULL or picked.events is NULL:
                for k in range(m):
                    self.c.counts[found[k]] = 0
                raise MemoryError
            for k in range(m):
                picked.receivers[k] = found[k]
                picked.starts[k] = at
                at += self.c.counts[found[k]]
                self.c.counts[found[k]] = <int32_t> picked.starts[k]
            picked.starts[m] = at
            k = 0
            for i in range(n):
                while k < ends[i]:
                    picked.events[self.c.counts[pairs[k]]] = events[i]
                    self.c.counts[pairs[k]] += 1
                    k += 1
            for k in range(m):
                self.c.counts[found[k]] = 0
        finally:
            PyMem_Free(pairs)
        return 0
