"""Sliding windows with an average per symbol: length, time, external time, and one length window per symbol."""
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, int64_t

import numpy as np

from limits.columns import Output, TableReader
from limits.symbols cimport CAPACITY, SymbolIds


cdef struct Average:
    double sum
    int64_t count


cdef inline double added(Average* group, double value) noexcept:
    group.sum += value
    group.count += 1
    return group.sum / <double>group.count


cdef inline void removed(Average* group, double value) noexcept:
    group.count -= 1
    group.sum = group.sum - value if group.count else 0.0


cdef class _PerSymbol(SymbolIds):
    cdef object callback, batch_callback, reader
    cdef Average[CAPACITY] groups

    def __init__(self, callback=None, batch_callback=None):
        super().__init__()
        self.callback = callback
        self.batch_callback = batch_callback
        self.reader = TableReader(self.ids)
        for i in range(CAPACITY):
            self.groups[i] = Average(0.0, 0)

    cdef double step(self, int32_t symbol, double price, int64_t ts) except? -1.0:
        """The symbol's average after this trade entered and others left the window."""
        raise TypeError("a window says how it steps")

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        averages = np.empty(len(table))
        cdef const int32_t[::1] symbol = reader.codes, ids = reader.mapping()
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] ts = reader.ts
        cdef double[::1] average = averages
        cdef Py_ssize_t i
        for i in range(price.shape[0]):
            average[i] = self.step(ids[symbol[i]], price[i], ts[i])
        self.batch_callback(Output(reader.ts.copy(), {"symbol": reader.codes.copy(), "ap": averages},
                                   {"symbol": reader.dictionary}))


cdef struct Held:
    double price
    int64_t ts
    int32_t symbol


cdef class LengthAvg(_PerSymbol):
    """length(1000), group by symbol"""
    cdef Held[1000] ring
    cdef int at, held

    cdef double step(self, int32_t symbol, double price, int64_t ts) except? -1.0:
        cdef Held* oldest = &self.ring[self.at]
        if self.held == 1000:
            removed(&self.groups[oldest.symbol], oldest.price)
        else:
            self.held += 1
        oldest.symbol = symbol
        oldest.price = price
        self.at = self.at + 1 if self.at < 999 else 0
        return added(&self.groups[symbol], price)

    def send(self, tuple row, timestamp):
        symbol = row[0]
        self.callback([(timestamp, symbol, self.step(self.id(symbol), row[1], 0))])


cdef class TimeAvg(_PerSymbol):
    """time(1 sec), group by symbol: held trades leave when they are one second old"""
    cdef Held* ring              # a power of two long; owned
    cdef Py_ssize_t first, held, mask

    def __cinit__(self, *arguments):
        self.mask = 1023
        self.ring = <Held*>PyMem_Malloc(1024 * sizeof(Held))
        if self.ring is NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.ring)

    cdef int grow(self) except -1:
        cdef Py_ssize_t size = self.mask + 1, i
        cdef Held* larger = <Held*>PyMem_Realloc(self.ring, 2 * size * sizeof(Held))
        if larger is NULL:
            raise MemoryError()
        self.ring = larger
        for i in range(self.first):              # what had wrapped around moves behind the old end
            larger[size + i] = larger[i]
        self.mask = 2 * size - 1
        return 0

    cdef double step(self, int32_t symbol, double price, int64_t ts) except? -1.0:
        cdef Held* oldest = &self.ring[self.first]
        cdef Held* newest
        while self.held and oldest.ts + 1000 <= ts:
            removed(&self.groups[oldest.symbol], oldest.price)
            self.first = (self.first + 1) & self.mask
            self.held -= 1
            oldest = &self.ring[self.first]
        if self.held > self.mask:
            self.grow()
        newest = &self.ring[(self.first + self.held) & self.mask]
        newest.symbol = symbol
        newest.price = price
        newest.ts = ts
        self.held += 1
        return added(&self.groups[symbol], price)

    def send(self, tuple row, timestamp):
        symbol = row[0]
        self.callback([(timestamp, symbol, self.step(self.id(symbol), row[1], timestamp))])


cdef class ExternalTimeAvg(TimeAvg):
    """externalTime(ts, 1 sec): the same by the attribute ts"""

    def send(self, tuple row, timestamp):
        symbol = row[0]
        self.callback([(timestamp, symbol, self.step(self.id(symbol), row[1], row[3]))])


cdef struct Ring:
    double[100] prices
    int32_t at
    int32_t held


cdef class PartitionLengthAvg(_PerSymbol):
    """A length(100) of its own for every symbol"""
    cdef Ring* rings             # CAPACITY of them; owned

    def __cinit__(self, *arguments):
        self.rings = <Ring*>PyMem_Malloc(CAPACITY * sizeof(Ring))
        if self.rings is NULL:
            raise MemoryError()
        for i in range(CAPACITY):
            self.rings[i].at = self.rings[i].held = 0

    def __dealloc__(self):
        PyMem_Free(self.rings)

    cdef double step(self, int32_t symbol, double price, int64_t ts) except? -1.0:
        cdef Ring* ring = &self.rings[symbol]
        if ring.held == 100:
            removed(&self.groups[symbol], ring.prices[ring.at])
        else:
            ring.held += 1
        ring.prices[ring.at] = price
        ring.at = ring.at + 1 if ring.at < 99 else 0
        return added(&self.groups[symbol], price)

    def send(self, tuple row, timestamp):
        symbol = row[0]
        self.callback([(timestamp, symbol, self.step(self.id(symbol), row[1], 0))])
