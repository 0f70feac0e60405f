"""Random nodes of the object model, within what SiddhiQL can express."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import strategies as st

from siddhi._frozen import replace
from siddhi.query_api import (
    AbsentState,
    AggregationDefinition,
    And,
    Annotation,
    AnonymousInput,
    Attribute,
    Compare,
    CompareOperator,
    Constant,
    CountState,
    DeleteFrom,
    Duration,
    Element,
    EventIndex,
    EventRate,
    EveryState,
    Filter,
    FunctionCall,
    FunctionDefinition,
    In,
    InsertInto,
    IsNull,
    IsNullStream,
    JoinInput,
    JoinType,
    LogicalOperator,
    LogicalState,
    Math,
    MathOperator,
    NextState,
    Not,
    OnDemandQuery,
    Or,
    Order,
    OrderBy,
    OutputAttribute,
    OutputEventType,
    Partition,
    Pattern,
    Query,
    QueryParameter,
    RangeKey,
    RateKind,
    ReturnOutput,
    Selector,
    Sequence,
    SetAttribute,
    SiddhiApp,
    SingleInput,
    SnapshotRate,
    State,
    StoreInput,
    StreamDefinition,
    StreamFunction,
    StreamState,
    TableDefinition,
    TimeRate,
    Trigger,
    TriggerDefinition,
    UpdateOrInsertInto,
    UpdateTable,
    ValueKey,
    Variable,
    WindowDefinition,
    WindowHandler,
)
from siddhi.query_compiler.keywords import KEYWORDS
from siddhi.types import AttributeType

T = AttributeType


def few(strategy, low=1, high=3):
    return st.lists(strategy, min_size=low, max_size=high).map(tuple)


def maybe(strategy):
    return st.none() | strategy


def is_plain(text):  # ${x} would be replaced before parsing
    return not re.search(r"\$\{\w+\}", text)


plain_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
names = st.one_of(
    plain_names,
    plain_names,
    st.sampled_from(sorted(KEYWORDS)).flatmap(lambda word: st.sampled_from([word, word.upper(), word.title()])),
    st.text(min_size=1, max_size=6).filter(lambda text: "`" not in text and is_plain(text)),
)
# A text that ends with a double quote, or contains three in a row, has no literal.
texts = st.text(max_size=8).filter(lambda text: '"""' not in text and not text.endswith('"') and is_plain(text))
times = st.integers(0, 10**12) | st.sampled_from([0, 1, 1000, 90_061_000, 31_536_000_000, 5 * 604_800_000])

# ---- expressions

constants = st.one_of(
    st.builds(Constant, st.integers(-(2**31), 2**31 - 1), st.just(T.INT)),
    st.builds(Constant, st.integers(-(2**63), 2**63 - 1), st.just(T.LONG)),
    st.builds(Constant, st.floats(allow_nan=False, allow_infinity=False, width=32), st.just(T.FLOAT)),
    st.builds(Constant, st.floats(allow_nan=False, allow_infinity=False), st.just(T.DOUBLE)),
    st.builds(Constant, st.booleans(), st.just(T.BOOL)),
    st.builds(Constant, texts, st.just(T.STRING)),
    st.builds(Constant, times, st.just(T.LONG), st.just(True)),
)
indexes = st.builds(EventIndex, st.integers(0, 9), st.booleans())
prefixes = st.sampled_from([(False, False), (True, False), (False, True)])


@st.composite
def qualified_variables(draw):
    is_inner, is_fault = draw(prefixes)
    function = draw(maybe(names))
    return Variable(
        draw(names),
        draw(names),
        draw(maybe(indexes)),
        is_inner,
        is_fault,
        function,
        draw(maybe(indexes)) if function else None,
    )


@st.composite
def slots_null(draw):
    is_inner, is_fault = draw(prefixes)
    index = draw(indexes if not (is_inner or is_fault) else maybe(indexes))
    return IsNullStream(draw(names), index, is_inner, is_fault)


variables = st.builds(Variable, names) | qualified_variables()
parameters = st.builds(QueryParameter, names)


def calls(arguments):
    return st.builds(FunctionCall, names, few(arguments, 0), maybe(names)) | st.builds(
        FunctionCall, names, st.just(()), maybe(names), st.just(True)
    )


def compound(inner):
    return st.one_of(
        st.builds(And, inner, inner),
        st.builds(Or, inner, inner),
        st.builds(Not, inner),
        st.builds(Compare, st.sampled_from(CompareOperator), inner, inner),
        st.builds(Math, st.sampled_from(MathOperator), inner, inner),
        st.builds(In, inner, names),
        st.builds(IsNull, calls(inner)),
        calls(inner),
    )


