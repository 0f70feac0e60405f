"""Symbols as small integers, for the loops that keep something per symbol."""


cdef class SymbolIds:
    def __init__(self):
        self.ids = {}

    cdef int id(self, symbol) except -1:
        found = self.ids.get(symbol)
        if found is None:
            found = len(self.ids)
            if found >= CAPACITY:
                raise ValueError(f"these loops hold at most {CAPACITY} symbols")
            self.ids[symbol] = found
        return found
