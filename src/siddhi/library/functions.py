"""The built-in scalar functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import FunctionMetadata, Overload, Parameter, Repeat
from siddhi.library.type_sets import ANY, BOOL, NUMERIC, OBJECT, STRING, VALUES
from siddhi.types import AttributeType

__all__ = ["FUNCTIONS"]

Types = Sequence[AttributeType]
Constants = Sequence[Any]

_BY_WORD = {type_.value: type_ for type_ in AttributeType if type_ is not AttributeType.OBJECT}
_WORDS = ", ".join(f"'{word}'" for word in _BY_WORD)


def _first(types: Types, _constants: Constants) -> AttributeType:
    return types[0]


def _second(types: Types, _constants: Constants) -> AttributeType:
    return types[1]


def _named(_types: Types, constants: Constants) -> AttributeType:
    """The type named by the second argument."""
    return _BY_WORD[str(constants[1]).lower()]


def _check_word(function: str, constants: Constants) -> AttributeType:
    word = str(constants[1]).lower()
    if word not in _BY_WORD:
        raise ValueError(f"{function}() cannot produce a '{constants[1]}'", f"the types are {_WORDS}")
    return _BY_WORD[word]


def _check_cast(_types: Types, constants: Constants) -> None:
    _check_word("cast", constants)


def _check_convert(types: Types, constants: Constants) -> None:
    target = _check_word("convert", constants)
    if types[0] is AttributeType.OBJECT and target is not AttributeType.STRING:
        raise ValueError(
            f"an object cannot be converted to {target}, only to string", f"use cast(..., '{target}') if it holds one"
        )


def _check_branches(types: Types, _constants: Constants) -> None:
    if types[1] is not types[2]:
        raise ValueError(
            f"both branches of ifThenElse() must have one type, but they are {types[1]} and {types[2]}",
            "use convert(...) on one of them",
        )


_VALUE = Parameter("value", ANY, description="the value")
_TYPE = Parameter("type", STRING, dynamic=False, description=f"the target type, one of {_WORDS}")
_NUMBERS = Overload((Parameter("arg", NUMERIC, description="a number"),), Repeat.ONE_OR_MORE, same_type=True)


def _instance_of(name: str, what: str) -> FunctionMetadata:
    return FunctionMetadata(
        name=f"instanceOf{name}",
        native=f"instanceOf{name}",
        overloads=(Overload((_VALUE,)),),
        returns=AttributeType.BOOL,
        description=f"Whether the value is {what}; false for null.",
    )


FUNCTIONS: tuple[FunctionMetadata, ...] = (
    FunctionMetadata(
        name="cast",
        native="cast",
        overloads=(Overload((_VALUE, _TYPE)),),
        returns=_named,
        check=_check_cast,
        description="The value of an object as the type it has. A value of another type is converted, as by convert(), "
        "but a text that does not hold one fails.",
        example="from S select cast(payload, 'double') as price insert into O;",
    ),
    FunctionMetadata(
        name="convert",
        native="convert",
        overloads=(Overload((_VALUE, _TYPE)),),
        returns=_named,
        check=_check_convert,
        description="The value converted to another type; null where a text does not hold one.",
        example="from S select convert(text, 'int') as number insert into O;",
    ),
    FunctionMetadata(
        name="coalesce",
        native="coalesce",
        overloads=(Overload((Parameter("arg", ANY),), Repeat.ONE_OR_MORE, same_type=True),),
        returns=_first,
        description="The first argument that is not null, or null.",
        example="from S select coalesce(nick, name) as label insert into O;",
    ),
    FunctionMetadata(
        name="default",
        native="default",
        overloads=(
            Overload((_VALUE, Parameter("default", ANY, dynamic=False, description="a literal")), same_type=True),
        ),
        returns=_first,
        description="The value, or the literal where it is null.",
        example="from S select default(price, 0.0) as price insert into O;",
    ),
    FunctionMetadata(
        name="ifThenElse",
        native="ifThenElse",
        overloads=(Overload((Parameter("condition", BOOL), Parameter("then", ANY), Parameter("else", ANY))),),
        returns=_second,
        check=_check_branches,
        description="The second argument where the condition is true, else the third; only that one is evaluated.",
        example="from S select ifThenElse(price > 100, 'dear', 'cheap') as label insert into O;",
    ),
    _instance_of("Boolean", "a bool"),
    _instance_of("Double", "a double"),
    _instance_of("Float", "a float"),
    _instance_of("Integer", "an int"),
    _instance_of("Long", "a long"),
    _instance_of("String", "a string"),
    FunctionMetadata(
        name="maximum",
        native="maximum",
        overloads=(_NUMBERS,),
        returns=_first,
        description="The greatest argument that is not null; null where all are.",
        example="from S select maximum(bid, ask) as top insert into O;",
    ),
    FunctionMetadata(
        name="minimum",
        native="minimum",
        overloads=(_NUMBERS,),
        returns=_first,
        description="The least argument that is not null; null where all are.",
        example="from S select minimum(bid, ask) as bottom insert into O;",
    ),
    FunctionMetadata(
        name="UUID",
        native="UUID",
        overloads=(Overload(),),
        returns=AttributeType.STRING,
        deterministic=False,
        description="A random UUID as text.",
        example="from S select UUID() as id insert into O;",
    ),
    FunctionMetadata(
        name="currentTimeMillis",
        native="currentTimeMillis",
        overloads=(Overload(),),
        returns=AttributeType.LONG,
        deterministic=False,
        reads_clock=True,
        description="The app's clock in milliseconds since 1970.",
        example="from S select currentTimeMillis() as now insert into O;",
    ),
    FunctionMetadata(
        name="eventTimestamp",
        native="eventTimestamp",
        overloads=(Overload(), Overload((Parameter("event", OBJECT, event_only=True),))),
        returns=AttributeType.LONG,
        deterministic=False,
        description="The timestamp of the current event, or of the one referred to, in milliseconds since 1970.",
        example="from S select eventTimestamp() as at insert into O;",
    ),
    FunctionMetadata(
        name="createSet",
        native="createSet",
        overloads=(Overload((Parameter("element", VALUES),)),),
        returns=AttributeType.OBJECT,
        description="A new set that holds the value.",
        example="from S select createSet(symbol) as symbols insert into O;",
    ),
    FunctionMetadata(
        name="sizeOfSet",
        native="sizeOfSet",
        overloads=(Overload((Parameter("set", OBJECT),)),),
        returns=AttributeType.INT,
        description="How many elements a set has; 0 for null.",
        example="from S select sizeOfSet(symbols) as n insert into O;",
    ),
)
