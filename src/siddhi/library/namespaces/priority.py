"""The namespace ``priority``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import ExtensionMetadata, Overload, Parameter, StreamProcessorMetadata
from siddhi.library.operators.priority import PriorityByTime
from siddhi.library.type_sets import ANY, TIME
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS"]


def _check(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if constants[2] <= 0:
        raise ValueError(f"invalid timeout.constant {constants[2]} of priority:time(): expected a duration above 0")


def _appends(types: Sequence[AttributeType], _constants: Sequence[Any]) -> tuple[Attribute, ...]:
    return Attribute("priorityKey", types[0]), Attribute("currentPriority", AttributeType.LONG)


EXTENSIONS: tuple[ExtensionMetadata, ...] = (
    StreamProcessorMetadata(
        name="time",
        namespace="priority",
        implementation=PriorityByTime,
        overloads=(
            Overload(
                (
                    Parameter("unique.key", ANY - {AttributeType.BOOL}, description="the key"),
                    Parameter("priority", TIME, description="what is added to the priority of the key"),
                    Parameter(
                        "timeout.constant",
                        TIME,
                        dynamic=False,
                        description="period after which the priority falls by 1",
                    ),
                )
            ),
        ),
        appends=_appends,
        clock_driven=True,
        check=_check,
        description="Keeps a priority of each key: each event adds to it, and it falls by 1 after each period without an event of "
        "the key. At each change the latest event of the key is emitted with priorityKey and currentPriority; a key with "
        "priority 0 is forgotten.",
        example="from S#priority:time(symbol, ts, 1 sec) select priorityKey, currentPriority insert into O;",
    ),
)
