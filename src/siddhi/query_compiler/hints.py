"""Syntax errors: what was not expected, what could have stood there, and what was probably meant."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from siddhi._frozen import frozen
from siddhi.query_compiler.keywords import KEYWORDS
from siddhi.query_compiler.scanner import Scanner
from siddhi.query_compiler.tables import END, Tables
from siddhi.query_compiler.time_units import WORDS
from siddhi.query_compiler.tokens import shape_at

if TYPE_CHECKING:
    from siddhi.errors import SiddhiParserError
    from siddhi.query_compiler.source import Source

__all__ = ["syntax_error"]

NUMBERS = frozenset({"INT", "LONG", "FLOAT", "DOUBLE"})
OPERAND = NUMBERS | {"ID", "STRING", "BOOL", "NOT", "LPAR", "HASH", "BANG", "PLUS", "MINUS"}
OPERATORS = frozenset(
    "EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL PLUS MINUS STAR SLASH PERCENT AND OR IN IS".split()
)
# What goes on behind a name is rarely what somebody who made a mistake wants to read.
CONTINUATIONS = frozenset({"DOT", "LSQB", "LPAR", "COLON", "HASH"})
JOINS = frozenset({"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "UNIDIRECTIONAL"})
NAMES = {
    "ID": "a name",
    "INT": "a number",
    "STRING": "a text in quotes",
    "TYPE": "a type",
    "TIME_UNIT": "a unit of time",
    "SCRIPT": "a script in { }",
    END: "the end of the text",
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
    """An unexpected token, and what stands around it. Words are lower case; a sign's shape is the sign."""

    shape: str
    text: str
    begin: int
    before: list[tuple[str, str, int, int]]  # shape, text, begin, end
    after: tuple[str, str]
    expected: frozenset[str]

    @property
    def word(self) -> str:
        """The token if it is a word, in lower case."""
        return self.text.lower() if self.shape == "word" else ""

    def previous(self, back: int = 1) -> str:
        """The shape (a sign, or a word's text in lower case) of an earlier token."""
        if back > len(self.before):
            return ""
        shape, text, _, _ = self.before[-back]
        return text.lower() if shape == "word" else shape

    def statement(self) -> list[str]:
        """The words of the statement so far, in lower case."""
        words: list[str] = []
        for shape, text, _, _ in reversed(self.before):
            if shape == ";":
                break
            if shape == "word":
                words.insert(0, text.lower())
        return words


def syntax_error(source: Source, tables: Tables, start: int, kind: str, begin: int, end: int) -> SiddhiParserError:
    """The error for a token that can't stand where it is.

    Args:
        source: the text.
        tables: the tables of the grammar.
        start: the state in which the parser began.
        kind: the terminal of the unexpected token.
        begin: its offset.
        end: the offset behind it.
    """
    states = _states_before(source, tables, start, begin)
    expected = frozenset(name for name in tables.actions[states[-1]] if _shift(tables, list(states), name))
    wanted = _wanted(expected, tables)
    message = "the text ends too soon" if kind == END else f"unexpected '{source.text[begin:end]}'"
    hint = _hint(source.text, begin, expected, tables)
    if kind == END:  # behind the last thing that is there, not in the empty line at the end
        begin = end = len(source.text.rstrip())
    return source.error(message + (f", expected {wanted}" if wanted else ""), begin, end, hint=hint)


def _states_before(source: Source, tables: Tables, start: int, begin: int) -> list[int]:
    """The parser's stack in front of a token, before anything was reduced because of that token.

    LALR tables may reduce on a token they then refuse; what else could have stood there is known only before that.
    """
    scanner = Scanner(source, tables.keywords, tables.punctuation)
    states = [start]
    while True:
        kind, _, position, _ = scanner.next(tables.actions[states[-1]])
        if position >= begin or not _shift(tables, states, kind):
            return states


