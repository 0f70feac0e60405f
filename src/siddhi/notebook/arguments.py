"""The options of ``%%siddhi`` and ``%siddhi``."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

__all__ = ["CellOptions", "parse_cell_options", "parse_duration"]

_UNITS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\Z")
_USAGE = (
    "%%siddhi [name] [--in Stream=frame ...] [--out Stream ...] [--timestamp column] [--live 5s] [--profile] [--keep]"
)


@dataclass
class CellOptions:
    """What a cell asks for.

    Attributes:
        name: of the app, and of the variable that gets it; None: the app's own name.
        inputs: names of variables by stream, in the order of the options.
        outputs: streams whose events become variables of these names.
        timestamp: column of the inputs with the events' time.
        live: seconds for which a live view is shown; None: no live view.
        profile: whether the run is profiled.
        keep: whether the app goes on after the cell; with ``live``, or without inputs, it does.
    """

    name: str | None = None
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    timestamp: str | None = None
    live: float | None = None
    profile: bool = False
    keep: bool = False


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as ``5s``, ``500ms`` or ``2min``.

    Raises:
        ValueError: it is none.
    """
    found = _DURATION.match(text.strip())
    if found is None or found.group(2) not in _UNITS or float(found.group(1)) == 0:
        raise ValueError(f"invalid duration '{text}': expected a number with a unit, such as 5s, 500ms or 2min")
    return float(found.group(1)) * _UNITS[found.group(2)]


def parse_cell_options(line: str) -> CellOptions:
    """Return the options of a ``%%siddhi`` line. ``--in`` and ``--out`` take one or several values.

    Raises:
        ValueError: an option is unknown or lacks its value.
    """
    options = CellOptions()
    words = shlex.split(line)
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        values = []
        while position < len(words) and not words[position].startswith("--"):
            values.append(words[position])
            position += 1
            if word not in ("--in", "--out"):
                break
        if not word.startswith("--"):
            if options.name is not None or position > 1 + len(values):
                raise ValueError(f"unexpected word '{word}': usage: {_USAGE}")
            position -= len(values)
            options.name = word
            continue
        _apply(options, word, values)
        if word in ("--profile", "--keep"):
            position -= len(values)
    return options


def _apply(options: CellOptions, word: str, values: list[str]) -> None:
    if word == "--profile":
        options.profile = True
        return
    if word == "--keep":
        options.keep = True
        return
    if word not in ("--in", "--out", "--timestamp", "--live"):
        raise ValueError(f"unknown option '{word}': usage: {_USAGE}")
    if not values:
        raise ValueError(f"option '{word}' lacks its value: usage: {_USAGE}")
    if word == "--in":
        for value in values:
            stream, equals, name = value.partition("=")
            if not stream or (equals and not name):
                raise ValueError(f"invalid input '{value}': expected Stream=variable")
            options.inputs[stream] = name or stream
    elif word == "--out":
        options.outputs += values
    elif word == "--timestamp":
        options.timestamp = values[0]
    else:
        options.live = parse_duration(values[0])
