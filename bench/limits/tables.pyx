"""What is written and read later: a table keyed by symbol, and sums by second, minute and hour."""
from libc.stdint cimport int32_t, int64_t

from limits.columns import TableReader
from limits.symbols cimport CAPACITY, SymbolIds


cdef struct Trade:
    double price
    int64_t volume
    bint written


cdef class TableUpsert(SymbolIds):
    """The last price and volume of every symbol"""
    cdef object reader
    cdef Trade[CAPACITY] trades

    def __init__(self, callback=None, batch_callback=None):
        super().__init__()
        self.reader = TableReader(self.ids)
        for i in range(CAPACITY):
            self.trades[i].written = False

    def send(self, tuple row, timestamp):
        cdef Trade* trade = &self.trades[self.id(row[0])]
        trade.price = row[1]
        trade.volume = row[2]
        trade.written = True

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef const int32_t[::1] symbol = reader.codes, ids = reader.mapping()
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] volume = reader.volume
        cdef Trade* trade
        cdef Py_ssize_t i
        for i in range(price.shape[0]):
            trade = &self.trades[ids[symbol[i]]]
            trade.price = price[i]
            trade.volume = volume[i]
            trade.written = True

    def rows(self):
        """(symbol, price, volume) by symbol"""
        cdef list rows = []
        for symbol, key in self.ids.items():
            if self.trades[key].written:
                rows.append((symbol, self.trades[key].price, self.trades[key].volume))
        return sorted(rows)


cdef struct Sums:
    double total
    int64_t count


cdef enum:
    LEVELS = 3


cdef class Aggregation(SymbolIds):
    """sum and avg of price by symbol every sec ... hour of ts

    The present second is summed; when it ends it is filed and added to the present minute, and so on upwards.
    """
    cdef object reader
    cdef Sums[LEVELS][CAPACITY] running
    cdef int64_t[LEVELS] bucket  # start of the present bucket, ms
    cdef int64_t[LEVELS] length  # ms
    cdef int64_t end             # of the present second, ms; 0 before the first trade
    cdef list filed              # by level: {(bucket, symbol id): (total, count)}

    def __init__(self, callback=None, batch_callback=None):
        super().__init__()
        self.reader = TableReader(self.ids)
        self.filed = [{}, {}, {}]
        self.length[0], self.length[1], self.length[2] = 1000, 60_000, 3_600_000
        for level in range(LEVELS):
            self.bucket[level] = 0
            for i in range(CAPACITY):
                self.running[level][i] = Sums(0.0, 0)

    cdef inline int step(self, int32_t symbol, double price, int64_t ts) except -1:
        if ts >= self.end:
            self.roll(0, ts)
        elif ts < self.bucket[0]:
            raise ValueError("this loop takes trades in the order of ts")
        self.running[0][symbol].total += price
        self.running[0][symbol].count += 1
        return 0

    cdef int roll(self, int level, int64_t ts) except -1:
        """Close the present bucket of a level; `ts` lies behind it."""
        self.spill(level)
        if level + 1 < LEVELS and ts >= self.bucket[level + 1] + self.length[level + 1]:
            self.roll(level + 1, ts)
        self.bucket[level] = ts - ts % self.length[level]
        if level == 0:
            self.end = self.bucket[0] + self.length[0]
        return 0

    cdef int spill(self, int level) except -1:
        cdef Sums* sums
        cdef int32_t key
        for key in range(<int32_t>len(self.ids)):
            sums = &self.running[level][key]
            if sums.count:
                self.filed[level][self.bucket[level], key] = (sums.total, sums.count)
                if level + 1 < LEVELS:
                    self.running[level + 1][key].total += sums.total
                    self.running[level + 1][key].count += sums.count
                sums.total = 0.0
                sums.count = 0
        return 0

    def send(self, tuple row, timestamp):
        self.step(self.id(row[0]), row[1], row[3])

    def send_batch(self, table, timestamp):
        reader = self.reader
        reader.read(table, timestamp)
        cdef const int32_t[::1] symbol = reader.codes, ids = reader.mapping()
        cdef const double[::1] price = reader.price
        cdef const int64_t[::1] ts = reader.ts
        cdef Py_ssize_t i
        for i in range(price.shape[0]):
            self.step(ids[symbol[i]], price[i], ts[i])

    def rows(self):
        """(hour, symbol, total, average) by symbol: the filed hours, and what runs in all levels"""
        hours = {key: list(sums) for key, sums in self.filed[LEVELS - 1].items()}
        for level in range(LEVELS):
            for symbol in range(len(self.ids)):
                sums = self.running[level][symbol]
                if sums.count:
                    merged = hours.setdefault((self.bucket[LEVELS - 1], symbol), [0.0, 0])
                    merged[0] += sums.total
                    merged[1] += sums.count
        names = self.reader.names()
        rows = [(hour, names[symbol], total, total / count) for (hour, symbol), (total, count) in hours.items()]
        return sorted(rows, key=lambda row: row[1])
