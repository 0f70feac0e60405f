"""Builds queries, on-demand queries and partitions."""

from __future__ import annotations

from siddhi.errors import DuplicateAttributeError, UnsupportedAttributeTypeError
from siddhi.query_api import (
    Annotation,
    Constant,
    DeleteFrom,
    EventRate,
    Expression,
    Input,
    InsertInto,
    OnDemandQuery,
    Order,
    OrderBy,
    Output,
    OutputAttribute,
    OutputEventType,
    OutputRate,
    Partition,
    PartitionKey,
    Query,
    RangeKey,
    RateKind,
    ReturnOutput,
    Selector,
    SetAttribute,
    SnapshotRate,
    StoreInput,
    TimeRate,
    UpdateOrInsertInto,
    UpdateTable,
    ValueKey,
    Variable,
)
from siddhi.query_compiler.build_inputs import InputBuilder, SourceName
from siddhi.types import AttributeType

__all__ = ["QueryBuilder"]

TrailingInsert = tuple[InsertInto, Selector]


class QueryBuilder(InputBuilder):
    """One method per rule, as in the base class."""

    def single_query(self, begin: int, end: int, query: Query) -> Query:
        return query

    def query(
        self,
        begin: int,
        end: int,
        annotations: tuple[Annotation, ...],
        source: Input,
        selector: Selector | None,
        rate: OutputRate | None,
        output: Output | TrailingInsert,
    ) -> Query:
        if isinstance(output, tuple):
            output, trailing = output
            if selector is not None:
                hint = "leave out either 'select ...' or what follows the target"
                raise self.refused(trailing, "the query selects twice: before and behind 'insert into'", "E113", hint)
            selector = trailing
        return Query(
            input=source,
            selector=selector or Selector(),
            rate=rate,
            output=output,
            annotations=annotations,
            span=self.span(begin, end),
        )

    # ---- selection

    def selection(
        self,
        begin: int,
        end: int,
        attributes: tuple[OutputAttribute, ...],
        group_by: tuple[Variable, ...] | None,
        having: Expression | None,
        order_by: tuple[OrderBy, ...] | None,
        limit: Constant | None,
        offset: Constant | None,
    ) -> Selector:
        span = self.span(begin, end)
        return Selector(attributes, group_by or (), having, order_by or (), limit, offset, span=span)

    trailing_selection = selection

    def select_all(self, begin: int, end: int, star: str) -> tuple[OutputAttribute, ...]:
        return ()

    def projection(self, begin: int, end: int, *attributes: OutputAttribute) -> tuple[OutputAttribute, ...]:
        seen = set()
        for attribute in attributes:
            if attribute.name in seen:
                raise DuplicateAttributeError(
                    f"'{attribute.name}' is already defined as an output attribute",
                    span=attribute.span,
                    source=self.text,
                    hint="give it another name with 'as'",
                )
            seen.add(attribute.name)
        return attributes

    def output_attribute(self, begin: int, end: int, expression: Expression, name: str | None) -> OutputAttribute:
        if name is None and not isinstance(expression, Variable):
            if isinstance(expression, Constant) and expression.type is AttributeType.BOOL:
                expression = Variable(self.text[begin:end], span=expression.span)  # an attribute called "true"
            else:
                hint = f"name it: {self.text[begin:end]} as ..."
                raise self.source.error("an expression in a selection needs a name", begin, end, code="E111", hint=hint)
        return OutputAttribute(expression, name, span=self.span(begin, end))

    def juxtaposed_attribute(self, begin: int, end: int, expression: Expression, name: str) -> OutputAttribute:
        if isinstance(expression, Variable):
            message = f"unexpected '{name}' behind '{expression.name}'"
            raise self.source.error(message, begin, end, code="E113", hint="write 'as' or ',' between them")
        return OutputAttribute(expression, name, span=self.span(begin, end))

    def group_by(self, begin: int, end: int, *variables: Variable) -> tuple[Variable, ...]:
        return variables

    def having(self, begin: int, end: int, condition: Expression) -> Expression:
        return condition

    def order_by(self, begin: int, end: int, *orders: OrderBy) -> tuple[OrderBy, ...]:
        return orders

    def order(self, begin: int, end: int, variable: Variable, word: str | None) -> OrderBy:
        return OrderBy(variable, Order(word.lower()) if word else Order.ASC, span=self.span(begin, end))

    def limit(self, begin: int, end: int, value: Expression) -> Constant:
        return self.row_count("limit", value)

    def offset(self, begin: int, end: int, value: Expression) -> Constant:
        return self.row_count("offset", value)

    def row_count(self, clause: str, value: Expression) -> Constant:
        if not isinstance(value, Constant):
            raise self.refused(value, f"'{clause}' takes a number, not an expression", "E107")
        if value.type not in (AttributeType.INT, AttributeType.LONG):
            message = f"'{clause}' takes an int or long, but this is a {value.type}"
            raise UnsupportedAttributeTypeError(message, span=value.span, source=self.text)
        return value

    # ---- output rate

    def time_rate(self, begin: int, end: int, kind: str | None, milliseconds: int) -> OutputRate:
        return TimeRate(milliseconds, self.rate_kind(kind), span=self.span(begin, end))

    def event_rate(self, begin: int, end: int, kind: str | None, count: str) -> OutputRate:
        return EventRate(int(count), self.rate_kind(kind), span=self.span(begin, end))

    def snapshot_rate(self, begin: int, end: int, milliseconds: int) -> OutputRate:
        return SnapshotRate(milliseconds, span=self.span(begin, end))

    def rate_kind(self, word: str | None) -> RateKind:
        return RateKind(word.lower()) if word else RateKind.ALL

    # ---- output

    def insert(
        self,
        begin: int,
        end: int,
        event_type: OutputEventType | None,
        target: SourceName,
        trailing: Selector | None,
    ) -> InsertInto | TrailingInsert:
        output = InsertInto(
            event_type,
            target=target.name,
            is_inner=target.is_inner,
            is_fault=target.is_fault,
            span=self.span(begin, end),
        )
        return output if trailing is None else (output, trailing)

    def delete(
        self, begin: int, end: int, target: SourceName, event_type: OutputEventType | None, on: Expression | None
    ) -> Output:
        return DeleteFrom(event_type, target=self.table(target, begin, end), on=on, span=self.span(begin, end))

    def update(
        self,
        begin: int,
        end: int,
        target: SourceName,
        event_type: OutputEventType | None,
        assignments: tuple[SetAttribute, ...] | None,
        on: Expression,
    ) -> Output:
        table = self.table(target, begin, end)
        return UpdateTable(event_type, target=table, set=assignments, on=on, span=self.span(begin, end))

    def update_or_insert(
        self,
        begin: int,
        end: int,
        target: SourceName,
        event_type: OutputEventType | None,
        assignments: tuple[SetAttribute, ...] | None,
        on: Expression,
    ) -> Output:
        table = self.table(target, begin, end)
        return UpdateOrInsertInto(event_type, target=table, set=assignments, on=on, span=self.span(begin, end))

    def table(self, target: SourceName, begin: int, end: int) -> str:
        if target.is_inner or target.is_fault:
            sign = "#" if target.is_inner else "!"
            message = f"'{sign}{target.name}' is a stream, but only tables can be updated and deleted from"
            raise self.source.error(message, begin, end, code="E105")
        return target.name

    def return_events(self, begin: int, end: int, event_type: OutputEventType | None) -> Output:
        return ReturnOutput(event_type, span=self.span(begin, end))

    def set_clause(self, begin: int, end: int, *assignments: SetAttribute) -> tuple[SetAttribute, ...]:
        return assignments

    def assignment(self, begin: int, end: int, target: Variable, value: Expression) -> SetAttribute:
        return SetAttribute(target, value, span=self.span(begin, end))

    def all_events(self, begin: int, end: int, word: str) -> OutputEventType:
        return OutputEventType.ALL

    def expired_events(self, begin: int, end: int) -> OutputEventType:
        return OutputEventType.EXPIRED

    def current_events(self, begin: int, end: int) -> OutputEventType:
        return OutputEventType.CURRENT

    # ---- partitions

    def partition(
        self,
        begin: int,
        end: int,
        annotations: tuple[Annotation, ...],
        keys: tuple[PartitionKey, ...],
        queries: tuple[Query, ...],
    ) -> Partition:
        return Partition(keys=keys, queries=queries, annotations=annotations, span=self.span(begin, end))

    def partition_keys(self, begin: int, end: int, *keys: PartitionKey) -> tuple[PartitionKey, ...]:
        return keys

    def value_key(self, begin: int, end: int, expression: Expression, stream: str) -> PartitionKey:
        return ValueKey(stream, expression=expression, span=self.span(begin, end))

    def range_key(self, begin: int, end: int, *parts: tuple[str, Expression] | str) -> PartitionKey:
        *ranges, stream = parts
        assert isinstance(stream, str)
        pairs = tuple(pair for pair in ranges if isinstance(pair, tuple))
        return RangeKey(stream, ranges=pairs, span=self.span(begin, end))

    def range(self, begin: int, end: int, condition: Expression, label: str) -> tuple[str, Expression]:
        return label, condition

    def queries(self, begin: int, end: int, *queries: Query) -> tuple[Query, ...]:
        return queries

    # ---- on-demand queries

    def find_query(self, begin: int, end: int, store: StoreInput, selector: Selector | None) -> OnDemandQuery:
        return OnDemandQuery(input=store, selector=selector or Selector(), span=self.span(begin, end))

    def store(
        self,
        begin: int,
        end: int,
        name: str,
        alias: str | None,
        on: Expression | None,
        within_per: tuple[tuple[Expression, ...], Expression] | None,
    ) -> StoreInput:
        within, per = within_per or ((), None)
        return StoreInput(name, alias, on, within, per, span=self.span(begin, end))

    def store_insert(self, begin: int, end: int, selector: Selector, target: SourceName) -> OnDemandQuery:
        output = InsertInto(target=self.table(target, begin, end), span=self.span(begin, end))
        return OnDemandQuery(selector=selector, output=output, span=self.span(begin, end))

    def store_change(self, begin: int, end: int, selector: Selector | None, output: Output) -> OnDemandQuery:
        if selector is None and isinstance(output, UpdateOrInsertInto):
            hint = "write 'select ...' with the row to insert in front of it"
            raise self.refused(output, "'update or insert' needs a selection", "E114", hint)
        return OnDemandQuery(selector=selector or Selector(), output=output, span=self.span(begin, end))
