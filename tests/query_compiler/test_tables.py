from __future__ import annotations

import json
import subprocess
import sys

from siddhi.query_compiler import tables
from siddhi.query_compiler.build.app import Builder
from siddhi.query_compiler.compile_grammar import compile_grammar
from siddhi.query_compiler.keywords import AMBIGUOUS, KEYWORDS


def compiled():
    return compile_grammar(tables.GRAMMAR.read_text(encoding="utf-8"), tables.GRAMMAR.name)


def test_the_shipped_tables_match_the_grammar():
    """Otherwise run python -m siddhi.query_compiler.compile_grammar."""
    assert json.loads(tables.TABLES.read_text(encoding="utf-8")) == compiled()


def test_compiled_tables_are_reproducible():
    script = (
        "from siddhi.query_compiler import compile_grammar as c; import json;"
        "print(json.dumps(c.compile_grammar(c.GRAMMAR.read_text(encoding='utf-8'), c.GRAMMAR.name)))"
    )
    outputs = {
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    }
    assert len(outputs) == 1


def test_outdated_tables_are_compiled_again(tmp_path, monkeypatch):
    stale = tmp_path / "stale.json"
    stale.write_text(json.dumps({"digest": "of another grammar"}), encoding="utf-8")
    fresh = tables.load()
    for path in (stale, tmp_path / "missing.json"):
        monkeypatch.setattr(tables, "TABLES", path)
        assert tables.load() == fresh


def test_every_rule_has_its_builder_method():
    assert [rule.action for rule in tables.load().rules if rule.action and not hasattr(Builder, rule.action)] == []


def test_every_builder_method_belongs_to_a_rule_or_is_called_by_one():
    rules = {rule.action for rule in tables.load().rules}
    helpers = {
        "above", "app_name", "bucket", "chain_state", "defined", "element_state", "error", "here", "integer", "mixed", "rate_kind",
        "repeated", "row_count", "table", "text", "without_window",
    }  # fmt: skip
    assert {name for name in dir(Builder) if not name.startswith("_")} - rules == helpers


def test_keywords_of_the_grammar_are_the_keywords_of_the_language():
    # "app" and "raw" are keywords the grammar has no use for
    assert set(tables.load().keywords) | {"app", "raw"} == KEYWORDS
    assert AMBIGUOUS < KEYWORDS


def test_parsing_needs_no_lark():
    script = (
        "import sys; from siddhi.query_compiler import parse; parse('define stream S (a int)');"
        "sys.exit('lark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
