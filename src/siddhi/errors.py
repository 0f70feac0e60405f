"""The errors that siddhi raises.

    SiddhiError
    ├── SiddhiAppError                     an invalid app; has code, location, caret and hint
    │   ├── SiddhiParserError              a syntax error
    │   └── SiddhiAppValidationError       the app contradicts itself or the language
    │       ├── AttributeNotExistError
    │       ├── DuplicateDefinitionError
    │       ├── DuplicateAttributeError
    │       ├── DuplicateAnnotationError
    │       └── UnsupportedAttributeTypeError
    │   └── SiddhiAppCreationError         the engine can't build the app
    │       ├── ExtensionNotFoundError
    │       ├── OnDemandQueryCreationError
    │       └── SparkLoweringError         the app can't run on Spark; lists all reasons
    ├── SiddhiRuntimeError                 while events flow
    │   ├── EventError                     a row that does not match its stream (also a ValueError)
    │   ├── DeadlockError                  two threads, tasks or callbacks would wait for each other
    │   ├── NotRunningError                the app has not been started, or is shut down
    │   ├── AggregationTimeError           an invalid value of `within` or `per` (also a ValueError)
    │   ├── DefinitionNotExistError        no stream, query or table of that name
    │   ├── BufferOverflowError            an iterator of a stream with the policy `raise` has lost events
    │   ├── LimitExceededError             an event that would exceed a limit of keys, values, rows or partial matches
    │   ├── ConnectionUnavailableError     a source, sink or store can't be reached now
    │   │   └── SubscriberUnavailableError a topic has no subscriber
    │   ├── MappingFailedError             a payload that can't be converted into events
    │   └── SparkRunError                  the app failed on a Spark worker
    ├── PersistenceError
    │   ├── NoPersistenceStoreError
    │   ├── CannotSaveStateError           an event is being processed, or an object can't be saved
    │   ├── CannotRestoreStateError        a snapshot that does not match the app, or can't be read
    │   │   └── DamagedSnapshotError       truncated, foreign or modified bytes
    │   ├── PersistenceStoreError          the folder or database of a store can't be read or written (also an OSError)
    │   └── DamagedEntryError              a damaged entry of an error store (also a ValueError)
    ├── CannotChangeAppError               a change that a running app can't make; lists every reason
    ├── SiddhiTemporalError                an item that a temporal stream does not accept
    │   ├── CtiViolation                   an item before the CTI of its stream
    │   └── InvalidTemporalEvent           an empty lifetime, an END without START, a form that is not of the model
    ├── ConfigError                        a configuration that can't be read
    ├── ExtensionError                     an invalid extension, rejected at registration
    └── SparkSetupError                    PySpark or Java is missing or too old

The names of Siddhi's Java API (``SiddhiParserException``, ...) are aliases at the end.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from siddhi._redaction import redacted

if TYPE_CHECKING:
    from siddhi.query_api.span import Span

__all__ = [
    "AggregationTimeError",
    "AttributeNotExistError",
    "AttributeNotExistException",
    "BufferOverflowError",
    "CannotChangeAppError",
    "CannotRestoreSiddhiAppStateException",
    "CannotRestoreStateError",
    "CannotSaveStateError",
    "ConfigError",
    "ConnectionUnavailableError",
    "ConnectionUnavailableException",
    "DamagedEntryError",
    "DamagedSnapshotError",
    "DeadlockError",
    "DefinitionNotExistError",
    "DefinitionNotExistException",
    "DuplicateAnnotationError",
    "DuplicateAnnotationException",
    "DuplicateAttributeError",
    "DuplicateAttributeException",
    "DuplicateDefinitionError",
    "DuplicateDefinitionException",
    "EventError",
    "ExtensionError",
    "ExtensionNotFoundError",
    "ExtensionNotFoundException",
    "LimitExceededError",
    "MappingFailedError",
    "MappingFailedException",
    "NoPersistenceStoreError",
    "NoPersistenceStoreException",
    "NotRunningError",
    "OnDemandQueryCreationError",
    "OnDemandQueryCreationException",
    "PersistenceError",
    "PersistenceStoreError",
    "SiddhiAppCreationError",
    "SiddhiAppCreationException",
    "SiddhiAppError",
    "SiddhiAppRuntimeException",
    "SiddhiAppValidationError",
    "SiddhiAppValidationException",
    "SiddhiError",
    "SiddhiParserError",
    "SiddhiParserException",
    "SiddhiRuntimeError",
    "SparkLoweringError",
    "SparkRunError",
    "SparkSetupError",
    "SubscriberUnAvailableException",
    "SubscriberUnavailableError",
    "UnsupportedAttributeTypeError",
    "UnsupportedAttributeTypeException",
]


class SiddhiError(Exception):
    """Base of all errors of this package."""


class SiddhiAppError(SiddhiError):
    """An app or on-demand query is invalid.

    Args:
        message: what is wrong, one sentence without a full stop.
        code: a permanent code such as ``E203``.
        span: the location in the text (lines 1-based, columns 0-based), if known.
        source: the text of the app, to show the line; :meth:`located` can add it later.
        hint: what to write instead.
        app: the name of the app.
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
        message = _bounded(redacted(message))
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.span = span
        self.source = source
        self.hint = None if hint is None else _bounded(redacted(hint))
        self.app = app

    def located(self, *, source: str | None = None, app: str | None = None, span: Span | None = None) -> SiddhiAppError:
        """Set the attributes that are not known yet, and return self."""
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
        position = f", line {self.span.line}, column {self.span.column}" if self.span else ""
        parts = [f"[{self.code}] {self.message}{where}{position}"]
        if self.span is not None and self.source is not None:
            parts += _excerpt(self.source, self.span)
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


