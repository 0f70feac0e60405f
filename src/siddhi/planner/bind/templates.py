"""Bind templates: texts with ``{{attribute}}`` placeholders.

The name of an attribute alone, as in ``'price'``, stands for its value; in back quotes it is the plain text. A placeholder is
replaced by the text of the value, also where it is the whole template.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from siddhi.planner.plan.connectors import TemplatePlan
from siddhi.planner.problems import unknown_attribute
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Node

__all__ = ["plan_template"]

_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
_QUOTED = re.compile(r"`(\S+)`")


def plan_template(text: str, attributes: Sequence[Attribute] | None, at: Node) -> TemplatePlan:
    """Return a template with the positions of its attributes. Single braces are text.

    Args:
        text: the text of the template.
        attributes: the attributes it can name; None: none are allowed; a text with a placeholder gets a part at position 0.
        at: the location of the template.

    Raises:
        AttributeNotExistError: a placeholder names an unknown attribute.
    """
    if attributes is None:
        return TemplatePlan((text,) if _PLACEHOLDER.search(text) is None else (text, 0))
    if (quoted := _QUOTED.fullmatch(text)) is not None:
        text = quoted[1]
    names = [attribute.name for attribute in attributes]
    if quoted is None and text.strip() in names:
        return TemplatePlan((names.index(text.strip()),), is_value=True)
    parts: list[str | int] = []
    for number, part in enumerate(_PLACEHOLDER.split(text)):
        if number % 2 == 0:
            if part:
                parts.append(part)
        elif part in names:
            parts.append(names.index(part))
        else:
            raise unknown_attribute(part, f"template '{text}'", names, at)
    return TemplatePlan(tuple(parts) or ("",))
