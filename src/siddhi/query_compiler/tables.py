"""The parse tables of SiddhiQL: compiled by lark from ``siddhiql.lark``, stored beside it as JSON.

Compiling takes about 250 ms, reading the JSON a few milliseconds. So the package ships the tables, and imports lark
only where they are missing or do not belong to the grammar (after an edit of the grammar). The file contains only
numbers and names; nothing in it is executed. ``python -m siddhi.query_compiler.compile_grammar`` rewrites it.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from siddhi._frozen import frozen

__all__ = ["END", "GRAMMAR", "NOTHING", "TABLES", "Rule", "Tables", "digest_of", "load"]

GRAMMAR = Path(__file__).with_name("siddhiql.lark")
TABLES = Path(__file__).with_name("siddhiql.tables.json")
END = "$END"

# Entries of a layout, which says how the children of a rule become the arguments of its builder method: a position; NOTHING
# (None for a part that is left out); or ~(position + 1), that is -2, -3, ...: the children of a helper rule, inlined.
NOTHING = -1


@frozen
class Rule:
    """A rule of the grammar: ``head`` derives ``size`` symbols.

    ``action`` names the builder method. Without one, the value is a list of the children or, where ``passes`` is set, the
    only child. ``layout`` None passes all children unchanged.
    """

    head: str
    size: int
    action: str | None
    passes: bool
    layout: tuple[int, ...] | None


@frozen
class Tables:
    """LALR(1) tables.

    ``actions[state][terminal]`` is the state to shift to, or ``~rule`` to reduce; ``gotos[state][nonterminal]`` a state.
    ``keywords`` and ``punctuation`` map lower-case keywords and punctuation to their terminals.
    """

    starts: dict[str, int]
    rules: tuple[Rule, ...]
    actions: tuple[dict[str, int], ...]
    gotos: tuple[dict[str, int], ...]
    keywords: dict[str, str]
    punctuation: dict[str, str]


def digest_of(grammar: bytes) -> str:
    """Return the checksum by which tables belong to a grammar; loading hashlib would take 2 ms."""
    return f"{zlib.crc32(grammar):08x}"


def load() -> Tables:
    """Load the tables from the JSON or, where that does not belong to the grammar, compile them."""
    source = GRAMMAR.read_bytes()
    digest = digest_of(source)
    data: dict[str, Any] | None = json.loads(TABLES.read_bytes()) if TABLES.exists() else None
    if data is None or data["digest"] != digest:
        from siddhi.query_compiler.compile_grammar import compile_grammar

        data = compile_grammar(source.decode("utf-8"), GRAMMAR.name)
    return _decode(data)


def _decode(data: dict[str, Any]) -> Tables:
    return Tables(
        starts=data["starts"],
        rules=tuple(
            Rule(head, size, action, passes, None if layout is None else tuple(layout))
            for head, size, action, passes, layout in data["rules"]
        ),
        actions=tuple(data["actions"]),
        gotos=tuple(data["gotos"]),
        keywords=data["keywords"],
        punctuation=data["punctuation"],
    )
