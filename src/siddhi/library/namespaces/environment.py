"""The namespace ``env``: the process, its configuration, and the resources of an app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import (
    ExtensionMetadata,
    NullRule,
    Overload,
    Parameter,
    StreamProcessorMetadata,
    WindowMetadata,
)
from siddhi.library.namespaces.declare import Namespace, takes
from siddhi.library.operators.resources import ResourceBatch, ResourceIdentifier
from siddhi.library.type_sets import ANY, STRING, TIME, VALUES
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS"]

_env = Namespace("env", NullRule.NULL)
_KEY = Parameter("key", STRING, dynamic=False, description="name of the property")
_GROUP = Parameter("resource.group.id", STRING, dynamic=False, description="name of the group")
_TYPES = {str(type_): type_ for type_ in sorted(VALUES, key=str)}
_PROPERTIES = ("browser", "os", "device")
_DEFAULT = "for a property that is not set; default: null"


def _type_of_property(_types: Sequence[AttributeType], constants: Sequence[Any]) -> AttributeType:
    return _TYPES[constants[1].lower()] if len(constants) > 1 else AttributeType.STRING


def _check_property(types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if len(constants) > 1 and constants[1].lower() not in _TYPES:
        raise ValueError(
            f"unknown data.type '{constants[1]}' of env:getYAMLProperty()", f"the types are {', '.join(_TYPES)}"
        )
    expected = _type_of_property(types, constants)
    if len(types) > 2 and types[2] is not expected:
        raise ValueError(
            f"env:getYAMLProperty() of type {expected} has a default of type {types[2]}",
            f"write a default of type {expected}, or convert it",
        )


def _check_agent(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if constants[1] not in _PROPERTIES:
        raise ValueError(
            f"unknown property '{constants[1]}' of env:getUserAgentProperty()",
            f"the properties are {', '.join(_PROPERTIES)}",
        )
    from importlib.util import find_spec  # imported here: few apps need it

    if find_spec("ua_parser") is None:
        raise ValueError(
            "env:getUserAgentProperty() requires ua-parser, which is not installed", "pip install 'siddhi[useragent]'"
        )


def _check_wait(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if len(constants) > 2 and constants[2] <= 0:
        raise ValueError(f"invalid time {constants[2]} of env:resourceBatch(): expected a duration above 0")


EXTENSIONS: tuple[ExtensionMetadata, ...] = (
    _env.function(
        "getEnvironmentProperty",
        takes(
            Parameter("key", STRING, description="name of the variable"),
            optional=(Parameter("default.value", STRING, description="for a variable that is not set; default: null"),),
        ),
        AttributeType.STRING,
        "The value of an environment variable of the process; null for a null key. In a sandbox the key must be a literal that "
        "the policy allows.",
        ("env:getEnvironmentProperty('SIDDHI_IS_NOT_SET', 'none')", "none"),
        own_nulls=True,
        deterministic=False,
    ),
    _env.function(
        "getOriginIPFromXForwarded",
        takes(Parameter("xforwardedheader", STRING, description="a list of addresses, separated by commas")),
        AttributeType.STRING,
        "The first public address of the value of a header X-Forwarded-For; null if it has none.",
        ("env:getOriginIPFromXForwarded('10.0.0.1, 8.8.8.8, 9.9.9.9')", "8.8.8.8"),
        ("env:getOriginIPFromXForwarded('192.168.1.1, unknown')", None),
    ),
    _env.function(
        "getSystemProperty",
        takes(_KEY, optional=(Parameter("default.value", STRING, description=_DEFAULT),)),
        AttributeType.STRING,
        "A system property: a value that the configuration of the manager has as a setting of the extension "
        "env:getSystemProperty, or among its properties. It is read when the app is created. In a sandbox the policy must allow "
        "the key.",
        ("env:getSystemProperty('no.such.property', 'none')", "none"),
        own_nulls=True,
    ),
    _env.function(
        "getUserAgentProperty",
        takes(
            Parameter("user.agent", STRING, description="value of a header User-Agent"),
            Parameter("property.name", STRING, dynamic=False, description="browser, os or device"),
        ),
        AttributeType.STRING,
        "The name of the browser, operating system or device in the text of a user agent; null if it is not known. Requires "
        "ua-parser (pip install 'siddhi[useragent]').",
        (
            "env:getUserAgentProperty('Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0', 'browser')",
            "Firefox",
        ),
        check=_check_agent,
    ),
    _env.function(
        "getYAMLProperty",
        takes(
            _KEY,
            optional=(
                Parameter(
                    "data.type", STRING, dynamic=False, description=f"one of {', '.join(_TYPES)}; default: string"
                ),
                Parameter("default.value", VALUES, description=f"{_DEFAULT}; of the type data.type"),
            ),
        ),
        _type_of_property,
        "A property of the configuration of the manager, such as a YAML file, in a type: a setting of the extension "
        "env:getYAMLProperty, or one of its properties. It is read when the app is created; a text that is not of the type is an "
        "error then. In a sandbox the policy must allow the key.",
        ("env:getYAMLProperty('no.such.property', 'int', 5)", 5),
        own_nulls=True,
        check=_check_property,
    ),
    StreamProcessorMetadata(
        name="resourceIdentifier",
        namespace="env",
        implementation=ResourceIdentifier,
        overloads=(Overload((_GROUP,)),),
        description="Registers the query as a resource of a group, for which env:resourceBatch of the app waits. Events pass "
        "unchanged.",
        example="from S[price > 100]#env:resourceIdentifier('rules') select symbol, price insert into Results;",
    ),
    WindowMetadata(
        name="resourceBatch",
        namespace="env",
        implementation=ResourceBatch,
        overloads=tuple(
            takes(
                _GROUP,
                Parameter("correlation.id", ANY, description="what events that belong together have in common"),
                optional=(
                    Parameter(
                        "time.in.milliseconds",
                        TIME,
                        dynamic=False,
                        description="longest wait after the first event of a correlation id; default: 5 minutes",
                    ),
                ),
            )
        ),
        batch=True,
        emits_reset=True,
        expires_passed=False,
        clock_driven=True,
        searchable=True,
        reads_event=True,
        check=_check_wait,
        description="Collects the events of each correlation id, and emits them when there are as many as the app has queries with "
        "env:resourceIdentifier of the group, or when the time is over.",
        example="from S#env:resourceIdentifier('rules') select symbol insert into Results;\n"
        "from Results#window.env:resourceBatch('rules', symbol, 2 sec) select symbol, count() as n group by symbol insert into O;",
    ),
)
