/* The event record: a fixed-size block of an arena. All operators of a query use this struct.
 *
 *   header | null words | cells
 *
 * The body is an array of 8-byte words. The first `null_words` words are null bits (if bit i % 64 of word i / 64 is set,
 * cell i is null and its bytes are undefined); the cells follow. The layout fixes the offset of a cell and its null bit,
 * so that reading a cell needs no arithmetic.
 */
#ifndef SIDDHI_EVENT_H
#define SIDDHI_EVENT_H

#include <stdint.h>

#define SIDDHI_ABI_VERSION 1

enum siddhi_event_type {
    SIDDHI_CURRENT = 0,
    SIDDHI_EXPIRED = 1,
    SIDDHI_TIMER = 2,
    SIDDHI_RESET = 3
};

enum siddhi_event_flags {
    /* Object cells are borrowed from the input batch: acquire references to them before retaining the event. */
    SIDDHI_BORROWED = 1
};

typedef struct siddhi_event {
    struct siddhi_event *next; /* next in its chunk, or in the free list of its pool */
    int64_t timestamp;         /* ms since the epoch */
    uint32_t refs;             /* number of owners; 0 only in the free list */
    uint32_t group;            /* group id stored by a selector for the event's expiry; 0: none */
    uint8_t type;              /* enum siddhi_event_type */
    uint8_t flags;             /* enum siddhi_event_flags */
    uint16_t pool;             /* debug: number of its pool */
    uint32_t stamp;            /* generation of `group`: a RESET invalidates stored group ids */
    uint64_t body[];           /* null words, then cells */
} siddhi_event;

/* One value, wide enough for every attribute type. */
typedef union siddhi_cell {
    int32_t i;
    int64_t l;
    float f;
    double d;
    void *o; /* PyObject *, for string and object */
    uint64_t bits;
} siddhi_cell;

#endif
