"""The parse tables of SiddhiQL, compiled from ``siddhiql.lark`` by lark, kept beside it as plain JSON.

Compiling costs about a quarter of a second, reading the JSON a few milliseconds; so the tables are shipped, and lark is
imported only where they are missing or older than the grammar (which happens to people who edit it). The file holds
numbers and names only; nothing in it is executed. ``python -m siddhi.query_compiler.compile_grammar`` writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from siddhi._frozen import frozen

__all__ = ["END", "GRAMMAR", "NOTHING", "TABLES", "Rule", "Tables", "load"]

GRAMMAR = Path(__file__).with_name("siddhiql.lark")
TABLES = Path(__file__).with_name("siddhiql.tables.json")
END = "$END"

# How the children of a rule become the arguments of its builder method: a position; a None for something left out; or the
# children of a helper rule in place. The last two are written as NOTHING and as ~(position + 1), that is -2, -3, ...
NOTHING = -1


@frozen
class Rule:
    """``head`` becomes ``size`` symbols. ``action`` names the builder method; None makes a list, or passes on one child.

    ``layout`` None hands over all children as they are.
    """

    head: str
    size: int
    action: str | None
    passes: bool
    layout: tuple[int, ...] | None


@frozen
class Tables:
    """LALR(1) tables.

    ``actions[state][terminal]`` is a state to shift to, or ``~rule`` to reduce; ``gotos[state][nonterminal]`` a state.
    ``keywords`` maps lower-case words and ``punctuation`` signs to their terminals.
    """

    starts: dict[str, int]
    rules: tuple[Rule, ...]
    actions: tuple[dict[str, int], ...]
    gotos: tuple[dict[str, int], ...]
    keywords: dict[str, str]
    punctuation: dict[str, str]


def load() -> Tables:
    """The tables of the grammar beside this file, from the JSON if it belongs to this grammar."""
    import hashlib

    source = GRAMMAR.read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    data: dict[str, Any] | None = json.loads(TABLES.read_bytes()) if TABLES.exists() else None
    if data is None or data["digest"] != digest:
        from siddhi.query_compiler.compile_grammar import compile_grammar

        data = compile_grammar(source.decode("utf-8"), GRAMMAR.name)
    return _unpack(data)


def _unpack(data: dict[str, Any]) -> Tables:
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
