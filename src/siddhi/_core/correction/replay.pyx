"""Corrections of an app by replay: log, checkpoints, and what a late event sets off."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Realloc
from libc.math cimport sqrt
from libc.string cimport memmove

from time import process_time_ns

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport CURRENT, EventC, EventPool, release
from siddhi._core.record.frame cimport FrameC
from siddhi._core.record.instant cimport read_instant
from siddhi._core.runtime.context cimport advance, restore_frame, save_frame
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.stream.junction cimport StreamJunction, send
from siddhi._core.temporal.lifetime cimport TIME_MAX, TIME_MIN, shifted
from siddhi._core.correction.output cimport RevisedOutput
from siddhi.errors import CannotSaveStateError

cdef enum:
    LEAST_SPACING = 16
    USUAL_SPACING = 1024           # before the first cost is known
    MANY_CHECKPOINTS = 16          # more of them are thinned out
    CLOCK = 0xffffffff             # in a snapshot: input of a move of the clock

cdef double SHARE = 0.03           # of the time that checkpoints may take where no event is late


cdef list moved(list counts, list now, list before):
    return [count + later - earlier for count, later, earlier in zip(counts, now, before, strict=True)]


@cython.final
cdef class Checkpoint:
    """State of the app before the entry at a position."""


@cython.final
@cython.no_gc_clear
cdef class Corrections:
    """Feeds the input streams of one app in order of start, and corrects its output where an event comes late.

    Checkpoints are so far apart that they take a small share of the time. The older they are, the farther apart they are,
    so that their number grows with the logarithm of the events within the bound; and the nearer to the last late event, the
    closer they are, since late events come in runs. A replay takes new ones where it has been longer than what a checkpoint
    costs.

    Args:
        app: context of the app.
        inputs: (junction, bound in ms) of each corrected stream.
        find_steps: returns the objects with state (``save(writer)``, ``load(reader)``), in an order that stays the same.
        spacing: entries between two checkpoints; 0: by their cost.
    """

    def __init__(self, AppContext app not None, list inputs not None, find_steps not None, Py_ssize_t spacing=0):
        cdef int i
        self.app = app
        self.junctions = [junction for junction, _ in inputs]
        self.pools = tuple([(<StreamJunction?> junction).pool for junction in self.junctions])
        self.outputs = []
        self.find_steps = find_steps
        self.checkpoints = []
        self.n_inputs = len(inputs)
        self.inputs = <InputC*> PyMem_Calloc(max(1, self.n_inputs), sizeof(InputC))
        if self.inputs is NULL:
            raise MemoryError
        for i in range(self.n_inputs):
            self.inputs[i].junction = <void*> self.junctions[i]
            self.inputs[i].pool = <void*> self.pools[i]
            self.inputs[i].bound = inputs[i][1]
            self.inputs[i].cti = TIME_MIN
        self.high = TIME_MIN
        self.late_from = self.hot = -1
        self.passed = []
        self.reported = {}
        self.met_errors = {}
        self.fixed_spacing = spacing
        self.spacing = self.replay_spacing = spacing or USUAL_SPACING
        self.since = self.spacing      # a checkpoint is due

    def __dealloc__(self):
        cdef Py_ssize_t i
        self.clear()
        for i in range(self.n_waiting):
            self.release_entry(&self.waiting[i])
        PyMem_Free(self.block)
        PyMem_Free(self.waiting)
        PyMem_Free(self.inputs)

    @property
    def logged(self):
        """Number of entries in the log."""
        return self.n

    @property
    def kept_checkpoints(self):
        """Number of checkpoints kept."""
        return len(self.checkpoints)

    @property
    def checkpoint_bytes(self):
        """Size of the checkpoints kept, in bytes."""
        cdef Checkpoint checkpoint
        return sum([len(checkpoint.state) for checkpoint in self.checkpoints])

    @property
    def kept_rows(self):
        """Number of output rows kept to be compared."""
        cdef RevisedOutput output
        return sum([output.rows.n for output in self.outputs])

    @property
    def retracted(self):
        """Number of rows taken back."""
        cdef RevisedOutput output
        return sum([output.retracted for output in self.outputs])

    @property
    def inserted(self):
        """Number of rows that corrections have added."""
        cdef RevisedOutput output
        return sum([output.inserted for output in self.outputs])

    def figures_of(self, StreamJunction junction not None):
        """Return of a corrected stream: the time before which events are dropped, and numbers of late and dropped events."""
        cdef InputC* input = &self.inputs[<Py_ssize_t> self.junctions.index(junction)]
        return max(input.cti, shifted(self.high, -input.bound)), input.late, input.dropped

    def measure(self, counters):
        """Begin to count, from now on; replays leave what is counted as events in order would. None: count no more.

        The app's lock must be held.

        Args:
            counters: has the methods ``read()``, which returns the counts as a list, and ``write(counts)``.
        """
        cdef Checkpoint checkpoint
        self.counters = counters
        for checkpoint in self.checkpoints:
            checkpoint.measured = None

    def add_output(self, RevisedOutput output not None):
        """Include an output in corrections. Rows that its stream has carried before are found out by a replay, if needed."""
        self.outputs.append(output)

    def advance_clock(self, timestamp):
        """Move the clock of the app forward to a time (ms), as an event would, and fire the timers that are due.

        Raises:
            TypeError: it is not an integer.
            ValueError: it is out of range.
        """
        cdef FrameC frame
        cdef int64_t time = read_instant(timestamp, "time")
        with self.app.lock:
            frame = save_frame(self.app)
            try:
                self.take(0, time, NULL)
            finally:
                restore_frame(self.app, &frame)

    # --- what enters

    cdef int take(self, uint32_t input, int64_t start, EventC* event) except -1:
        """Take an entry, and the reference to its event. One that comes out of a callback waits for the present one."""
        cdef EntryC entry
        entry.start, entry.event, entry.input = start, event, input
        if self.busy:
            return self.wait(&entry)
        self.busy = True
        try:
            self.accept(&entry)
        except:
            self.finish()
            raise
        if self.n_waiting == 0 and self.late_from < 0:
            self.busy = False
            return 0
        return self.finish()

    cdef int hold(self, uint32_t input, int64_t start, EventC* event, bint outermost) except -1:
        """Take an entry of a batch; finish() corrects what is late. `outermost`: no other work is in progress."""
        cdef EntryC entry
        entry.start, entry.event, entry.input = start, event, input
        return self.accept(&entry) if outermost else self.wait(&entry)

    cdef int finish(self) except -1:
        """End the work on what was taken: replay what is late, take what waits."""
        try:
            if self.n_waiting or self.late_from >= 0:
                self.take_waiting()
        finally:
            self.busy = False
        return 0

    cdef int take_waiting(self) except -1:
        cdef EntryC entry
        error = None
        while self.n_waiting or self.late_from >= 0:
            try:
                if self.late_from >= 0:
                    self.correct()
                if self.n_waiting:
                    entry = self.waiting[0]
                    self.n_waiting -= 1
                    memmove(self.waiting, self.waiting + 1, self.n_waiting * sizeof(EntryC))
                    self.accept(&entry)
            except BaseException as failure:
                error = error or failure
        if error is not None:
            raise error
        return 0

    cdef int wait(self, const EntryC* entry) except -1:
        cdef EntryC* waiting
        cdef Py_ssize_t capacity
        if self.n_waiting == self.waiting_capacity:
            capacity = max(16, 2 * self.waiting_capacity)
            waiting = <EntryC*> PyMem_Realloc(self.waiting, capacity * sizeof(EntryC))
            if waiting is NULL:
                self.release_entry(entry)
                raise MemoryError
            self.waiting, self.waiting_capacity = waiting, capacity
        self.waiting[self.n_waiting] = entry[0]
        self.n_waiting += 1
        return 0

    cdef int accept(self, const EntryC* entry) except -1:
        """Put an entry into the log; process it if it is not late and none before it waits for a replay."""
        if entry.start < self.high or entry.start < self.inputs[entry.input].cti or self.since >= self.spacing or (
                self.late_from >= 0 or self.log + self.n == self.limit):
            return self.accept_special(entry)
        self.log[self.n] = entry[0]
        self.n += 1
        self.arrived += 1
        self.high = entry.start
        self.position += 1
        return self.process(entry)

    cdef int accept_special(self, const EntryC* entry) except -1:
        """Accept an entry that is late, before a CTI, or behind which a checkpoint or a replay is due."""
        cdef InputC* input = &self.inputs[entry.input]
        if entry.event is not NULL:
            if entry.start < input.cti or entry.start < self.high and entry.start < shifted(self.high, -input.bound):
                input.dropped += 1
                return self.release_entry(entry)
        elif entry.start < self.high:
            return 0
        self.arrived += 1
        try:
            if entry.start < self.high:
                if self.late_from < 0 and self.is_incomplete():
                    self.refill()
                self.insert(entry)
                input.late += 1
                return 0
            if self.late_from < 0 and self.since >= self.spacing:
                self.checkpoint()
            self.append(entry)
        except:
            self.release_entry(entry)
            raise
        self.high = entry.start
        if self.late_from >= 0:
            return 0
        self.position += 1
        return self.process(entry)

    cdef int append(self, const EntryC* entry) except -1:
        if self.log + self.n == self.limit:
            self.make_room()
        self.log[self.n] = entry[0]
        self.n += 1
        return 0

    cdef int make_room(self) except -1:
        """Make room for an entry at the end of the log."""
        cdef EntryC* block
        cdef Py_ssize_t first = self.log - self.block, capacity = self.limit - self.block
        if first > self.n:
            memmove(self.block, self.log, self.n * sizeof(EntryC))
            self.log = self.block
            return 0
        capacity = max(64, 2 * capacity)
        block = <EntryC*> PyMem_Realloc(self.block, capacity * sizeof(EntryC))
        if block is NULL:
            raise MemoryError
        self.block, self.log, self.limit = block, block + first, block + capacity
        return 0

    cdef int insert(self, const EntryC* entry) except -1:
        """Insert a late entry behind those with the same start; all later positions are shifted."""
        cdef Py_ssize_t low = 0, high = self.n, middle
        while low < high:
            middle = (low + high) // 2
            if self.log[middle].start <= entry.start:
                low = middle + 1
            else:
                high = middle
        self.append(entry)
        memmove(self.log + low + 1, self.log + low, (self.n - 1 - low) * sizeof(EntryC))
        self.log[low] = entry[0]
        self.shift(self.base + low)
        return 0

    cdef void shift(self, Py_ssize_t position) noexcept:
        """Note that a late entry was inserted at a position: later entries are shifted."""
        cdef Checkpoint checkpoint
        if self.late_from < 0:
            self.late_from = self.late_to = position
            self.head = self.position
        if position >= self.head:
            return                     # it is behind all that was processed
        self.head += 1
        for checkpoint in self.checkpoints:
            if checkpoint.position > position:
                checkpoint.position += 1
        self.late_from = min(self.late_from, position)
        self.late_to = position + 1 if position >= self.late_to else self.late_to + 1

    cdef int process(self, const EntryC* entry) except -1:
        cdef EventChunk chunk
        cdef StreamJunction junction
        self.since += 1
        self.processed += 1
        if entry.event is NULL:
            return advance(self.app, entry.start)
        # The log may move meanwhile, but not the event.
        junction = <StreamJunction> self.inputs[entry.input].junction
        chunk.head = chunk.tail = entry.event
        advance(self.app, entry.start)
        return send(junction, &chunk)

    cdef int release_entry(self, const EntryC* entry) noexcept:
        if entry.event is not NULL:
            release(<EventPool> self.inputs[entry.input].pool, entry.event)
        return 0

    # --- what is final

    cdef int promise(self, uint32_t input, int64_t time) except -1:
        """Take a CTI: no event of the stream before it follows. The clock moves to the smallest CTI of the streams."""
        cdef int64_t least = TIME_MAX
        cdef int i
        if time <= self.inputs[input].cti:
            return 0
        self.inputs[input].cti = time
        for i in range(self.n_inputs):
            least = min(least, self.inputs[i].cti)
        if least != TIME_MIN and least != TIME_MAX:
            return self.take(0, least, NULL)
        return 0

    cdef int64_t final(self) noexcept:
        """Return the time before which no event is taken any more."""
        cdef int64_t found = TIME_MAX
        cdef int i
        for i in range(self.n_inputs):
            found = min(found, max(self.inputs[i].cti, shifted(self.high, -self.inputs[i].bound)))
        return found

    cdef int prune(self) except -1:
        """Drop what no late event can need."""
        cdef Py_ssize_t i, n = 0, passed
        cdef int64_t final = self.final()
        cdef Checkpoint oldest
        while n + 1 < len(self.checkpoints) and (<Checkpoint> self.checkpoints[n + 1]).high <= final:
            n += 1
        if n == 0:
            return 0
        del self.checkpoints[:n]
        oldest = self.checkpoints[0]
        passed = oldest.position - self.base
        if self.reported:
            self.forget_errors(passed)
        for i in range(passed):
            self.release_entry(&self.log[i])
        self.log += passed
        self.n -= passed
        self.base += passed
        for i, count in enumerate(oldest.counts):
            (<RevisedOutput> self.outputs[i]).drop(count)
        return 0

    # --- checkpoints

    cdef int checkpoint(self) except -1:
        """Take a checkpoint behind the last entry processed."""
        cdef int64_t begun = process_time_ns()
        cdef Checkpoint made = Checkpoint.__new__(Checkpoint)
        cdef SnapshotWriter writer = SnapshotWriter()
        cdef RevisedOutput output
        try:
            for step in self.stateful():
                step.save(writer)
        except Exception as error:
            raise CannotSaveStateError(
                f"app '{self.app.name}' can't correct late events: its state can't be saved: {error}") from error
        made.state = writer.getvalue()
        made.clock = self.app.frame.clock
        made.position = self.position
        made.high = TIME_MIN
        if self.position > self.base:
            made.high = self.log[self.position - self.base - 1].start
        elif self.checkpoints:
            made.high = self.newest().high
        made.counts = [output.count() for output in self.outputs]
        made.measured = None if self.counters is None else self.counters.read()
        self.checkpoints.append(made)
        self.since = 0
        if self.fixed_spacing == 0:
            self.choose_spacing(begun, process_time_ns())
        if len(self.checkpoints) > MANY_CHECKPOINTS:
            self.thin_out()
        return 0 if self.replaying else self.prune()

    cdef int choose_spacing(self, int64_t begun, int64_t ended) except -1:
        """Choose the distances of the next checkpoints by the time that this one took.

        Where a share of r of the events is late, and a checkpoint costs as much as k events, n events between checkpoints
        cost k / n + r * n / 2 per event, which is least for n = sqrt(2 * k / r).
        """
        cdef double per_entry, cost, share
        if self.processed > self.processed_before:
            per_entry = max(1.0, <double> (begun - self.ended) / (self.processed - self.processed_before))
            cost = (ended - begun) / per_entry
            self.spacing = max(LEAST_SPACING, min(2 * self.spacing, <Py_ssize_t> (cost / SHARE)))
            self.replay_spacing = max(LEAST_SPACING, <Py_ssize_t> (2 * cost))
            if self.arrived > self.arrived_before:
                share = <double> (self.replays - self.replays_before) / (self.arrived - self.arrived_before)
                self.late_share = (self.late_share + share) / 2
                self.replays_before, self.arrived_before = self.replays, self.arrived
            if self.late_share > 1e-6:
                self.spacing = max(LEAST_SPACING, min(self.spacing, <Py_ssize_t> sqrt(2 * cost / self.late_share)))
        self.processed_before = self.processed
        self.ended = ended
        return 0

    cdef int thin_out(self) except -1:
        """Drop checkpoints so that two are half as far apart as from the end of the log, or from the last late entry."""
        cdef Py_ssize_t i, end = self.base + self.n, newer, older, away
        for i in range(len(self.checkpoints) - 2, 0, -1):
            newer = (<Checkpoint> self.checkpoints[i + 1]).position
            older = (<Checkpoint> self.checkpoints[i - 1]).position
            away = end - newer
            if self.hot >= 0:
                away = min(away, max(0, self.hot - newer, older - self.hot))
            if 2 * (newer - older) <= away:
                del self.checkpoints[i]
        return 0

    # --- replays

    cdef list stateful(self):
        """Return the objects with state; the app is complete when they are needed."""
        if self.steps is None:
            self.steps = list(self.find_steps())
        return self.steps

    cdef Checkpoint newest(self):
        return self.checkpoints[len(self.checkpoints) - 1]

    cdef bint is_incomplete(self) noexcept:
        """Whether an output was added, or counting began, behind the oldest checkpoint."""
        cdef Checkpoint oldest = self.checkpoints[0]
        return len(oldest.counts) != len(self.outputs) or self.counters is not None and oldest.measured is None

    cdef int restore(self, Checkpoint checkpoint) except -1:
        cdef SnapshotReader reader = SnapshotReader(checkpoint.state)
        self.app.cancel_timers()
        self.app.restore_clock(checkpoint.clock)
        for step in self.stateful():
            step.load(reader)
        if self.counters is not None and checkpoint.measured is not None:
            self.counters.write(checkpoint.measured)
        self.position = checkpoint.position
        self.since = 0
        return 0

    cdef object replay(self, Py_ssize_t until, bint checks):
        """Process the log up to a position, or to where `met` is; return the first error. `checks`: take checkpoints."""
        cdef EntryC entry
        error = None
        self.replaying = True
        while self.position < until:
            try:
                if checks:
                    if self.passed and (<Checkpoint> self.passed[len(self.passed) - 1]).position == self.position:
                        if self.is_met():
                            break
                    elif self.since >= self.replay_spacing and self.is_due(until):
                        self.checkpoint()
                entry = self.log[self.position - self.base]
                self.replayed += 1
                self.position += 1
                if entry.event is not NULL:
                    # A record may carry what a query noted in it before.
                    entry.event.type = CURRENT
                    entry.event.group = 0
                    entry.event.next = NULL
                self.process(&entry)
            except BaseException as failure:
                # What was processed once has to be processed again, whatever happens.
                error = error or failure
        self.replaying = False
        return error

    cdef bint is_due(self, Py_ssize_t until) noexcept:
        """Return whether the newest checkpoint is far, compared with the distance to the end or to the last late entry."""
        cdef Py_ssize_t away = self.position - self.hot if self.position > self.hot else self.hot - self.position
        cdef Py_ssize_t since = self.since
        self.since = 0                 # a checkpoint that fails is not tried at every entry
        if 4 * since >= min(away, until - self.position):
            return True
        self.since = since
        return False

    cdef bint is_met(self) except -1:
        """Replace the checkpoint that was taken here before; return whether the state was the same."""
        cdef Checkpoint old = self.passed.pop()
        cdef bint saves = False
        if self.passed:
            saves = (<Checkpoint> self.passed[0]).position - old.position > self.replay_spacing
        if not saves and self.since < self.replay_spacing:
            return False
        self.checkpoint()
        if not saves or self.app.frame.clock != old.clock or self.newest().state != old.state:
            return False
        self.met = old
        return True

    cdef int correct(self) except -1:
        """Replay the log with the late entries, and deliver what is different."""
        cdef RevisedOutput output
        cdef Checkpoint checkpoint
        cdef Py_ssize_t i, head = self.head
        self.passed = []
        while self.newest().position > self.late_from:
            checkpoint = self.checkpoints.pop()
            if checkpoint.position >= self.late_to:
                self.passed.append(checkpoint)
        checkpoint = self.newest()
        self.hot = self.late_from
        self.late_from = -1
        self.replays += 1
        for i, output in enumerate(self.outputs):
            output.begin(checkpoint.counts[i])
        self.restore(checkpoint)
        error = self.replay(self.base + self.n, True)
        if self.met is not None:
            failure = self.rejoin(checkpoint, head)
            error = error or failure
        for output in self.outputs:
            try:
                output.compare()
            except BaseException as failure:
                error = error or failure
        self.delivering = True
        for output in self.outputs:
            try:
                output.deliver()
            except BaseException as failure:
                error = error or failure
        self.delivering = False
        if error is not None:
            raise error
        return 0

    cdef object rejoin(self, Checkpoint begun, Py_ssize_t head):
        """Go on to the end of the log where a replay from a checkpoint has met the state from before; return an error.

        All that was processed up to `head` is as it was: the newest checkpoint before it is valid, and so are rows.
        """
        cdef RevisedOutput output
        cdef Checkpoint met = self.met, again = self.newest(), checkpoint
        cdef Py_ssize_t i
        error = None
        self.met = None
        for i, output in enumerate(self.outputs):
            try:
                output.rejoin(met.counts[i] - begun.counts[i])
            except BaseException as failure:
                error = error or failure
        while self.passed:
            checkpoint = self.passed.pop()
            checkpoint.counts = [
                count + now - before
                for count, now, before in zip(checkpoint.counts, again.counts, met.counts, strict=True)]
            if None not in (checkpoint.measured, again.measured, met.measured):
                checkpoint.measured = moved(checkpoint.measured, again.measured, met.measured)
            self.checkpoints.append(checkpoint)
        self.restore(self.newest())
        failure = self.replay(head, False)
        error = error or failure
        for output in self.outputs:
            output.begin(output.count())
        failure = self.replay(self.base + self.n, True)
        return error or failure

    cdef int refill(self) except -1:
        """Repeat the log unchanged, to find out what outputs that were added later have carried, and what was counted."""
        cdef RevisedOutput output
        cdef Checkpoint checkpoint
        cdef list measured = None if self.counters is None else self.counters.read()
        error = None
        for output in self.outputs:
            output.forget()
            output.replaying = True
        self.restore(self.checkpoints[0])
        for checkpoint in self.checkpoints:
            failure = self.replay(checkpoint.position, False)
            error = error or failure
            checkpoint.counts = [output.count() for output in self.outputs]
            checkpoint.measured = None if measured is None else self.counters.read()
        failure = self.replay(self.base + self.n, False)
        error = error or failure
        if measured is not None:
            again = self.counters.read()
            for checkpoint in self.checkpoints:
                checkpoint.measured = moved(checkpoint.measured, measured, again)
            self.counters.write(measured)
        for output in self.outputs:
            output.replaying = False
        if error is not None:
            raise error
        return 0

    # --- errors: each is reported once

    def is_news(self, str origin not None):
        """Return whether an error that occurs now is to be reported; not if it was, when the entry was processed before.

        Of each origin, the errors of an event are counted, and those of timers at one time.
        """
        cdef EntryC* entry
        cdef long long n
        if not self.busy or self.delivering or self.position <= self.base:
            return True
        if self.app.clock_move.rank:
            what = (self.app.frame.clock,)
        else:
            entry = &self.log[self.position - 1 - self.base]
            what = <size_t> entry.event
        if self.met_at != self.processed:
            self.met_at = self.processed
            self.met_errors = {}
        n = self.met_errors.get((what, origin), 0) + 1
        self.met_errors[what, origin] = n
        of_this = self.reported.setdefault(what, {})
        if n <= of_this.get(origin, 0):
            return False
        of_this[origin] = n
        return True

    cdef int forget_errors(self, Py_ssize_t passed) except -1:
        """Forget the errors of the first entries of the log, and of timers before the oldest checkpoint."""
        cdef Checkpoint oldest = self.checkpoints[0]
        cdef Py_ssize_t i
        for i in range(passed):
            self.reported.pop(<size_t> self.log[i].event, None)
        for what in [what for what in self.reported if type(what) is tuple and what[0] < oldest.clock]:
            del self.reported[what]
        return 0

    cdef list shown_errors(self):
        """Return the errors reported; events are given by their place in the log."""
        cdef Py_ssize_t k
        cdef list found = [(False, what[0], errors) for what, errors in self.reported.items() if type(what) is tuple]
        if len(found) < len(self.reported):
            found += [(True, k, self.reported[<size_t> self.log[k].event]) for k in range(self.n)
                      if self.log[k].event is not NULL and <size_t> self.log[k].event in self.reported]
        return found

    cdef int load_errors(self, found) except -1:
        self.reported = {}
        if type(found) is not list:
            raise ValueError("snapshot is damaged: errors of a log are missing")
        for item in found:
            if (type(item) is not tuple or [type(part) for part in item] != [bool, int, dict]
                    or any([type(origin) is not str or type(n) is not int for origin, n in item[2].items()])
                    or item[0] and not 0 <= item[1] < self.n):
                raise ValueError("snapshot is damaged: an error of a log is invalid")
            self.reported[<size_t> self.log[<Py_ssize_t> item[1]].event if item[0] else (item[1],)] = item[2]
        return 0

    # --- snapshots

    def save(self, SnapshotWriter writer not None):
        """Write log, checkpoints and counters. What outputs have carried is found out again by a replay."""
        cdef Checkpoint checkpoint
        cdef EventC** events
        cdef Py_ssize_t k, n
        cdef int i
        writer.put_i64(self.high)
        writer.put_i64(self.base)
        for i in range(self.n_inputs):
            writer.put_i64(self.inputs[i].cti)
            writer.put_i64(self.inputs[i].dropped)
            writer.put_i64(self.inputs[i].late)
        writer.put_i64(self.n)
        for k in range(self.n):
            writer.put_i64(self.log[k].start)
            writer.put_u32(CLOCK if self.log[k].event is NULL else self.log[k].input)
        events = <EventC**> PyMem_Calloc(max(1, self.n), sizeof(EventC*))
        if events is NULL:
            raise MemoryError
        try:
            for i in range(self.n_inputs):
                n = 0
                for k in range(self.n):
                    if self.log[k].event is not NULL and self.log[k].input == <uint32_t> i:
                        events[n] = self.log[k].event
                        n += 1
                writer.put_events(events, n, (<EventPool> self.inputs[i].pool).layout)
        finally:
            PyMem_Free(events)
        writer.put_object([(checkpoint.state, checkpoint.clock, checkpoint.high, checkpoint.position)
                           for checkpoint in self.checkpoints])
        writer.put_object(self.shown_errors())

    def load(self, SnapshotReader reader not None):
        """Read what :meth:`save` has written.

        Raises:
            ValueError: the snapshot is damaged.
        """
        cdef EntryC entry
        cdef Py_ssize_t k, n
        cdef int i
        cdef RevisedOutput output
        self.clear()
        for output in self.outputs:
            output.forget()
        self.high = reader.get_i64()
        self.base = self.position = reader.get_i64()
        for i in range(self.n_inputs):
            self.inputs[i].cti = reader.get_i64()
            self.inputs[i].dropped = reader.get_i64()
            self.inputs[i].late = reader.get_i64()
        n = reader.get_i64()
        if n < 0 or self.base < 0:
            raise ValueError("snapshot is damaged: a log has an impossible size")
        for k in range(n):
            entry.start = reader.get_i64()
            entry.input = reader.get_u32()
            entry.event = NULL
            if entry.input != CLOCK and entry.input >= <uint32_t> self.n_inputs or k and entry.start < self.log[k - 1].start:
                raise ValueError("snapshot is damaged: an entry of a log is invalid")
            self.append(&entry)
        self.position += n
        for i in range(self.n_inputs):
            self.load_events(reader, <uint32_t> i)
        for k in range(n):
            if self.log[k].input == CLOCK:
                self.log[k].input = 0
        self.load_checkpoints(reader.get_object())
        self.load_errors(reader.get_object())

    cdef int load_events(self, SnapshotReader reader, uint32_t input) except -1:
        cdef EventC** events = NULL
        cdef Py_ssize_t n = reader.get_events(<EventPool> self.inputs[input].pool, &events), k, used = 0
        try:
            for k in range(self.n):
                if self.log[k].input == input and used < n:
                    self.log[k].event = events[used]
                    used += 1
                    if self.log[k].start != self.log[k].event.timestamp:
                        raise ValueError("snapshot is damaged: an event of a log has another time")
                elif self.log[k].input == input:
                    raise ValueError("snapshot is damaged: a log lacks an event")
            if used < n:
                raise ValueError("snapshot is damaged: a log has too many events")
        finally:
            for k in range(used, n):
                release(<EventPool> self.inputs[input].pool, events[k])
            PyMem_Free(events)
        return 0

    cdef int load_checkpoints(self, found) except -1:
        cdef Checkpoint made
        cdef Py_ssize_t before = self.base
        if type(found) is not list or self.n and not found:
            raise ValueError("snapshot is damaged: it has no checkpoints of a log")
        for item in found:
            if type(item) is not tuple or [type(part) for part in item] != [bytes, int, int, int]:
                raise ValueError("snapshot is damaged: a checkpoint is invalid")
            made = Checkpoint.__new__(Checkpoint)
            made.state, made.clock, made.high, made.position = item
            made.counts = []
            if made.position < before or made.position > self.position or not self.checkpoints and made.position > before:
                raise ValueError("snapshot is damaged: a checkpoint has no place in the log")
            before = made.position
            self.checkpoints.append(made)
        self.since = self.position - before if self.checkpoints else self.spacing
        return 0

    cdef int clear(self) noexcept:
        """Forget the log and the checkpoints."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.release_entry(&self.log[i])
        self.log = self.block
        self.n = 0
        self.checkpoints = []
        self.reported = {}
        return 0
