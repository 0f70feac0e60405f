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
    """Return the type named by the second argument."""
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
            f"an object cannot be converted to {target}, only to string",
            f"use cast(..., '{target}') if the object is a {target}",
        )


def _check_branches(types: Types, _constants: Constants) -> None:
    if types[1] is not types[2]:
        raise ValueError(
            f"both branches of ifThenElse() must have the same type, but they are {types[1]} and {types[2]}",
            "use convert(...) on one of them",
        )


_VALUE = Parameter("value", ANY, description="the value")
_TYPE = Parameter("type", STRING, dynamic=False, description=f"the target type, one of {_WORDS}")
_NUMBERS = Overload((Parameter("arg", NUMERIC, description="a number"),), Repeat.ONE_OR_MORE, same_type=True)


def _instance_of(name: str, what: str) -> FunctionMetadata:
    return FunctionMetadata(
        name=f"instanceOf{name}",
        builtin=f"instanceOf{name}",
        overloads=(Overload((_VALUE,)),),
        returns=AttributeType.BOOL,
        description=f"True if the value is {what}; false for null.",
    )


FUNCTIONS: tuple[FunctionMetadata, ...] = (
    FunctionMetadata(
        name="cast",
        builtin="cast",
        overloads=(Overload((_VALUE, _TYPE)),),
        returns=_named,
        check=_check_cast,
        description="Casts an object to the type of its value. Values of other types are converted as by convert(), "
        "but an event with a string that cannot be converted fails.",
        example="from S select cast(payload, 'double') as price insert into O;",
    ),
    FunctionMetadata(
        name="convert",
        builtin="convert",
        overloads=(Overload((_VALUE, _TYPE)),),
        returns=_named,
        check=_check_convert,
        description="The value converted to another type; null for a string that cannot be converted.",
        example="from S select convert(text, 'int') as number insert into O;",
    ),
    FunctionMetadata(
        name="coalesce",
        builtin="coalesce",
        overloads=(Overload((Parameter("arg", ANY),), Repeat.ONE_OR_MORE, same_type=True),),
        returns=_first,
        description="The first argument that is not null, or null if all are null.",
        example="from S select coalesce(nick, name) as label insert into O;",
    ),
    FunctionMetadata(
        name="default",
        builtin="default",
        overloads=(
            Overload((_VALUE, Parameter("default", ANY, dynamic=False, description="a literal")), same_type=True),
        ),
        returns=_first,
        description="The value, or the literal if the value is null.",
        example="from S select default(price, 0.0) as price insert into O;",
    ),
    FunctionMetadata(
        name="ifThenElse",
        builtin="ifThenElse",
        overloads=(Overload((Parameter("condition", BOOL), Parameter("then", ANY), Parameter("else", ANY))),),
        returns=_second,
        check=_check_branches,
        description="The second argument if the condition is true, else the third. Only the chosen one is evaluated.",
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
        builtin="maximum",
        overloads=(_NUMBERS,),
        returns=_first,
        description="The greatest argument that is not null; null if all are null.",
        example="from S select maximum(bid, ask) as top insert into O;",
    ),
    FunctionMetadata(
        name="minimum",
        builtin="minimum",
        overloads=(_NUMBERS,),
        returns=_first,
        description="The least argument that is not null; null if all are null.",
        example="from S select minimum(bid, ask) as bottom insert into O;",
    ),
    FunctionMetadata(
        name="UUID",
        builtin="UUID",
        overloads=(Overload(),),
        returns=AttributeType.STRING,
        deterministic=False,
        description="A random UUID as a string.",
        example="from S select UUID() as id insert into O;",
    ),
    FunctionMetadata(
        name="currentTimeMillis",
        builtin="currentTimeMillis",
        overloads=(Overload(),),
        returns=AttributeType.LONG,
        deterministic=False,
        reads_clock=True,
        description="The app's clock in milliseconds since 1970.",
        example="from S select currentTimeMillis() as now insert into O;",
    ),
    FunctionMetadata(
        name="eventTimestamp",
        builtin="eventTimestamp",
        overloads=(Overload(), Overload((Parameter("event", OBJECT, event_only=True),))),
        returns=AttributeType.LONG,
        deterministic=False,
        description="The timestamp of the current or the given event, in milliseconds since 1970.",
        example="from S select eventTimestamp() as at insert into O;",
    ),
    FunctionMetadata(
        name="createSet",
        builtin="createSet",
        overloads=(Overload((Parameter("element", VALUES),)),),
        returns=AttributeType.OBJECT,
        description="A new set with the value as its only element.",
        example="from S select createSet(symbol) as symbols insert into O;",
    ),
    FunctionMetadata(
        name="sizeOfSet",
        builtin="sizeOfSet",
        overloads=(Overload((Parameter("set", OBJECT),)),),
        returns=AttributeType.INT,
        description="The number of elements of a set; 0 for null.",
        example="from S select sizeOfSet(symbols) as n insert into O;",
    ),
)
