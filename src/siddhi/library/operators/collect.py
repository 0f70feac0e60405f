"""Aggregators that collect values into maps and lists, and stream processors that cut these into events."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from siddhi.event import Event
from siddhi.extension.processors import ProcessorContext

__all__ = ["ListCollect", "ListMerge", "ListTokenize", "MapCollect", "MapMerge", "MapTokenize", "distinct"]


def distinct(values: list[Any]) -> list[Any]:
    """Return the values without repetitions, in order; values need not be hashable."""
    try:
        return [value for _, value in dict.fromkeys((type(value) is bool, value) for value in values)]
    except TypeError:
        found: list[Any] = []
        for value in values:
            if value not in found:
                found.append(value)
        return found


class ListCollect:
    """The values of the current events, in order of arrival."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.is_distinct = False

    def add(self, value: Any, is_distinct: bool = False) -> None:
        self.values.append(value)
        self.is_distinct = bool(is_distinct)

    def remove(self, value: Any, _is_distinct: bool = False) -> None:
        if value in self.values:
            self.values.remove(value)

    def reset(self) -> None:
        self.values.clear()

    def value(self) -> list[Any]:
        return distinct(self.values) if self.is_distinct else self.values.copy()


class ListMerge(ListCollect):
    """The values of the lists of the current events; null is an empty list."""

    def add(self, value: Any, is_distinct: bool = False) -> None:
        self.values.extend(value or ())
        self.is_distinct = bool(is_distinct)

    def remove(self, value: Any, _is_distinct: bool = False) -> None:
        for one in value or ():
            super().remove(one)


class _LastByKey:
    """The values of each key, of which the last one counts. All state is in ``entries``, for snapshots."""

    def __init__(self) -> None:
        self.entries: dict[Any, list[Any]] = {}

    def put(self, key: Any, value: Any) -> None:
        self.entries.setdefault(key, []).append(value)

    def take(self, key: Any, value: Any) -> None:
        values = self.entries.get(key)
        if values is not None and value in values:
            values.remove(value)
            if not values:
                del self.entries[key]

    def reset(self) -> None:
        self.entries.clear()

    def value(self) -> dict[Any, Any]:
        return {key: values[-1] for key, values in self.entries.items()}


class MapCollect(_LastByKey):
    """The last value of each key of the current events."""

    def add(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def remove(self, key: Any, value: Any) -> None:
        self.take(key, value)


class MapMerge(_LastByKey):
    """One map of the entries of the maps of the current events; null is an empty map."""

    def add(self, given: dict[Any, Any] | None) -> None:
        for key, value in (given or {}).items():
            self.put(key, value)

    def remove(self, given: dict[Any, Any] | None) -> None:
        for key, value in (given or {}).items():
            self.take(key, value)


class ListTokenize:
    """An event for each position of the lists."""

    def __init__(self, _context: ProcessorContext) -> None:
        pass

    def process(self, event: Event, *lists: Any) -> Iterator[Event]:
        for each in lists:
            if not isinstance(each, list):
                raise TypeError(f"list:tokenize() got a {type(each).__name__}: expected a list")
        for index, values in enumerate(zip_longest(*lists)):
            yield Event(event.timestamp, (*event.data, index, *values), event.is_expired)


class MapTokenize:
    """An event for each key of the first map."""

    def __init__(self, _context: ProcessorContext) -> None:
        pass

    def process(self, event: Event, *maps: Any) -> Iterator[Event]:
        for each in maps:
            if not isinstance(each, dict):
                raise TypeError(f"map:tokenize() got a {type(each).__name__}: expected a map")
        for key in maps[0]:
            yield Event(event.timestamp, (*event.data, key, *(each.get(key) for each in maps)), event.is_expired)
