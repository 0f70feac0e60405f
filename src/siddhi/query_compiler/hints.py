"""Syntax errors: the unexpected token, the tokens expected in its place, and a hint for common mistakes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from siddhi._frozen import frozen
from siddhi.query_compiler.keywords import KEYWORDS
from siddhi.query_compiler.scanner import Scanner
from siddhi.query_compiler.tables import END, Tables
from siddhi.query_compiler.time_units import UNIT_NAMES
from siddhi.query_compiler.tokens import token_at

if TYPE_CHECKING:
    from siddhi.errors import SiddhiParserError
    from siddhi.query_compiler.source import Source

__all__ = ["syntax_error"]

NUMBERS = frozenset({"INT", "LONG", "FLOAT", "DOUBLE"})
OPERAND = NUMBERS | {"ID", "STRING", "BOOL", "NOT", "LPAR", "HASH", "BANG", "PLUS", "MINUS"}
OPERATORS = frozenset(
    "EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL PLUS MINUS STAR SLASH PERCENT AND OR IN IS".split()
)
# Tokens that can continue a name are left out of the message: they are rarely what was meant.
CONTINUATIONS = frozenset({"DOT", "LSQB", "LPAR", "COLON", "HASH"})
JOINS = frozenset({"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "UNIDIRECTIONAL"})
NAMES = {
    "ID": "a name",
    "INT": "a number",
    "STRING": "a quoted string",
    "TYPE": "a type",
    "TIME_UNIT": "a time unit",
    "SCRIPT": "a script in { }",
    END: "the end of the input",
}
CLAUSES = ("select", "group", "having", "order", "limit", "offset", "output", "insert")
TYPES = {
    **dict.fromkeys(("str", "text", "varchar", "char", "character"), "string"),
    **dict.fromkeys(("integer", "short", "byte", "int32"), "int"),
    **dict.fromkeys(("bigint", "int64", "timestamp", "datetime", "date", "time"), "long"),
    **dict.fromkeys(("number", "numeric", "decimal", "real", "float64"), "double"),
    **dict.fromkeys(("single", "float32"), "float"),
    "boolean": "bool",
    "any": "object",
}


@frozen
class Mistake:
    """An unexpected token and the tokens around it. The kind of a punctuation token is its text."""

    kind: str
    text: str
    begin: int
    before: list[tuple[str, str, int, int]]  # kind, text, begin, end
    after: tuple[str, str]
    expected: frozenset[str]

    @property
    def word(self) -> str:
        """The token in lower case if it is a word, else an empty text."""
        return self.text.lower() if self.kind == "word" else ""

    def previous(self, back: int = 1) -> str:
        """Return an earlier token: a word in lower case, else the kind."""
        if back > len(self.before):
            return ""
        kind, text, _, _ = self.before[-back]
        return text.lower() if kind == "word" else kind

    def statement(self) -> list[str]:
        """Return the words of the statement so far, in lower case."""
        words: list[str] = []
        for kind, text, _, _ in reversed(self.before):
            if kind == ";":
                break
            if kind == "word":
                words.insert(0, text.lower())
        return words


def syntax_error(source: Source, tables: Tables, start: int, terminal: str, begin: int, end: int) -> SiddhiParserError:
    """Return the error for a token that the grammar does not allow at its position.

    Args:
        source: the source text.
        tables: the tables of the grammar.
        start: the initial state of the parser.
        terminal: the terminal of the unexpected token.
        begin: the offset of the token.
        end: the offset after the token.
    """
    states = _states_before(source, tables, start, begin)
    expected = frozenset(name for name in tables.actions[states[-1]] if _shift(tables, list(states), name))
    wanted = _wanted(expected, tables)
    message = "unexpected end of input" if terminal == END else f"unexpected '{source.text[begin:end]}'"
    hint = _hint(source.text, begin, expected, tables)
    if terminal == END:  # point after the last token, not into an empty last line
        begin = end = len(source.text.rstrip())
    return source.error(message + (f", expected {wanted}" if wanted else ""), begin, end, hint=hint)


def _states_before(source: Source, tables: Tables, start: int, begin: int) -> list[int]:
    """Return the parser's stack before a token, without the reductions that this token caused.

    LALR tables may reduce on a token that they then reject, which loses the other tokens that were possible.
    """
    scanner = Scanner(source, tables.keywords, tables.punctuation)
    states = [start]
    while True:
        terminal, _, position, _ = scanner.next(tables.actions[states[-1]])
        if position >= begin or not _shift(tables, states, terminal):
            return states


def _shift(tables: Tables, states: list[int], terminal: str) -> bool:
    """Reduce and shift a terminal. Return whether that was possible."""
    while True:
        action = tables.actions[states[-1]].get(terminal)
        if action is None:
            return False
        if action >= 0:
            states.append(action)
            return True
        rule = tables.rules[~action]
        del states[len(states) - rule.size :]
        states.append(tables.gotos[states[-1]][rule.head])


def _wanted(expected: frozenset[str], tables: Tables) -> str:
    """Return a list of the expected tokens, or an empty text where there are too many to be useful."""
    remaining = set(expected)
    items = []
    if {"STRING", "NOT", "LPAR"} <= remaining:
        remaining -= OPERAND | {"COLON"}  # a parameter, in on-demand queries
        if "SEMICOLON" in remaining:  # after `insert into S`: the obsolete projection of Siddhi 2
            remaining -= {"STAR"}
        else:
            items.append("an expression")
    if remaining >= NUMBERS:
        remaining -= NUMBERS
        items.append("a number")
    if "EQUAL" in remaining:
        remaining -= OPERATORS | {"AS", "TIME_UNIT"}
        items.append("an operator")
    if remaining - CONTINUATIONS:
        remaining -= CONTINUATIONS
    if {"JOIN", "LEFT"} <= remaining:
        remaining -= JOINS
        items.append("a join")
    if "SEMICOLON" in remaining:
        remaining -= {"ID"}
    if len(remaining) > 1:
        remaining -= {"OR"}  # continues an expression that is already complete
    punctuation = {terminal: sign for sign, terminal in tables.punctuation.items()}
    keywords = {terminal: word for word, terminal in tables.keywords.items()}
    items += sorted(
        NAMES.get(name) or f"'{punctuation.get(name) or keywords.get(name, name.lower())}'" for name in remaining
    )
    if not items or len(items) > 6:
        return ""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"


def _hint(text: str, begin: int, expected: frozenset[str], tables: Tables) -> str | None:
    before = []
    position = 0
    while True:
        token = token_at(text, position)
        position = token[3]
        if token[2] >= begin or token[0] == "end":
            break
        before.append(token)
    after = token_at(text, position)
    mistake = Mistake(token[0], token[1], token[2], before, (after[0], after[1]), expected)
    for rule in RULES:
        if hint := rule(mistake):
            return hint
    return _similar_word(mistake, tables)


# ---- one function per common mistake; the first hint found is used


def _wrong_operator(mistake: Mistake) -> str | None:
    if mistake.kind == "=" and "EQUAL" in mistake.expected:
        return "use '==' to compare"
    if mistake.kind == ">" and mistake.previous() == "<":
        return "write '!=' for 'not equal'"
    if mistake.word in ("not", "null") and mistake.previous() in ("is", "not"):
        return "write 'not (x is null)'"
    if mistake.word in ("like", "between"):
        return f"SiddhiQL has no '{mistake.word}'; compare with ==, !=, <, <=, >, >=, or call a function"
    return None


def _sign_without_number(mistake: Mistake) -> str | None:
    if mistake.previous() in ("-", "+") and NUMBERS & mistake.expected and "ID" not in mistake.expected:
        operand = mistake.text if mistake.kind == "word" else "(...)"
        return f"only a number can have a sign; write '0 - {operand}'"
    return None


def _semicolons(mistake: Mistake) -> str | None:
    if mistake.kind == ";" and mistake.previous() in (";", ""):
        return "remove the extra ';'"
    if mistake.word == "select" and mistake.previous(2) == "into":
        return "write 'select' before 'insert into'"
    starts = mistake.word in ("define", "from", "partition", "select") or mistake.kind == "@"
    if starts and "SEMICOLON" in mistake.expected:
        return "is a ';' missing before it?"
    return None


def _times(mistake: Mistake) -> str | None:
    previous = mistake.previous()
    if previous in ("DOUBLE", "LONG", "FLOAT") and mistake.kind == "word":
        _, text, _, end = mistake.before[-1]
        if end == mistake.begin and text[:-1].isdigit():
            return f"write '{text[:-1]} {text[-1]}{mistake.text}', with a space"
    if previous != "INT":
        return None
    if "EVENTS" in mistake.expected and mistake.word in ("insert", "delete", "update", "return"):
        number = mistake.before[-1][1]
        return f"write '{number} events', or a time such as '{number} sec'"
    if mistake.word == "events" and "TIME_UNIT" in mistake.expected:
        return "'output snapshot' needs a time: output snapshot every 5 sec"
    if mistake.kind == "word" and "TIME_UNIT" in mistake.expected and mistake.word not in KEYWORDS:
        if close := get_close_matches(mistake.word, UNIT_NAMES, n=1, cutoff=0.75):
            return f"did you mean '{close[0]}'?"
        return "the time units are millisec, sec, min, hour, day, week, month and year"
    return None


def _attributes(mistake: Mistake) -> str | None:
    if mistake.kind == ")" and mistake.previous() == "(" and mistake.expected == {"ID"}:
        return "write at least one attribute: (price double)"
    if "TYPE" not in mistake.expected:
        return None
    if mistake.kind == ":":
        return "separate name and type with a space: price double"
    if mistake.previous() in ("string", "int", "long", "float", "double", "bool", "object"):
        return f"write the name before the type: {mistake.text} {mistake.previous()}"
    if mistake.word in TYPES:
        return f"did you mean '{TYPES[mistake.word]}'?"
    return "the types are string, int, long, float, double, bool and object"


def _annotations(mistake: Mistake) -> str | None:
    if mistake.previous() == "(" and mistake.previous(3) == "@" and mistake.kind == ")":
        return "remove the empty parentheses"
    if mistake.previous() == "=" and mistake.expected == {"STRING"}:
        return f"annotation values are strings: '{mistake.text}'"
    return None


def _clauses(mistake: Mistake) -> str | None:
    statement = mistake.statement()
    if mistake.word == "where":
        return "write the filter after the source: from S[price > 10]"
    if mistake.kind == "," and mistake.previous() == "*":
        return "'*' can't be combined with attributes; list them all instead"
    if mistake.word in CLAUSES and "INSERT" in mistake.expected and mistake.word in CLAUSES[1:6]:
        return "write the clauses in this order: select, group by, having, order by, limit, offset, output, insert into"
    if mistake.previous() == "insert" and "INTO" in mistake.expected:
        return f"write 'insert into {mistake.text}'"
    if "group" in statement and "HAVING" in mistake.expected and mistake.text in ("+", "-", "*", "/", "%", "("):
        return "'group by' takes only attributes; compute the value in an earlier query"
    if mistake.previous() == "as" and mistake.expected == {"STRING"}:
        return f"labels are strings: as '{mistake.text}'"
    if "ON" in mistake.expected and "update" in statement and mistake.kind in (";", "end"):
        return "add a condition that selects the rows: on T.symbol == symbol"
    if "INSERT" in mistake.expected and mistake.kind in (";", "end"):
        return "add the output: insert into Out"
    if mistake.kind == "script" and "RETURN" not in mistake.expected:
        return "write attributes in ( ), filters in [ ], the queries of a partition between 'begin' and 'end'"
    if mistake.word in ("define", "partition") and mistake.expected == {"FROM", "AT_SIGN"}:
        return "a partition can contain only queries"
    if "AGGREGATE" in mistake.expected and mistake.word == "every":
        return "write 'aggregate every sec ... year'"
    return None


def _inputs(mistake: Mistake) -> str | None:
    statement = mistake.statement()
    if mistake.previous(2) == "as" and "JOIN" in mistake.expected:
        return "only the sides of a join can have an alias"
    if mistake.word in ("join", "left", "right", "full", "inner", "unidirectional") and "join" in statement:
        if mistake.word == "unidirectional":
            return "only one side can be unidirectional; write the keyword after that side"
        return "a join has two sources; insert its output into a stream and join that stream"
    if mistake.word == "within" and "RPAR" in mistake.expected:
        return "write 'within' at the end of the whole pattern"
    if mistake.word in ("and", "or") and mistake.previous() in (">", "*", "+", "?"):
        return "a counted element can't be combined with 'and' or 'or'"
    return None


def _brackets(mistake: Mistake) -> str | None:
    opened = []
    for kind, _, begin, _ in mistake.before:
        if kind in ("(", "["):
            opened.append((kind, begin))
        elif kind in (")", "]") and opened:
            opened.pop()
    if not opened and mistake.kind in (")", "]"):
        return f"no open bracket matches this '{mistake.kind}'"
    if opened and (mistake.word in KEYWORDS or mistake.kind in (";", "end", ")", "]")):
        sign = opened[-1][0]
        closing = {"(": ("RPAR", ")"), "[": ("RSQB", "]")}[sign]
        if closing[0] in mistake.expected:
            where = "at the end" if mistake.kind == "end" else "before it"
            return f"is a '{closing[1]}' missing {where}?"
    return None


def _similar_word(mistake: Mistake, tables: Tables) -> str | None:
    """Suggest an expected keyword that is spelled like the unexpected word."""
    if mistake.kind != "word":
        return None
    keywords = [word for word, terminal in tables.keywords.items() if terminal in mistake.expected]
    close = get_close_matches(mistake.text.lower(), keywords, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else None


def _sql(mistake: Mistake) -> str | None:
    """Hint at what SiddhiQL has in place of a form of SQL."""
    if "FROM" in mistake.expected and "SELECT" not in mistake.expected and not mistake.statement():
        if mistake.word == "select":
            return "a query begins with its input: from S select a insert into Out"
        if mistake.word in ("insert", "update", "delete", "upsert"):
            return "a query begins with its input and ends with its output: from S select a insert into Out"
        if mistake.word == "create":
            return "streams and tables are defined: define stream S (a int)"
    if mistake.word == "when" and mistake.previous() == "case":
        return "SiddhiQL has no 'case'; write ifThenElse(condition, value, other)"
    if mistake.kind == "(" and mistake.previous() == "in":
        return "'in' takes the name of a table; compare with each value: a == 1 or a == 2"
    if mistake.kind == "word" and mistake.previous() == "distinct" and mistake.previous(2) == "select":
        return "SiddhiQL has no 'distinct'; group by the attributes instead"
    return None


RULES = (
    _sql,
    _wrong_operator,
    _sign_without_number,
    _semicolons,
    _times,
    _attributes,
    _annotations,
    _clauses,
    _inputs,
    _brackets,
)