expressions = st.recursive(
    st.one_of(constants, variables, parameters, st.builds(IsNull, variables | parameters), slots_null()),
    compound,
    max_leaves=8,
)
# Small expressions are enough in queries: the property test of expressions covers deep ones.
conditions = st.one_of(variables, constants, st.builds(Compare, st.sampled_from(CompareOperator), variables, constants))

# ---- inputs

plain_handlers = st.builds(Filter, conditions) | st.builds(StreamFunction, calls(conditions))
windows = st.builds(WindowHandler, calls(conditions))


@st.composite
def sources(draw, window="anywhere"):
    is_inner, is_fault = draw(prefixes)
    handlers = list(draw(few(plain_handlers, 0, 2)))
    if window != "never" and draw(st.booleans()):
        place = len(handlers) if window == "last" else draw(st.integers(0, len(handlers)))
        handlers.insert(place, draw(windows))
    return SingleInput(draw(names), tuple(handlers), is_inner=is_inner, is_fault=is_fault)


stream_states = st.builds(StreamState, sources("never"), maybe(names))


@st.composite
def count_states(draw):
    low = draw(st.integers(0, 3))
    return CountState(draw(stream_states), low, draw(st.just(-1) | st.integers(max(low, 1), 5)))


@st.composite
def logical_states(draw):
    operator = draw(st.sampled_from(LogicalOperator))
    timed = st.builds(AbsentState, sources("never"), times)
    if operator is LogicalOperator.OR:
        return LogicalState(operator, draw(few(stream_states | timed, 2, 4)))
    others = draw(few(stream_states | st.builds(AbsentState, sources("never"), maybe(times)), 1, 3))
    place = draw(st.integers(0, len(others)))
    return LogicalState(operator, (*others[:place], draw(stream_states), *others[place:]))


absent_states = st.builds(AbsentState, sources("never"), times)
simple_states = st.one_of(stream_states, count_states(), logical_states(), absent_states)


def is_absence(state):
    return isinstance(state.state if isinstance(state, EveryState) else state, AbsentState)


def chains(elements, low=2):
    def well_formed(states):
        return not any(is_absence(a) and is_absence(b) for a, b in pairwise(states))

    return few(elements, low, 3).filter(well_formed).map(lambda s: s[0] if len(s) == 1 else NextState(s))


groups = chains(simple_states | chains(simple_states))
pattern_elements = st.one_of(simple_states, groups, st.builds(EveryState, simple_states | groups))


def is_pattern(pattern: Pattern) -> bool:
    state: State = pattern.state
    return not (isinstance(state, StreamState) and state.reference is None and pattern.within_ms is None)


patterns = st.builds(Pattern, chains(pattern_elements, 1), maybe(times)).filter(is_pattern)


@st.composite
def sequences(draw):
    states = draw(chains(simple_states | chains(simple_states))).states
    if draw(st.booleans()) and not isinstance(states[0], NextState):
        states = (EveryState(states[0]), *states[1:])
    return Sequence(NextState(states), draw(maybe(times)))


@st.composite
def joins(draw):
    sides = [replace(draw(sources("last")), alias=draw(maybe(names))) for _ in range(2)]
    within = draw(few(conditions, 0, 2))
    per = draw(conditions) if within else None
    kind, trigger = draw(st.sampled_from(JoinType)), draw(st.sampled_from(Trigger))
    return JoinInput(sides[0], sides[1], kind, trigger, draw(maybe(conditions)), within, per)


event_types = maybe(st.sampled_from(OutputEventType))


@st.composite
def anonymous(draw):
    query = Query(
        input=draw(sources() | patterns | joins()),
        selector=draw(selectors()),
        rate=draw(maybe(rates)),
        output=ReturnOutput(draw(event_types)),
    )
    return AnonymousInput(query, draw(few(plain_handlers | windows, 0, 2)))


# ---- queries


@st.composite
def selectors(draw):
    attribute = st.builds(OutputAttribute, conditions, names) | st.builds(OutputAttribute, variables)
    return Selector(
        tuple(draw(st.lists(attribute, max_size=3, unique_by=lambda a: a.name))),
        draw(few(variables, 0, 2)),
        draw(maybe(conditions)),
        draw(few(st.builds(OrderBy, variables, st.sampled_from(Order)), 0, 2)),
        draw(maybe(row_counts)),
        draw(maybe(row_counts)),
    )


