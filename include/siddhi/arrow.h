/* The Arrow C data interface: how columns pass between libraries of one process without a copy.
 *
 * The layouts are fixed for ever by the interface, which asks everybody to declare them anew, under this guard, so that
 * several declarations can meet in one program. `release` is NULL once a structure has been given up or moved; whoever
 * holds a structure calls it once. A child is released by its parent, unless it has been moved out of it.
 */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#include <stdint.h>

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/* What a column is. */
struct ArrowSchema {
    const char *format; /* the type, as a short string: "l" int64, "u" string, "+s" struct, ... */
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary; /* type of the distinct values of a dictionary-encoded column, else NULL */
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

/* What is in it. */
struct ArrowArray {
    int64_t length;
    int64_t null_count; /* -1: not counted */
    int64_t offset;     /* rows to skip in every buffer, in the validity bitmap too */
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers; /* the first is the validity bitmap (bit set: a value), NULL when nothing is null */
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/* Arrays of one type, one after another. The calls return 0 or an errno. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out); /* a released array: the end */
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif
