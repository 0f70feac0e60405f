"""Every error siddhi raises.

    SiddhiError
    ├── SiddhiAppError                     something about the text of an app; carries code, place, caret and hint
    │   ├── SiddhiParserError              the text is not SiddhiQL
    │   └── SiddhiAppValidationError       the text is SiddhiQL, but does not make sense
    │       ├── AttributeNotExistError
    │       ├── DuplicateDefinitionError
    │       ├── DuplicateAttributeError
    │       ├── DuplicateAnnotationError
    │       └── UnsupportedAttributeTypeError
    │   └── SiddhiAppCreationError         it makes sense, but this engine can't build it
    │       ├── ExtensionNotFoundError
    │       ├── OnDemandQueryCreationError
    │       └── SparkLoweringError         it can't run on Spark; every refusal with its place
    ├── SiddhiRuntimeError                 while events flow
    │   ├── EventError                     a row that does not fit its stream (also a ValueError)
    │   ├── DeadlockError                  a callback waits for the thread that sends into its app
    │   ├── NotRunningError                the app has not been started, or is shut down
    │   ├── AggregationTimeError           what stands behind `within` or `per` is not a time (also a ValueError)
    │   ├── DefinitionNotExistError        no stream, query or table of that name
    │   ├── LimitExceededError             an event that needs more keys, values or rows than `@limit` allows
    │   ├── ConnectionUnavailableError     a source, sink or store can't be reached now
    │   │   └── SubscriberUnavailableError nobody has subscribed to a topic
    │   ├── MappingFailedError             a payload that no event can be made of
    │   └── SparkRunError                  the app failed on a Spark worker
    ├── PersistenceError
    │   ├── NoPersistenceStoreError
    │   ├── CannotSaveStateError           an event is still at work, or what is held is not data
    │   ├── CannotRestoreStateError        a snapshot that does not fit, or can't be read
    │   │   └── DamagedSnapshotError       torn, foreign or changed bytes
    │   ├── PersistenceStoreError          the folder or database of a store can't be read or written (also an OSError)
    │   └── DamagedEntryError              an entry of an error store is not what was written (also a ValueError)
    ├── ConfigError                        a configuration that can't be read
    ├── ExtensionError                     a faulty extension, refused when it registers
    └── SparkSetupError                    PySpark or Java is missing or too old

The names Siddhi's Java users know (``SiddhiParserException``, ...) are aliases at the end.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siddhi.query_api.span import Span


class SiddhiError(Exception):
    """Base of all errors of this package."""


class SiddhiAppError(SiddhiError):
    """An app (or on-demand query) was refused.

    Args:
        message: what is wrong, one sentence without final full stop.
        code: permanent code such as ``E203``.
        span: where in the text (lines 1-based, columns 0-based), if known.
        source: the app's text, to show the line; may be added later with :meth:`located`.
        hint: what to write instead.
        app: the app's name.
    """

    code = "E000"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        span: Span | None = None,
        source: str | None = None,
        hint: str | None = None,
        app: str | None = None,
    ) -> None:
        message = _bounded(message)
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.span = span
        self.source = source
        self.hint = None if hint is None else _bounded(hint)
        self.app = app

    def located(self, *, source: str | None = None, app: str | None = None, span: Span | None = None) -> SiddhiAppError:
        """Fill in what is not known yet and return self."""
        self.source = self.source if self.source is not None else source
        self.app = self.app if self.app is not None else app
        self.span = self.span if self.span is not None else span
        return self

    @property
    def line(self) -> int | None:
        """1-based line, or None."""
        return None if self.span is None else self.span.line

    @property
    def column(self) -> int | None:
        """0-based column, or None."""
        return None if self.span is None else self.span.column

    def __str__(self) -> str:
        where = f" in app '{self.app}'" if self.app else ""
        place = f", line {self.span.line}, column {self.span.column}" if self.span else ""
        parts = [f"[{self.code}] {self.message}{where}{place}"]
        if self.span is not None and self.source is not None:
            parts += _excerpt(self.source, self.span)
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


_WIDEST = 160
_MOST = 1000
_LONG_QUOTE = re.compile(r"'([^'\n]{60})[^'\n]{40,}'")


def _bounded(text: str) -> str:
    """A message that quotes no more of what it is about than people read."""
    if len(text) <= _WIDEST:
        return text
    text = _LONG_QUOTE.sub(r"'\1...'", text)
    return text if len(text) <= _MOST else f"{text[: _MOST - 3]}..."


def _excerpt(source: str, span: Span) -> list[str]:
    """The line of the place, and carets under it; of a very long line the part around it. Nothing where is no text."""
    lines = source.split("\n")
    if not 1 <= span.line <= len(lines) or not lines[span.line - 1].strip():
        return []
    text = lines[span.line - 1].rstrip("\r")
    end = min(span.end_column if span.end_line == span.line else len(text), len(text))
    begin = span.column
    if len(text) > _WIDEST:
        first = max(0, min(begin - _WIDEST // 2, len(text) - _WIDEST))
        before, after = "... " if first else "", " ..." if first + _WIDEST < len(text) else ""
        text = before + text[first : first + _WIDEST] + after
        begin, end = (column - first + len(before) for column in (begin, min(end, first + _WIDEST)))
    gutter = f"{span.line} | "
    # Tabs are kept in the padding so that the caret stands under its character at any tab width.
    padding = "".join("\t" if char == "\t" else " " for char in text[:begin])
    return [f"{gutter}{text}", f"{' ' * len(gutter)}{padding}{'^' * max(1, end - begin)}"]


class SiddhiParserError(SiddhiAppError):
    """The text is not SiddhiQL."""

    code = "E100"


class SiddhiAppValidationError(SiddhiAppError):
    """The app contradicts itself or the rules of the language."""

    code = "E200"


class AttributeNotExistError(SiddhiAppValidationError):
    """An attribute that its stream does not have."""

    code = "E203"


class DuplicateDefinitionError(SiddhiAppValidationError):
    """Two different definitions of one name."""

    code = "E204"


class DuplicateAttributeError(SiddhiAppValidationError):
    """One attribute name twice in a schema or selection."""

    code = "E205"


class DuplicateAnnotationError(SiddhiAppValidationError):
    """An annotation twice where one is expected."""

    code = "E206"


class UnsupportedAttributeTypeError(SiddhiAppValidationError):
    """A value of a type that can't stand here."""

    code = "E207"


