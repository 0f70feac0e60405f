"""A store for tests: rows in a list, conditions as Python functions; a test can disconnect it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from siddhi import Event, SiddhiAppRuntime, SiddhiManager, extension
from siddhi.errors import ConnectionUnavailableError
from siddhi.stores import (
    And,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    Constant,
    IsNull,
    Not,
    Or,
    Parameter,
    RecordTable,
    UnsupportedExpressionError,
)

Evaluate = Callable[[tuple, dict], Any]

_SIGNS = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def evaluator(node: Any) -> Evaluate:
    """Return a Python function that computes an expression from a row and parameters."""
    match node:
        case Attribute(position=position):
            return lambda row, values: row[position]
        case Parameter(name=name):
            return lambda row, values: values[name]
        case Constant(value=value):
            return lambda row, values: value
        case Cast(operand=operand):
            return evaluator(operand)
        case And(operands=operands):
            parts = [evaluator(part) for part in operands]
            return lambda row, values: all(part(row, values) for part in parts)
        case Or(operands=operands):
            parts = [evaluator(part) for part in operands]
            return lambda row, values: any(part(row, values) for part in parts)
        case Not(operand=operand):
            inner = evaluator(operand)
            return lambda row, values: not inner(row, values)
        case IsNull(operand=operand):
            inner = evaluator(operand)
            return lambda row, values: inner(row, values) is None
        case Comparison(operator=sign, left=left, right=right):
            return _comparison(sign, evaluator(left), evaluator(right))
        case Arithmetic(operator=sign, left=left, right=right) if sign in _SIGNS:
            return _arithmetic(_SIGNS[sign], evaluator(left), evaluator(right))
    raise UnsupportedExpressionError(f"the shelf knows no {type(node).__name__}")


def _comparison(sign: str, left: Evaluate, right: Evaluate) -> Evaluate:
    def compare(row: tuple, values: dict) -> bool:
        a, b = left(row, values), right(row, values)
        if sign == "!=":
            return a is None or b is None or a != b
        return a is not None and b is not None and _SIGNS[sign](a, b)

    return compare


def _arithmetic(sign: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    def compute(row: tuple, values: dict) -> Any:
        a, b = left(row, values), right(row, values)
        return None if a is None or b is None else sign(a, b)

    return compute


class Shelf(RecordTable):
    """Rows of the tables by name; they outlive the apps."""

    def __init__(self) -> None:
        self.rows: list[tuple] = []
        self.calls: list[str] = []
        self.down = False
        self.broken: Exception | None = None

    def init(self, options: Any, context: Any) -> None:
        self.options, self.context = options.texts(), context
        self.calls.append("init")

    def check(self, call: str) -> None:
        self.calls.append(call)
        if self.broken is not None:
            raise self.broken
        if self.down:
            raise ConnectionUnavailableError("the shelf is away")

    def connect(self) -> None:
        self.check("connect")

    def disconnect(self) -> None:
        self.calls.append("disconnect")

    def destroy(self) -> None:
        self.calls.append("destroy")

    def compile_condition(self, condition: Any) -> Evaluate:
        return evaluator(condition)

    def compile_value(self, value: Any) -> Evaluate:
        return evaluator(value)

    def key(self, row: tuple) -> tuple:
        return tuple(row[position] for position in self.context.primary_key)

    def add(self, records: Any) -> None:
        self.check("add")
        for record in records:
            if self.context.primary_key and any(self.key(record) == self.key(row) for row in self.rows):
                self.context.refuse(record, "the key is taken")
            else:
                self.rows.append(record)

    def find(self, condition: Evaluate | None, parameters: Any) -> Iterator[tuple]:
        self.check("find")
        return iter([row for row in self.rows if condition is None or condition(row, parameters)])

    def delete(self, condition: Evaluate, parameters: Any) -> None:
        self.check("delete")
        for values in parameters:
            self.rows = [row for row in self.rows if not condition(row, values)]

    def update(self, condition: Evaluate, parameters: Any, sets: Any) -> None:
        self.check("update")
        for values in parameters:
            changed = []
            for row in self.rows:
                new = list(row)
                if condition(row, values):
                    for position, value in sets.items():
                        new[position] = value(row, values)
                changed.append(tuple(new))
            keys = [self.key(row) for row in changed]
            if self.context.primary_key and len(set(keys)) < len(keys):
                self.context.refuse_change(values, "the key is taken")
            else:
                self.rows = changed


@contextmanager
def shelf_manager(**options: Any) -> Iterator[tuple[SiddhiManager, Shelf]]:
    """Return a manager that keeps tables of ``@store(type = 'shelf')`` on the given shelf."""
    shelf = Shelf()

    @extension.store("shelf", registry=extension.Registry())
    class Held(Shelf):
        def __new__(cls) -> Any:
            return shelf

        def __init__(self) -> None:
            """Do nothing: the shelf belongs to the test."""

    with SiddhiManager(**options) as manager:
        manager.set_extension("shelf", Held)
        yield manager, shelf


class App:
    """Running app, with the events of stream O and the errors."""

    def __init__(self, manager: SiddhiManager, text: str) -> None:
        self.runtime: SiddhiAppRuntime = manager.create_siddhi_app_runtime(text)
        self.out: list[tuple] = []
        self.errors: list[str] = []
        if "O" in self.runtime.stream_definitions:
            self.runtime.add_callback("O", lambda events: self.out.extend(event.data for event in events))
        self.runtime.handle_exception_with(lambda error, origin, events: self.errors.append(str(error)))
        self.runtime.start()

    def send(self, stream: str, *rows: tuple) -> None:
        for row in rows:
            self.runtime.input_handler(stream).send(row)

    def send_chunk(self, stream: str, *rows: tuple) -> None:
        self.runtime.input_handler(stream).send_events([Event(1, row) for row in rows])

    def ask(self, text: str) -> list[tuple]:
        return [event.data for event in self.runtime.query(text)]

    def rows(self) -> list[tuple]:
        return self.ask("from T select *")
