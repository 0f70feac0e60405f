"""Two windows joined by symbol, and trades joined with a table of factors."""
from libc.stdint cimport int32_t, int64_t

import numpy as np

from limits.columns import Output, TableReader
from limits.symbols cimport CAPACITY, SymbolIds

cdef enum:
    LENGTH = 100
    NONE = -1


cdef struct Side:                # the last LENGTH trades of a stream, chained by symbol, oldest first
    double[LENGTH] price
    int32_t[LENGTH] symbol
    int32_t[LENGTH] later        # next trade of the same symbol
    int32_t[CAPACITY] oldest     # by symbol, NONE without trades
    int32_t[CAPACITY] newest
    int32_t at, held


cdef inline void enter(Side* side, int32_t symbol, double price) noexcept:
    cdef int32_t at = side.at, leaving
    if side.held == LENGTH:
        leaving = side.symbol[at]            # the oldest of all is the oldest of its symbol
        side.oldest[leaving] = side.later[at]
    else:
        side.held += 1
    side.symbol[at] = symbol
    side.price[at] = price
    side.later[at] = NONE
    if side.oldest[symbol] == NONE:
        side.oldest[symbol] = at
    else:
        side.later[side.newest[symbol]] = at
    side.newest[symbol] = at
    side.at = at + 1 if at < LENGTH - 1 else 0


cdef class Join(SymbolIds):
    """Trades#length(100) join Trades2#length(100) on symbol; `send` is Trades, `send_second` Trades2"""
    cdef object callback, batch_callback, readers
    cdef Side left, right

    def __init__(self, callback=None, batch_callback=None):
        super().__init__()
        self.callback = callback
        self.batch_callback = batch_callback
        self.readers = TableReader(self.ids), TableReader(self.ids)
        self.left.at = self.left.held = self.right.at = self.right.held = 0
        for i in range(CAPACITY):
            self.left.oldest[i] = self.right.oldest[i] = NONE

    def send(self, tuple row, timestamp):
        symbol = row[0]
        cdef int32_t key = self.id(symbol), other
        enter(&self.left, key, row[1])
        other = self.right.oldest[key]
        if other == NONE:
            return
        cdef list events = []
        while other != NONE:
            events.append((timestamp, symbol, row[1], self.right.price[other]))
            other = self.right.later[other]
        self.callback(events)

    def send_second(self, tuple row, timestamp):
        symbol = row[0]
        cdef int32_t key = self.id(symbol), other
        enter(&self.right, key, row[1])
        other = self.left.oldest[key]
        if other == NONE:
            return
        cdef list events = []
        while other != NONE:
            events.append((timestamp, symbol, self.left.price[other], row[1]))
            other = self.left.later[other]
        self.callback(events)

    def send_batch(self, table, timestamp):
        self.joined(table, timestamp, False)

    def send_batch_second(self, table, timestamp):
        self.joined(table, timestamp, True)

    cdef joined(self, table, timestamp, bint second):
        reader = self.readers[second]
        reader.read(table, timestamp)
        cdef Side* mine = &self.right if second else &self.left
        cdef Side* others = &self.left if second else &self.right
        cdef const int32_t[::1] symbol = reader.codes, ids = reader.mapping()
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] ts = reader.ts
        cdef Py_ssize_t i, n = price.shape[0], found = 0, room = 2 * n + LENGTH
        out = [np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room), np.empty(room)]
        cdef int64_t[::1] out_ts = out[0]
        cdef int32_t[::1] out_symbol = out[1]
        cdef double[::1] out_mine = out[2], out_other = out[3]
        cdef int32_t key, other
        for i in range(n):
            key = ids[symbol[i]]
            enter(mine, key, price[i])
            if room - found < LENGTH:        # a trade matches at most the other window
                room *= 2
                out = [np.concatenate((column, np.empty_like(column))) for column in out]
                out_ts, out_symbol, out_mine, out_other = out
            other = others.oldest[key]
            while other != NONE:
                out_ts[found] = ts[i]
                out_symbol[found] = key
                out_mine[found] = price[i]
                out_other[found] = others.price[other]
                found += 1
                other = others.later[other]
        if found:
            pa, pb = (out[3], out[2]) if second else (out[2], out[3])
            self.batch_callback(Output(out[0][:found], {"symbol": out[1][:found], "pa": pa[:found], "pb": pb[:found]},
                                       {"symbol": reader.names()}))


cdef class TableJoin(SymbolIds):
    """Trades join RefT on the primary key symbol -> symbol, price * factor"""
    cdef object callback, batch_callback, reader
    cdef double[CAPACITY] factors
    cdef bint[CAPACITY] known

    def __init__(self, callback=None, batch_callback=None):
        super().__init__()
        self.callback = callback
        self.batch_callback = batch_callback
        self.reader = TableReader(self.ids)
        for i in range(CAPACITY):
            self.known[i] = False

    def preload(self, symbol, double factor):
        cdef int32_t key = self.id(symbol)
        self.factors[key] = factor
        self.known[key] = True

    def send(self, tuple row, timestamp):
        cdef int32_t key = self.id(row[0])
        cdef double price = row[1]
        if self.known[key]:
            self.callback([(timestamp, row[0], price * self.factors[key])])

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef const int32_t[::1] symbol = reader.codes, ids = reader.mapping()
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] ts = reader.ts
        cdef Py_ssize_t i, n = price.shape[0], found = 0
        out = np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n)
        cdef int64_t[::1] out_ts = out[0]
        cdef int32_t[::1] out_symbol = out[1]
        cdef double[::1] adjusted = out[2]
        cdef int32_t key
        for i in range(n):
            key = ids[symbol[i]]
            if self.known[key]:
                out_ts[found] = ts[i]
                out_symbol[found] = symbol[i]
                adjusted[found] = price[i] * self.factors[key]
                found += 1
        if found:
            self.batch_callback(Output(out[0][:found], {"symbol": out[1][:found], "adj": out[2][:found]},
                                       {"symbol": reader.dictionary}))
