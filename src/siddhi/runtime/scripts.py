"""Script functions: the body of a ``define function f[python]`` as a Python callable.

The text between the braces of the definition, with any indentation, is the body of a function: it gets the arguments of
a call as the list ``data`` and returns the result. Null is None.

    define function ratio[python] return double {
        bid, ask = data
        return bid / ask if ask else None
    };

A script runs with all the rights of the process; planning rejects scripts of apps that are not trusted (E330). Names that
a body declares ``global`` belong to that function of that app and keep their value from call to call.

E331 no compiler for the language      E332 body is not Python, or returns nothing
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from siddhi.errors import SiddhiAppCreationError
from siddhi.extension.metadata import ScriptLanguageMetadata
from siddhi.query_api.definition import FunctionDefinition
from siddhi.query_api.span import Span

__all__ = ["compile_script"]

# Python refuses 'return' outside of a function only after parsing, so the body is parsed alone and inserted here.
_TEMPLATE = "def script(*data):\n    data = [*data]\n"
_BLOCK = (
    "def block():\n"  # makes an indented body a block, so that no line of it (or of a string in it) has to be changed
)


def compile_script(
    definition: FunctionDefinition,
    *,
    language: ScriptLanguageMetadata | None = None,
    source: str | None = None,
) -> Callable[..., object]:
    """Compile a script to a callable with one positional argument per argument of a call.

    Args:
        definition: the ``define function``.
        language: a registered language of that name; its implementation, if it has one, compiles the body.
        source: the app's text, so that errors in the body show line and column.

    Raises:
        SiddhiAppCreationError: the language is unknown, or the body is not Python.
    """
    if language is not None and language.implementation is not None:
        compiled: Callable[..., object] = language.implementation(definition)
        return compiled
    if definition.language.lower() != "python":
        raise SiddhiAppCreationError(
            f"unsupported language '{definition.language}' of script function '{definition.id}'",
            code="E331",
            span=definition.span,
            hint=f"write it in Python: define function {definition.id}[python] return {definition.return_type} "
            "{ return ...data[0]... }",
        )
    return _compile_python(_Body(definition, source))


class _Body:
    """The body of a definition and its position in the app's text."""

    def __init__(self, definition: FunctionDefinition, source: str | None) -> None:
        self.name = definition.id
        self.text = definition.body
        self._definition = definition
        self._begins = _body_start(definition, source)

    def error(self, message: str, hint: str | None = None, span: Span | None = None) -> SiddhiAppCreationError:
        """Make an error about the body, at a span or else at the definition."""
        return SiddhiAppCreationError(
            f"script function '{self.name}' {message}", code="E332", span=span or self._definition.span, hint=hint
        )

    def not_python(self, error: Exception, layout: _Layout) -> SiddhiAppCreationError:
        """Make an error from one of Python's compiler, at its position in the app's text."""
        if not isinstance(error, SyntaxError) or error.lineno is None:
            return self.error(f"is not Python: {error}")
        lines = self.text.split("\n")
        line = min(max(error.lineno - layout.added_lines, 1), len(lines))
        column = (error.offset or 1) - 1 - (layout.shift if line == 1 else 0)
        column = min(max(column, 0), len(lines[line - 1]))
        width = 1
        if error.end_lineno == error.lineno and error.end_offset is not None and error.offset is not None:
            width = max(1, error.end_offset - error.offset)
        first_line, first_column = self._begins or (1, 0)
        message = re.sub(
            r"\bon line (\d+)",
            lambda found: f"on line {int(found[1]) - layout.added_lines + first_line - 1}",
            error.msg,
        )
        if self._begins is None:
            return self.error(f"is not Python: {message}, in line {line} of its body")
        if line == 1:
            column += first_column
        span = Span(first_line + line - 1, column, first_line + line - 1, column + width)
        return self.error(f"is not Python: {message}", span=span)


def _body_start(definition: FunctionDefinition, source: str | None) -> tuple[int, int] | None:
    """Return line and column of the first character after the opening brace, counted back from the closing one."""
    span, body = definition.span, definition.body
    if span is None:
        return None
    line = span.end_line - body.count("\n")
    if "\n" not in body:
        return line, span.end_column - 1 - len(body)
    if source is None:
        return line, 0
    return line, len(source.split("\n")[line - 1]) - len(body.partition("\n")[0])


class _Layout(NamedTuple):
    """A body as text that Python can parse."""

    text: str
    added_lines: int = 0  # in front of the body
    shift: int = 0  # characters added to the first line


def _layouts(text: str) -> Iterator[_Layout]:
    """Yield the ways to read the indentation of a body; the first without an indentation error applies."""
    first, _, rest = text.partition("\n")
    margins = [_margin(line) for line in rest.split("\n") if _is_code(line)]
    if not _is_code(first) or not margins:
        indented = next((bool(_margin(line)) for line in text.split("\n") if _is_code(line)), False)
        yield _Layout(_BLOCK + text, added_lines=1) if indented else _Layout(text)
        return
    # Code right after the brace: at the indentation of the lines below it, or one level up, as in "{if a:".
    for margin in (min(margins, key=len), ""):
        aligned = f"{margin}{first.lstrip()}\n{rest}"
        shift = len(margin) - len(_margin(first))
        yield _Layout(_BLOCK + aligned, 1, shift) if margin else _Layout(aligned, 0, shift)


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _parse(body: _Body) -> tuple[list[ast.stmt], _Layout]:
    """Return the statements of a body, with its own line numbers, and the layout that fits it."""
    first_failure: SiddhiAppCreationError | None = None
    for layout in _layouts(body.text):
        try:
            statements = ast.parse(layout.text).body
            if layout.added_lines:
                statements = _inside(statements)
        except (SyntaxError, ValueError, RecursionError) as error:
            failure = body.not_python(error, layout)
            failure.__cause__ = error
            first_failure = first_failure or failure
            if isinstance(error, IndentationError):
                continue
            raise failure from error
        for statement in statements:
            ast.increment_lineno(statement, -layout.added_lines)
        return statements, layout._replace(added_lines=0)
    assert first_failure is not None
    raise first_failure


def _inside(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of the block around a body; there must be no others."""
    block, *beside = statements
    assert isinstance(block, ast.FunctionDef)
    if beside:
        position = ("<script>", beside[0].lineno, 1, None)
        raise IndentationError("unindent does not match any outer indentation level", position)
    return block.body


def _compile_python(body: _Body) -> Callable[..., object]:
    statements, layout = _parse(body)
    nodes = list(_own_nodes(statements))
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
        raise body.error("uses 'yield', but a call has one result", "write 'return' in place of 'yield'")
    if not any(isinstance(node, (ast.Return, ast.Raise)) for node in nodes):
        raise body.error("returns nothing", "add 'return <result>', or 'return None'")
    template = ast.parse(_TEMPLATE)
    function = template.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body.extend(statements)
    namespace: dict[str, Any] = {"__builtins__": builtins, "__name__": f"script {body.name}"}
    try:
        code = compile(template, f"<script {body.name}>", "exec")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise body.not_python(error, layout) from error
    exec(code, namespace)  # noqa: S102 - the host that creates the app trusts its text
    script = namespace.pop("script")
    assert isinstance(script, FunctionType)
    script.__name__ = script.__qualname__ = body.name
    return script


def _own_nodes(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body without those of nested functions and classes."""
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
