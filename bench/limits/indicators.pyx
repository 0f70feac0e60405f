"""Indicators, order statistics and windows of one event by key, as loops over columns; see bench/indicators.py."""
from libc.stdint cimport int64_t
from libc.string cimport memmove

import numpy as np

cdef enum:
    MOST = 4096                  # values of a window, keys


cdef class Copy:
    def run(self, const int64_t[::1] keys, const double[::1] values):
        cdef Py_ssize_t i, n = values.shape[0]
        out = np.empty(n)
        cdef double[::1] results = out
        for i in range(n):
            results[i] = values[i]
        return out


cdef class Ema:
    cdef double average
    cdef bint has_value

    def run(self, const int64_t[::1] keys, const double[::1] values, double factor):
        cdef Py_ssize_t i, n = values.shape[0]
        out = np.empty(n)
        cdef double[::1] results = out
        for i in range(n):
            if self.has_value:
                self.average += (values[i] - self.average) * factor
            else:
                self.average = values[i]
                self.has_value = True
            results[i] = self.average
        return out


cdef class Sma:
    cdef double[MOST] ring
    cdef double total
    cdef Py_ssize_t at, held

    def run(self, const int64_t[::1] keys, const double[::1] values, Py_ssize_t length):
        cdef Py_ssize_t i, n = values.shape[0]
        out = np.empty(n)
        cdef double[::1] results = out
        for i in range(n):
            if self.held == length:
                self.total -= self.ring[self.at]
            else:
                self.held += 1
            self.ring[self.at] = values[i]
            self.total += values[i]
            self.at = self.at + 1 if self.at + 1 < length else 0
            results[i] = self.total / length
        return out


cdef class Rsi:
    cdef double gain, loss, last
    cdef int64_t count

    def run(self, const int64_t[::1] keys, const double[::1] values, double length):
        cdef Py_ssize_t i, n = values.shape[0]
        cdef double change
        out = np.empty(n)
        cdef double[::1] results = out
        for i in range(n):
            change = values[i] - self.last
            self.last = values[i]
            self.gain += ((change if change > 0 else 0.0) - self.gain) / length
            self.loss += ((-change if change < 0 else 0.0) - self.loss) / length
            results[i] = 100.0 * self.gain / (self.gain + self.loss)
        return out


cdef class Median:
    cdef double[MOST] ring
    cdef double[MOST] ordered
    cdef Py_ssize_t at, held

    cdef Py_ssize_t place(self, double value) noexcept:
        cdef Py_ssize_t low = 0, high = self.held, middle
        while low < high:
            middle = (low + high) // 2
            if self.ordered[middle] < value:
                low = middle + 1
            else:
                high = middle
        return low

    def run(self, const int64_t[::1] keys, const double[::1] values, Py_ssize_t length):
        cdef Py_ssize_t i, at, n = values.shape[0]
        out = np.empty(n)
        cdef double[::1] results = out
        for i in range(n):
            if self.held == length:
                at = self.place(self.ring[self.at])
                self.held -= 1
                memmove(&self.ordered[at], &self.ordered[at + 1], (self.held - at) * sizeof(double))
            at = self.place(values[i])
            memmove(&self.ordered[at + 1], &self.ordered[at], (self.held - at) * sizeof(double))
            self.ordered[at] = values[i]
            self.held += 1
            self.ring[self.at] = values[i]
            self.at = self.at + 1 if self.at + 1 < length else 0
            results[i] = (self.ordered[(self.held - 1) // 2] + self.ordered[self.held // 2]) / 2
        return out


cdef class First:
    cdef double[MOST] ring
    cdef Py_ssize_t at, held

    def run(self, const int64_t[::1] keys, const double[::1] values, Py_ssize_t length):
        cdef Py_ssize_t i, n = values.shape[0]
        out = np.empty(n)
        cdef double[::1] results = out
        for i in range(n):
            self.ring[self.at] = values[i]
            self.at = self.at + 1 if self.at + 1 < length else 0
            if self.held < length:
                self.held += 1
            results[i] = self.ring[self.at if self.held == length else 0]
        return out


cdef class UniqueSum:
    """The sum over the latest value of each key, or of the last keys, or of a time: events are 1 ms apart."""
    cdef double[MOST] kept
    cdef int64_t[MOST] time
    cdef int64_t[MOST] before
    cdef int64_t[MOST] after
    cdef bint[MOST] held
    cdef int64_t oldest, latest, now
    cdef Py_ssize_t size
    cdef double total

    def __init__(self):
        self.oldest = self.latest = -1

    cdef void remove(self, int64_t key) noexcept:
        if self.before[key] < 0:
            self.oldest = self.after[key]
        else:
            self.after[self.before[key]] = self.after[key]
        if self.after[key] < 0:
            self.latest = self.before[key]
        else:
            self.before[self.after[key]] = self.before[key]
        self.held[key] = False
        self.total -= self.kept[key]
        self.size -= 1

    def run(self, const int64_t[::1] keys, const double[::1] values, str kind, Py_ssize_t number):
        cdef Py_ssize_t i, n = values.shape[0]
        cdef int64_t key
        cdef bint by_length = kind == "length", by_time = kind == "time"
        out = np.empty(n)
        cdef double[::1] results = out
        for i in range(n):
            key = keys[i]
            self.now += 1
            if by_time:
                while self.oldest >= 0 and self.time[self.oldest] + number <= self.now:
                    self.remove(self.oldest)
            if self.held[key]:
                self.remove(key)
            elif by_length and self.size == number:
                self.remove(self.oldest)
            self.before[key] = self.latest
            self.after[key] = -1
            if self.latest < 0:
                self.oldest = key
            else:
                self.after[self.latest] = key
            self.latest = key
            self.held[key] = True
            self.time[key] = self.now
            self.kept[key] = values[i]
            self.total += values[i]
            self.size += 1
            results[i] = self.total
        return out
