"""distinctCount, min, max and stdDev over the last thousand trades."""
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

import numpy as np

from limits.columns import Output, TableReader
from limits.symbols cimport CAPACITY, SymbolIds

cdef enum:
    LENGTH = 1000
    RING = 1024                  # a power of two above LENGTH


cdef struct Extreme:             # the trades that may still become the extreme: a monotonic queue
    double[RING] price
    int64_t[RING] number         # which trade it was
    int64_t first, end


cdef struct Outputs:
    int64_t distinct
    double minimum, maximum, deviation


cdef inline void leave(Extreme* queue, int64_t number) noexcept:
    if queue.first < queue.end and queue.number[queue.first & (RING - 1)] == number:
        queue.first += 1


cdef inline void enter(Extreme* queue, double price, int64_t number) noexcept:
    queue.price[queue.end & (RING - 1)] = price
    queue.number[queue.end & (RING - 1)] = number
    queue.end += 1


cdef class AggFunctions(SymbolIds):
    """length(1000), no group by"""
    cdef object callback, batch_callback, reader
    cdef double[LENGTH] prices
    cdef int32_t[LENGTH] symbols
    cdef int32_t[CAPACITY] occurrences
    cdef Extreme low, high
    cdef int64_t arrived, distinct, held
    cdef double total, mean, squares
    cdef int32_t at

    def __init__(self, callback=None, batch_callback=None):
        super().__init__()
        self.callback = callback
        self.batch_callback = batch_callback
        self.reader = TableReader(self.ids)
        for i in range(CAPACITY):
            self.occurrences[i] = 0
        self.low.first = self.low.end = self.high.first = self.high.end = 0

    cdef inline Outputs step(self, int32_t symbol, double price) noexcept:
        cdef Outputs out
        cdef double before
        cdef int32_t at = self.at
        if self.held == LENGTH:
            self.occurrences[self.symbols[at]] -= 1
            self.distinct -= self.occurrences[self.symbols[at]] == 0
            leave(&self.low, self.arrived - LENGTH)
            leave(&self.high, self.arrived - LENGTH)
            before = self.mean
            self.total -= self.prices[at]
            self.mean = self.total / (LENGTH - 1)
            self.squares -= (self.prices[at] - before) * (self.prices[at] - self.mean)
        else:
            self.held += 1
        self.symbols[at] = symbol
        self.prices[at] = price
        self.at = at + 1 if at < LENGTH - 1 else 0
        self.distinct += self.occurrences[symbol] == 0
        self.occurrences[symbol] += 1
        while self.low.first < self.low.end and self.low.price[(self.low.end - 1) & (RING - 1)] > price:
            self.low.end -= 1
        enter(&self.low, price, self.arrived)
        while self.high.first < self.high.end and self.high.price[(self.high.end - 1) & (RING - 1)] < price:
            self.high.end -= 1
        enter(&self.high, price, self.arrived)
        before = self.mean
        self.total += price
        self.mean = self.total / <double>self.held
        self.squares += (price - before) * (price - self.mean) if self.held > 1 else 0.0
        self.arrived += 1
        out.distinct = self.distinct
        out.minimum = self.low.price[self.low.first & (RING - 1)]
        out.maximum = self.high.price[self.high.first & (RING - 1)]
        out.deviation = sqrt(self.squares / <double>self.held)
        return out

    def send(self, tuple row, timestamp):
        cdef Outputs out = self.step(self.id(row[0]), row[1])
        self.callback([(timestamp, out.distinct, out.minimum, out.maximum, out.deviation)])

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef const int32_t[::1] symbol = reader.codes, ids = reader.mapping()
        cdef const double[::1] price = reader.price
        cdef Py_ssize_t i, n = price.shape[0]
        columns = np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
        cdef int64_t[::1] distinct = columns[0]
        cdef double[::1] minimum = columns[1], maximum = columns[2], deviation = columns[3]
        cdef Outputs out
        for i in range(n):
            out = self.step(ids[symbol[i]], price[i])
            distinct[i] = out.distinct
            minimum[i] = out.minimum
            maximum[i] = out.maximum
            deviation[i] = out.deviation
        self.batch_callback(Output(reader.ts.copy(), dict(zip(("dc", "mn", "mx", "sd"), columns))))
