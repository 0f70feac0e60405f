"""Batch windows with sums per symbol: every thousand trades, and every second."""
from libc.stdint cimport int32_t, int64_t

import numpy as np

from limits.columns import Output, TableReader
from limits.symbols cimport CAPACITY, SymbolIds


cdef struct Sums:
    double price
    int64_t volume
    int64_t ts                   # of the group's last trade in the batch
    bint seen


cdef class _BatchSum(SymbolIds):
    cdef object callback, batch_callback, reader
    cdef list names              # symbol by id
    cdef Sums[CAPACITY] groups
    cdef int32_t[CAPACITY] order  # ids of the groups in the batch, first seen first
    cdef int32_t seen
    cdef int64_t[::1] out_ts, out_sv
    cdef int32_t[::1] out_symbol
    cdef double[::1] out_sp
    cdef Py_ssize_t out_rows

    def __init__(self, callback=None, batch_callback=None):
        super().__init__()
        self.callback = callback
        self.batch_callback = batch_callback
        self.reader = TableReader(self.ids)
        self.names = []
        for i in range(CAPACITY):
            self.groups[i].seen = False

    cdef inline void add(self, int32_t symbol, double price, int64_t volume, int64_t ts) noexcept:
        cdef Sums* group = &self.groups[symbol]
        if not group.seen:
            group.seen = True
            group.price = 0.0
            group.volume = 0
            self.order[self.seen] = symbol
            self.seen += 1
        group.price += price
        group.volume += volume
        group.ts = ts

    cdef bint due_before(self, int64_t ts) noexcept:
        """Whether the batch ends before a trade of this time."""
        return False

    cdef bint due_after(self) noexcept:
        """Whether the trade just added completes the batch."""
        return False

    cdef int flush(self) except -1:
        cdef int32_t i
        cdef Sums* group
        cdef list events = []
        for i in range(self.seen):
            group = &self.groups[self.order[i]]
            events.append((group.ts, self.names[self.order[i]], group.price, group.volume))
            group.seen = False
        self.seen = 0
        if events:
            self.callback(events)
        return 0

    cdef void flush_columns(self) noexcept:
        cdef int32_t i
        cdef Py_ssize_t at = self.out_rows
        cdef Sums* group
        for i in range(self.seen):
            group = &self.groups[self.order[i]]
            self.out_symbol[at] = self.order[i]
            self.out_ts[at] = group.ts
            self.out_sp[at] = group.price
            self.out_sv[at] = group.volume
            group.seen = False
            at += 1
        self.out_rows = at
        self.seen = 0

    def send(self, tuple row, timestamp):
        cdef int32_t symbol = self.id(row[0])
        cdef int64_t ts = timestamp
        if symbol == len(self.names):
            self.names.append(row[0])
        if self.due_before(ts):
            self.flush()
        self.add(symbol, row[1], row[2], ts)
        if self.due_after():
            self.flush()

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef const int32_t[::1] symbol = reader.codes, ids = reader.mapping()
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] volume = reader.volume, ts = reader.ts
        # an output stands for a trade of this table, or for a group that was held
        cdef Py_ssize_t i, n = price.shape[0], most = n + CAPACITY
        out = np.empty(most, np.int32), np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64)
        self.out_symbol, self.out_sp, self.out_sv, self.out_ts = out
        self.out_rows = 0
        for i in range(n):
            if self.due_before(ts[i]):
                self.flush_columns()
            self.add(ids[symbol[i]], price[i], volume[i], ts[i])
            if self.due_after():
                self.flush_columns()
        cdef Py_ssize_t rows = self.out_rows
        if rows:
            self.batch_callback(Output(out[3][:rows], {"symbol": out[0][:rows], "sp": out[1][:rows],
                                                       "sv": out[2][:rows]}, {"symbol": reader.names()}))


cdef class LengthBatchSum(_BatchSum):
    """lengthBatch(1000)"""
    cdef int32_t collected

    cdef bint due_after(self) noexcept:
        self.collected += 1
        if self.collected < 1000:
            return False
        self.collected = 0
        return True


cdef class TimeBatchSum(_BatchSum):
    """timeBatch(1 sec), counted from the first trade"""
    cdef int64_t end             # ms; 0 before the first trade

    cdef bint due_before(self, int64_t ts) noexcept:
        if ts < self.end:
            return False
        if self.end == 0:
            self.end = ts + 1000
            return False
        self.end += (ts - self.end) // 1000 * 1000 + 1000
        return True
