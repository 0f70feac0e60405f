# Rows of aggregations: folding events, merging rows, computing results.

cdef object NAN = float("nan")         # a single object, so that a set contains it once


@cython.final
@cython.no_gc_clear
cdef class Fold:
    """Computes rows of one layout from events.

    Args:
        pool: pool of the rows.
        answers: pool of the results: the time of the bucket, then one cell per finish.
        folds: (kind, executor of the argument or None, first position in the row) of each base value.
        finishes: (kind, position in the row, position of the count or 0, executor over the row or None) of each output
            value.
        last: position of the time of the latest event, or -1.
    """

    def __cinit__(self, EventPool pool not None, EventPool answers not None, folds, finishes, int last):
        cdef int i
        cdef FoldC* fold
        cdef FinishC* finish
        cdef Executor executor
        cdef Layout layout = pool.layout
        self.pool = pool
        self.answers = answers
        self.n_folds = len(folds)
        self.n_finishes = len(finishes)
        self.last_cell = layout.cell(last) if last >= 0 else 0
        self.executors = tuple([argument for _, argument, _ in folds] + [final for *_, final in finishes])
        self.folds = <FoldC*> PyMem_Malloc(max(1, self.n_folds) * sizeof(FoldC))
        self.finishes = <FinishC*> PyMem_Malloc(max(1, self.n_finishes) * sizeof(FinishC))
        if self.folds is NULL or self.finishes is NULL:
            raise MemoryError
        memset(self.folds, 0, self.n_folds * sizeof(FoldC))
        for i, (kind, argument, position) in enumerate(folds):
            fold = &self.folds[i]
            fold.kind = kind
            fold.cell, fold.word = layout.cell(position), layout.null_word(position)
            fold.bit = (<uint64_t> 1) << (<int> position & 63)
            if argument is not None:
                executor = argument
                fold.x = &executor.c
                fold.code = executor.type
                fold.computed = executor.kind != VARIABLE
                fold.source_cell, fold.source_word = executor.c.cell, executor.c.word
                fold.source_bit = executor.c.bit
                if fold.computed:
                    # The value is stored in the cell of the base value, so it must have that type, or both must be
                    # numbers.
                    if kind == DISTINCT or kind == DEVIATION:
                        raise ValueError("the argument of a distinct or deviation value must be an attribute")
                    fold.source_cell, fold.source_word, fold.source_bit = fold.cell, fold.word, fold.bit
                    self.computes = True
        for i, (kind, position, second, final) in enumerate(finishes):
            finish = &self.finishes[i]
            finish.kind = kind
            finish.cell, finish.word = answers.layout.cell(i + 1), answers.layout.null_word(i + 1)
            finish.bit = (<uint64_t> 1) << ((i + 1) & 63)
            finish.first_cell, finish.first_word = layout.cell(position), layout.null_word(position)
            finish.first_bit = (<uint64_t> 1) << (<int> position & 63)
            finish.second_cell = layout.cell(second)
            finish.code = layout.codes[<int> position]
            if final is not None:
                executor = final
                finish.x = &executor.c
                finish.code = executor.type
            finish.is_object = finish.code == STRING or finish.code == OBJECT

    def __dealloc__(self):
        PyMem_Free(self.folds)
        PyMem_Free(self.finishes)

    cdef EventC* computed(self, EventC* event, FrameC* frame) except NULL:
        """Return a record with the computed values, for the caller. Call it first: it may run Python code."""
        cdef int i
        cdef FoldC* fold
        cdef EventC* out = acquire(self.pool)
        memset(out.body, 0, 8 * self.pool.layout.words)
        try:
            for i in range(self.n_folds):
                fold = &self.folds[i]
                if not fold.computed:
                    continue
                compute(fold.x, fold.code, event, frame, out, fold.cell, fold.word, fold.bit)
        except BaseException:
            release(self.pool, out)
            raise
        return out

    cdef int begin(self, EventC* row) except -1:
        """Initialize the base values. Times and group must be set before."""
        cdef int i, part
        cdef FoldC* fold
        for i in range(self.n_folds):
            fold = &self.folds[i]
            if fold.kind == DISTINCT:
                values = set()
                Py_INCREF(values)
                row.body[fold.cell] = <uint64_t> <PyObject*> values
            elif fold.kind == DEVIATION:
                for part in range(3):
                    row.body[fold.cell + part] = 0
            elif fold.kind == COUNT:
                row.body[fold.cell] = 0
            else:
                row.body[fold.word] |= fold.bit
        if self.last_cell:
            (<CellC*> &row.body[self.last_cell]).l = <int64_t> -9223372036854775807 - 1
        return 0

    cdef int add(self, EventC* row, const EventC* event, const EventC* computed, int64_t time) except -1:
        """Fold an event into a row.

        Args:
            computed: result of computed(); NULL if nothing is computed.
            time: time of the event.
        """
        cdef int i
        cdef FoldC* fold
        cdef CellC value
        cdef CellC* cell
        cdef const EventC* source
        cdef bint is_latest = True
        if self.last_cell:
            cell = <CellC*> &row.body[self.last_cell]
            is_latest = time >= cell.l
            if is_latest:
                cell.l = time
        for i in range(self.n_folds):
            fold = &self.folds[i]
            cell = <CellC*> &row.body[fold.cell]
            if fold.kind == COUNT:
                cell.l += 1
                continue
            source = computed if fold.computed else event
            if fold.kind == LATEST:
                if is_latest:
                    replace_object(fold, row, source, fold.source_cell, fold.source_word, fold.source_bit)
                continue
            if fold.kind == DISTINCT:
                put(fold, cell, event)
                continue
            if source.body[fold.source_word] & fold.source_bit:
                continue
            value.bits = source.body[fold.source_cell]
            if fold.kind == SUM:
                if fold.code == DOUBLE:
                    pass
                elif fold.code == FLOAT:
                    value.d = value.f
                elif fold.code == INT:
                    value.l = value.i
                if row.body[fold.word] & fold.bit:
                    row.body[fold.word] &= ~fold.bit
                    cell[0] = value
                elif fold.code >= FLOAT:
                    cell.d += value.d
                else:
                    cell.l += value.l
            elif fold.kind == DEVIATION:
                spread(cell, as_double(&value, fold.code))
            elif row.body[fold.word] & fold.bit:
                row.body[fold.word] &= ~fold.bit
                cell[0] = value
            elif is_less(&value, cell, fold.code) if fold.kind == MINIMUM else is_less(cell, &value, fold.code):
                cell[0] = value
        return 0

    cdef EventC* clone(self, const EventC* row) except NULL:
        """Return a deep copy of a row; the caller owns it."""
        cdef int i
        cdef EventC* copy = copy_event(self.pool, row)
        cdef PyObject* shared
        try:
            for i in range(self.n_folds):
                if self.folds[i].kind == DISTINCT:
                    shared = <PyObject*> copy.body[self.folds[i].cell]
                    values = set(<object> shared)
                    Py_INCREF(values)
                    copy.body[self.folds[i].cell] = <uint64_t> <PyObject*> values
                    Py_XDECREF(shared)
        except BaseException:
            release(self.pool, copy)
            raise
        return copy

    cdef int merge(self, EventC* row, const EventC* newer) except -1:
        """Merge another row, whose latest event came later."""
        cdef int i
        cdef FoldC* fold
        cdef CellC* cell
        cdef const CellC* other
        cdef bint is_latest = True
        if self.last_cell:
            cell = <CellC*> &row.body[self.last_cell]
            other = <const CellC*> &newer.body[self.last_cell]
            is_latest = other.l >= cell.l
            if is_latest:
                cell.l = other.l
        for i in range(self.n_folds):
            fold = &self.folds[i]
            cell = <CellC*> &row.body[fold.cell]
            other = <const CellC*> &newer.body[fold.cell]
            if fold.kind == COUNT:
                cell.l += other.l
            elif fold.kind == LATEST:
                if is_latest:
                    replace_object(fold, row, newer, fold.cell, fold.word, fold.bit)
            elif fold.kind == DISTINCT:
                (<set> <PyObject*> cell.o).update(<set> <PyObject*> other.o)
            elif fold.kind == DEVIATION:
                spread_all(cell, other)
            elif newer.body[fold.word] & fold.bit:
                pass
            elif row.body[fold.word] & fold.bit:
                row.body[fold.word] &= ~fold.bit
                cell[0] = other[0]
            elif fold.kind == SUM:
                if fold.code >= FLOAT:
                    cell.d += other.d
                else:
                    cell.l += other.l
            elif is_less(other, cell, fold.code) if fold.kind == MINIMUM else is_less(cell, other, fold.code):
                cell[0] = other[0]
        return 0

    cdef EventC* finish(self, EventC* row, int64_t bucket, FrameC* frame) except NULL:
        """Return the result row of a row; the caller owns it. No one else may hold the row, as expressions may run
        Python code."""
        cdef int i
        cdef FinishC* finish
        cdef const CellC* first
        cdef CellC* cell
        cdef EventC* out = acquire(self.answers)
        memset(out.body, 0, 8 * self.answers.layout.words)
        out.timestamp = bucket
        (<CellC*> &out.body[self.answers.layout.words]).l = bucket
        for i in range(self.n_finishes):
            finish = &self.finishes[i]
            first = <const CellC*> &row.body[finish.first_cell]
            cell = <CellC*> &out.body[finish.cell]
            if finish.kind == COMPUTED:
                try:
                    compute(finish.x, finish.code, row, frame, out, finish.cell, finish.word, finish.bit)
                except BaseException:
                    release(self.answers, out)
                    raise
            elif finish.kind == SIZE:
                cell.l = PySet_GET_SIZE(<object> <PyObject*> first.o)
            elif finish.kind == SPREAD:
                # Cells: number of values, mean, sum of squared distances.
                if first.l == 0:
                    out.body[finish.word] |= finish.bit
                else:
                    # Rounding may make the sum slightly negative; NaN stays.
                    cell.d = 0.0 if first[2].d <= 0 else sqrt(first[2].d / first.l)
            elif row.body[finish.first_word] & finish.first_bit:
                out.body[finish.word] |= finish.bit
            elif finish.kind == MEAN:
                cell.d = (first.d if finish.code == DOUBLE else <double> first.l) / \
                    (<const CellC*> &row.body[finish.second_cell]).l
            else:
                cell[0] = first[0]
                if finish.is_object:
                    Py_INCREF(<object> <PyObject*> cell.o)
        return out


