/* Makes calls of the C library fail, for tests: the n-th call that concerns a file under a folder, or the n-th time that a
 * library of the engine asks the C library for memory. Loaded with LD_PRELOAD; Linux and glibc.
 *
 * fail_files and fail_memory arm it and set the count to zero; fail_calls says how many calls there were since, fail_name which
 * of them failed, fail_unsynced whether a crash could lose what was written.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { ONCE, ALWAYS, SHORT };           /* the n-th call; that and all behind it; it writes a part only */
enum { READS = 1, WRITES = 2 };

static char folder[PATH_MAX];
static long nth, calls;
static int failure, mode, kinds;
static long memory_nth, memory_calls;
static const char *failed;              /* name of the call that failed last */
static int unsynced_data, unsynced_names, renamed_unsynced;

void fail_files(const char *under, int which, long number, int error, int how)
{
    strncpy(folder, under, sizeof folder - 1);
    kinds = which;
    nth = number;
    failure = error;
    mode = how;
    calls = 0;
    failed = "";
    unsynced_data = unsynced_names = renamed_unsynced = 0;
}

/* The call that failed last; "" if none did. */
const char *fail_name(void)
{
    return failed;
}

/* Whether a file was renamed before its data were synced, or a folder was not synced after a renaming. */
int fail_unsynced(void)
{
    return renamed_unsynced || unsynced_names;
}

void fail_memory(long number)
{
    memory_nth = number;
    memory_calls = 0;
}

long fail_calls(void)
{
    return memory_calls ? memory_calls : calls;
}

static int concerns(const char *path)
{
    return folder[0] && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_open_under(int descriptor)
{
    char link[64], path[PATH_MAX];
    ssize_t length;
    int before = errno;
    if (!folder[0])
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0)
        return 0;
    path[length] = 0;
    return concerns(path);
}

/* Counts a call; whether it is to fail. */
static int strikes(int kind, const char *name)
{
    if (!(kinds & kind))
        return 0;
    calls++;
    if (!nth || (mode == ALWAYS ? calls < nth : calls != nth))
        return 0;
    failed = name;
    errno = failure;
    return 1;
}

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))
#define BY_PATH(type, name, kind, path, bad, parameters, arguments)                                                             \
    type name parameters { return concerns(path) && strikes(kind, #name) ? (bad) : REAL(name) arguments; }
#define BY_DESCRIPTOR(type, name, kind, bad, parameters, arguments)                                                             \
    type name parameters { return is_open_under(descriptor) && strikes(kind, #name) ? (bad) : REAL(name) arguments; }

#define OPENS(name, parameters, before)                                                                                         \
    int name parameters                                                                                                         \
    {                                                                                                                           \
        va_list rest;                                                                                                           \
        mode_t bits;                                                                                                            \
        va_start(rest, flags);                                                                                                  \
        bits = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                                        \
        va_end(rest);                                                                                                           \
        if (concerns(path) && strikes(flags & (O_WRONLY | O_RDWR | O_CREAT) ? WRITES : READS, #name))                                  \
            return -1;                                                                                                          \
        return REAL(name) before;                                                                                               \
    }

OPENS(open, (const char *path, int flags, ...), (path, flags, bits))
OPENS(open64, (const char *path, int flags, ...), (path, flags, bits))
OPENS(openat, (int at, const char *path, int flags, ...), (at, path, flags, bits))
OPENS(openat64, (int at, const char *path, int flags, ...), (at, path, flags, bits))
BY_PATH(DIR *, opendir, READS, path, NULL, (const char *path), (path))
BY_PATH(int, stat, READS, path, -1, (const char *path, struct stat *out), (path, out))
BY_PATH(int, lstat, READS, path, -1, (const char *path, struct stat *out), (path, out))
BY_PATH(int, unlink, WRITES, path, -1, (const char *path), (path))
BY_PATH(int, mkdir, WRITES, path, -1, (const char *path, mode_t bits), (path, bits))
BY_PATH(int, rmdir, WRITES, path, -1, (const char *path), (path))
BY_DESCRIPTOR(ssize_t, read, READS, -1, (int descriptor, void *out, size_t bytes), (descriptor, out, bytes))
BY_DESCRIPTOR(ssize_t, pread, READS, -1, (int descriptor, void *out, size_t bytes, off_t at), (descriptor, out, bytes, at))
BY_DESCRIPTOR(ssize_t, pread64, READS, -1, (int descriptor, void *out, size_t bytes, off64_t at), (descriptor, out, bytes, at))
BY_DESCRIPTOR(int, fdatasync, WRITES, -1, (int descriptor), (descriptor))
BY_DESCRIPTOR(int, ftruncate, WRITES, -1, (int descriptor, off_t bytes), (descriptor, bytes))
BY_DESCRIPTOR(int, ftruncate64, WRITES, -1, (int descriptor, off64_t bytes), (descriptor, bytes))

#define WRITING(name, parameters, whole, part)                                                                                  \
    ssize_t name parameters                                                                                                     \
    {                                                                                                                           \
        if (!is_open_under(descriptor))                                                                                         \
            return REAL(name) whole;                                                                                            \
        if (strikes(WRITES, #name)) {                                                                                           \
            if (mode != SHORT)                                                                                                  \
                return -1;                                                                                                      \
            return REAL(name) part;                                                                                             \
        }                                                                                                                       \
        unsynced_data = 1;                                                                                                      \
        return REAL(name) whole;                                                                                                \
    }

WRITING(write, (int descriptor, const void *data, size_t bytes), (descriptor, data, bytes), (descriptor, data, (bytes + 1) / 2))
WRITING(pwrite, (int descriptor, const void *data, size_t bytes, off_t at), (descriptor, data, bytes, at),
        (descriptor, data, (bytes + 1) / 2, at))
WRITING(pwrite64, (int descriptor, const void *data, size_t bytes, off64_t at), (descriptor, data, bytes, at),
        (descriptor, data, (bytes + 1) / 2, at))

int rename(const char *from, const char *to)
{
    if (!concerns(from))
        return REAL(rename)(from, to);
    if (strikes(WRITES, "rename"))
        return -1;
    renamed_unsynced |= unsynced_data;
    unsynced_names = 1;
    return REAL(rename)(from, to);
}

int fsync(int descriptor)
{
    struct stat found;
    if (!is_open_under(descriptor))
        return REAL(fsync)(descriptor);
    if (strikes(WRITES, "fsync"))
        return -1;
    if (!fstat(descriptor, &found) && S_ISDIR(found.st_mode))
        unsynced_names = 0;
    else
        unsynced_data = 0;
    return REAL(fsync)(descriptor);
}

struct dirent *readdir(DIR *directory)
{
    return is_open_under(dirfd(directory)) && strikes(READS, "readdir") ? NULL : REAL(readdir)(directory);
}

struct dirent64 *readdir64(DIR *directory)
{
    return is_open_under(dirfd(directory)) && strikes(READS, "readdir64") ? NULL : REAL(readdir64)(directory);
}

/* -- memory ---------------------------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static int no_memory(void *caller)
{
    Dl_info found;
    if (!memory_nth || !dladdr(caller, &found) || !found.dli_fname || !strstr(found.dli_fname, "/siddhi/_core/"))
        return 0;
    return ++memory_calls == memory_nth;
}

void *malloc(size_t bytes)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return no_memory(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *memory = no_memory(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
    if (memory == NULL)
        return ENOMEM;
    *out = memory;
    return 0;
}
