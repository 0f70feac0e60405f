"""Parse SiddhiQL text into the object model: a shift-reduce loop over the tables of the grammar."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from siddhi.errors import SiddhiAppError
from siddhi.query_compiler.build.app import Builder
from siddhi.query_compiler.hints import syntax_error
from siddhi.query_compiler.scanner import Scanner
from siddhi.query_compiler.source import Source
from siddhi.query_compiler.tables import END, NOTHING, Tables, load
from siddhi.query_compiler.variables import substitute
from siddhi.sandbox import ANY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from siddhi.query_api import Expression, OnDemandQuery, Query, SiddhiApp

__all__ = ["parse", "parse_expression", "parse_on_demand_query", "parse_query", "parse_time"]


def parse(
    text: str,
    variables: Mapping[str, str] | None = None,
    *,
    environment: Collection[str] = (ANY,),
    needs_definitions: bool = True,
) -> SiddhiApp:
    """Compile the text of an app.

    Args:
        text: SiddhiQL; each ``${name}`` is replaced before parsing.
        variables: values for ``${name}``; a name that is missing here is read from the environment.
        environment: names of the environment variables that may be used; ``"*"`` stands for all.
        needs_definitions: whether an app without definitions is an error; the caller of another one adds definitions.

    Returns:
        The app; its ``source`` is the text after replacement, to which the spans of all nodes refer.

    Raises:
        SiddhiParserError: the text is not valid SiddhiQL; only the first error is reported.
        SiddhiAppValidationError: a name or annotation is duplicated (and its subclasses).
        TypeError: ``text`` is not a str; the other functions raise it too.
    """
    replaced = substitute(_required_text(text), variables, environment)
    return cast("SiddhiApp", _run("app", replaced, needs_definitions=needs_definitions))


def parse_on_demand_query(text: str) -> OnDemandQuery:
    """Compile an on-demand query. ``${variables}`` are not replaced.

    Raises:
        SiddhiParserError: the text is not an on-demand query.
    """
    return cast("OnDemandQuery", _run("on_demand_query", text))


def parse_query(text: str) -> Query:
    """Compile one query, with or without its semicolon.

    Raises:
        SiddhiParserError: the text is not a query.
    """
    return cast("Query", _run("single_query", text))


def parse_expression(text: str) -> Expression:
    """Compile one expression, such as the argument of an expression window.

    Raises:
        SiddhiParserError: the text is not an expression.
    """
    return cast("Expression", _run("single_expression", text))


def parse_time(text: str) -> int:
    """Return the milliseconds of a duration such as ``10 sec`` or ``1 hour 25 min``.

    Raises:
        SiddhiParserError: the text is not a duration.
    """
    return cast("int", _run("duration", text))


Step = tuple[int, bool, "tuple[int, ...] | None", "Callable[..., Any] | None", str, bool]
"""A rule as the loop reads it: size, whether it only renames its child, layout, method of the builder, head, passes."""


@cache
def _tables() -> tuple[Tables, tuple[Step, ...], dict[tuple[int, int, str], int]]:
    """Return the tables, a step for every rule, and the memory of :func:`_renamed`."""
    tables = load()
    steps = [
        (
            rule.size,
            rule.passes and rule.size == 1,
            rule.layout,
            None if rule.action is None else getattr(Builder, rule.action),
            rule.head,
            rule.passes,
        )
        for rule in tables.rules
    ]
    return tables, tuple(steps), {}


def _required_text(text: object) -> str:
    if isinstance(text, str):
        return text
    hint = ""
    if isinstance(text, os.PathLike):
        hint = "; read the file: path.read_text(encoding='utf-8')"
    elif isinstance(text, (bytes, bytearray)):
        hint = "; decode it: text.decode('utf-8')"
    raise TypeError(f"expected SiddhiQL text as a str, got {type(text).__name__}{hint}")


def _run(start: str, text: str, *, needs_definitions: bool = True) -> object:
    tables, steps, renamed = _tables()
    source = Source(_required_text(text))
    scanner = Scanner(source, tables.keywords, tables.punctuation)
    builder = Builder(source, needs_definitions=needs_definitions)
    try:
        built = _reduce(tables, steps, renamed, tables.starts[start], scanner, builder)
        if source.open_comment is not None and start != "app":
            raise source.unclosed_comment()
        return built
    except SiddhiAppError as error:
        raise error.located(source=text, app=builder.app_name) from None


def _reduce(
    tables: Tables,
    steps: tuple[Step, ...],
    renamed: dict[tuple[int, int, str], int],
    start: int,
    scanner: Scanner,
    builder: Builder,
) -> object:
    """Shift tokens and reduce rules until the start rule is complete.

    Three stacks run in parallel: states, values, and the offset at which each value begins. A value ends where the next
    one begins or, for the last one, where the last token ended (``last``). A rule is reduced before the next token is
    shifted, so ``last`` is always the end of the rule.
    """
    actions, gotos = tables.actions, tables.gotos
    scan = scanner.next
    states = [start]
    values: list[Any] = []
    begins: list[int] = []
    last = 0
    row = actions[start]
    kind, value, begin, end = scan(row)
    while True:
        action = row.get(kind)
        if action is None:
            if kind == END and scanner.source.open_comment is not None:
                raise scanner.source.unclosed_comment()
            raise syntax_error(scanner.source, tables, start, kind, begin, end)
        if action >= 0:
            if kind == END:
                return values[-1]
            states.append(action)
            values.append(value)
            begins.append(begin)
            last = end
            row = actions[action]
            kind, value, begin, end = scan(row)
            continue
        size, renames, layout, method, head, passes = steps[~action]
        if renames:
            # An operand is renamed once for each level of precedence: all of that is one step.
            key = (states[-2], states[-1], kind)
            state = renamed.get(key)
            if state is None:
                state = renamed[key] = _renamed(tables, steps, *key)
            states[-1] = state
            row = actions[state]
            continue
        if size:
            children = values[-size:]
            first = begins[-size]
            del states[-size:], values[-size:], begins[-size:]
        else:
            children = []
            first = begin
        if layout is not None:
            children = _arranged(children, layout)
        if method is not None:
            builder.begin = first
            builder.end = last if size else first
            values.append(method(builder, *children))
        else:
            values.append(children[0] if passes else children)
        begins.append(first)
        state = gotos[states[-1]][head]
        states.append(state)
        row = actions[state]


def _renamed(tables: Tables, steps: tuple[Step, ...], below: int, state: int, kind: str) -> int:
    """Return the state on top of another one after all rules that only rename a child, before a token of a kind."""
    while True:
        action = tables.actions[state].get(kind, 0)
        if action >= 0 or not steps[~action][1]:
            return state
        state = tables.gotos[below][steps[~action][4]]


def _arranged(children: list[Any], layout: tuple[int, ...]) -> list[Any]:
    """Return the children in the order in which the builder method takes them (see ``tables.NOTHING``)."""
    arranged: list[Any] = []
    if layout[:1] == (~1,):  # a growing list: append in place, this is its only owner
        arranged, layout = children[0], layout[1:]
    for entry in layout:
        if entry >= 0:
            arranged.append(children[entry])
        elif entry == NOTHING:
            arranged.append(None)
        else:
            arranged.extend(children[~entry - 1])
    return arranged
