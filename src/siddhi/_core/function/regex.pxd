# Matching of regular expressions in time linear in the text.
#
# A Regex is a program (library/namespaces/regex_syntax.py says how it is made). Whether a text matches is answered by a
# deterministic automaton whose states are made when they are reached; where a match is, and its groups, by a simulation of
# all alternatives at once (Pike's machine), which prefers those that a backtracking matcher would find first.

from libc.stdint cimport int32_t, uint8_t

from siddhi._core.expression.executor cimport ObjectExecutor

cdef enum MatchMode:
    ANYWHERE                       # a part of the text
    AT_BEGIN                       # a part that starts at the first position
    WHOLE                          # from the first position to the end

cdef struct InstructionC:
    int32_t operation
    int32_t first
    int32_t second

cdef struct CodeSetC:                  # a set of code points
    uint8_t latin[256]
    int32_t* ranges                # [2 * n] of the others, ascending; owned
    Py_ssize_t n

cdef class Regex:
    cdef readonly object program
    cdef readonly int groups
    cdef InstructionC* code
    cdef int size
    cdef CodeSetC* sets
    cdef int n_sets
    cdef bint asserts              # it has assertions, which the automaton does not know
    # Pike's machine
    cdef int* lists[2]             # [size] instructions of the current and the next threads
    cdef int counts[2]
    cdef Py_ssize_t* captures[2]   # [size][slots] by index in the list
    cdef int* marks                # [size] generation in which the instruction was last added
    cdef int generation
    cdef int* stack                # [4 * size + 4]
    cdef Py_ssize_t* saved         # [4 * size + 4] positions to restore, beside the stack
    cdef int slots
    cdef Automaton anywhere, anchored
    cdef bint matches(self, str text, Py_ssize_t start, MatchMode mode) except -1
    cdef bint search(self, str text, Py_ssize_t start, MatchMode mode, Py_ssize_t* found) except -1
    cdef int add(self, int side, int at, str text, Py_ssize_t position, Py_ssize_t* captured) except -1
    cdef bint holds(self, int assertion, str text, Py_ssize_t position) noexcept

cdef class Automaton:
    cdef Regex pattern
    cdef bint restarts             # a match may begin at every position
    cdef dict numbers              # state by its instructions
    cdef list states               # the instructions of each state, as array of int
    cdef int32_t* next             # [capacity][256] following state; -1: not known yet
    cdef uint8_t* accepts          # [capacity]
    cdef int capacity
    cdef int first
    cdef int state_of(self, set instructions) except -1
    cdef int step(self, int state, int character) except -1
    cdef int forget(self) except -1

cdef class Patterns:
    cdef object compile
    cdef dict known                # pattern by its text
    cdef Regex of(self, str text)

cdef class RegexExecutor(ObjectExecutor):
    cdef Patterns patterns
    cdef object parse_replacement
    cdef object replacement        # pattern, text and parts of the last one
    cdef str name