row_counts = st.builds(Constant, st.integers(0, 99), st.sampled_from([T.INT, T.LONG]))
kinds = st.sampled_from(RateKind)
rates = st.one_of(
    st.builds(EventRate, st.integers(0, 99), kinds),
    st.builds(TimeRate, times, kinds),
    st.builds(SnapshotRate, times),
)
assignments = maybe(few(st.builds(SetAttribute, variables, conditions)))
deletes = st.builds(DeleteFrom, event_types, target=names, on=maybe(conditions))
updates = st.builds(UpdateTable, event_types, target=names, set=assignments, on=conditions)
upserts = st.builds(UpdateOrInsertInto, event_types, target=names, set=assignments, on=conditions)


@st.composite
def inserts(draw):
    is_inner, is_fault = draw(prefixes)
    return InsertInto(draw(event_types), target=draw(names), is_inner=is_inner, is_fault=is_fault)


outputs = st.one_of(inserts(), deletes, updates, upserts, st.builds(ReturnOutput, event_types))

elements = st.builds(Element, maybe(plain_names | texts | st.just("a.b-c:d")), texts)
annotations = st.recursive(
    st.builds(Annotation, names, few(elements, 0, 2)),
    lambda inner: st.builds(Annotation, names, few(elements, 0, 2), few(inner, 0, 2)),
    max_leaves=3,
)


@st.composite
def queries(draw):
    return Query(
        input=draw(st.one_of(sources(), joins(), patterns, sequences(), anonymous())),
        selector=draw(selectors()),
        rate=draw(maybe(rates)),
        output=draw(outputs),
        annotations=draw(few(annotations, 0, 2)),
    )


partition_keys = st.builds(ValueKey, names, expression=conditions) | st.builds(
    RangeKey, names, ranges=few(st.tuples(texts, conditions))
)
partitions = st.builds(
    Partition, keys=few(partition_keys, 1, 2), queries=few(queries(), 1, 2), annotations=few(annotations, 0, 2)
)
stores = st.builds(StoreInput, names, maybe(names), maybe(conditions)) | st.builds(
    StoreInput, names, maybe(names), maybe(conditions), few(conditions, 1, 2), conditions
)
on_demand_queries = st.one_of(
    st.builds(OnDemandQuery, input=stores, selector=selectors()),
    st.builds(OnDemandQuery, selector=selectors(), output=st.builds(InsertInto, target=names)),
    st.builds(OnDemandQuery, selector=selectors(), output=deletes | updates | upserts),
)

# ---- definitions

attributes = st.lists(
    st.builds(Attribute, names, st.sampled_from(T)), min_size=1, max_size=3, unique_by=lambda a: a.name
)
schemas = attributes.map(tuple)
annotated = few(annotations, 0, 2)


@st.composite
def aggregations(draw):
    is_range = draw(st.booleans())
    durations = draw(few(st.sampled_from(Duration), 2 if is_range else 1, 2 if is_range else 3))
    selector = draw(selectors())
    return AggregationDefinition(
        id=draw(names),
        annotations=draw(annotated),
        input=draw(sources("never")),
        selector=Selector(selector.attributes, selector.group_by),
        aggregate_by=draw(maybe(variables)),
        durations=durations,
        is_range=is_range,
    )


definitions = st.one_of(
    st.builds(StreamDefinition, names, schemas, annotated),
    st.builds(TableDefinition, names, schemas, annotated),
    st.builds(WindowDefinition, names, schemas, annotated, window=calls(conditions), output=event_types),
    st.builds(TriggerDefinition, names, every_ms=times) | st.builds(TriggerDefinition, names, at=texts),
    st.builds(FunctionDefinition, names, names, st.sampled_from(T), st.text("ab {};=\n").map(lambda t: balanced(t))),
    aggregations(),
)


def balanced(text: str) -> str:
    """Return the text without unmatched braces."""
    kept, depth = [], 0
    for char in text:
        if char == "}" and depth == 0:
            continue
        depth += {"{": 1, "}": -1}.get(char, 0)
        kept.append(char)
    return "".join(kept) + "}" * depth


app_annotations = st.lists(
    st.builds(Annotation, names, few(elements, 0, 2)), max_size=2, unique_by=lambda a: a.name.lower()
).map(tuple)


@st.composite
def apps(draw):
    return SiddhiApp(
        annotations=draw(app_annotations),
        definitions=tuple(draw(st.lists(definitions, min_size=1, max_size=3, unique_by=lambda d: d.id))),
        executions=draw(few(queries() | partitions, 0, 3)),
    )
