"""Built-in functions → executors: those without a namespace, and those of a namespace, whose module is loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from siddhi._core.expression.executor import Executor
from siddhi._core.expression.function import make_function
from siddhi._core.function.fold import fold
from siddhi.extension.metadata import FunctionMetadata, StreamProcessorMetadata

__all__ = ["make_builtin", "processor_class"]

_MAKERS = {
    "env": "siddhi.runtime.functions.environment:make",
    "json": "siddhi.runtime.functions.json:make",
    "list": "siddhi.runtime.functions.containers:make_list",
    "map": "siddhi.runtime.functions.containers:make_map",
    "math": "siddhi._core.function.mathematics:make",
    "str": "siddhi.runtime.functions.regex:make_str",
    "regex": "siddhi.runtime.functions.regex:make",
    "ta": "siddhi._core.function.mathematics:make_imbalance",
    "time": "siddhi.runtime.functions.dates:make",
    "unitconversion": "siddhi.runtime.functions.units:make",
}
"""Module and name of what makes the functions of a namespace, called with name, arguments and type."""

_PROCESSORS = {"str:tokenize": "siddhi.runtime.functions.regex:Tokenize"}
"""Module and name of the class of a stream processor that needs the compiled core."""


def processor_class(processor: StreamProcessorMetadata) -> Any:
    """Return the class of a stream processor."""
    if processor.builtin is None:
        return processor.implementation
    module, _, name = _PROCESSORS[processor.builtin].partition(":")
    return getattr(import_module(module), name)


def make_builtin(function: FunctionMetadata, arguments: tuple[Executor, ...], type_: int) -> Executor:
    """Make the executor of a built-in function, or a constant if all its arguments are.

    Args:
        function: its metadata.
        arguments: executors of its arguments.
        type_: :class:`TypeCode` of the result.
    """
    assert function.builtin is not None
    if function.namespace is None:
        made = make_function(function.builtin, arguments, type_)
    else:
        module, _, maker = _MAKERS[function.namespace].partition(":")
        made = getattr(import_module(module), maker)(function.name, arguments, type_)
        if made.type != type_:
            raise TypeError(f"function '{function.full_name}' has type code {made.type}, not {type_}")
    return fold(made, arguments) if function.deterministic and not function.reads_clock else made