_WIDEST = 160
_MOST = 1000
_LONG_QUOTE = re.compile(r"'([^'\n]{60})[^'\n]{40,}'")


def _bounded(text: str) -> str:
    """Shorten long quotes in a message."""
    if len(text) <= _WIDEST:
        return text
    text = _LONG_QUOTE.sub(r"'\1...'", text)
    return text if len(text) <= _MOST else f"{text[: _MOST - 3]}..."


def _excerpt(source: str, span: Span) -> list[str]:
    """Return the line of a span with carets below it, shortened if it is long; empty without text."""
    lines = source.split("\n")
    if not 1 <= span.line <= len(lines) or not lines[span.line - 1].strip():
        return []
    text = redacted(lines[span.line - 1].rstrip("\r"))
    end = min(span.end_column if span.end_line == span.line else len(text), len(text))
    begin = span.column
    if len(text) > _WIDEST:
        first = max(0, min(begin - _WIDEST // 2, len(text) - _WIDEST))
        before, after = "... " if first else "", " ..." if first + _WIDEST < len(text) else ""
        text = before + text[first : first + _WIDEST] + after
        begin, end = (column - first + len(before) for column in (begin, min(end, first + _WIDEST)))
    gutter = f"{span.line} | "
    # The padding keeps tabs, so that the caret is below its character at any tab width.
    padding = "".join("\t" if char == "\t" else " " for char in text[:begin])
    return [f"{gutter}{text}", f"{' ' * len(gutter)}{padding}{'^' * max(1, end - begin)}"]


class SiddhiParserError(SiddhiAppError):
    """The text has a syntax error."""

    code = "E100"


class SiddhiAppValidationError(SiddhiAppError):
    """The app contradicts itself or the rules of the language."""

    code = "E200"


class AttributeNotExistError(SiddhiAppValidationError):
    """An attribute does not exist."""

    code = "E203"


class DuplicateDefinitionError(SiddhiAppValidationError):
    """Two different definitions have the same name."""

    code = "E204"


class DuplicateAttributeError(SiddhiAppValidationError):
    """A schema or selection has two attributes of the same name."""

    code = "E205"


class DuplicateAnnotationError(SiddhiAppValidationError):
    """An annotation is duplicated."""

    code = "E206"


class UnsupportedAttributeTypeError(SiddhiAppValidationError):
    """A value has a type that is not allowed."""

    code = "E207"


class SiddhiAppCreationError(SiddhiAppError):
    """The engine can't build a runtime for the app."""

    code = "E300"


class ExtensionNotFoundError(SiddhiAppCreationError):
    """A function, window, aggregator or other extension is unknown."""

    code = "E301"


class OnDemandQueryCreationError(SiddhiAppCreationError):
    """An on-demand query is invalid."""

    code = "E302"


class SparkLoweringError(SiddhiAppCreationError):
    """The app, or a part of it, can't run on Spark.

    Args:
        refusals: one error per unsupported clause, each with its location and a hint.
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
    """An error while events flow."""


class EventError(SiddhiRuntimeError, ValueError):
    """A row has the wrong length, type or range. The state of the engine is unchanged."""


class DeadlockError(SiddhiRuntimeError):
    """A thread, task or callback would wait for one that waits for it: neither could continue."""


class NotRunningError(SiddhiRuntimeError):
    """The app has not been started or is shut down."""


class AggregationTimeError(SiddhiRuntimeError, ValueError):
    """A value of ``within`` or ``per`` is not a time, range or duration of the aggregation.

    Args:
        message: what is wrong.
        hint: how to fix it.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.hint = hint

    def __str__(self) -> str:
        return ": ".join(map(str, self.args))


class BufferOverflowError(SiddhiRuntimeError):
    """Events were lost because the reader of a stream was too slow: its buffer was full.

    Args:
        message: what is wrong.
        lost: number of the events that are missing after those that were read.
    """

    def __init__(self, message: str, lost: int = 0) -> None:
        super().__init__(message)
        self.lost = lost


class LimitExceededError(SiddhiRuntimeError):
    """An event would exceed a limit of keys, distinct values, rows or partial matches. The state is unchanged."""


class DefinitionNotExistError(SiddhiRuntimeError, KeyError):
    """There is no stream, query, table or window of that name."""

    __str__ = Exception.__str__


class ConnectionUnavailableError(SiddhiRuntimeError):
    """A source, sink or store can't be reached; the connection is retried."""


class SubscriberUnavailableError(ConnectionUnavailableError):
    """A topic has no subscriber."""


class MappingFailedError(SiddhiRuntimeError):
    """A payload can't be converted into events, or events into a payload.

    Attributes:
        payload: what a source received, in the events that ``on.mapping.error = 'STREAM'`` sends to the fault stream; otherwise None.
    """

    payload: object = None


class SparkRunError(SiddhiRuntimeError):
    """The app failed on a Spark worker; Spark's own error is the cause."""


class PersistenceError(SiddhiError):
    """State could not be saved or loaded."""


class NoPersistenceStoreError(PersistenceError):
    """``persist`` and ``restore_*`` need a persistence store on the manager."""


class CannotSaveStateError(PersistenceError):
    """A snapshot is not possible: the app is processing an event, or contains an object that can't be saved."""


class CannotRestoreStateError(PersistenceError):
    """A snapshot is damaged, has an unknown version, or belongs to a different definition of the app. No state is changed."""


class DamagedSnapshotError(CannotRestoreStateError):
    """A snapshot is truncated, was modified, or is not a snapshot."""


class PersistenceStoreError(PersistenceError, OSError):
    """The folder or database of a persistence store or error store can't be read or written, or can't store a value.
    This does not mean that there is no state. ``errno`` is that of the file system.
    """

    __str__ = Exception.__str__


class DamagedEntryError(PersistenceError, ValueError):
    """An entry of an error store is damaged."""


class CannotChangeAppError(SiddhiError):
    """A running app can't be changed in this way; it is as it was.

    Attributes:
        reasons: why, by element, such as ``query 'q'``.
    """

    def __init__(self, message: str, reasons: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons: Mapping[str, str] = dict(reasons or {})

    def __reduce__(self) -> tuple[type[CannotChangeAppError], tuple[str, Mapping[str, str]]]:
        return type(self), (str(self), self.reasons)


class SiddhiTemporalError(SiddhiError):
    """A temporal stream does not accept an item; it has had no effect.

    Attributes:
        rows_taken: of a batch: number of its rows that were inserted before the one that was refused; None: it was no batch.
    """

    rows_taken: int | None = None


class CtiViolation(SiddhiTemporalError):  # noqa: N818 - a term of the model
    """An item is earlier than the CTI of its stream, which promised that none would follow.

    Attributes:
        stream: name of the stream.
        item: the item.
        cti: the CTI, in ms.
        place: the query that moved the item there, with the line and the column of its text; None: it came like this.
    """

    def __init__(
        self,
        stream: str,
        item: str,
        cti: int,
        place: str | None = None,
        rows_taken: int | None = None,
        rows: int = 0,
    ) -> None:
        if place is None:
            if cti == (1 << 63) - 1:
                message = f"stream '{stream}': {item} comes after the end of its input: the current CTI is MAX"
            else:
                message = (
                    f"stream '{stream}': {item} is before the current CTI {cti}; "
                    "give the stream a larger delay, or policy = 'drop' or 'adjust'"
                )
        else:
            message = (
                f"{place}: {item} is before CTI {cti}, up to which its results are final; let the new start never decrease "
                "while eventStart() grows, as temporal:floor(eventStart(), 1 hour) does"
            )
        if rows_taken is not None:
            message += (
                f"; the first {rows_taken} of the {rows} rows of the batch were inserted"
                if rows_taken
                else "; no row of the batch was inserted"
            )
        super().__init__(message)
        self.stream = stream
        self.item = item
        self.cti = cti
        self.place = place
        self.rows_taken = rows_taken
        self._rows = rows

    def __reduce__(self) -> tuple[type[CtiViolation], tuple[str, str, int, str | None, int | None, int]]:
        return CtiViolation, (self.stream, self.item, self.cti, self.place, self.rows_taken, self._rows)


class InvalidTemporalEvent(SiddhiTemporalError):  # noqa: N818 - a term of the model
    """An event is not valid: its lifetime is empty, its form is not one of the stream's model, or it has no START."""


class ConfigError(SiddhiError):
    """A configuration can't be read, or has an invalid structure."""


class ExtensionError(SiddhiError):
    """An extension is invalid, or its name is taken."""


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
    """Return the ``repr`` of a value for a message, shortened; the name of its class if ``repr`` fails."""
    try:
        return _BOUNDED_REPR.repr(value)
    except Exception:  # noqa: BLE001 - an error in the user's repr must not replace the error to report
        return f"<a {type(value).__name__}>"


_BOUNDED_REPR = reprlib.Repr()
_BOUNDED_REPR.maxstring = _BOUNDED_REPR.maxother = 200
_BOUNDED_REPR.maxlong = 100
_BOUNDED_REPR.maxtuple = _BOUNDED_REPR.maxlist = _BOUNDED_REPR.maxdict = _BOUNDED_REPR.maxset = 20


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the closest known word, or an empty text; what is not a str is named."""
    from difflib import get_close_matches

    if not isinstance(word, str):
        return f"; a name is a str, not of type {type(word).__name__}"
    names = list(known)
    close = [name for name in names if name.lower() == word.lower()] or get_close_matches(word, names, 1)
    return f"; did you mean '{close[0]}'?" if close else ""
