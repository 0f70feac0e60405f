"""Filters and projections without an engine: rows in, a list of one tuple per output out; tables in, columns out.

An output tuple is ``(timestamp, value, ...)``. Every class has ``send(row, timestamp)`` and
``send_batch(table, timestamp)``.
"""
from libc.stdint cimport int32_t, int64_t

import numpy as np

from limits.columns import Output, TableReader


cdef class _Stateless:
    cdef object callback, batch_callback, reader

    def __init__(self, callback=None, batch_callback=None):
        self.callback = callback
        self.batch_callback = batch_callback
        self.reader = TableReader()


cdef class Filter(_Stateless):
    """price > 500.0"""

    def send(self, tuple row, timestamp):
        cdef double price = row[1]
        if price > 500.0:
            if self.callback is not None:
                self.callback([(timestamp, row[0], row[1], row[2])])

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef const int32_t[::1] symbol = reader.codes
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] volume = reader.volume, ts = reader.ts
        cdef Py_ssize_t i, kept = 0, n = price.shape[0]
        out = np.empty(n, np.int32), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
        cdef int32_t[::1] out_symbol = out[0]
        cdef double[::1] out_price = out[1]
        cdef int64_t[::1] out_volume = out[2], out_ts = out[3]
        for i in range(n):                       # written always, kept when true: no branch to mispredict
            out_symbol[kept] = symbol[i]
            out_price[kept] = price[i]
            out_volume[kept] = volume[i]
            out_ts[kept] = ts[i]
            kept += price[i] > 500.0
        if kept and self.batch_callback is not None:
            self.batch_callback(Output(out[3][:kept], {"symbol": out[0][:kept], "price": out[1][:kept],
                                                       "volume": out[2][:kept]}, {"symbol": reader.dictionary}))


cdef class Project(_Stateless):
    """symbol, price * volume, price * 1.05 + 2.0, (volume + 10) * 2"""

    def send(self, tuple row, timestamp):
        cdef double price = row[1]
        cdef int64_t volume = row[2]
        self.callback([(timestamp, row[0], price * volume, price * 1.05 + 2.0, (volume + 10) * 2)])

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] volume = reader.volume
        cdef Py_ssize_t i, n = price.shape[0]
        out = np.empty(n), np.empty(n), np.empty(n, np.int64)
        cdef double[::1] turnover = out[0], px = out[1]
        cdef int64_t[::1] v2 = out[2]
        for i in range(n):
            turnover[i] = price[i] * volume[i]
            px[i] = price[i] * 1.05 + 2.0
            v2[i] = (volume[i] + 10) * 2
        self.batch_callback(Output(reader.ts.copy(), {"symbol": reader.codes.copy(), "turnover": out[0], "px": out[1],
                                                      "v2": out[2]}, {"symbol": reader.dictionary}))


cdef class FilterProject(_Stateless):
    """(price > 500.0 and volume < 5000) or symbol == 'S7' -> symbol, price * volume, price / 2.0"""

    def send(self, tuple row, timestamp):
        cdef double price = row[1]
        cdef int64_t volume = row[2]
        if (price > 500.0 and volume < 5000) or <str>row[0] == "S7":
            self.callback([(timestamp, row[0], price * volume, price / 2.0)])

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef int32_t s7 = reader.mapping_position("S7")
        cdef const int32_t[::1] symbol = reader.codes
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] volume = reader.volume, ts = reader.ts
        cdef Py_ssize_t i, kept = 0, n = price.shape[0]
        out = np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n, np.int64)
        cdef int32_t[::1] out_symbol = out[0]
        cdef double[::1] turnover = out[1], half = out[2]
        cdef int64_t[::1] out_ts = out[3]
        for i in range(n):
            out_symbol[kept] = symbol[i]
            turnover[kept] = price[i] * volume[i]
            half[kept] = price[i] / 2.0
            out_ts[kept] = ts[i]
            kept += ((price[i] > 500.0) & (volume[i] < 5000)) | (symbol[i] == s7)
        if kept:
            self.batch_callback(Output(out[3][:kept], {"symbol": out[0][:kept], "turnover": out[1][:kept],
                                                       "half": out[2][:kept]}, {"symbol": reader.dictionary}))


cdef class Chain10(_Stateless):
    """Ten filters in a row, price > 10.0 ... price > 100.0; a row leaves at the first which refuses it."""
    cdef double[10] bounds

    def __init__(self, callback=None, batch_callback=None):
        super().__init__(callback, batch_callback)
        for i in range(10):
            self.bounds[i] = 10.0 * (i + 1)

    cdef inline bint passes(self, double price) noexcept:
        cdef int stage
        for stage in range(10):
            if not price > self.bounds[stage]:
                return False
        return True

    def send(self, tuple row, timestamp):
        if self.passes(row[1]):
            self.callback([(timestamp, row[0], row[1], row[2])])

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef const int32_t[::1] symbol = reader.codes
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] volume = reader.volume, ts = reader.ts
        cdef Py_ssize_t i, kept = 0, n = price.shape[0]
        out = np.empty(n, np.int32), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
        cdef int32_t[::1] out_symbol = out[0]
        cdef double[::1] out_price = out[1]
        cdef int64_t[::1] out_volume = out[2], out_ts = out[3]
        for i in range(n):
            if self.passes(price[i]):
                out_symbol[kept] = symbol[i]
                out_price[kept] = price[i]
                out_volume[kept] = volume[i]
                out_ts[kept] = ts[i]
                kept += 1
        if kept:
            self.batch_callback(Output(out[3][:kept], {"symbol": out[0][:kept], "price": out[1][:kept],
                                                       "volume": out[2][:kept]}, {"symbol": reader.dictionary}))


cdef class Fanout100(_Stateless):
    """A hundred conditions, symbol == 'S0' ... 'S99', all looked at; an output for each that is true."""
    cdef tuple symbols

    def __init__(self, callback=None, batch_callback=None):
        super().__init__(callback, batch_callback)
        self.symbols = tuple(f"S{i}" for i in range(100))

    def send(self, tuple row, timestamp):
        cdef str symbol = row[0]
        cdef str wanted
        for wanted in self.symbols:
            if symbol is wanted or symbol == wanted:
                self.callback([(timestamp, symbol, row[1], row[2])])

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        wanted_codes = np.array([reader.mapping_position(name) for name in self.symbols], np.int32)
        cdef const int32_t[::1] symbol = reader.codes, wanted = wanted_codes
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] volume = reader.volume, ts = reader.ts
        cdef Py_ssize_t i, query, kept = 0, n = price.shape[0]
        out = np.empty(n, np.int32), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
        cdef int32_t[::1] out_symbol = out[0]
        cdef double[::1] out_price = out[1]
        cdef int64_t[::1] out_volume = out[2], out_ts = out[3]
        for i in range(n):                       # the symbols differ, so at most one query keeps a row
            for query in range(100):
                if symbol[i] == wanted[query]:
                    out_symbol[kept] = symbol[i]
                    out_price[kept] = price[i]
                    out_volume[kept] = volume[i]
                    out_ts[kept] = ts[i]
                    kept += 1
        if kept:
            self.batch_callback(Output(out[3][:kept], {"symbol": out[0][:kept], "price": out[1][:kept],
                                                       "volume": out[2][:kept]}, {"symbol": reader.dictionary}))
