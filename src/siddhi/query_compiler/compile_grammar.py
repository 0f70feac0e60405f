"""Compile ``siddhiql.lark`` into parse tables (see ``tables``). Only this module needs lark.

Run as a program, it writes the file that the package ships.
"""

from __future__ import annotations

import json
import re
from typing import Any

from lark.common import ParserConf
from lark.lexer import PatternStr
from lark.load_grammar import load_grammar
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

from siddhi.query_compiler.tables import END, GRAMMAR, NOTHING, TABLES, digest_of

__all__ = ["compile_grammar"]

STARTS = ("app", "on_demand_query", "single_query", "single_expression", "duration")


def compile_grammar(source: str, name: str) -> dict[str, Any]:
    """Compile a lark grammar into tables that can be written as JSON.

    Raises:
        lark.exceptions.GrammarError: the grammar is faulty or not LALR(1).
    """
    # lark's table builder, below its public parser class; it has no type annotations
    read: Any = load_grammar
    grammar, _ = read(source, name, [], global_keep_all_tokens=False)
    terminals, rules, _ = grammar.compile(list(STARTS), "*")
    # strict: report an ambiguity of the grammar instead of resolving it arbitrarily
    analyzer: Any = LALR_Analyzer(ParserConf(rules, {}, list(STARTS)), strict=True)
    analyzer.compute_lalr()
    table = analyzer.parse_table

    keywords, punctuation = {}, {}
    for terminal in terminals:
        if spellings := re.findall(r"\(\?i:(\w+)\)", terminal.pattern.to_regexp()):
            keywords.update(dict.fromkeys(spellings, terminal.name))
        elif isinstance(terminal.pattern, PatternStr):
            punctuation[terminal.pattern.value] = terminal.name

    # lark numbers states in the order of a set; this numbering is the same in every run.
    rule_numbers = {rule: number for number, rule in enumerate(rules)}
    order = _states_in_order(table)
    state_numbers = {state: number for number, state in enumerate(order)}
    nonterminals = {rule.origin.name for rule in rules}
    actions, gotos = [], []
    for state in order:
        entries = sorted(table.states[state].items())
        actions.append(
            {
                name: state_numbers[argument] if kind is Shift else ~rule_numbers[argument]
                for name, (kind, argument) in entries
                if name not in nonterminals
            }
        )
        if state in table.end_states.values():
            actions[-1][END] = state_numbers[state]  # a start rule is complete: shifting END accepts
        gotos.append({name: state_numbers[argument] for name, (_, argument) in entries if name in nonterminals})
    return {
        "digest": digest_of(source.encode("utf-8")),
        "starts": {start: state_numbers[table.start_states[start]] for start in STARTS},
        "rules": [_encode_rule(rule) for rule in rules],
        "actions": actions,
        "gotos": gotos,
        "keywords": dict(sorted(keywords.items())),
        "punctuation": dict(sorted(punctuation.items())),
    }


def _states_in_order(table: Any) -> list[Any]:
    """Return all states in breadth-first order from the start states, following sorted symbols."""
    order = list(dict.fromkeys(table.start_states[start] for start in STARTS))
    seen = set(order)
    for state in order:  # grows while it is walked
        for _, (kind, target) in sorted(table.states[state].items(), key=lambda entry: entry[0]):
            if kind is Shift and target not in seen:
                seen.add(target)
                order.append(target)
    return order


def _encode_rule(rule: Any) -> list[Any]:
    name, alias = str(rule.origin.name), rule.alias
    layout: list[int] = []
    # empty_indices: for each position of the written rule, whether an optional part is left out there
    absent = rule.options.empty_indices or (False,) * len(rule.expansion)
    position = 0
    for is_absent in absent:
        if is_absent:
            layout.append(NOTHING)
            continue
        symbol = rule.expansion[position]
        if symbol.is_term:
            if not symbol.filter_out:
                layout.append(position)
        else:
            layout.append(~(position + 1) if symbol.name.startswith("_") else position)
        position += 1
    passes = rule.options.expand1 and alias is None and len(layout) == 1 and layout[0] >= 0
    helper = name.startswith("_")
    action = None if helper or passes else str(alias or name)
    unchanged = layout == list(range(len(rule.expansion)))
    return [name, len(rule.expansion), action, passes, None if unchanged else layout]


if __name__ == "__main__":
    compiled = compile_grammar(GRAMMAR.read_text(encoding="utf-8"), GRAMMAR.name)
    TABLES.write_text(json.dumps(compiled, separators=(",", ":")) + "\n", encoding="utf-8")
