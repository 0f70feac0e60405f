"""Regular expressions, and the functions that use them: see regex.pxd."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR, PyUnicode_Substring
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from siddhi._core.expression.executor cimport (
    ExecC, ObjectExecutor, eval_fn, keep_object,
)
from siddhi._core.record.event cimport BOOL, STRING, EventC
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, FrameC

cdef enum Operation:
    SET
    SPLIT
    JUMP
    SAVE
    ASSERT
    MATCH

cdef enum Assertion:
    BEGIN
    END
    END_BEFORE_LINE_END
    LINE_BEGIN
    LINE_END
    WORD_EDGE
    NO_WORD_EDGE

cdef enum:
    MOST_STATES = 512              # of an automaton: half a MB; it begins again when it has more
    MOST_PATTERNS = 64             # that come from data and are kept, see pattern_of()


cdef inline bint contains(const CodeSetC* set, int32_t character) noexcept:
    cdef Py_ssize_t low, high, middle
    if character < 256:
        return set.latin[character]
    low, high = 0, set.n
    while low < high:
        middle = (low + high) // 2
        if set.ranges[2 * middle + 1] < character:
            low = middle + 1
        else:
            high = middle
    return low < set.n and set.ranges[2 * low] <= character


cdef inline bint is_line_end(int32_t character) noexcept:
    return character == 10 or character == 13 or character == 0x85 or character == 0x2028 or character == 0x2029


cdef inline bint is_word(int32_t character) noexcept:
    return (c'0' <= character <= c'9' or c'a' <= (character | 0x20) <= c'z' and character < 128 or character == c'_')


cdef class Regex:
    """A compiled pattern; ``program`` is its :class:`Program`."""

    def __cinit__(self, program):
        cdef int i
        cdef Py_ssize_t k, code
        self.program = program
        self.groups = program.groups
        self.slots = 2 * (self.groups + 1)
        self.size = len(program.instructions)
        self.n_sets = len(program.sets)
        self.code = <InstructionC*> PyMem_Calloc(self.size, sizeof(InstructionC))
        self.sets = <CodeSetC*> PyMem_Calloc(max(1, self.n_sets), sizeof(CodeSetC))
        self.marks = <int*> PyMem_Calloc(self.size, sizeof(int))
        self.stack = <int*> PyMem_Calloc(4 * self.size + 4, sizeof(int))
        self.saved = <Py_ssize_t*> PyMem_Calloc(4 * self.size + 4, sizeof(Py_ssize_t))
        for i in range(2):
            self.lists[i] = <int*> PyMem_Calloc(self.size, sizeof(int))
            self.captures[i] = <Py_ssize_t*> PyMem_Calloc(self.size * self.slots, sizeof(Py_ssize_t))
            if self.lists[i] is NULL or self.captures[i] is NULL:
                raise MemoryError
        if self.code is NULL or self.sets is NULL or self.marks is NULL or self.stack is NULL or self.saved is NULL:
            raise MemoryError
        for i in range(self.size):
            operation, first, second = program.instructions[i]
            self.code[i].operation, self.code[i].first, self.code[i].second = operation, first, second
            self.asserts = self.asserts or operation == ASSERT
        for i in range(self.n_sets):
            ranges = program.sets[i]
            self.sets[i].n = len(ranges)
            self.sets[i].ranges = <int32_t*> PyMem_Calloc(max(1, 2 * len(ranges)), sizeof(int32_t))
            if self.sets[i].ranges is NULL:
                raise MemoryError
            for k in range(self.sets[i].n):
                self.sets[i].ranges[2 * k], self.sets[i].ranges[2 * k + 1] = ranges[k]
                for code in range(ranges[k][0], min(ranges[k][1], 255) + 1):
                    self.sets[i].latin[code] = 1

    def __dealloc__(self):
        cdef int i
        if self.sets is not NULL:
            for i in range(self.n_sets):
                PyMem_Free(self.sets[i].ranges)
        PyMem_Free(self.sets)
        PyMem_Free(self.code)
        PyMem_Free(self.marks)
        PyMem_Free(self.stack)
        PyMem_Free(self.saved)
        for i in range(2):
            PyMem_Free(self.lists[i])
            PyMem_Free(self.captures[i])

    cdef bint matches(self, str text, Py_ssize_t start, MatchMode mode) except -1:
        """Return whether a part of the text from a position on, or all of it, matches."""
        cdef Automaton automaton
        cdef Py_ssize_t i, n = PyUnicode_GET_LENGTH(text)
        cdef int state, following
        cdef int32_t character
        if self.asserts:
            return self.search(text, start, mode, NULL)
        automaton = self.anywhere if mode == ANYWHERE else self.anchored
        if automaton is None:
            automaton = Automaton(self, mode == ANYWHERE)
            if mode == ANYWHERE:
                self.anywhere = automaton
            else:
                self.anchored = automaton
        state = automaton.first
        for i in range(start, n):
            if mode != WHOLE and automaton.accepts[state]:
                return True
            character = PyUnicode_READ_CHAR(text, i)
            following = automaton.next[256 * state + character] if character < 256 else -1
            if following < 0:
                following = automaton.step(state, character)
            state = following
            if state == 0:
                return False
        return automaton.accepts[state]

    cdef bint search(self, str text, Py_ssize_t start, MatchMode mode, Py_ssize_t* found) except -1:
        """Find the first match, as a backtracking matcher would; write where its groups are if `found` is not NULL."""
        cdef Py_ssize_t position, n = PyUnicode_GET_LENGTH(text)
        cdef Py_ssize_t* captured
        cdef InstructionC* instruction
        cdef int side = 0, i, k
        cdef bint has_match = False
        cdef int32_t character = 0
        self.counts[0] = 0
        self.generation += 1
        if self.generation > 1_000_000_000:
            memset(self.marks, 0, self.size * sizeof(int))
            self.generation = 1
        position = start
        while True:
            # A match that begins here is worse than all that have begun.
            if not has_match and (position == start or mode == ANYWHERE):
                self.add(side, 0, text, position, NULL)
            if self.counts[side] == 0 and (has_match or mode != ANYWHERE):
                break
            if position < n:
                character = PyUnicode_READ_CHAR(text, position)
            self.counts[1 - side] = 0
            self.generation += 1
            for i in range(self.counts[side]):
                instruction = &self.code[self.lists[side][i]]
                captured = self.captures[side] + i * self.slots
                if instruction.operation == MATCH:
                    if mode == WHOLE and position < n:
                        continue
                    has_match = True
                    if found is NULL:
                        return True
                    for k in range(self.slots):
                        found[k] = captured[k]
                    break               # the threads after it are worse
                if position < n and contains(&self.sets[instruction.first], character):
                    self.add(1 - side, self.lists[side][i] + 1, text, position + 1, captured)
            side = 1 - side
            if position >= n:
                break
            position += 1
        return has_match

    cdef int add(self, int side, int at, str text, Py_ssize_t position, Py_ssize_t* captured) except -1:
        """Add a thread, and all that it leads to without reading a character, in order of preference."""
        cdef Py_ssize_t* target
        cdef Py_ssize_t* slots = self.captures[side]
        cdef Py_ssize_t current[64]
        cdef Py_ssize_t* now = current
        cdef InstructionC* instruction
        cdef int depth = 0, k
        if self.slots > 64:
            now = <Py_ssize_t*> PyMem_Malloc(self.slots * sizeof(Py_ssize_t))
            if now is NULL:
                raise MemoryError
        for k in range(self.slots):
            now[k] = -1 if captured is NULL else captured[k]
        self.stack[0] = at
        depth = 1
        while depth:
            depth -= 1
            at = self.stack[depth]
            if at < 0:                  # restore a position of a group
                now[-1 - at] = self.saved[depth]
                continue
            if self.marks[at] == self.generation:
                continue
            self.marks[at] = self.generation
            instruction = &self.code[at]
            if instruction.operation == JUMP:
                self.stack[depth] = instruction.first
                depth += 1
            elif instruction.operation == SPLIT:
                self.stack[depth] = instruction.second
                self.stack[depth + 1] = instruction.first
                depth += 2
            elif instruction.operation == SAVE:
                self.stack[depth] = -1 - instruction.first
                self.saved[depth] = now[instruction.first]
                now[instruction.first] = position
                self.stack[depth + 1] = at + 1
                depth += 2
            elif instruction.operation == ASSERT:
                if self.holds(instruction.first, text, position):
                    self.stack[depth] = at + 1
                    depth += 1
            else:
                target = slots + self.counts[side] * self.slots
                memcpy(target, now, self.slots * sizeof(Py_ssize_t))
                self.lists[side][self.counts[side]] = at
                self.counts[side] += 1
        if now is not current:
            PyMem_Free(now)
        return 0

    cdef bint holds(self, int assertion, str text, Py_ssize_t position) noexcept:
        cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text)
        cdef int32_t before = PyUnicode_READ_CHAR(text, position - 1) if position > 0 else -1
        cdef int32_t after = PyUnicode_READ_CHAR(text, position) if position < n else -1
        if assertion == BEGIN:
            return position == 0
        if assertion == END:
            return position == n
        if assertion == LINE_BEGIN:
            # Not between the two characters of a line end, and not after a line end at the end of the text.
            return position == 0 or (is_line_end(before) and position < n and not (before == 13 and after == 10))
        if assertion == LINE_END or assertion == END_BEFORE_LINE_END:
            if position == n:
                return True
            if not is_line_end(after) or (before == 13 and after == 10):
                return False
            return assertion == LINE_END or position == n - 1 or (
                position == n - 2 and after == 13 and PyUnicode_READ_CHAR(text, position + 1) == 10)
        return ((before >= 0 and is_word(before)) != (after >= 0 and is_word(after))) == (assertion == WORD_EDGE)


cdef class Automaton:
    """The states of a pattern without assertions. State 0 accepts nothing any more."""

    def __cinit__(self, Regex pattern not None, bint restarts):
        self.pattern = pattern
        self.restarts = restarts
        self.capacity = MOST_STATES + 2
        self.next = <int32_t*> PyMem_Malloc(self.capacity * 256 * sizeof(int32_t))
        self.accepts = <uint8_t*> PyMem_Calloc(self.capacity, 1)
        if self.next is NULL or self.accepts is NULL:
            raise MemoryError
        self.forget()

    def __dealloc__(self):
        PyMem_Free(self.next)
        PyMem_Free(self.accepts)

    cdef int forget(self) except -1:
        """Begin again with the dead and the first state."""
        self.numbers, self.states = {frozenset(): 0}, [frozenset()]
        memset(self.next, 0, 256 * sizeof(int32_t))
        self.accepts[0] = 0
        self.first = self.state_of({0})
        return 0

    cdef int state_of(self, set instructions) except -1:
        """Return the state of what instructions lead to without reading a character."""
        cdef InstructionC* instruction
        cdef int number, at
        reading = set()
        seen = set()
        pending = list(instructions)
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            instruction = &self.pattern.code[at]
            if instruction.operation == JUMP:
                pending.append(instruction.first)
            elif instruction.operation == SPLIT:
                pending += (instruction.first, instruction.second)
            elif instruction.operation == SAVE:
                pending.append(at + 1)
            else:
                reading.add(at)
        key = frozenset(reading)
        found = self.numbers.get(key)
        if found is not None:
            return found
        number = len(self.states)
        self.numbers[key] = number
        self.states.append(key)
        self.accepts[number] = any([self.pattern.code[<int> at].operation == MATCH for at in key])
        memset(self.next + 256 * number, -1, 256 * sizeof(int32_t))
        return number

    cdef int step(self, int state, int character) except -1:
        """Return the state after a character, and remember it."""
        cdef InstructionC* instruction
        cdef int following, at
        instructions = set()
        for at in self.states[state]:
            instruction = &self.pattern.code[at]
            if instruction.operation == SET and contains(&self.pattern.sets[instruction.first], character):
                instructions.add(at + 1)
        if self.restarts:
            instructions.add(0)
        if len(self.states) >= MOST_STATES:
            self.forget()
            return self.state_of(instructions) if instructions else 0
        following = self.state_of(instructions) if instructions else 0
        if character < 256:
            self.next[256 * state + character] = following
        return following


# --- patterns of executors: a constant one is compiled when the app is built, others are kept by their text

cdef class Patterns:
    """The patterns of one call: a constant, or those that events bring."""

    def __init__(self, compile):
        self.compile = compile
        self.known = {}

    cdef Regex of(self, str text):
        """Return the compiled pattern of a text. Raise ValueError if it is invalid."""
        cdef Regex pattern = self.known.get(text)
        if pattern is None:
            if len(self.known) >= MOST_PATTERNS:
                self.known.clear()
            pattern = Regex(self.compile(text))
            self.known[text] = pattern
        return pattern


cdef class RegexExecutor(ObjectExecutor):
    """A call with a pattern."""


cdef inline Regex read_pattern(const ExecC* x, EventC* e, FrameC* f, int argument, str name):
    cdef void* text
    if x.args[argument].fn(x.args[argument], e, f, &text) == NULL_VALUE:
        raise ValueError(f"{name}() got null as regular expression")
    return (<RegexExecutor> x.data).patterns.of(<str> text)


cdef inline str read_text(const ExecC* x, EventC* e, FrameC* f, int argument, str name):
    cdef void* text
    if x.args[argument].fn(x.args[argument], e, f, &text) == NULL_VALUE:
        raise ValueError(f"{name}() got null: expected a text")
    return <str> text


cdef inline int read_int(const ExecC* x, EventC* e, FrameC* f, int argument, str name, int32_t* out) except -1:
    if x.args[argument].fn(x.args[argument], e, f, out) == NULL_VALUE:
        raise ValueError(f"{name}() got null: expected an int")
    return 0


cdef int regex_find(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef int32_t start = 0
    cdef void* text
    cdef Regex pattern = read_pattern(x, e, f, 0, "regex:find")
    cdef int status = x.args[1].fn(x.args[1], e, f, &text)
    if x.n_args == 3:
        read_int(x, e, f, 2, "regex:find", &start)
    if status == NULL_VALUE:
        return FALSE
    if start < 0 or start > PyUnicode_GET_LENGTH(<str> text):
        raise IndexError(f"regex:find() got the starting index {start}, which is outside of the text")
    return pattern.matches(<str> text, start, ANYWHERE)


cdef int regex_looking_at(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef Regex pattern = read_pattern(x, e, f, 0, "regex:lookingAt")
    return pattern.matches(read_text(x, e, f, 1, "regex:lookingAt"), 0, AT_BEGIN)


cdef int regex_matches(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef Regex pattern = read_pattern(x, e, f, 0, "regex:matches")
    return pattern.matches(read_text(x, e, f, 1, "regex:matches"), 0, WHOLE)


cdef int str_regexp(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef str text = read_text(x, e, f, 0, "str:regexp")
    return read_pattern(x, e, f, 1, "str:regexp").matches(text, 0, WHOLE)


cdef Py_ssize_t* new_positions(Regex pattern) except NULL:
    cdef Py_ssize_t* positions = <Py_ssize_t*> PyMem_Malloc(pattern.slots * sizeof(Py_ssize_t))
    if positions is NULL:
        raise MemoryError
    return positions


cdef object group_of(Regex pattern, str text, int group, str name):
    """Return the text of a group of the first match; None: no match, or the group is not part of it."""
    if group < 0 or group > pattern.groups:
        raise IndexError(f"{name}() got group {group}: the regular expression has {pattern.groups} groups")
    cdef Py_ssize_t* found = new_positions(pattern)
    try:
        if not pattern.search(text, 0, ANYWHERE, found) or found[2 * group] < 0 or found[2 * group + 1] < 0:
            return None
        return PyUnicode_Substring(text, found[2 * group], found[2 * group + 1])
    finally:
        PyMem_Free(found)


cdef int regex_group(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef int32_t group
    cdef Regex pattern = read_pattern(x, e, f, 0, "regex:group")
    cdef str text = read_text(x, e, f, 1, "regex:group")
    read_int(x, e, f, 2, "regex:group", &group)
    found = group_of(pattern, text, group, "regex:group")
    return NULL_VALUE if found is None else keep_object(x, found, out)


cdef int str_group(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    """Evaluate str:substr with a regular expression: the text of a group, or an empty text."""
    cdef int32_t group = 0
    cdef str text = read_text(x, e, f, 0, "str:substr")
    cdef Regex pattern = read_pattern(x, e, f, 1, "str:substr")
    if x.n_args == 3:
        read_int(x, e, f, 2, "str:substr", &group)
    found = group_of(pattern, text, group, "str:substr")
    return keep_object(x, "" if found is None else found, out)


def spans(Regex pattern not None, str text not None, Py_ssize_t most=-1):
    """Return the positions of all matches, from left to right: a tuple of begin and end of each group."""
    cdef Py_ssize_t at = 0, k, n = PyUnicode_GET_LENGTH(text)
    cdef Py_ssize_t* found = new_positions(pattern)
    all_spans = []
    try:
        while at <= n and most != len(all_spans) and pattern.search(text, at, ANYWHERE, found):
            all_spans.append(tuple([found[k] for k in range(pattern.slots)]))
            at = found[1] if found[1] > found[0] else found[1] + 1
    finally:
        PyMem_Free(found)
    return all_spans


cdef str replaced(RegexExecutor executor, Regex pattern, str text, str replacement, Py_ssize_t most):
    cdef Py_ssize_t at = 0
    matches = spans(pattern, text, most)
    if not matches:
        return text
    known = executor.replacement
    if known is None or known[0] is not pattern or known[1] != replacement:
        program = pattern.program
        parts = tuple(executor.parse_replacement(replacement, program.groups, program.names))
        known = executor.replacement = (pattern, replacement, parts)
    pieces = []
    for span in matches:
        pieces.append(text[at:span[0]])
        for part in known[2]:
            if isinstance(part, str):
                pieces.append(part)
            elif span[2 * part] >= 0:
                pieces.append(text[span[2 * part]:span[2 * part + 1]])
        at = span[1]
    pieces.append(text[at:])
    return "".join(pieces)


cdef int str_replace(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef RegexExecutor executor = <RegexExecutor> x.data
    cdef str text = read_text(x, e, f, 0, executor.name)
    cdef Regex pattern = read_pattern(x, e, f, 1, executor.name)
    cdef str replacement = read_text(x, e, f, 2, executor.name)
    return keep_object(x, replaced(executor, pattern, text, replacement, x.slot), out)


def split(Regex pattern not None, str text not None):
    """Return the parts between matches as Java's String.split does: without empty ones at the end."""
    cdef Py_ssize_t at = 0
    parts = []
    for span in spans(pattern, text):
        if span[1] == 0:
            continue               # an empty match at the begin has no part before it
        if span[0] == span[1] == len(text):
            continue
        parts.append(text[at:span[0]])
        at = span[1]
    parts.append(text[at:])
    if len(parts) > 1:
        while parts and not parts[len(parts) - 1]:
            parts.pop()
    return parts