cdef int compute(const ExecC* x, int code, EventC* event, FrameC* frame, EventC* out, int cell, int word,
                 uint64_t bit) except -1:
    """Write the value of an expression over an event or a row into a cell of another record."""
    cdef PyObject* value
    cdef int status
    if code == STRING or code == OBJECT:
        status = x.fn(x, event, frame, &value)
        if status != NULL_VALUE:
            Py_INCREF(<object> value)
            out.body[cell] = <uint64_t> value
    elif code == BOOL:
        status = x.fn(x, event, frame, NULL)
        (<CellC*> &out.body[cell]).i = status == TRUE
    else:
        status = x.fn(x, event, frame, &out.body[cell])
    if status == NULL_VALUE:
        out.body[word] |= bit
    return 0


cdef inline double as_double(const CellC* value, int code) noexcept:
    if code == DOUBLE:
        return value.d
    if code == FLOAT:
        return value.f
    return <double> value.i if code == INT else <double> value.l


cdef inline bint is_less(const CellC* a, const CellC* b, int code) noexcept:
    if code == DOUBLE:
        return a.d < b.d
    if code == LONG:
        return a.l < b.l
    if code == INT:
        return a.i < b.i
    return a.f < b.f


cdef inline void spread(CellC* cells, double value) noexcept:
    """Add a value: number, mean, sum of squared distances from the mean (Welford)."""
    cdef double distance = value - cells[1].d
    cells[0].l += 1
    cells[1].d += distance / cells[0].l
    cells[2].d += distance * (value - cells[1].d)


