# A chunk: an ordered list of records linked through `next`, which one call handles together. A chunk of one record has no
# extra cost: head and tail are that record.

from siddhi._core.record.event cimport EventC, EventPool, release

cdef struct EventChunk:
    EventC* head
    EventC* tail

cdef inline void chunk_clear(EventChunk* chunk) noexcept:
    chunk.head = NULL
    chunk.tail = NULL

cdef inline void chunk_append(EventChunk* chunk, EventC* event) noexcept:
    """Append an event that is in no chunk; the chunk takes over the caller's reference."""
    event.next = NULL
    if chunk.tail is NULL:
        chunk.head = event
    else:
        chunk.tail.next = event
    chunk.tail = event

cdef inline EventC* chunk_pop(EventChunk* chunk) noexcept:
    """Remove the first event (NULL when empty); the caller owns it."""
    cdef EventC* event = chunk.head
    if event is not NULL:
        chunk.head = event.next
        if chunk.head is NULL:
            chunk.tail = NULL
        event.next = NULL
    return event

cdef inline void chunk_release(EventChunk* chunk, EventPool pool) noexcept:
    """Release every event of the chunk."""
    cdef EventC* event = chunk.head
    cdef EventC* following
    chunk.head = NULL
    chunk.tail = NULL
    while event is not NULL:
        following = event.next
        release(pool, event)
        event = following