class SiddhiAppCreationError(SiddhiAppError):
    """The engine can't build a runtime for the app."""

    code = "E300"


class ExtensionNotFoundError(SiddhiAppCreationError):
    """No function, window, aggregator, ... of that name."""

    code = "E301"


class OnDemandQueryCreationError(SiddhiAppCreationError):
    """An on-demand query that can't be run."""

    code = "E302"


class SparkLoweringError(SiddhiAppCreationError):
    """The app, or a part of it, can't run on Spark.

    Args:
        refusals: one error per clause that is refused, each with its place and a hint.
    """

    code = "E400"

    def __init__(self, refusals: Sequence[SiddhiAppError]) -> None:
        first = refusals[0]
        super().__init__(
            first.message, code=first.code, span=first.span, source=first.source, hint=first.hint, app=first.app
        )
        self.refusals = tuple(refusals)

    def __str__(self) -> str:
        return "\n".join(str(refusal) for refusal in self.refusals)


class SiddhiRuntimeError(SiddhiError):
    """Something failed while events flow."""


class EventError(SiddhiRuntimeError, ValueError):
    """A row was refused: wrong arity, type or range. The engine's state is untouched."""


class DeadlockError(SiddhiRuntimeError):
    """A thread needs an app whose callback waits for that thread to end; neither could go on."""


class NotRunningError(SiddhiRuntimeError):
    """The app has not been started or is shut down."""


