"""A simple, slow evaluator of SiddhiQL expressions, written from the rules of the language alone.

Values are Python objects: int for int and long, float for float and double (a value of type float always fits single
precision), None for null. The engine's executors must have the same result for every expression.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

WIDTHS = ("int", "long", "float", "double")
CLASSES = {
    "Boolean": "bool",
    "Double": "double",
    "Float": "float",
    "Integer": "int",
    "Long": "long",
    "String": "string",
}


# --- the tree


@dataclass(frozen=True)
class Node:
    type: str


@dataclass(frozen=True)
class Literal(Node):
    value: Any


@dataclass(frozen=True)
class Attribute(Node):
    position: int


@dataclass(frozen=True)
class Math(Node):
    symbol: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Compare(Node):
    symbol: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Logic(Node):
    """and, or (two operands), not, isNull (one)."""

    word: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Call(Node):
    name: str
    arguments: tuple[Node, ...]


def math_type(left: str, right: str) -> str:
    """Return the wider of two numeric types."""
    return WIDTHS[max(WIDTHS.index(left), WIDTHS.index(right))]


def compare_type(symbol: str, left: str, right: str) -> str:
    """Return the type in which a comparison is computed."""
    if left == right:
        return left
    if symbol in ("==", "!=") and {left, right} == {"long", "float"}:
        return "double"
    return math_type(left, right)


# --- numbers


def wrap(value: int, bits: int) -> int:
    """Wrap a number around, in two's complement."""
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def nearest_single(value: Fraction | float) -> float:
    """Return the nearest number of single precision: ties to even, infinite if out of range."""
    if isinstance(value, float):
        if not math.isfinite(value) or value == 0:
            return value
        value = Fraction(value)
    exact = Fraction(value)
    if exact == 0:
        return 0.0
    sign, exact = (-1.0, -exact) if exact < 0 else (1.0, exact)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if Fraction(2) ** exponent > exact:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    result = round(exact / unit) * unit  # round() of a Fraction takes ties to even
    return sign * (math.inf if result >= Fraction(2) ** 128 else float(result))


def nearest_double(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def widen(value: Any, source: str, target: str) -> Any:
    """Convert a number to a wider type."""
    if value is None or source == target:
        return value
    if target == "long":
        return value
    if target == "float":
        return nearest_single(value)
    return float(value)


def truncate(value: float, bits: int) -> int:
    """Truncate a number towards zero, saturated at the limits of the type; NaN becomes 0."""
    if math.isnan(value):
        return 0
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    if math.isinf(value):
        return low if value < 0 else high
    return min(max(math.trunc(value), low), high)


def compute(symbol: str, type_: str, a: Any, b: Any) -> Any:
    """Compute with two values of one type."""
    if a is None or b is None or (symbol in "/%" and b == 0):
        return None
    if type_ in ("int", "long"):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if symbol in "/%" else 0
        exact = {"+": a + b, "-": a - b, "*": a * b, "/": quotient, "%": a - quotient * b}[symbol]
        return wrap(exact, 32 if type_ == "int" else 64)
    if symbol == "%":
        real = math.nan if math.isnan(a) or math.isnan(b) or math.isinf(a) else math.fmod(a, b)
    else:
        real = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0.0}[symbol]
    # Double precision is wide enough for rounding twice to be the same as rounding once.
    return nearest_single(real) if type_ == "float" else real


def compare(symbol: str, a: Any, b: Any) -> bool:
    if a is None or b is None:
        return symbol == "!="
    return bool(
        {"<": lambda: a < b, "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b}.get(
            symbol, lambda: (a == b) == (symbol == "==")
        )()
    )


# --- text

SIGN = r"[+-]?"
DIGITS = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
DECIMAL = re.compile(rf"({SIGN}{DIGITS}(?:[eE]{SIGN}[0-9]+)?)[fFdD]?")
HEXADECIMAL = re.compile(rf"({SIGN})0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]({SIGN}[0-9]+)[fFdD]?")
BLANKS = "".join(map(chr, range(0x21)))


def parse_integer(text: str, bits: int) -> int | None:
    if not re.fullmatch(rf"{SIGN}[0-9]+", text):
        return None
    value = int(text)
    return value if wrap(value, bits) == value else None


