cdef enum:
    CAPACITY = 1024          # most different symbols a loop can hold; columns.py says the same


cdef class SymbolIds:        # symbol -> small integer, in the order in which symbols are first met
    cdef public dict ids
    cdef int id(self, symbol) except -1
