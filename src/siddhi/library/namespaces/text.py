"""The namespace ``str``: functions of texts. Positions count characters from 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import (
    AggregatorMetadata,
    ExtensionMetadata,
    NullRule,
    Overload,
    Parameter,
    Repeat,
    ReturnRule,
    StreamProcessorMetadata,
)
from siddhi.library.namespaces.declare import Namespace, takes
from siddhi.library.namespaces.patterns import check_pattern
from siddhi.library.operators.text import GroupConcat
from siddhi.library.type_sets import ANY, BOOL, INT, OBJECT, STRING, VALUES
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS"]

_str = Namespace("str", NullRule.ERROR)
_STRING, _BOOL, _INT = AttributeType.STRING, AttributeType.BOOL, AttributeType.INT
_INPUT = Parameter("input.string", STRING, description="the text")
_REGEX = Parameter("regex", STRING, description="a regular expression, see regex")
_REPLACEMENT = Parameter("replacement.string", STRING, description="$1 or ${name} stands for a group")
_BEGIN = Parameter("begin.index", INT, description="position of the first character")
_LENGTH = Parameter("length", INT, description="number of characters")
_GROUP = Parameter("group.number", INT, description="a group of the regular expression; 0: the whole match")


_CONCATENATED = (
    Parameter("separator", STRING, dynamic=False, description="default ,"),
    Parameter("distinct", BOOL, dynamic=False, description="whether equal texts occur once; default false"),
    Parameter("order", STRING, dynamic=False, description="ASC or DESC; default: order of arrival"),
)


def _check_order(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if len(constants) == 4 and str(constants[3]).upper() not in ("ASC", "DESC"):
        raise ValueError(f"unknown order '{constants[3]}' of str:groupConcat()", "the orders are ASC and DESC")


def _first(types: Sequence[AttributeType], _constants: Sequence[Any]) -> AttributeType:
    return types[0]


def _f(
    name: str,
    parameters: Sequence[Parameter],
    returns: ReturnRule,
    description: str,
    *results: tuple[str, Any],
    pattern: bool = False,
) -> ExtensionMetadata:
    check = check_pattern(1) if pattern else None
    return _str.function(name, takes(*parameters), returns, description, *results, check=check)


def _check_substr(types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if types[1] is AttributeType.STRING:
        check_pattern(1)(types, constants)


EXTENSIONS: tuple[ExtensionMetadata, ...] = (
    _f(
        "charAt",
        (Parameter("input.value", STRING), Parameter("index", INT)),
        _STRING,
        "The character at a position. An event with a position outside of the text fails.",
        ("str:charAt('WSO2', 1)", "S"),
    ),
    _f(
        "charFrequency",
        (_INPUT, Parameter("char", STRING, description="a character")),
        AttributeType.LONG,
        "How often a character occurs.",
        ("str:charFrequency('WSO2, WSO2', 'W')", 2),
    ),
    _str.function(
        "coalesce",
        [Overload((Parameter("arg", ANY),), Repeat.ONE_OR_MORE, same_type=True)],
        _first,
        "The first argument that is not null, or null if all are.",
        ("str:coalesce('BBB', 'CCC')", "BBB"),
        own_nulls=True,
    ),
    _str.function(
        "concat",
        [Overload((Parameter("arg", ANY),), Repeat.ONE_OR_MORE)],
        _STRING,
        "The texts of the arguments, joined; nulls are left out.",
        ("str:concat('D533', '8JU^', 5, 2.0)", "D5338JU^52.0"),
        own_nulls=True,
    ),
    _f(
        "contains",
        (_INPUT, Parameter("search.string", STRING)),
        _BOOL,
        "Whether the second text is part of the first.",
        ("str:contains('21 products', 'prod')", True),
        ("str:contains('21 products', 'Prod')", False),
    ),
    _f(
        "equalsIgnoreCase",
        (Parameter("arg1", STRING), Parameter("arg2", STRING)),
        _BOOL,
        "Whether the texts are equal except for upper and lower case.",
        ("str:equalsIgnoreCase('WSO2', 'wso2')", True),
    ),
    _str.function(
        "fillTemplate",
        [
            Overload((Parameter("template", STRING), Parameter("map", OBJECT, description="a map"))),
            Overload((Parameter("template", STRING), Parameter("replacement", VALUES)), Repeat.ONE_OR_MORE),
        ],
        _STRING,
        "The template with the arguments in place of {{1}}, {{2}} and so on, or the values of a map in place of {{key}}. An "
        "event with a template that names another place fails.",
        ("str:fillTemplate('{{1}} is {{2}} years', 'Ann', 30)", "Ann is 30 years"),
    ),
    _f(
        "hex",
        (_INPUT,),
        _STRING,
        "The bytes of the text in UTF-8 as hexadecimal digits, two for each.",
        ("str:hex('MySQL 5.1.6')", "4d7953514c20352e312e36"),
    ),
    AggregatorMetadata(
        name="groupConcat",
        namespace="str",
        implementation=GroupConcat,
        overloads=tuple(takes(Parameter("key", STRING, description="the text"), optional=_CONCATENATED)),
        returns=_STRING,
        check=_check_order,
        description="The texts of a window, joined; nulls are left out.",
        example="from S#window.length(10) select str:groupConcat(symbol, '-', true, 'ASC') as symbols insert into O;",
    ),
    _f("length", (_INPUT,), _INT, "The number of characters.", ("str:length('Hello World')", 11)),
    _str.function(
        "locate",
        takes(
            Parameter("string.to.search.for", STRING),
            Parameter("string.to.search.in", STRING),
            optional=(
                Parameter("searching.start.position", INT, description="position where the search starts; default 0"),
            ),
        ),
        _INT,
        "The position of the first text in the second; where it does not occur, the position before the start of the search: -1.",
        ("str:locate('World', 'Hello World')", 6),
        ("str:locate('x', 'Hello World')", -1),
        ("str:locate('o', 'Hello World', 5)", 7),
    ),
    _f("lower", (_INPUT,), _STRING, "The text in lower case.", ("str:lower('WSO2 cep')", "wso2 cep")),
    _f(
        "regexp",
        (_INPUT, _REGEX),
        _BOOL,
        "Whether a regular expression matches the whole text.",
        ("str:regexp('WSO2 abcdh', 'WSO(.*h)')", True),
        pattern=True,
    ),
    _f(
        "repeat",
        (_INPUT, Parameter("times", INT, description="not negative")),
        _STRING,
        "The text, repeated.",
        ("str:repeat('StRing 1', 3)", "StRing 1StRing 1StRing 1"),
    ),
    _f(
        "replaceAll",
        (_INPUT, _REGEX, _REPLACEMENT),
        _STRING,
        "The text with every match of a regular expression replaced.",
        ("str:replaceAll('hello hi hello', 'hello', 'test')", "test hi test"),
        ("str:replaceAll('2024-05', '([0-9]+)-([0-9]+)', '$2/$1')", "05/2024"),
        pattern=True,
    ),
    _f(
        "replaceFirst",
        (_INPUT, _REGEX, _REPLACEMENT),
        _STRING,
        "The text with the first match of a regular expression replaced.",
        ("str:replaceFirst('hello WSO2 A hello', 'WSO2(.*)A', 'XXXX')", "hello XXXX hello"),
        pattern=True,
    ),
    _f(
        "reverse",
        (_INPUT,),
        _STRING,
        "The text from its end to its begin.",
        ("str:reverse('Hello World')", "dlroW olleH"),
    ),
    _f(
        "split",
        (
            _INPUT,
            Parameter("split.string", STRING, description="a regular expression, see regex"),
            Parameter("group.number", INT, description="index of the part, from 0"),
        ),
        _STRING,
        "The part with an index, of those between the matches of a regular expression. Empty parts at the end do not count. An "
        "event with an index that no part has fails.",
        ("str:split('WSO2,ABM,NSFT', ',', 0)", "WSO2"),
        pattern=True,
    ),
    _f(
        "strcmp",
        (Parameter("arg1", STRING), Parameter("arg2", STRING)),
        _INT,
        "Below 0, 0 or above 0 as the first text is before, equal to or after the second: the difference of the first "
        "characters that differ, or of the lengths.",
        ("str:strcmp('AbCDefghiJ KLMN', 'Hello')", -7),
        ("str:strcmp('abc', 'ab')", 1),
    ),
    _str.function(
        "substr",
        [
            Overload((_INPUT, _BEGIN)),
            Overload((_INPUT, _BEGIN, _LENGTH)),
            Overload((_INPUT, _REGEX)),
            Overload((_INPUT, _REGEX, _GROUP)),
        ],
        _STRING,
        "A part of the text: from a position on, or of a length; or the first match of a regular expression, or its group, "
        "which is empty if nothing matches. An event with positions outside of the text fails.",
        ("str:substr('AbCDefghiJ KLMN', 4)", "efghiJ KLMN"),
        ("str:substr('AbCDefghiJ KLMN', 2, 4)", "CDef"),
        ("str:substr('WSO2D efghiJ KLMN', '^WSO2(.*)')", "WSO2D efghiJ KLMN"),
        ("str:substr('WSO2 cep WSO2 XX E hi hA WSO2 heAllo', 'WSO2(.*)A(.*)', 2)", "llo"),
        check=_check_substr,
    ),
    StreamProcessorMetadata(
        name="tokenize",
        namespace="str",
        builtin="str:tokenize",
        overloads=tuple(
            takes(
                _INPUT,
                _REGEX,
                optional=(
                    Parameter(
                        "distinct", BOOL, dynamic=False, description="whether equal tokens occur once; default false"
                    ),
                ),
            )
        ),
        appends=(Attribute("token", _STRING),),
        check=check_pattern(1),
        description="An event for each part between the matches of a regular expression, which is its token. Empty parts at the end do "
        "not count. An event with a null argument fails.",
        example="from S#str:tokenize(text, ',') select token insert into O;",
    ),
    _f(
        "trim",
        (_INPUT,),
        _STRING,
        "The text without blanks at its ends.",
        ("str:trim('  AbCDefghiJ KLMN  ')", "AbCDefghiJ KLMN"),
    ),
    _f(
        "unhex",
        (_INPUT,),
        _STRING,
        "The text of hexadecimal digits, as str:hex writes them. An event with other digits fails.",
        ("str:unhex('4d7953514c20352e312e36')", "MySQL 5.1.6"),
    ),
    _f("upper", (_INPUT,), _STRING, "The text in upper case.", ("str:upper('WSO2 cep')", "WSO2 CEP")),
)