cdef int str_split(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef int32_t index
    cdef str text = read_text(x, e, f, 0, "str:split")
    cdef Regex pattern = read_pattern(x, e, f, 1, "str:split")
    read_int(x, e, f, 2, "str:split", &index)
    parts = split(pattern, text)
    if not 0 <= index < len(parts):
        raise IndexError(f"str:split() got index {index}: the text has {len(parts)} parts")
    return keep_object(x, parts[index], out)


def make(str name not None, tuple arguments not None, compile not None, parse_replacement not None):
    """Return the executor of a function with a regular expression.

    Args:
        name: its full name; ``str:substr`` is the form with a regular expression.
        arguments: executors of types that the function accepts.
        compile: function from a pattern's text to its program.
        parse_replacement: function from a replacement's text, the number of groups and their names to its parts.

    Raises:
        LookupError: the name is unknown.
    """
    cdef RegexExecutor executor = RegexExecutor.__new__(RegexExecutor)
    cdef int type = STRING
    cdef eval_fn fn
    executor.patterns = Patterns(compile)
    executor.parse_replacement = parse_replacement
    executor.name = name
    if name == "regex:group":
        fn = <eval_fn> regex_group
    elif name == "str:substr":
        fn = <eval_fn> str_group
    elif name == "str:split":
        fn = <eval_fn> str_split
    elif name == "str:replaceAll" or name == "str:replaceFirst":
        fn = <eval_fn> str_replace
        executor.c.slot = 1 if name == "str:replaceFirst" else -1
    else:
        type = BOOL
        if name == "regex:find":
            fn = <eval_fn> regex_find
        elif name == "regex:lookingAt":
            fn = <eval_fn> regex_looking_at
        elif name == "regex:matches":
            fn = <eval_fn> regex_matches
        elif name == "str:regexp":
            fn = <eval_fn> str_regexp
        else:
            raise LookupError(f"the core has no function '{name}'")
    executor.prepare(fn, type, arguments, f"{name}({', '.join([each.description for each in arguments])})")
    return executor