cdef inline void spread_all(CellC* cells, const CellC* other) noexcept:
    """Add many values at once (Chan, Golub and LeVeque)."""
    cdef double distance = other[1].d - cells[1].d
    cdef double n
    if other[0].l == 0:
        return
    n = <double> (cells[0].l + other[0].l)
    cells[2].d += other[2].d + distance * distance * (<double> cells[0].l * <double> other[0].l / n)
    cells[1].d += distance * (other[0].l / n)
    cells[0].l += other[0].l


cdef int put(const FoldC* fold, CellC* cell, const EventC* event) except -1:
    """Add a value to a set."""
    value = cell_to_python(event, fold.source_word, fold.source_bit, fold.source_cell, fold.code)
    if value is not None and fold.code in (DOUBLE, FLOAT) and value != value:
        value = NAN
    PySet_Add(<object> <PyObject*> cell.o, value)
    return 0


cdef inline void replace_object(const FoldC* fold, EventC* row, const EventC* source, int cell, int word,
                         uint64_t bit) noexcept:
    """Overwrite a latest value."""
    cdef PyObject* before
    cdef bint is_null = (source.body[word] & bit) != 0
    if fold.code != STRING and fold.code != OBJECT:
        if is_null:
            row.body[fold.word] |= fold.bit
        else:
            row.body[fold.word] &= ~fold.bit
            row.body[fold.cell] = source.body[cell]
        return
    before = <PyObject*> row.body[fold.cell]
    if is_null:
        row.body[fold.word] |= fold.bit
        row.body[fold.cell] = 0
    else:
        row.body[fold.word] &= ~fold.bit
        row.body[fold.cell] = source.body[cell]
        Py_INCREF(<object> <PyObject*> source.body[cell])
    Py_XDECREF(before)
