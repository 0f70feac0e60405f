"""Builder of queries, on-demand queries and partitions."""

from __future__ import annotations

from siddhi.errors import DuplicateAttributeError, UnsupportedAttributeTypeError
from siddhi.query_api import (
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
from siddhi.query_compiler.build.inputs import InputBuilder, SourceName
from siddhi.types import AttributeType

__all__ = ["QueryBuilder"]

TrailingInsert = tuple[InsertInto, Selector]


class QueryBuilder(InputBuilder):
    """One method per rule, as in the base class."""

    def query(
        self,
        source: Input,
        selector: Selector | None,
        rate: OutputRate | None,
        output: Output | TrailingInsert,
    ) -> Query:
        if isinstance(output, tuple):
            output, trailing = output
            if selector is not None:
                hint = "remove either 'select ...' or the attributes after the target"
                raise self.error(
                    "the query has two selections: before and after 'insert into'",
                    code="E113",
                    hint=hint,
                    span=trailing.span,
                )
            selector = trailing
        return Query(
            input=source,
            selector=selector or Selector(),
            rate=rate,
            output=output,
            span=self.here,
        )

    # ---- selection

    def selection(
        self,
        attributes: tuple[OutputAttribute, ...],
        group_by: tuple[Variable, ...] | None,
        having: Expression | None,
        order_by: tuple[OrderBy, ...] | None,
        limit: Constant | None,
        offset: Constant | None,
    ) -> Selector:
        span = self.here
        return Selector(attributes, group_by or (), having, order_by or (), limit, offset, span=span)

    trailing_selection = selection

    def select_all(self) -> tuple[OutputAttribute, ...]:
        return ()

    def projection(self, *attributes: OutputAttribute) -> tuple[OutputAttribute, ...]:
        seen = set()
        for attribute in attributes:
            if attribute.name in seen:
                raise DuplicateAttributeError(
                    f"duplicate output attribute '{attribute.name}'",
                    span=attribute.span,
                    source=self.source.text,
                    hint="give it another name with 'as'",
                )
            seen.add(attribute.name)
        return attributes

    def output_attribute(self, expression: Expression, name: str | None) -> OutputAttribute:
        if name is None and not isinstance(expression, Variable):
            if isinstance(expression, Constant) and expression.type is AttributeType.BOOL:
                expression = Variable(self.text, span=expression.span)  # an attribute named "true"
            else:
                hint = f"add a name: {self.text} as ..."
                raise self.error("an expression in a selection needs a name ('as')", code="E111", hint=hint)
        return OutputAttribute(expression, name, span=self.here)

    def juxtaposed_attribute(self, expression: Expression, name: str) -> OutputAttribute:
        if isinstance(expression, Variable):
            message = f"unexpected '{name}' after '{expression.name}'"
            raise self.error(message, code="E113", hint="write 'as' or ',' between them")
        return OutputAttribute(expression, name, span=self.here)

    def group_by(self, *variables: Variable) -> tuple[Variable, ...]:
        return variables

    def having(self, condition: Expression) -> Expression:
        return condition

    def order_by(self, *orders: OrderBy) -> tuple[OrderBy, ...]:
        return orders

    def order(self, variable: Variable, word: str | None) -> OrderBy:
        return OrderBy(variable, Order(word.lower()) if word else Order.ASC, span=self.here)

    def limit(self, value: Expression) -> Constant:
        return self.row_count("limit", value)

    def offset(self, value: Expression) -> Constant:
        return self.row_count("offset", value)

    def row_count(self, clause: str, value: Expression) -> Constant:
        if not isinstance(value, Constant):
            raise self.error(f"'{clause}' takes a number, not an expression", code="E107", span=value.span)
        if value.type not in (AttributeType.INT, AttributeType.LONG):
            message = f"'{clause}' takes an int or long, not a {value.type}"
            raise UnsupportedAttributeTypeError(message, span=value.span, source=self.source.text)
        return value

    # ---- output rate

    def time_rate(self, kind: str | None, milliseconds: int) -> OutputRate:
        return TimeRate(milliseconds, self.rate_kind(kind), span=self.here)

    def event_rate(self, kind: str | None, count: str) -> OutputRate:
        return EventRate(self.integer(count), self.rate_kind(kind), span=self.here)

    def snapshot_rate(self, milliseconds: int) -> OutputRate:
        return SnapshotRate(milliseconds, span=self.here)

    def rate_kind(self, word: str | None) -> RateKind:
        return RateKind(word.lower()) if word else RateKind.ALL

    # ---- output

    def insert(
        self,
        event_type: OutputEventType | None,
        target: SourceName,
        trailing: Selector | None,
    ) -> InsertInto | TrailingInsert:
        output = InsertInto(
            event_type,
            target=target.name,
            is_inner=target.is_inner,
            is_fault=target.is_fault,
            span=self.here,
        )
        return output if trailing is None else (output, trailing)

    def delete(self, target: SourceName, event_type: OutputEventType | None, on: Expression | None) -> Output:
        return DeleteFrom(event_type, target=self.table(target), on=on, span=self.here)

    def update(
        self,
        target: SourceName,
        event_type: OutputEventType | None,
        assignments: tuple[SetAttribute, ...] | None,
        on: Expression,
    ) -> Output:
        table = self.table(target)
        return UpdateTable(event_type, target=table, set=assignments, on=on, span=self.here)

    def update_or_insert(
        self,
        target: SourceName,
        event_type: OutputEventType | None,
        assignments: tuple[SetAttribute, ...] | None,
        on: Expression,
    ) -> Output:
        table = self.table(target)
        return UpdateOrInsertInto(event_type, target=table, set=assignments, on=on, span=self.here)

    def table(self, target: SourceName) -> str:
        if target.is_inner or target.is_fault:
            sign = "#" if target.is_inner else "!"
            message = f"'{sign}{target.name}' is a stream, but a table is expected here"
            raise self.error(message, code="E105", span=target.span)
        return target.name

    def return_events(self, event_type: OutputEventType | None) -> Output:
        return ReturnOutput(event_type, span=self.here)

    def set_clause(self, *assignments: SetAttribute) -> tuple[SetAttribute, ...]:
        return assignments

    def assignment(self, target: Variable, value: Expression) -> SetAttribute:
        return SetAttribute(target, value, span=self.here)

    def all_events(self) -> OutputEventType:
        return OutputEventType.ALL

    def expired_events(self) -> OutputEventType:
        return OutputEventType.EXPIRED

    def current_events(self) -> OutputEventType:
        return OutputEventType.CURRENT

    # ---- partitions

    def partition(
        self,
        keys: tuple[PartitionKey, ...],
        queries: tuple[Query, ...],
    ) -> Partition:
        return Partition(keys=keys, queries=queries, span=self.here)

    def partition_keys(self, *keys: PartitionKey) -> tuple[PartitionKey, ...]:
        return keys

    def value_key(self, expression: Expression, stream: str) -> PartitionKey:
        return ValueKey(stream, expression=expression, span=self.here)

    def range_key(self, *parts: tuple[str, Expression] | str) -> PartitionKey:
        *ranges, stream = parts
        assert isinstance(stream, str)
        pairs = tuple(pair for pair in ranges if isinstance(pair, tuple))
        return RangeKey(stream, ranges=pairs, span=self.here)

    def range(self, condition: Expression, label: str) -> tuple[str, Expression]:
        return label, condition

    def queries(self, *queries: Query) -> tuple[Query, ...]:
        return queries

    # ---- on-demand queries

    def find_query(self, store: StoreInput, selector: Selector | None) -> OnDemandQuery:
        return OnDemandQuery(input=store, selector=selector or Selector(), span=self.here)

    def store(
        self,
        name: str,
        alias: str | None,
        on: Expression | None,
        within_per: tuple[tuple[Expression, ...], Expression] | None,
    ) -> StoreInput:
        within, per = within_per or ((), None)
        return StoreInput(name, alias, on, within, per, span=self.here)

    def store_insert(self, selector: Selector, target: SourceName) -> OnDemandQuery:
        output = InsertInto(target=self.table(target), span=self.here)
        return OnDemandQuery(selector=selector, output=output, span=self.here)

    def store_change(self, selector: Selector | None, output: Output) -> OnDemandQuery:
        if selector is None and isinstance(output, UpdateOrInsertInto):
            hint = "write 'select ...' with the row to insert before it"
            raise self.error("'update or insert' needs a selection", code="E114", hint=hint, span=output.span)
        return OnDemandQuery(selector=selector or Selector(), output=output, span=self.here)