def _shift(tables: Tables, states: list[int], terminal: str) -> bool:
    """Reduce and shift a terminal; whether that was possible."""
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
    """What could stand here, if that is little enough to be read."""
    rest = set(expected)
    items = []
    if {"STRING", "NOT", "LPAR"} <= rest:
        rest -= OPERAND
        if "SEMICOLON" in rest:  # behind `insert into S`, where Siddhi 2 had its projection: not what one writes today
            rest -= {"STAR"}
        else:
            items.append("an expression")
    if rest >= NUMBERS:
        rest -= NUMBERS
        items.append("a number")
    if "EQUAL" in rest:
        rest -= OPERATORS | {"AS", "TIME_UNIT"}
        items.append("an operator")
    if rest - CONTINUATIONS:
        rest -= CONTINUATIONS
    if {"JOIN", "LEFT"} <= rest:
        rest -= JOINS
        items.append("a join")
    if "SEMICOLON" in rest:
        rest -= {"ID"}
    if len(rest) > 1:
        rest -= {"OR"}  # goes on with an expression that seems complete
    signs = {terminal: sign for sign, terminal in tables.punctuation.items()}
    words = {terminal: word for word, terminal in tables.keywords.items()}
    items += sorted(NAMES.get(name) or f"'{signs.get(name) or words.get(name, name.lower())}'" for name in rest)
    if not items or len(items) > 6:
        return ""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"


def _hint(text: str, begin: int, expected: frozenset[str], tables: Tables) -> str | None:
    before = []
    position = 0
    while True:
        token = shape_at(text, position)
        position = token[3]
        if token[2] >= begin or token[0] == "end":
            break
        before.append(token)
    after = shape_at(text, position)
    mistake = Mistake(token[0], token[1], token[2], before, (after[0], after[1]), expected)
    for rule in RULES:
        if hint := rule(mistake):
            return hint
    return _similar_word(mistake, tables)


# ---- one function per common mistake; the first that knows an answer gives it


def _wrong_operator(mistake: Mistake) -> str | None:
    if mistake.shape == "=" and "EQUAL" in mistake.expected:
        return "'==' compares"
    if mistake.shape == ">" and mistake.previous() == "<":
        return "'not equal' is written '!='"
    if mistake.word in ("not", "null") and mistake.previous() in ("is", "not"):
        return "write 'not (x is null)'"
    if mistake.word in ("like", "between"):
        return f"SiddhiQL has no '{mistake.word}'; compare with ==, !=, <, <=, >, >=, or call a function"
    return None


def _sign_of_no_number(mistake: Mistake) -> str | None:
    if mistake.previous() in ("-", "+") and NUMBERS & mistake.expected and "ID" not in mistake.expected:
        what = mistake.text if mistake.shape == "word" else "(...)"
        return f"a sign belongs to a number; write '0 - {what}'"
    return None


def _semicolons(mistake: Mistake) -> str | None:
    if mistake.shape == ";" and mistake.previous() in (";", ""):
        return "one ';' between two statements is enough"
    if mistake.word == "select" and mistake.previous(2) == "into":
        return "'select' stands in front of 'insert into'"
    starts = mistake.word in ("define", "from", "partition", "select") or mistake.shape == "@"
    if starts and "SEMICOLON" in mistake.expected:
        return "is a ';' missing in front of it?"
    return None


def _times(mistake: Mistake) -> str | None:
    previous = mistake.previous()
    if previous in ("DOUBLE", "LONG", "FLOAT") and mistake.shape == "word":
        _, text, _, end = mistake.before[-1]
        if end == mistake.begin and text[:-1].isdigit():
            return f"write '{text[:-1]} {text[-1]}{mistake.text}', with a space"
    if previous != "INT":
        return None
    if "EVENTS" in mistake.expected and mistake.word in ("insert", "delete", "update", "return"):
        number = mistake.before[-1][1]
        return f"write '{number} events', or a time such as '{number} sec'"
    if mistake.word == "events" and "TIME_UNIT" in mistake.expected:
        return "a snapshot is taken at times: output snapshot every 5 sec"
    if mistake.shape == "word" and "TIME_UNIT" in mistake.expected and mistake.word not in KEYWORDS:
        if close := get_close_matches(mistake.word, WORDS, n=1, cutoff=0.75):
            return f"did you mean '{close[0]}'?"
        return "units of time are millisec, sec, min, hour, day, week, month and year"
    return None


def _attributes(mistake: Mistake) -> str | None:
    if mistake.shape == ")" and mistake.previous() == "(" and mistake.expected == {"ID"}:
        return "write at least one attribute: (price double)"
    if "TYPE" not in mistake.expected:
        return None
    if mistake.shape == ":":
        return "name and type are separated by a space: price double"
    if mistake.previous() in ("string", "int", "long", "float", "double", "bool", "object"):
        return f"the name comes first: {mistake.text} {mistake.previous()}"
    if mistake.word in TYPES:
        return f"did you mean '{TYPES[mistake.word]}'?"
    return "types are string, int, long, float, double, bool and object"


