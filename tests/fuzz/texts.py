"""The apps of tests, docs and examples, in tokens: what mutated texts are made of."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path

from siddhi.query_compiler.tokens import token_at

__all__ = ["apps", "mutated", "tokens_of"]

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(?:sql|siddhi)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_OUTSIDE = re.compile(r"type\s*=\s*['\"](?!inMemory|log)", re.IGNORECASE)

HOSTILE = """0 1 2147483647 2147483648 9223372036854775807 9223372036854775808 99999999999999999999 0L 9223372036854775807L
1e308 1e309 1e-320 0.0 0.0f 3.5e38f .5 '' '*' '\u0000' 'ß' '\U0001f600' null true last`x y` "\ud800" """.split()
"""Tokens at the borders of what the language has."""
WORDS = """define stream table window aggregation function trigger partition with begin end from select group by having order
limit offset insert into all events expired current update or delete on set every within not and in is as per output first
last snapshot join left right full outer unidirectional return at asc desc string int long float double bool object sum avg
count min max distinctCount stdDev minForever maxForever unionSet createSet sizeOfSet cast convert coalesce ifThenElse
instanceOfString eventTimestamp currentTimeMillis UUID maximum minimum default log timeBatch length lengthBatch time
externalTime externalTimeBatch session sort frequent lossyFrequent cron delay batch timeLength expression expressionBatch sec
min hour day month year milliseconds -> , ; : . .. ... ( ) [ ] { } < > <= >= == != + - * / % # ! ? @ $ = << e1 e2 S""".split()


@cache
def apps() -> tuple[str, ...]:
    """Every app text of the tests, the docs and the examples that stays inside the process."""
    found = [json.loads(line)["app"] for file in _files("tests/conformance/cases", "*.jsonl") for line in _lines(file)]
    for folder in ("tests/golden", "examples"):
        found += [file.read_text(encoding="utf-8") for file in _files(folder, "*.siddhi")]
    for file in [*_files("docs", "*.md"), ROOT / "README.md"]:
        found += _BLOCK.findall(file.read_text(encoding="utf-8"))
    return tuple(dict.fromkeys(text for text in found if tokens_of(text) and not _OUTSIDE.search(text)))


def _files(folder: str, pattern: str) -> list[Path]:
    return sorted((ROOT / folder).rglob(pattern))


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


@cache
def tokens_of(text: str) -> tuple[tuple[str, str], ...]:
    """Shape and text of each token, the white space in front of it included."""
    found = []
    position = 0
    while (token := token_at(text, position))[0] != "end":
        shape, _, _, end = token
        found.append((shape, text[position:end]))
        position = end
    return tuple(found)


def mutated(chance: random.Random) -> str:
    """An app with some tokens changed; now and then as it is."""
    tokens = list(tokens_of(chance.choice(apps())))
    for _ in range(chance.choice([0, 1, 1, 1, 2, 2, 3, 5])):
        if tokens:
            chance.choice(_MUTATIONS)(chance, tokens)
    return "".join(text for _, text in tokens)


Tokens = list[tuple[str, str]]


def _span(chance: random.Random, tokens: Tokens) -> tuple[int, int]:
    start = chance.randrange(len(tokens))
    return start, min(len(tokens), start + chance.choice([1, 1, 1, 2, 3, 8]))


def _leave_out(chance: random.Random, tokens: Tokens) -> None:
    start, end = _span(chance, tokens)
    del tokens[start:end]


def _repeat(chance: random.Random, tokens: Tokens) -> None:
    start, end = _span(chance, tokens)
    tokens[end:end] = tokens[start:end] * chance.choice([1, 1, 2, 30])


def _swap(chance: random.Random, tokens: Tokens) -> None:
    first, second = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[first], tokens[second] = tokens[second], tokens[first]


def _other_of_its_shape(chance: random.Random, tokens: Tokens) -> None:
    place = chance.randrange(len(tokens))
    source = tokens if chance.random() < 0.6 else tokens_of(chance.choice(apps()))
    alike = [token for token in source if token[0] == tokens[place][0]]
    if alike:
        tokens[place] = chance.choice(alike)


def _foreign(chance: random.Random, tokens: Tokens) -> None:
    source = tokens_of(chance.choice(apps()))
    start, end = _span(chance, list(source))
    place = chance.randrange(len(tokens) + 1)
    tokens[place:place] = source[start:end]


def _word(chance: random.Random, tokens: Tokens) -> None:
    place = chance.randrange(len(tokens))
    text = f" {chance.choice(WORDS)} "
    if chance.random() < 0.5:
        tokens[place] = ("word", text)
    else:
        tokens.insert(place, ("word", text))


def _border(chance: random.Random, tokens: Tokens) -> None:
    numbers = [
        place for place, (shape, _) in enumerate(tokens) if shape in ("INT", "LONG", "DOUBLE", "FLOAT", "string")
    ]
    place = chance.choice(numbers) if numbers else chance.randrange(len(tokens))
    tokens[place] = ("INT", f" {'-' if chance.random() < 0.2 else ''}{chance.choice(HOSTILE)}")


def _statement(chance: random.Random, tokens: Tokens) -> None:
    """A statement of another app, in front of one of this."""
    source = list(tokens_of(chance.choice(apps())))
    ends = [-1, *(place for place, (shape, _) in enumerate(source) if shape == ";")]
    ours = [0, *(place + 1 for place, (shape, _) in enumerate(tokens) if shape == ";")]
    number = chance.randrange(len(ends))
    place = chance.choice(ours)
    tokens[place:place] = source[ends[number] + 1 : ends[number + 1] + 1 if number + 1 < len(ends) else None]


def _own_statement(chance: random.Random, tokens: Tokens) -> None:
    """A statement of this app once more."""
    ends = [0, *(place + 1 for place, (shape, _) in enumerate(tokens) if shape == ";")]
    number = chance.randrange(len(ends) - 1) if len(ends) > 1 else 0
    place = chance.choice(ends)
    tokens[place:place] = tokens[ends[number] : ends[number + 1] if number + 1 < len(ends) else None]


def _nested(chance: random.Random, tokens: Tokens) -> None:
    start, end = _span(chance, tokens)
    depth = chance.choice([1, 2, 50, 2000])
    before, after = chance.choice([("(", ")"), ("not (", ")"), ("[", "]"), ("coalesce(", ", null)"), ("{", "}")])
    tokens[end:end] = [("sign", after)] * depth
    tokens[start:start] = [("sign", f" {before}")] * depth


def _noise(chance: random.Random, tokens: Tokens) -> None:
    place = chance.randrange(len(tokens))
    shape, text = tokens[place]
    cut = chance.randrange(len(text) + 1)
    tokens[place] = (shape, text[:cut] + chr(chance.choice([0, 9, 34, 39, 96, 0x2028, 0xD800, 0x1F600])) + text[cut:])


def _cut_off(chance: random.Random, tokens: Tokens) -> None:
    del tokens[chance.randrange(len(tokens)) + 1 :]


_MUTATIONS = [
    _leave_out, _repeat, _swap, *[_other_of_its_shape] * 5, _foreign, _word, _word, _border, _border, _statement, _statement,
    _own_statement, _nested, _noise, _cut_off,
]  # fmt: skip
