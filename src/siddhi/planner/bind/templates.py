"""Bind templates: text with ``{{attribute}}`` placeholders."""

from __future__ import annotations

import re
from collections.abc import Sequence

from siddhi.planner.plan.connectors import TemplatePlan
from siddhi.planner.problems import unknown_attribute
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Node

__all__ = ["plan_template"]

_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")


def plan_template(text: str, attributes: Sequence[Attribute] | None, at: Node) -> TemplatePlan:
    """Return a template with the positions of its attributes. Enclosing back quotes are removed, single braces are text.

    Args:
        text: the text of the template.
        attributes: the attributes it can name; None: any name is allowed and has position 0.
        at: the location of the template.

    Raises:
        AttributeNotExistError: a placeholder names an unknown attribute.
    """
    if len(text) > 1 and text[0] == text[-1] == "`":
        text = text[1:-1]
    parts: list[str | int] = []
    names = None if attributes is None else [attribute.name for attribute in attributes]
    for number, part in enumerate(_PLACEHOLDER.split(text)):
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