def parse_real(text: str, single: bool) -> float | None:
    text = text.strip(BLANKS)
    named = re.fullmatch(rf"({SIGN})(NaN|Infinity)", text)
    if named:
        return float(text)
    decimal = DECIMAL.fullmatch(text)
    hexadecimal = HEXADECIMAL.fullmatch(text)
    if decimal:
        # With more than 400 digits the result is infinite or zero, so the exact number is not needed.
        digits = Decimal(decimal[1])
        small = Fraction(digits) if abs(digits.adjusted()) <= 400 else Fraction(0)
        exact = Fraction(10) ** 400 if digits and digits.adjusted() > 400 else small
    elif hexadecimal and hexadecimal[2] + hexadecimal[3]:
        exact = Fraction(int(hexadecimal[2] + hexadecimal[3], 16)) * Fraction(2) ** (
            int(hexadecimal[4]) - 4 * len(hexadecimal[3])
        )
    else:
        return None
    value = nearest_single(abs(exact)) if single else nearest_double(abs(exact))
    return -value if text.startswith("-") else value


def text_of_real(value: float, single: bool) -> str:
    """Return Java's text of a number: the shortest decimal, of at least two digits, that reads back as the value.

    Among several it is the nearest one, and among two equally near ones that with an even last digit.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0.0"
    exact = abs(Fraction(value))
    round_trips = (lambda d: nearest_single(d) == exact) if single else (lambda d: nearest_double(d) == exact)
    for places in range(2, 18):
        exponent = int(f"{abs(value):.{places - 1}e}".partition("e")[2])
        unit = Fraction(10) ** (exponent - places + 1)
        near = round(exact / unit)
        found = [n for n in (near - 1, near, near + 1) if round_trips(n * unit)]
        if found:
            best = min(found, key=lambda n: (abs(n * unit - exact), n % 2))
            return sign + layout(str(best).rstrip("0"), exponent + len(str(best)) - places)
    raise AssertionError(value)


def layout(digits: str, exponent: int) -> str:
    """Format digits d.ddd * 10^exponent: plain from 10^-3 to 10^7, else scientific."""
    if -3 <= exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    if 0 <= exponent < 7:
        digits = digits.ljust(exponent + 2, "0")
        return f"{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
    return f"{digits[0]}.{digits[1:] or '0'}E{exponent}"


def text_of(value: Any, type_: str) -> str:
    if type_ == "bool":
        return "true" if value else "false"
    return text_of_real(value, type_ == "float") if type_ in ("float", "double") else str(value)


def convert(value: Any, source: str, target: str) -> Any:
    """Convert a value from one type to another."""
    if value is None or source == target:
        return value
    if target == "string":
        return text_of(value, source)
    if source == "string":
        if target == "bool":
            return value.lower() == "true" and value.isascii()
        if target in ("int", "long"):
            return parse_integer(value, 32 if target == "int" else 64)
        return parse_real(value, target == "float")
    if target == "bool":
        return value == 1
    if source == "bool":
        value = int(value)
    if target in ("int", "long"):
        bits = 32 if target == "int" else 64
        return truncate(value, bits) if isinstance(value, float) else wrap(value, bits)
    return nearest_single(value) if target == "float" else float(value)


# --- evaluation


def evaluate(node: Node, row: Sequence[Any]) -> Any:
    """Return the value of an expression over a row."""
    match node:
        case Literal(value=value):
            return value
        case Attribute(position=position):
            return row[position]
        case Math(type=type_, symbol=symbol, left=left, right=right):
            a = widen(evaluate(left, row), left.type, type_)
            return compute(symbol, type_, a, widen(evaluate(right, row), right.type, type_))
        case Compare(symbol=symbol, left=left, right=right):
            type_ = compare_type(symbol, left.type, right.type)
            a = widen(evaluate(left, row), left.type, type_)
            return compare(symbol, a, widen(evaluate(right, row), right.type, type_))
        case Logic(word="and", operands=operands):
            return all(evaluate(operand, row) is True for operand in operands)
        case Logic(word="or", operands=operands):
            return any(evaluate(operand, row) is True for operand in operands)
        case Logic(word="not", operands=(operand,)):
            return evaluate(operand, row) is not True
        case Logic(word="isNull", operands=(operand,)):
            return evaluate(operand, row) is None
        case Call():
            value = call(node, row)
            return False if node.type == "bool" and value is None else value
    raise AssertionError(node)


def call(node: Call, row: Sequence[Any]) -> Any:
    values = [evaluate(argument, row) for argument in node.arguments]
    types = [argument.type for argument in node.arguments]
    present = [value for value in values if value is not None]
    name = node.name
    if name == "ifThenElse":
        return values[1] if values[0] is True else values[2]
    if name in ("coalesce", "default"):
        return present[0] if present else None
    if name in ("maximum", "minimum"):
        numbers = [value for value in present if value == value] or present
        if not numbers:
            return None
        return max(numbers) if name == "maximum" else min(numbers)
    if name in ("convert", "cast"):
        return convert(values[0], types[0], node.type)
    if name.startswith("instanceOf"):
        return values[0] is not None and types[0] == CLASSES[name.removeprefix("instanceOf")]
    raise AssertionError(name)
