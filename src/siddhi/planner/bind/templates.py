"""Templates: text with ``{{attribute}}`` in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from siddhi.planner.plan.connectors import TemplatePlan
from siddhi.planner.problems import unknown_attribute
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Node

__all__ = ["plan_template"]

_HOLE = re.compile(r"\{\{([^{}]*)\}\}")


def plan_template(text: str, attributes: Sequence[Attribute] | None, at: Node) -> TemplatePlan:
    """A text with the positions of its attributes. Back-quotes around it belong to the notation, single braces do not.

    Args:
        text: of the template.
        attributes: those it may name; None: any, all at position 0.
        at: where it stands.

    Raises:
        AttributeNotExistError: it names another one.
    """
    if len(text) > 1 and text[0] == text[-1] == "`":
        text = text[1:-1]
    parts: list[str | int] = []
    names = None if attributes is None else [attribute.name for attribute in attributes]
    for number, part in enumerate(_HOLE.split(text)):
        if number % 2 == 0:
            if part:
                parts.append(part)
        elif names is None:
            parts.append(0)
        elif part.strip() in names:
            parts.append(names.index(part.strip()))
        else:
            raise unknown_attribute(part.strip(), f"template '{text}'", names, at)
    return TemplatePlan(tuple(parts) or ("",))
