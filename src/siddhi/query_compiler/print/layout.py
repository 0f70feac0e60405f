"""Lay out the text of an app: one clause per line, lines of bounded width, comments and blank lines where they were."""

from __future__ import annotations

import itertools
import re

from siddhi.errors import SiddhiParserError
from siddhi.query_api import Annotation, FunctionDefinition, Node, Partition, Query, SiddhiApp
from siddhi.query_compiler.parser import parse
from siddhi.query_compiler.print.annotations import annotation_text
from siddhi.query_compiler.print.app import to_siddhiql
from siddhi.query_compiler.source import Source
from siddhi.query_compiler.tokens import token_at
from siddhi.query_compiler.variables import variables_in

__all__ = ["format_app"]

WIDTH = 120
_SKIPPED = re.compile(r"(?P<comment>--[^\r\n]*|/\*(?s:.*?)\*/)|(?P<line>\r?\n)|[ \t\r\v;]+")
_WORDS_BEFORE_BREAK = frozenset({"and", "or", "join", "within"})


def format_app(text: str, width: int = WIDTH) -> str:
    """Return the text of an app in the layout of :func:`to_siddhiql`, which means the same.

    Comments stay before the element they stood before, or at the end of its line. An element with a comment or a
    ``${variable}`` inside keeps its own layout. Single blank lines stay; queries and partitions are set apart by one.

    Args:
        text: SiddhiQL.
        width: of a line; a longer one is broken behind commas and before ``and``, ``or``, ``->``, ``join`` and ``within``.

    Raises:
        SiddhiParserError: the text is not SiddhiQL.
    """
    app = _parsed(text)
    source = Source(text)
    lines: list[str] = []
    position = 0
    nodes: list[Node] = [*app.annotations, *app.definitions, *app.executions]
    for begin, end, node in sorted(((*source.extent(node), node) for node in nodes), key=lambda element: element[:2]):
        blanks = _add_comments(lines, text[position:begin])
        original = text[begin:end]
        is_apart = isinstance(node, (Query, Partition))  # else blank lines are the author's choice
        if lines and (blanks or (is_apart and not _is_comment(lines[-1]))) and lines[-1]:
            lines.append("")
        keeps_layout = "${" in original or _has_comment(original)
        written = _trimmed(original) if keeps_layout else _written(node, width)
        lines += (written + ("" if isinstance(node, Annotation) else ";")).split("\n")
        if is_apart:
            lines.append("")
        position = end
    _add_comments(lines, text[position:])
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n" if lines else ""


def _parsed(text: str) -> SiddhiApp:
    """Parse a text whose variables have no values: each stands for a name or, where that is an error, for a number."""
    variables = variables_in(text)
    numbers: set[int] = set()  # where variables begin that stand for numbers
    source = Source(text)
    while True:
        filled = text
        for variable in variables:
            begin, end = variable.span()
            filled = filled[:begin] + ("1" if begin in numbers else "v") * (end - begin) + filled[end:]
        try:
            return parse(filled)
        except SiddhiParserError as error:
            place = source.offset(error.line or 1, error.column or 0)
            before = [variable.start() for variable in variables if variable.start() <= place]
            if not before or before[-1] in numbers:
                raise
            numbers.add(before[-1])


def _add_comments(lines: list[str], between: str) -> bool:
    """Add the comments between two elements to the lines; return whether a blank line comes behind the last one."""
    breaks = 0 if lines else 1
    for match in _SKIPPED.finditer(between):
        if match["line"] is not None:
            breaks += 1
        elif match["comment"] is not None:
            comment = _trimmed(match["comment"])
            if breaks == 0 and lines and lines[-1] and not _is_comment(lines[-1]):
                lines[-1] += f" {comment}"
            elif breaks == 0 and len(lines) > 1 and not lines[-1] and "\n" not in comment:
                lines[-2] += f" {comment}"  # behind a query, which a blank line follows
            else:
                if breaks > 1 and lines and lines[-1]:
                    lines.append("")
                lines += comment.split("\n")
            breaks = 0
    return breaks > 1


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("--", "/*")) or line.endswith("*/")


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n"))


def _has_comment(text: str) -> bool:
    """Return whether there is a comment between the tokens of an element."""
    position = 0
    while True:
        kind, _, begin, end = token_at(text, position)
        if text[position:begin].strip() or kind == "comment":
            return True
        if kind in ("end", "script"):  # a script is the last token of its definition
            return False
        position = end


def _written(node: Node, width: int) -> str:
    text = annotation_text(node, "app:") if isinstance(node, Annotation) else to_siddhiql(node)
    if isinstance(node, FunctionDefinition):
        return text
    return "\n".join(broken for line in text.split("\n") for broken in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    """Return a line as several ones of at most ``width`` characters where it can be broken."""
    if len(line) <= width:
        return [line]
    margin = len(line) - len(line.lstrip())
    pieces = _pieces(line[margin:])
    lines = [" " * margin + pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(piece.rstrip()) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * (margin + 4) + piece.lstrip())
        else:
            lines[-1] += piece
    return lines


def _pieces(line: str) -> list[str]:
    """Cut a line where it can be broken."""
    cuts, position = [0], 0
    while True:
        kind, value, begin, end = token_at(line, position)
        if kind == "end":
            break
        if kind == ",":
            cuts.append(end)
        elif kind == "->" or (kind == "word" and value.lower() in _WORDS_BEFORE_BREAK):
            cuts.append(begin)
        position = end
    cuts.append(len(line))
    return [line[begin:end] for begin, end in itertools.pairwise(cuts) if begin < end]
