"""Indicators of technical analysis, and ema: aggregators over all values since the last reset.

Each takes an event in constant time: sums over the last values are compensated (Neumaier), so that they do not drift,
and a variance is computed anew where it has fallen by more than its rounding error allows. Expired events are left
out, since an indicator has a number of values, not a window. So are values that are null, NaN or infinite. While there
are too few values, the result is null.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.math cimport fabs, isfinite, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

from siddhi._core.aggregate.aggregator cimport Aggregator, found
from siddhi._core.expression.arithmetic import make_widen
from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.record.event cimport BOOL, CURRENT, DOUBLE, EventC
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, TRUE, VALUE, FrameC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef enum:
    MOST_INPUTS = 3
    N_NUMBERS = 10
    FIRST_CAPACITY = 16
    FORMAT = 1                     # of a state in snapshots

cdef double LOST = 1e6             # a variance that has fallen by this factor has lost 12 of its 32 digits, squared

cdef struct TechnicalC:
    double* ring                   # [capacity * lanes] last values, owned; NULL while empty
    int64_t count                  # of values added since the last reset
    int32_t capacity               # of the ring, in values
    int32_t at                     # where the ring takes the next value
    bint ready                     # there is a result
    double result
    double[N_NUMBERS] numbers      # of the indicator

cdef struct RollingSumC:                  # two of the numbers
    double total
    double lost                    # what rounding took from it

ctypedef void (*step_fn)(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept


# --- sums over the last values

cdef inline void add_to(RollingSumC* total, double value) noexcept:
    cdef double larger = total.total + value
    if fabs(total.total) >= fabs(value):
        total.lost += (total.total - larger) + value
    else:
        total.lost += (value - larger) + total.total
    total.total = larger


cdef inline double sum_of(const RollingSumC* total) noexcept:
    return total.total + total.lost


cdef inline bint push(TechnicalAggregator self, TechnicalC* state, int lane, double value, double* oldest) noexcept:
    """Keep a value in a lane of the ring, which :func:`advance` moves on; return whether `oldest` leaves for it."""
    cdef double* place = &state.ring[state.at * self.lanes + lane]
    cdef bint full = state.count >= self.period
    if full:
        oldest[0] = place[0]
    place[0] = value
    return full


cdef inline void advance(TechnicalAggregator self, TechnicalC* state) noexcept:
    state.at = state.at + 1 if state.at + 1 < self.period else 0


cdef inline void show(TechnicalC* state, double value) noexcept:
    state.result = value
    state.ready = True


# --- averages

cdef void sma(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    cdef RollingSumC* total = <RollingSumC*> state.numbers
    cdef double oldest
    if push(self, state, 0, values[0], &oldest):
        add_to(total, -oldest)
    add_to(total, values[0])
    advance(self, state)
    if state.count + 1 >= self.period:
        show(state, sum_of(total) / self.period)


cdef void wma(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    """The last value has the weight n, the first 1. Each step lowers every weight by 1: subtract the sum."""
    cdef RollingSumC* total = <RollingSumC*> state.numbers
    cdef RollingSumC* weighted = <RollingSumC*> &state.numbers[2]
    cdef double oldest
    cdef bint full = push(self, state, 0, values[0], &oldest)
    if full:
        add_to(weighted, -total.total)
        add_to(weighted, -total.lost)
        add_to(total, -oldest)
    add_to(total, values[0])
    add_to(weighted, values[0] * <double> (self.period if full else state.count + 1))
    advance(self, state)
    if state.count + 1 >= self.period:
        show(state, sum_of(weighted) / (0.5 * self.period * (self.period + 1.0)))


cdef inline double averaged(double* average, int64_t count, int32_t period, double value) noexcept:
    """Add a value, of which there were `count` before, to an average that begins as the mean of the first ones."""
    if count < period:
        average[0] += value
        if count + 1 == period:
            average[0] /= period
    else:
        average[0] += (value - average[0]) * (2.0 / (period + 1))
    return average[0]


cdef void ema(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    cdef double average = averaged(&state.numbers[0], state.count, self.period, values[0])
    if state.count + 1 >= self.period:
        show(state, average)


cdef void ema_at_once(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    """The first value starts the average."""
    if state.count == 0:
        state.numbers[0] = values[0]
    else:
        state.numbers[0] += (values[0] - state.numbers[0]) * (2.0 / (self.period + 1))
    show(state, state.numbers[0])


# --- MACD: 0: fast average, 1: slow average, 2: signal

cdef inline bint macd_step(TechnicalAggregator self, TechnicalC* state, double value, double* line) noexcept:
    """Both averages begin with the same value: the fast one skips the first ones."""
    cdef int32_t skipped = self.slow - self.period
    cdef double fast = 0.0, slow = averaged(&state.numbers[1], state.count, self.slow, value)
    if state.count >= skipped:
        fast = averaged(&state.numbers[0], state.count - skipped, self.period, value)
    line[0] = fast - slow
    return state.count + 1 >= self.slow


cdef void macd(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    cdef double line
    if macd_step(self, state, values[0], &line):
        show(state, line)


cdef inline bint signal_step(TechnicalAggregator self, TechnicalC* state, double value, double* line,
                             double* signal) noexcept:
    cdef int64_t lines = state.count + 1 - self.slow       # before this one
    if not macd_step(self, state, value, line):
        return False
    signal[0] = averaged(&state.numbers[2], lines, self.signal, line[0])
    return lines + 1 >= self.signal


cdef void macd_signal(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    cdef double line, signal
    if signal_step(self, state, values[0], &line, &signal):
        show(state, signal)


cdef void macd_histogram(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    cdef double line, signal
    if signal_step(self, state, values[0], &line, &signal):
        show(state, line - signal)


# --- deviations: 0: mean, 1: sum of squared distances, 2: its greatest value since it was computed, 3: how often the
# last value was repeated, 4: last value

cdef void compute_deviation(TechnicalC* state, int32_t n) noexcept:
    cdef double mean = 0.0, squares = 0.0
    cdef int32_t i
    for i in range(n):
        mean += state.ring[i]
    mean /= n
    for i in range(n):
        squares += (state.ring[i] - mean) * (state.ring[i] - mean)
    state.numbers[0] = mean
    state.numbers[1] = state.numbers[2] = squares


cdef inline bint deviation_step(TechnicalAggregator self, TechnicalC* state, double value) noexcept:
    """Add a value; return whether there are enough."""
    cdef double oldest, before = state.numbers[0], mean
    cdef int32_t n
    state.numbers[3] = state.numbers[3] + 1 if state.count and state.numbers[4] == value else 1
    state.numbers[4] = value
    if push(self, state, 0, value, &oldest):
        mean = before + (value - oldest) / self.period
        state.numbers[1] += (value - oldest) * ((value - mean) + (oldest - before))
        n = self.period
    else:
        n = <int32_t> state.count + 1
        mean = before + (value - before) / n
        state.numbers[1] += (value - before) * (value - mean)
    state.numbers[0] = mean
    advance(self, state)
    if state.numbers[3] >= n:
        state.numbers[0] = value
        state.numbers[1] = state.numbers[2] = 0.0
    elif state.at == 0 or state.numbers[1] * LOST < state.numbers[2]:
        compute_deviation(state, n)
    elif state.numbers[1] > state.numbers[2]:
        state.numbers[2] = state.numbers[1]
    return n == self.period


cdef inline double deviation_of(TechnicalAggregator self, const TechnicalC* state) noexcept:
    return sqrt(state.numbers[1] / self.period) if state.numbers[1] > 0.0 else 0.0


cdef void deviation(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    if deviation_step(self, state, values[0]):
        show(state, deviation_of(self, state))


cdef void band(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    if deviation_step(self, state, values[0]):
        show(state, state.numbers[0] + self.width * deviation_of(self, state))


cdef void z_score(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    cdef double width
    if deviation_step(self, state, values[0]):
        width = deviation_of(self, state)
        if width > 0.0:
            show(state, (values[0] - state.numbers[0]) / width)
        else:
            state.ready = False


# --- gains and ranges, averaged as by Wilder

cdef inline void smooth(double* average, int64_t count, int32_t period, double value) noexcept:
    """Add a value, of which there were `count` before: the mean of the first ones, then each has the weight 1 / n."""
    if count < period:
        average[0] += value
        if count + 1 == period:
            average[0] /= period
    else:
        average[0] = (average[0] * (period - 1) + value) / period


cdef void rsi(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    """0: gain, 1: loss, 2: last value."""
    cdef double change = values[0] - state.numbers[2]
    state.numbers[2] = values[0]
    if state.count == 0:
        return
    smooth(&state.numbers[0], state.count - 1, self.period, change if change > 0.0 else 0.0)
    smooth(&state.numbers[1], state.count - 1, self.period, -change if change < 0.0 else 0.0)
    if state.count >= self.period:
        change = state.numbers[0] + state.numbers[1]
        show(state, 100.0 * (state.numbers[0] / change) if change > 0.0 else 50.0)


cdef void atr(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    """The values are high, low and close. 0: average, 1: last close."""
    cdef double close = state.numbers[1], span = values[0] - values[1]
    state.numbers[1] = values[2]
    if state.count == 0:
        return
    span = max(span, fabs(values[0] - close), fabs(values[1] - close))
    smooth(&state.numbers[0], state.count - 1, self.period, span)
    if state.count >= self.period:
        show(state, state.numbers[0])


# --- prices weighted by volume, returns, drawdowns, crossings

cdef void vwap(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    """The values are price and volume. Sums: price * volume, volume. Without a period they go over all values."""
    cdef RollingSumC* traded = <RollingSumC*> state.numbers
    cdef RollingSumC* volume = <RollingSumC*> &state.numbers[2]
    cdef double oldest, all_volume
    if self.period:
        if push(self, state, 0, values[0] * values[1], &oldest):
            add_to(traded, -oldest)
        if push(self, state, 1, values[1], &oldest):
            add_to(volume, -oldest)
        advance(self, state)
    add_to(traded, values[0] * values[1])
    add_to(volume, values[1])
    all_volume = sum_of(volume)
    if state.count + 1 < self.period or all_volume == 0.0:
        state.ready = False
    else:
        show(state, sum_of(traded) / all_volume)


cdef void returns(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    cdef double oldest
    if push(self, state, 0, values[0], &oldest):
        if oldest != 0.0:
            show(state, values[0] / oldest - 1.0)
        else:
            state.ready = False
    advance(self, state)


cdef void log_returns(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    cdef double oldest
    if push(self, state, 0, values[0], &oldest):
        if oldest > 0.0 and values[0] > 0.0:
            show(state, log(values[0] / oldest))
        else:
            state.ready = False
    advance(self, state)


cdef void drawdown(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    """0: greatest value."""
    if state.count == 0 or values[0] > state.numbers[0]:
        state.numbers[0] = values[0]
    if state.numbers[0] > 0.0:
        show(state, 1.0 - values[0] / state.numbers[0])


cdef void max_drawdown(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    """1: greatest drawdown."""
    drawdown(self, state, values)
    if state.ready:
        state.numbers[1] = max(state.numbers[1], state.result)
        state.result = state.numbers[1]


cdef void cross_over(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    """0: whether the first value was not above the second."""
    if state.count:
        show(state, state.numbers[0] != 0.0 and values[0] > values[1])
    state.numbers[0] = values[0] <= values[1]


cdef void cross_under(TechnicalAggregator self, TechnicalC* state, const double* values) noexcept:
    if state.count:
        show(state, state.numbers[0] != 0.0 and values[0] < values[1])
    state.numbers[0] = values[0] >= values[1]


# --- the aggregator

cdef int evaluate(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef TechnicalAggregator self = <TechnicalAggregator> x.value.o
    cdef TechnicalC* state
    cdef double[MOST_INPUTS] values
    cdef bint complete = True
    cdef int i
    if f.type == CURRENT:
        for i in range(self.inputs):
            if x.args[i].fn(x.args[i], e, f, &values[i]) == NULL_VALUE or not isfinite(values[i]):
                complete = False
        state = <TechnicalC*> self.states + f.group
        if complete:
            if self.lanes and state.at >= state.capacity:
                enlarge(self, state)
            self.take(self, state, values)
            state.count += 1
    state = <TechnicalC*> self.states + f.group
    if out is NULL or not state.ready:
        return NULL_VALUE
    (<double*> out)[0] = state.result
    return VALUE


cdef int evaluate_truth(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef double value
    if evaluate(x, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    return TRUE if value != 0.0 else FALSE


cdef int enlarge(TechnicalAggregator self, TechnicalC* state) except -1:
    cdef int32_t capacity = min(self.period, max(FIRST_CAPACITY, 2 * state.capacity))
    cdef double* ring = <double*> PyMem_Realloc(state.ring, <size_t> capacity * self.lanes * sizeof(double))
    if ring is NULL:
        raise MemoryError
    state.ring = ring
    state.capacity = capacity
    return 0


cdef class TechnicalAggregator(Aggregator):
    """An indicator, or ema."""

    cdef step_fn take
    cdef int inputs                # number of arguments that are values
    cdef int lanes                 # values of the ring for each event; 0: it has no ring
    cdef int32_t period
    cdef int32_t slow              # of MACD
    cdef int32_t signal
    cdef double width              # of a band, in deviations
    cdef bint plain                # ema, whose state is that of a Python aggregator in snapshots

    def __dealloc__(self):
        cdef Py_ssize_t group_id
        for group_id in range(self.capacity):
            PyMem_Free((<TechnicalC*> self.states)[group_id].ring)

    cdef int reset(self, uint32_t group_id) except -1:
        cdef TechnicalC* state = <TechnicalC*> self.states + group_id
        PyMem_Free(state.ring)
        memset(state, 0, sizeof(TechnicalC))
        return 0

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        return (<TechnicalC*> self.states)[group_id].count == 0

    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        cdef TechnicalC* state = <TechnicalC*> self.states + group_id
        cdef int i
        if self.plain:
            writer.put_bool(True)
            writer.put_i64(state.count)
            return writer.put_object({"average": state.result if state.ready else None})
        writer.put_u32(FORMAT)
        writer.put_i64(state.count)
        writer.put_bool(state.ready)
        writer.put_f64(state.result)
        for i in range(N_NUMBERS):
            writer.put_f64(state.numbers[i])
        writer.put_u32(<uint32_t> state.at)
        writer.put_u32(<uint32_t> self.kept(state))
        return writer.put_bytes(state.ring, self.kept(state) * self.lanes * <Py_ssize_t> sizeof(double))

    cdef Py_ssize_t kept(self, const TechnicalC* state) noexcept:
        """Return the number of values in the ring."""
        return <Py_ssize_t> min(state.count, self.period) if self.lanes else 0

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef TechnicalC* state
        cdef uint32_t at, kept
        cdef int i
        self.reset(group_id)
        state = <TechnicalC*> self.states + group_id
        if self.plain:
            if reader.get_bool():
                state.count = reader.get_i64()
                average = reader.get_object()["average"]
                if average is not None:
                    state.numbers[0] = average
                    show(state, state.numbers[0])
                    state.count = max(state.count, 1)
            return 0
        if reader.get_u32() != FORMAT:
            raise ValueError("snapshot is damaged: an indicator has a state of an unknown form")
        state.count = reader.get_i64()
        state.ready = reader.get_bool()
        state.result = reader.get_f64()
        for i in range(N_NUMBERS):
            state.numbers[i] = reader.get_f64()
        at, kept = reader.get_u32(), reader.get_u32()
        if state.count < 0 or kept != <uint32_t> self.kept(state) or (self.lanes and at >= <uint32_t> self.period):
            self.reset(group_id)
            raise ValueError("snapshot is damaged: an indicator has another number of values than its state says")
        data = reader.take(kept * self.lanes * <Py_ssize_t> sizeof(double))
        if kept:
            # As many as evaluation would have reserved, at least.
            state.ring = <double*> PyMem_Realloc(NULL, <size_t> kept * self.lanes * sizeof(double))
            if state.ring is NULL:
                self.reset(group_id)
                raise MemoryError
            state.capacity = <int32_t> kept
            memcpy(state.ring, data, kept * self.lanes * sizeof(double))
            state.at = <int32_t> at
        return 0


def make(str name not None, tuple arguments not None):
    """Return the indicator ``ta:NAME`` of numbers and literal parameters, or ``ema``.

    Raises:
        ValueError: the name is not an indicator's.
    """
    cdef TechnicalAggregator aggregator = TechnicalAggregator.__new__(TechnicalAggregator)
    cdef int type = DOUBLE
    cdef Executor each
    values, parameters = PARAMETERS[name]
    aggregator.inputs = values
    for at, parameter in enumerate(parameters[:len(arguments) - values]):
        each = arguments[values + at]
        if parameter == "width":
            aggregator.width = each.c.value.d if each.type == DOUBLE else each.c.value.f
        elif parameter == "period":
            aggregator.period = each.c.value.i
        elif parameter == "slow":
            aggregator.slow = each.c.value.i
        else:
            aggregator.signal = each.c.value.i
    aggregator.lanes = 1
    if name == "sma" or name == "bollingerMiddle":
        aggregator.take = sma
    elif name == "wma":
        aggregator.take = wma
    elif name == "ema" or name == "plain ema":
        aggregator.take = ema if name == "ema" else ema_at_once
        aggregator.plain = name != "ema"
        aggregator.lanes = 0
    elif name.startswith("macd"):
        aggregator.take = macd if name == "macd" else macd_signal if name == "macdSignal" else macd_histogram
        aggregator.lanes = 0
    elif name == "stdDev":
        aggregator.take = deviation
    elif name == "zScore":
        aggregator.take = z_score
    elif name.startswith("bollinger"):
        aggregator.take = band
        if name == "bollingerLower":
            aggregator.width = -aggregator.width
    elif name == "rsi" or name == "atr":
        aggregator.take = rsi if name == "rsi" else atr
        aggregator.lanes = 0
    elif name == "vwap":
        aggregator.take = vwap
        aggregator.lanes = 2 if aggregator.period else 0
    elif name == "returns" or name == "logReturns":
        aggregator.take = returns if name == "returns" else log_returns
        aggregator.period = aggregator.period or 1
    elif name == "drawdown" or name == "maxDrawdown":
        aggregator.take = drawdown if name == "drawdown" else max_drawdown
        aggregator.lanes = 0
    else:
        aggregator.take = cross_over if name == "crossOver" else cross_under
        aggregator.lanes = 0
        type = BOOL
    numbers = tuple([argument if (<Executor> argument).type == DOUBLE else make_widen(argument, DOUBLE)
                     for argument in arguments[:values]])
    found(aggregator, <eval_fn> (evaluate_truth if type == BOOL else evaluate), type, numbers,
          "ema" if aggregator.plain else f"ta:{name}", sizeof(TechnicalC))
    aggregator.value_optional = True
    # The function finds the aggregator here; the pointer is valid as long as the aggregator, which contains it.
    aggregator.c.value.o = <void*> aggregator
    return aggregator


# Number of values, and the parameters after them.
PARAMETERS = {
    **{name: (1, ("period",)) for name in ("sma", "wma", "ema", "plain ema", "stdDev", "zScore", "bollingerMiddle",
                                           "rsi", "returns", "logReturns")},
    **{name: (1, ("period", "width")) for name in ("bollingerUpper", "bollingerLower")},
    "macd": (1, ("period", "slow")),
    "macdSignal": (1, ("period", "slow", "signal")),
    "macdHistogram": (1, ("period", "slow", "signal")),
    "atr": (3, ("period",)),
    "vwap": (2, ("period",)),
    "drawdown": (1, ()),
    "maxDrawdown": (1, ()),
    "crossOver": (2, ()),
    "crossUnder": (2, ()),
}