class AggregationTimeError(SiddhiRuntimeError, ValueError):
    """What a value behind ``within`` or ``per`` of an aggregation says is not a time, range or bucket length that it has.

    Args:
        message: what is wrong.
        hint: what to write instead.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.hint = hint

    def __str__(self) -> str:
        return ": ".join(map(str, self.args))


class LimitExceededError(SiddhiRuntimeError):
    """An event needs more keys, distinct values, rows or partial matches than a limit allows; no state was changed by it."""


class DefinitionNotExistError(SiddhiRuntimeError, KeyError):
    """No stream, query, table or window of that name."""

    __str__ = Exception.__str__


class ConnectionUnavailableError(SiddhiRuntimeError):
    """A source, sink or store can't be reached now; it is tried again."""


class SubscriberUnavailableError(ConnectionUnavailableError):
    """Nobody has subscribed to a topic."""


class MappingFailedError(SiddhiRuntimeError):
    """A payload can't be made into events, or the other way round."""


class SparkRunError(SiddhiRuntimeError):
    """The app failed on a Spark worker; Spark's own error is the cause."""


class PersistenceError(SiddhiError):
    """State could not be saved or loaded."""


class NoPersistenceStoreError(PersistenceError):
    """``persist`` and ``restore_*`` need a persistence store on the manager."""


class CannotSaveStateError(PersistenceError):
    """No snapshot can be taken: the app that asks is amid an event, or holds something that is not data."""


class CannotRestoreStateError(PersistenceError):
    """A snapshot is damaged, of an unknown version, or of an app whose definition changed. Nothing was loaded."""


class DamagedSnapshotError(CannotRestoreStateError):
    """What should be a snapshot is torn, was changed, or never was one."""


class PersistenceStoreError(PersistenceError, OSError):
    """The folder or database in which a store keeps states, or events that failed, can't be read or written, or can't keep
    what it was given. What is there may be whole: nothing says that there is no state. ``errno`` is that of the file system.
    """

    __str__ = Exception.__str__


class DamagedEntryError(PersistenceError, ValueError):
    """An entry of an error store is not what was written."""


class ConfigError(SiddhiError):
    """A configuration can't be read, or has another shape than it should."""


class ExtensionError(SiddhiError):
    """An extension was refused at registration."""


class SparkSetupError(SiddhiError):
    """PySpark, a package it needs, or Java is missing or too old."""


SiddhiParserException = SiddhiParserError
SiddhiAppValidationException = SiddhiAppValidationError
SiddhiAppCreationException = SiddhiAppCreationError
SiddhiAppRuntimeException = SiddhiRuntimeError
AttributeNotExistException = AttributeNotExistError
DuplicateDefinitionException = DuplicateDefinitionError
DuplicateAttributeException = DuplicateAttributeError
DuplicateAnnotationException = DuplicateAnnotationError
UnsupportedAttributeTypeException = UnsupportedAttributeTypeError
ExtensionNotFoundException = ExtensionNotFoundError
OnDemandQueryCreationException = OnDemandQueryCreationError
DefinitionNotExistException = DefinitionNotExistError
ConnectionUnavailableException = ConnectionUnavailableError
SubscriberUnAvailableException = SubscriberUnavailableError
MappingFailedException = MappingFailedError
NoPersistenceStoreException = NoPersistenceStoreError
CannotRestoreSiddhiAppStateException = CannotRestoreStateError


def shown(value: object) -> str:
    """``repr`` of a value, for a message: cut where it is long or deep, and the name of its class where ``repr`` fails."""
    try:
        return _BOUNDED_REPR.repr(value)
    except Exception:  # noqa: BLE001 - the code of a value that is being refused must not replace the refusal
        return f"<a {type(value).__name__}>"


_BOUNDED_REPR = reprlib.Repr()
_BOUNDED_REPR.maxstring = _BOUNDED_REPR.maxother = 200
_BOUNDED_REPR.maxlong = 100
_BOUNDED_REPR.maxtuple = _BOUNDED_REPR.maxlist = _BOUNDED_REPR.maxdict = _BOUNDED_REPR.maxset = 20


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the closest known word, or nothing where none is close."""
    from difflib import get_close_matches

    names = list(known)
    close = [name for name in names if name.lower() == word.lower()] or get_close_matches(word, names, 1)
    return f"; did you mean '{close[0]}'?" if close else ""
