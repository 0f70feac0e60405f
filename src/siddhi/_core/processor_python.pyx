"""Stream processors written in Python: they pass events on, change, add, drop or delay them."""

from libc.stdint cimport int64_t, uint32_t

from siddhi._core.event cimport EventC
from siddhi._core.processor cimport Processor
from siddhi._core.python_step cimport PythonKey, PythonStep
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter


cdef class PythonStreamProcessor(Processor):
    """A stream processor of a user's class.

    Args:
        host: calls the objects of the class.
    """

    cdef PythonStep host
    cdef dict keys                 # PythonKey by partition slot

    def __init__(self, PythonStep host not None):
        self.app = host.app
        self.host = host
        self.keys = {}

    cdef PythonKey key_at_work(self):
        return <PythonKey?> self.keys[self.app.frame.partition]

    cdef int process(self, EventC* event) except -1:
        self.host.offer(self.key_at_work(), event, self.next)
        return 0

    cdef int finish(self) except -1:
        self.host.end_chunk(self.key_at_work(), self.next)
        return self.next.finish()

    cdef int on_timer(self, int64_t when) except -1:
        key = self.keys.get(self.app.frame.partition)
        if key is not None and self.host.wake(key, when, self.next):
            return self.next.finish()
        return 0

    cdef bint is_silent(self, int epoch) except -1:
        return False  # what it does may be seen, and may send

    cdef int ensure(self, uint32_t partition) except -1:
        if partition not in self.keys:
            self.keys[partition] = self.host.key(self, partition)
        return 0

    cdef int drop(self, uint32_t partition) except -1:
        key = self.keys.pop(partition, None)
        if key is not None:
            (<PythonKey> key).context.dropped = True
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        writer.put_u32(len(self.keys))
        for partition in sorted(self.keys):
            writer.put_u32(partition)
            self.host.write_key(self.keys[partition], writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef uint32_t n = reader.get_u32(), partition, before = self.app.frame.partition
        cdef set expected = set(self.keys)
        if n != len(expected):
            raise ValueError("snapshot is damaged: a stream processor of other keys than the partition's")
        try:
            for _ in range(n):
                partition = reader.get_u32()
                if partition not in expected:
                    raise ValueError("snapshot is damaged: a stream processor of a key that is not there")
                expected.remove(partition)
                self.drop(partition)
                self.ensure(partition)
                self.app.frame.partition = partition
                self.host.read_key(self.keys[partition], reader)
        finally:
            self.app.frame.partition = before
        return 0