def _annotations(mistake: Mistake) -> str | None:
    if mistake.previous() == "(" and mistake.previous(3) == "@" and mistake.shape == ")":
        return "leave empty parentheses out"
    if mistake.previous() == "=" and mistake.expected == {"STRING"}:
        return f"values in annotations are text: '{mistake.text}'"
    return None


def _clauses(mistake: Mistake) -> str | None:
    statement = mistake.statement()
    if mistake.word == "where":
        return "filters stand behind the source: from S[price > 10]"
    if mistake.shape == "," and mistake.previous() == "*":
        return "'*' stands alone; otherwise list the attributes"
    if mistake.word in CLAUSES and "INSERT" in mistake.expected and mistake.word in CLAUSES[1:6]:
        return "clauses stand in this order: select, group by, having, order by, limit, offset, output, insert into"
    if mistake.previous() == "insert" and "INTO" in mistake.expected:
        return f"write 'insert into {mistake.text}'"
    if "group" in statement and "HAVING" in mistake.expected and mistake.text in ("+", "-", "*", "/", "%", "("):
        return "'group by' takes attributes; compute the value in a query before this one"
    if mistake.previous() == "as" and mistake.expected == {"STRING"}:
        return f"labels are text: as '{mistake.text}'"
    if "ON" in mistake.expected and "update" in statement and mistake.shape in (";", "end"):
        return "say which rows: on T.symbol == symbol"
    if "INSERT" in mistake.expected and mistake.shape in (";", "end"):
        return "say where the events go: insert into Out"
    if mistake.shape == "script" and "RETURN" not in mistake.expected:
        return "attributes stand in ( ), filters in [ ], the queries of a partition between 'begin' and 'end'"
    if mistake.word in ("define", "partition") and mistake.expected == {"FROM", "AT_SIGN"}:
        return "a partition holds queries only"
    if "AGGREGATE" in mistake.expected and mistake.word == "every":
        return "write 'aggregate every sec ... year'"
    return None


def _inputs(mistake: Mistake) -> str | None:
    statement = mistake.statement()
    if mistake.previous(2) == "as" and "JOIN" in mistake.expected:
        return "an alias is possible in joins only"
    if mistake.word in ("join", "left", "right", "full", "inner", "unidirectional") and "join" in statement:
        if mistake.word == "unidirectional":
            return "one side can be unidirectional, and the word follows it"
        return "a join has two sources; insert its output into a stream and join that"
    if mistake.word == "within" and "RPAR" in mistake.expected:
        return "'within' stands at the end of the whole pattern"
    if mistake.word in ("and", "or") and mistake.previous() in (">", "*", "+", "?"):
        return "a counted element can't be combined with 'and' or 'or'"
    return None


def _brackets(mistake: Mistake) -> str | None:
    opened = []
    for shape, _, begin, _ in mistake.before:
        if shape in ("(", "["):
            opened.append((shape, begin))
        elif shape in (")", "]") and opened:
            opened.pop()
    if not opened and mistake.shape in (")", "]"):
        return f"no bracket is open that this '{mistake.shape}' could close"
    if opened and (mistake.word in KEYWORDS or mistake.shape in (";", "end", ")", "]")):
        sign = opened[-1][0]
        closing = {"(": ("RPAR", ")"), "[": ("RSQB", "]")}[sign]
        if closing[0] in mistake.expected:
            place = "at the end" if mistake.shape == "end" else "in front of it"
            return f"is a '{closing[1]}' missing {place}?"
    return None


def _similar_word(mistake: Mistake, tables: Tables) -> str | None:
    """A keyword that could stand here and looks like the word that does."""
    if mistake.shape != "word":
        return None
    words = [word for word, terminal in tables.keywords.items() if terminal in mistake.expected]
    close = get_close_matches(mistake.text.lower(), words, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else None


RULES = (
    _wrong_operator,
    _sign_of_no_number,
    _semicolons,
    _times,
    _attributes,
    _annotations,
    _clauses,
    _inputs,
    _brackets,
)
