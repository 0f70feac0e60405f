"""Aggregators that collect JSON values, and stream processors that cut JSON into events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import ProcessorContext
from siddhi.library.operators.collect import distinct
from siddhi.library.operators.json_path import MISSING, JsonPath, parsed

__all__ = ["JsonGroup", "JsonGroupAsObject", "JsonTokenize", "JsonTokenizeAsObject", "text_of"]


def text_of(value: Any) -> str:
    """Return the JSON text of a value; a string itself."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class JsonGroupAsObject:
    """The list of the JSON values of the current events, or an object with it; null values are left out."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.enclosing: str | None = None
        self.is_distinct = False

    def add(self, value: Any, *options: Any) -> None:
        if value is not None:
            self.texts.append(json.dumps(parsed(value, "json:group")))
        for option in options:
            if isinstance(option, bool):
                self.is_distinct = option
            else:
                self.enclosing = option

    def remove(self, value: Any, *_: Any) -> None:
        if value is not None:
            text = json.dumps(parsed(value, "json:group"))
            if text in self.texts:
                self.texts.remove(text)

    def reset(self) -> None:
        self.texts.clear()

    def value(self) -> Any:
        values = [json.loads(text) for text in (distinct(self.texts) if self.is_distinct else self.texts)]
        return {self.enclosing: values} if self.enclosing else values


class JsonGroup(JsonGroupAsObject):
    """The JSON text of that list or object."""

    def value(self) -> Any:
        return text_of(super().value())


class JsonTokenizeAsObject:
    """An event for each element at a path."""

    def __init__(self, context: ProcessorContext) -> None:
        path = context.arguments[1]
        self._path = None if path is None else JsonPath(path)

    def snapshot(self) -> None:
        """Return no state: events do not depend on each other."""

    def restore(self, _state: None) -> None:
        pass

    def process(self, event: Event, document: Any, path: str | None, fail: bool = True) -> Iterator[Event]:
        if path is None:
            raise ValueError("json:tokenize() got null as path")
        found = (self._path or JsonPath(path)).find(parsed(document, "json:tokenize"))
        if found is MISSING or found == []:
            if fail:
                raise ValueError(f"json:tokenize() found nothing at {path}")
            found = [None]
        for element in found if isinstance(found, list) else [found]:
            yield Event(event.timestamp, (*event.data, self.shown(element)), event.is_expired)

    def shown(self, element: Any) -> Any:
        return element


class JsonTokenize(JsonTokenizeAsObject):
    """An event for each element at a path, as text."""

    def shown(self, element: Any) -> Any:
        return None if element is None else text_of(element)
