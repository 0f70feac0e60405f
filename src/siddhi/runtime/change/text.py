"""The text of an app with definitions and queries added, or one of them removed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from siddhi.errors import (
    CannotChangeAppError,
    DefinitionNotExistError,
    SiddhiAppCreationError,
    SiddhiAppError,
    did_you_mean,
)
from siddhi.planner.distribution.statements import executions_by_name
from siddhi.planner.plan.elements import app_elements
from siddhi.planner.plan.nodes import Plan, StreamOrigin
from siddhi.query_api.app import SiddhiApp
from siddhi.query_compiler.parser import parse
from siddhi.query_compiler.print.app import to_siddhiql
from siddhi.query_compiler.source import Source

__all__ = ["Added", "with_added", "without"]

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_LONG_BLANK = re.compile(r"\s{100,}")
"""Left by queries that were removed alone."""
_DEFINITION = "define stream `siddhi added` (a int);\n"
"""Makes queries alone an app."""


class Added(NamedTuple):
    """The text of an app to which a text was added."""

    text: str
    added: str
    """What was added, behind :data:`_DEFINITION` if it is queries alone."""
    begin: int
    """Where it begins there."""
    places: tuple[tuple[int, int, int], ...]
    """Begin and end of a part of it in the text of the app, and its begin in what was added."""

    def locate(self, error: SiddhiAppError) -> None:
        """Let an error name the place in what was added, if that is where it is."""
        if error.span is None or error.source != self.text:
            return
        source = Source(self.text)
        at, end = (
            source.offset(line, column)
            for line, column in ((error.span.line, error.span.column), (error.span.end_line, error.span.end_column))
        )
        for begin, limit, own in self.places:
            if begin <= at < limit:
                moved = own - begin - self.begin
                error.source = self.added[self.begin :]
                error.span = Source(error.source).span(at + moved, end + moved)


def with_added(plan: Plan, text: str, environment: Collection[str]) -> Added:
    """Return the text of an app with more definitions, queries and partitions: each behind its own.

    Args:
        plan: the plan of the app.
        text: what to add.
        environment: names of the environment variables that it may use.

    Raises:
        SiddhiAppError: the text is not SiddhiQL, has an annotation of the app, or nothing to add.
        TypeError: it is not a text.
    """
    added, begin = _parsed(text, environment)
    if added.annotations:
        raise SiddhiAppCreationError(
            f"'@app:{added.annotations[0].name}' can't be added to a running app",
            code="E326",
            span=added.annotations[0].span,
            source=added.source,
            hint="add definitions and queries only, or replace the whole app with replace()",
        )
    own, more = _Places(plan.app), _Places(added)
    parts = (
        (own.definitions(), None),
        (more.definitions(begin), begin),
        (own.executions(), None),
        (more.executions(), more.first),
    )
    joined, places = "", []
    for part, place in parts:
        if part.strip():
            joined += "\n" if joined else ""
            if place is not None:
                places.append((len(joined), len(joined) + len(part), place))
            joined += part
    return Added(joined, more.text, begin, tuple(places))


def _parsed(text: str, environment: Collection[str]) -> tuple[SiddhiApp, int]:
    """Return an app that has the text, and where in its source the text begins."""
    try:
        return parse(text, environment=environment), 0
    except SiddhiAppError as error:
        if error.code != "E104":  # not: queries alone are no app
            raise
    app = parse(_DEFINITION + text, environment=environment)
    if not app.executions:
        raise SiddhiAppCreationError(
            "there is nothing to add", code="E326", source=text, hint="write a definition, a query or a partition"
        )
    return app, len(_DEFINITION)


def without(plan: Plan, name: str) -> str:
    """Return the text of an app without one of its elements.

    Args:
        plan: the plan of the app.
        name: its name, or its label, such as ``query 'q'``.

    Raises:
        DefinitionNotExistError: there is no such element.
        CannotChangeAppError: others depend on it, or several elements have this name.
    """
    app, places = plan.app, _Places(plan.app)
    found: dict[str, tuple[str, int]] = {}
    position = {id(node): number for number, node in enumerate((*app.definitions, *app.executions))}
    for definition in app.definitions:
        found[f"{type(definition).__name__.removesuffix('Definition').lower()} '{definition.id}'"] = (
            definition.id,
            position[id(definition)],
        )
    partitions = {element.name for element in app_elements(plan) if element.kind.value == "partition"}
    for own, node in executions_by_name(plan):
        found[f"{'partition' if own in partitions else 'query'} '{own}'"] = (own, position[id(node)])
    meant = [label for label, (own, _) in found.items() if name in (own, label)]
    if not meant:
        known = [own for own, _ in found.values() if not own.startswith("anonymous-")]
        raise DefinitionNotExistError(f"app '{plan.name}' has no element '{name}'{did_you_mean(name, known)}")
    if len(meant) > 1:
        raise CannotChangeAppError(
            f"'{name}' is not removed: it is the name of {' and '.join(meant)}; say which one, such as remove({meant[0]!r})"
        )
    label = meant[0]
    users = dict.fromkeys(_users(plan, label, found[label][0]))
    if users:
        raise CannotChangeAppError(
            f"{label} is not removed: {', '.join(users)} {'depends' if len(users) == 1 else 'depend'} on it",
            dict.fromkeys(users, f"it depends on {label}"),
        )
    return places.without(found[label][1])


def _users(plan: Plan, label: str, name: str) -> Iterator[str]:
    """Yield the elements that could not be as they are without one."""
    elements = app_elements(plan)
    kind = label.partition(" ")[0]
    if kind in ("query", "partition"):
        own = next((element for element in elements if element.name == name and element.kind.value == kind), None)
        others = [element for element in elements if element is not own]
        filled = {stream for element in others for stream in element.writes}
        gone = {
            stream
            for stream in (own.writes if own is not None else ())
            if stream not in filled
            and stream in plan.streams
            and plan.streams[stream].origin is not StreamOrigin.DEFINED
        }
        names = gone
    else:
        others = [element for element in elements if element.name != name or element.kind.value != kind]
        names = {name}
    for element in others:
        if names & {*element.reads, *element.writes, *element.uses, *element.changes}:
            yield f"{element.kind.value} '{element.name}'"


class _Places:
    """The text of an app, and where its definitions, queries and partitions stand in it.

    Attributes:
        text: the text.
        first: where the first query or partition begins.
    """

    def __init__(self, app: SiddhiApp) -> None:
        if app.source is None:
            app = parse(to_siddhiql(app))
        assert app.source is not None
        source = Source(app.source)
        # A comment without an end would hide what follows.
        comment = app.open_comment
        self.text = app.source if comment is None else app.source[: source.offset(comment.line, comment.column)]
        self._places = [source.extent(node) for node in (*app.definitions, *app.executions)]
        self._n = len(app.definitions)
        self.first = self._places[self._n][0] if app.executions else len(self.text)

    def definitions(self, begin: int = 0) -> str:
        """Return the text up to the first query or partition, so that others can follow."""
        return self._closed(begin, self.first, self._places[: self._n])

    def executions(self) -> str:
        """Return the text of the queries and partitions, so that others can follow."""
        return self._closed(self.first, len(self.text), self._places[self._n :])

    def without(self, number: int) -> str:
        """Return the text without the definition, query or partition of a number, and without long blanks in between."""
        parts, at = [], 0
        for each, (begin, end) in enumerate(self._places):
            parts.append(_LONG_BLANK.sub("\n", self.text[at:begin]))
            at = end
            if each != number:
                parts.append(self.text[begin:end])
            elif (rest := self.text[end:]).lstrip().startswith(";"):
                at = len(self.text) - len(rest.lstrip()) + 1
        return "".join(parts) + self.text[at:]

    def _closed(self, begin: int, end: int, places: Sequence[tuple[int, int]]) -> str:
        text = self.text[begin:end]
        if not places:
            return text
        behind = _COMMENT.sub("", self.text[places[-1][1] : end])
        return text if ";" in behind else f"{text}\n;"
