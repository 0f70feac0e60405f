"""Worked examples of the built-in functions: evaluated as written, over attributes, with nulls, and in batches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from siddhi._core.expression.evaluate import evaluate
from siddhi._core.record.event import Layout
from siddhi.extension import FunctionMetadata, Registry, builtin_registry
from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import QueryPlan
from siddhi.query_compiler import parse
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.types import type_code
from siddhi.types import AttributeType

_LITERAL = re.compile(r"""\"{3}[\s\S]*?\"{3}|'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?[fFdDlL]?|true|false""")


@dataclass(slots=True)
class Example:
    """A worked example.

    Attributes:
        call: the call as written.
        lifted: the call with an attribute in place of each literal argument that may be one.
        attributes: names and types of those attributes.
        values: their values.
        expected: the value of the call.
    """

    metadata: FunctionMetadata
    call: str
    lifted: str
    attributes: list[tuple[str, AttributeType]]
    values: list[Any]
    expected: Any


def arguments_of(call: str) -> tuple[str, list[str]]:
    """Return the name and the texts of the arguments of a call."""
    name, _, rest = call.partition("(")
    depth, start, found = 0, 0, []
    inside = rest[:-1]
    for match in re.finditer(r'''"""[\s\S]*?"""|'[^']*'|"[^"]*"|[(),]''', inside):
        if match[0] in "()":
            depth += 1 if match[0] == "(" else -1
        elif match[0] == "," and depth == 0:
            found.append(inside[start : match.start()].strip())
            start = match.end()
    last = inside[start:].strip()
    return name, [*found, last] if last else []


def literal(text: str) -> tuple[AttributeType, Any] | None:
    """Return type and value of a literal; None: the text is an expression."""
    if not _LITERAL.fullmatch(text):
        return None
    if text.startswith('"""'):
        return AttributeType.STRING, text[3:-3]
    if text[0] in "'\"":
        return AttributeType.STRING, text[1:-1]
    if text in ("true", "false"):
        return AttributeType.BOOL, text == "true"
    if text[-1] in "fF":
        return AttributeType.FLOAT, float(text[:-1])
    if text[-1] in "dD" or "." in text:
        return AttributeType.DOUBLE, float(text.rstrip("dD"))
    return (AttributeType.LONG, int(text[:-1])) if text[-1] in "lL" else (AttributeType.INT, int(text))


def examples(namespace: str) -> Iterator[Example]:
    """Yield the worked examples of a namespace."""
    number = 0
    for metadata in builtin_registry().all(FunctionMetadata):
        if metadata.namespace != namespace:
            continue
        for call, expected in metadata.results:
            name, arguments = arguments_of(call)
            attributes, values = [], []
            for position, argument in enumerate(arguments):
                found = literal(argument)
                if found is None or not _may_vary(metadata, len(arguments), position):
                    continue
                attributes.append((f"a{number}", found[0]))
                values.append(found[1])
                arguments[position] = f"a{number}"
                number += 1
            yield Example(metadata, call, f"{name}({', '.join(arguments)})", attributes, values, expected)


def _may_vary(metadata: FunctionMetadata, count: int, position: int) -> bool:
    """Return whether an argument need not be a literal."""
    for overload in metadata.overloads:
        parameters = overload.parameters
        if len(parameters) == count or (overload.repeat.value != "once" and count >= len(parameters) - 1):
            return parameters[min(position, len(parameters) - 1)].dynamic
    raise LookupError(f"{metadata.full_name} has no overload of {count} parameters")


def stream_of(found: Sequence[Example], *, name: str = "S") -> str:
    """Return the definition of a stream with all attributes of examples."""
    attributes = ", ".join(f"{name} {type_}" for each in found for name, type_ in each.attributes) or "unused int"
    return f"define stream {name} ({attributes});"


def executors(definition: str, calls: Sequence[str]) -> tuple[list[Any], Layout]:
    """Return the executors of expressions over a stream, and the layout of its events."""
    columns = ", ".join(f"{call} as c{i}" for i, call in enumerate(calls))
    planned = plan(
        parse(f"{definition}\nfrom S select {columns} insert into O;"), registry=Registry(builtin_registry())
    )
    query = planned.executions[0]
    assert isinstance(query, QueryPlan)
    attributes = planned.streams["S"].attributes
    layout = Layout([each.name for each in attributes], [type_code(each.type) for each in attributes])
    builder = ExpressionBuilder({0: Cells(layout)}, {})
    return [builder.build(column.expression) for column in query.selector.columns], layout


def value(executor: Any, layout: Layout, row: Sequence[Any], clock: int | None = None) -> Any:
    """Return the value of an executor, or the type of the error that it raises."""
    try:
        return evaluate(executor, layout, row, clock=clock)
    except Exception as error:  # noqa: BLE001 - what it raises is the answer
        return type(error)
