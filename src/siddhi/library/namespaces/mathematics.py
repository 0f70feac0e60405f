"""The namespace ``math``: functions of numbers, with the results of Java's ``Math``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import ExtensionMetadata, NullRule, Parameter, ReturnRule
from siddhi.library.namespaces.declare import Namespace, takes
from siddhi.library.namespaces.statistics import PERCENTILE
from siddhi.library.type_sets import INT, NUMERIC, REAL, STRING, TIME
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS"]

_math = Namespace("math", NullRule.NULL)
_DOUBLE, _STRING = AttributeType.DOUBLE, AttributeType.STRING
_NUMBER = Parameter("p1", NUMERIC, description="a number")
_REAL = Parameter("p1", REAL, description="a number")
_INTEGER = Parameter("p1", TIME, description="an integer")
_TEXT = Parameter("p1", STRING, description="the text of a number")
_ANGLE = Parameter("p1", NUMERIC, description="an angle in radians")


def _rounded(types: Sequence[AttributeType], _constants: Sequence[Any]) -> AttributeType:
    return AttributeType.INT if types[0] is AttributeType.FLOAT else AttributeType.LONG


def _one(
    name: str,
    parameter: Parameter,
    description: str,
    *results: tuple[str, Any],
    returns: ReturnRule = _DOUBLE,
) -> ExtensionMetadata:
    return _math.function(name, takes(parameter), returns, description, *results)


def _two(name: str, first: str, second: str, description: str, *results: tuple[str, Any]) -> ExtensionMetadata:
    parameters = (Parameter(first, NUMERIC), Parameter(second, NUMERIC))
    return _math.function(name, takes(*parameters), _DOUBLE, description, *results)


def _check_base(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    for base in constants[1:]:
        if base is not None and not 2 <= base <= 36:
            raise ValueError(f"invalid base {base} of math:conv: expected 2 to 36")


def _check_log(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if constants[1] == 1:
        raise ValueError("a logarithm to base 1 does not exist", "use another base, such as math:log(x, 2)")


EXTENSIONS: tuple[ExtensionMetadata, ...] = (
    _one("abs", _NUMBER, "The absolute value.", ("math:abs(-3.5)", 3.5), ("math:abs(-7)", 7.0)),
    _one(
        "acos",
        _REAL,
        "The arc cosine in radians; null outside -1 to 1.",
        ("math:acos(1.0)", 0.0),
        ("math:acos(1.5)", None),
    ),
    _one(
        "asin",
        _REAL,
        "The arc sine in radians; null outside -1 to 1.",
        ("math:asin(0.0)", 0.0),
        ("math:asin(-2.0)", None),
    ),
    _math.function(
        "atan",
        takes(_NUMBER, optional=(Parameter("p2", NUMERIC, description="the abscissa of a point with ordinate p1"),)),
        _DOUBLE,
        "The arc tangent in radians; with two arguments the angle of the point (p2, p1) in polar coordinates.",
        ("math:atan(1.0)", 0.7853981633974483),
        ("math:atan(1, -1)", 2.356194490192345),
    ),
    _one(
        "bin",
        _INTEGER,
        "The number in binary; a negative one as two's complement of 32 or 64 bits.",
        ("math:bin(9)", "1001"),
        ("math:bin(-1L)", "1" * 64),
        returns=_STRING,
    ),
    _one("cbrt", _NUMBER, "The cube root.", ("math:cbrt(8)", 2.0)),
    _one("ceil", _REAL, "The least integral number that is not less.", ("math:ceil(423.187)", 424.0)),
    _math.function(
        "conv",
        takes(
            Parameter("a", STRING, description="an integer of 64 bits in from.base"),
            Parameter("from.base", INT, description="2 to 36"),
            Parameter("to.base", INT, description="2 to 36"),
        ),
        _STRING,
        "The number in another base. An event with a text that is not a number of the base fails.",
        ("math:conv('7f', 16, 2)", "1111111"),
        ("math:conv('-255', 10, 16)", "-ff"),
        check=_check_base,
    ),
    _two(
        "copySign",
        "magnitude",
        "sign",
        "The first number with the sign of the second.",
        ("math:copySign(5.6, -3.0)", -5.6),
        ("math:copySign(-5, 3)", 5.0),
    ),
    _one("cos", _ANGLE, "The cosine.", ("math:cos(0)", 1.0)),
    _one("cosh", _NUMBER, "The hyperbolic cosine.", ("math:cosh(0.0)", 1.0)),
    _math.function("e", takes(), _DOUBLE, "Euler's number.", ("math:e()", 2.718281828459045)),
    _one("exp", _NUMBER, "Euler's number to the power of p1.", ("math:exp(0)", 1.0)),
    _one("floor", _REAL, "The greatest integral number that is not greater.", ("math:floor(-1.5)", -2.0)),
    _one(
        "getExponent",
        _NUMBER,
        "The exponent of the number's binary floating-point form; of a float that of single precision.",
        ("math:getExponent(60984.1)", 15),
        ("math:getExponent(0.0f)", -127),
        returns=AttributeType.INT,
    ),
    _one(
        "hex",
        _NUMBER,
        "The number in hexadecimal: an integer in two's complement, a float or double with mantissa and exponent.",
        ("math:hex(200)", "c8"),
        ("math:hex(-1)", "ffffffff"),
        ("math:hex(1.5)", "0x1.8p0"),
        returns=_STRING,
    ),
    _one(
        "isInfinite",
        _REAL,
        "Whether the number is infinite.",
        ("math:isInfinite(1.5)", False),
        ("math:isInfinite(math:parseDouble('-Infinity'))", True),
        returns=AttributeType.BOOL,
    ),
    _one(
        "isNan",
        _REAL,
        "Whether the value is not a number.",
        ("math:isNan(1.5)", False),
        ("math:isNan(math:sqrt(-1.0))", True),
        returns=AttributeType.BOOL,
    ),
    _one("ln", _NUMBER, "The natural logarithm.", ("math:ln(1)", 0.0), ("math:ln(10.0)", 2.302585092994046)),
    _math.function(
        "log",
        takes(Parameter("number", NUMERIC), Parameter("base", NUMERIC)),
        _DOUBLE,
        "The logarithm to a base. An event with base 1 fails.",
        ("math:log(34, 2.0)", 5.08746284125034),
        check=_check_log,
    ),
    _one("log10", _NUMBER, "The logarithm to base 10.", ("math:log10(1000)", 3.0)),
    _one("log2", _NUMBER, "The logarithm to base 2.", ("math:log2(8)", 3.0)),
    _two("max", "p1", "p2", "The greater of two numbers, as double; NaN if one of them is.", ("math:max(3, 7.5)", 7.5)),
    _two("min", "p1", "p2", "The lesser of two numbers, as double; NaN if one of them is.", ("math:min(3, 7.5)", 3.0)),
    _one(
        "oct",
        _INTEGER,
        "The number in octal; a negative one as two's complement of 32 or 64 bits.",
        ("math:oct(99)", "143"),
        ("math:oct(-1)", "37777777777"),
        returns=_STRING,
    ),
    _one(
        "parseDouble",
        _TEXT,
        "The double that a text stands for. An event with another text fails.",
        ("math:parseDouble('12.5')", 12.5),
    ),
    _one(
        "parseFloat",
        _TEXT,
        "The float that a text stands for. An event with another text fails.",
        ("math:parseFloat('12.5')", 12.5),
        returns=AttributeType.FLOAT,
    ),
    _one(
        "parseInt",
        _TEXT,
        "The int that a text stands for. An event with another text fails.",
        ("math:parseInt('-12')", -12),
        returns=AttributeType.INT,
    ),
    _one(
        "parseLong",
        _TEXT,
        "The long that a text stands for. An event with another text fails.",
        ("math:parseLong('5000000000')", 5000000000),
        returns=AttributeType.LONG,
    ),
    PERCENTILE,
    _math.function(
        "pi",
        takes(),
        _DOUBLE,
        "The ratio of a circle's circumference to its diameter.",
        ("math:pi()", 3.141592653589793),
    ),
    _two(
        "power",
        "value",
        "to.power",
        "The first number to the power of the second.",
        ("math:power(2, 10)", 1024.0),
        ("math:power(9.0, 0.5)", 3.0),
    ),
    _math.function(
        "rand",
        takes(
            optional=(
                Parameter("seed", TIME, description="read with the first event; the same seed gives the same numbers"),
            )
        ),
        _DOUBLE,
        "A random number from 0, and below 1; with a seed the sequence of java.util.Random. Null is like no seed.",
        deterministic=False,
        own_nulls=True,
    ),
    _one(
        "round",
        _REAL,
        "The nearest integer, of two the greater one: an int for a float, a long for a double.",
        ("math:round(3252.5)", 3253),
        ("math:round(-2.5f)", -2),
        returns=_rounded,
    ),
    _one(
        "signum",
        _NUMBER,
        "The sign: -1, 0 or 1.",
        ("math:signum(-6.32)", -1),
        ("math:signum(0)", 0),
        returns=AttributeType.INT,
    ),
    _one("sin", _ANGLE, "The sine.", ("math:sin(0)", 0.0), ("math:sin(1.0)", 0.8414709848078965)),
    _one("sinh", _NUMBER, "The hyperbolic sine.", ("math:sinh(0.0)", 0.0)),
    _one("sqrt", _NUMBER, "The square root; NaN for a negative number.", ("math:sqrt(16)", 4.0)),
    _one("tan", _ANGLE, "The tangent.", ("math:tan(0.0)", 0.0)),
    _one("tanh", _NUMBER, "The hyperbolic tangent.", ("math:tanh(0)", 0.0)),
    _one("toDegrees", _ANGLE, "Radians in degrees.", ("math:toDegrees(0.5)", 28.64788975654116)),
    _one(
        "toRadians",
        Parameter("p1", NUMERIC, description="an angle in degrees"),
        "Degrees in radians.",
        ("math:toRadians(180)", 3.141592653589793),
    ),
)
