"""Pattern, sequence and counting pattern: partial matches in plain arrays."""
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t, int64_t

import numpy as np

from limits.columns import Output, TableReader
from limits.symbols cimport CAPACITY, SymbolIds


cdef class _Matcher(SymbolIds):
    """Matches of a table are noted as (row, values) and become columns at its end."""
    cdef object callback, batch_callback, reader
    cdef double* values          # `width` a match; owned
    cdef int32_t* symbols        # one a match; owned
    cdef int32_t* rows           # the completing row of each match; owned
    cdef Py_ssize_t matches, room
    cdef int width
    names = ()                   # of the values

    def __cinit__(self, *arguments):
        self.width = len(self.names)
        self.room = 0
        self.more_room()

    def __init__(self, callback=None, batch_callback=None):
        super().__init__()
        self.callback = callback
        self.batch_callback = batch_callback
        self.reader = TableReader(self.ids)

    def __dealloc__(self):
        PyMem_Free(self.values)
        PyMem_Free(self.symbols)
        PyMem_Free(self.rows)

    cdef int more_room(self) except -1:
        self.room = 2 * self.room or 1024
        self.values = <double*>PyMem_Realloc(self.values, self.room * self.width * sizeof(double))
        self.symbols = <int32_t*>PyMem_Realloc(self.symbols, self.room * sizeof(int32_t))
        self.rows = <int32_t*>PyMem_Realloc(self.rows, self.room * sizeof(int32_t))
        if self.values is NULL or self.symbols is NULL or self.rows is NULL:
            raise MemoryError()
        return 0

    cdef inline double* match(self, int32_t row, int32_t symbol) except NULL:
        """Where the values of a new match go."""
        if self.matches == self.room:
            self.more_room()
        self.rows[self.matches] = row
        self.symbols[self.matches] = symbol
        self.matches += 1
        return &self.values[(self.matches - 1) * self.width]

    cdef int step(self, int32_t row, int32_t symbol, double price, int64_t ts) except -1:
        """Advance by one trade; noted matches are in `matches`."""
        raise TypeError("a matcher says how it steps")

    cdef int emit(self, tuple row, timestamp) except -1:
        """Call back with the matches of one single trade."""
        cdef Py_ssize_t m, v
        cdef list events = []
        for m in range(self.matches):
            events.append((timestamp, *[self.values[m * self.width + v] for v in range(self.width)]))
        self.callback(events)
        return 0

    def send(self, tuple row, timestamp):
        self.matches = 0
        self.step(0, self.id(row[0]), row[1], timestamp)
        if self.matches:
            self.emit(row, timestamp)

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef const int32_t[::1] symbol = reader.codes, ids = reader.mapping()
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] ts = reader.ts
        cdef Py_ssize_t i
        self.matches = 0
        for i in range(price.shape[0]):
            self.step(i, ids[symbol[i]], price[i], ts[i])
        cdef Py_ssize_t n = self.matches
        if n:
            values = np.asarray(<double[:n, :self.width]>self.values).T.copy()
            rows = np.asarray(<int32_t[:n]>self.rows)
            columns = dict(zip(self.names, values))
            self.batch_callback(self.output(reader.ts[rows], np.asarray(<int32_t[:n]>self.symbols).copy(), columns))

    def output(self, timestamps, symbols, columns):
        return Output(timestamps, columns)


cdef struct Start:               # a first event waiting for its second
    double price
    int64_t ts


cdef struct Waiting:             # the starts of one symbol, oldest first
    Start* starts                # owned
    int32_t count
    int32_t room


cdef class Pattern(_Matcher):
    """every e1[price > 990.0] -> e2[symbol == e1.symbol and price < e1.price * 0.5] within 1 sec"""
    cdef Waiting[CAPACITY] waiting
    names = ("p1", "p2")

    def __dealloc__(self):
        for i in range(CAPACITY):
            PyMem_Free(self.waiting[i].starts)

    cdef int step(self, int32_t row, int32_t symbol, double price, int64_t ts) except -1:
        cdef Waiting* waiting = &self.waiting[symbol]
        cdef Start* start
        cdef double* match
        cdef int32_t i, kept = 0
        for i in range(waiting.count):
            start = &waiting.starts[i]
            if ts - start.ts > 1000:
                continue
            if price < start.price * 0.5:
                match = self.match(row, symbol)
                match[0] = start.price
                match[1] = price
            else:
                waiting.starts[kept] = start[0]
                kept += 1
        waiting.count = kept
        if price > 990.0:
            if kept == waiting.room:
                waiting.room = 2 * waiting.room or 16
                waiting.starts = <Start*>PyMem_Realloc(waiting.starts, waiting.room * sizeof(Start))
                if waiting.starts is NULL:
                    raise MemoryError()
            waiting.starts[kept].price = price
            waiting.starts[kept].ts = ts
            waiting.count += 1
        return 0

    cdef int emit(self, tuple row, timestamp) except -1:
        cdef Py_ssize_t m
        cdef list events = []
        for m in range(self.matches):
            events.append((timestamp, row[0], self.values[2 * m], self.values[2 * m + 1]))
        self.callback(events)
        return 0

    def output(self, timestamps, symbols, columns):
        return Output(timestamps, {"symbol": symbols, **columns}, {"symbol": self.reader.names()})


cdef class Sequence(_Matcher):
    """every e1[price > 500.0], e2[price > e1.price], e3[price > e2.price]"""
    cdef double first            # of the pair ending with the previous trade; second < 0 when there is none
    cdef double second
    cdef double lone             # the previous trade if it may start a sequence, else infinity
    names = ("p1", "p2", "p3")

    def __init__(self, callback=None, batch_callback=None):
        super().__init__(callback, batch_callback)
        self.first = self.second = self.lone = float("inf")

    cdef int step(self, int32_t row, int32_t symbol, double price, int64_t ts) except -1:
        cdef double* match
        if price > self.second:
            match = self.match(row, symbol)
            match[0] = self.first
            match[1] = self.second
            match[2] = price
        if price > self.lone:
            self.first = self.lone
            self.second = price
        else:
            self.second = float("inf")
        self.lone = price if price > 500.0 else float("inf")
        return 0

    def send(self, tuple row, timestamp):    # needs no symbol
        self.matches = 0
        self.step(0, 0, row[1], 0)
        if self.matches:
            self.emit(row, timestamp)


cdef struct Collection:          # high prices waiting for a low one
    double[5] prices
    int32_t count
    int64_t ts                   # of the first


cdef class CountPattern(_Matcher):
    """every e1[price > 950.0]<2:5> -> e2[price < 50.0] within 1 sec

    A collection starts as soon as the one before it holds two. Collections are kept oldest first, so those which may
    still grow are the last ones.
    """
    cdef Collection* open        # owned
    cdef Py_ssize_t count, space
    names = ("p0", "p1", "pl", "pe")

    def __cinit__(self, *arguments):
        self.space = 64
        self.open = <Collection*>PyMem_Malloc(self.space * sizeof(Collection))
        if self.open is NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.open)

    cdef int step(self, int32_t row, int32_t symbol, double price, int64_t ts) except -1:
        if price > 950.0:
            self.forget(ts)
            self.collect(price, ts)
        elif price < 50.0:
            self.forget(ts)
            self.complete(row, symbol, price)
        return 0

    cdef void forget(self, int64_t ts) noexcept:
        """Drop the collections whose first price is more than a second old."""
        cdef Py_ssize_t i, late = 0
        while late < self.count and ts - self.open[late].ts > 1000:
            late += 1
        if late:
            for i in range(late, self.count):
                self.open[i - late] = self.open[i]
            self.count -= late

    cdef int collect(self, double price, int64_t ts) except -1:
        cdef Py_ssize_t i = self.count
        cdef Collection* one
        cdef bint start = True               # no collection with a single price is waiting for this one
        while i > 0 and self.open[i - 1].count < 5:
            i -= 1
            one = &self.open[i]
            start = start and one.count != 1
            one.prices[one.count] = price
            one.count += 1
        if start:
            if self.count == self.space:
                self.space *= 2
                self.open = <Collection*>PyMem_Realloc(self.open, self.space * sizeof(Collection))
                if self.open is NULL:
                    raise MemoryError()
            one = &self.open[self.count]
            one.prices[0] = price
            one.count = 1
            one.ts = ts
            self.count += 1
        return 0

    cdef int complete(self, int32_t row, int32_t symbol, double price) except -1:
        cdef Py_ssize_t i
        cdef Collection* one
        cdef double* match
        for i in range(self.count):
            one = &self.open[i]
            if one.count < 2:                # the last one, still too short: it stays
                self.open[0] = one[0]
                self.count = 1
                return 0
            match = self.match(row, symbol)
            match[0] = one.prices[0]
            match[1] = one.prices[1]
            match[2] = one.prices[one.count - 1]
            match[3] = price
        self.count = 0
        return 0

    def send(self, tuple row, timestamp):    # needs no symbol
        self.matches = 0
        self.step(0, 0, row[1], timestamp)
        if self.matches:
            self.emit(row, timestamp)
