"""Bind templates: texts with ``{{attribute}}`` placeholders.

A placeholder is replaced by the text of the value, also where it is the whole template. Everything else in an option is plain
text. In ``@payload``, the name of an attribute alone, as in ``'price'``, stands for its value; in back quotes it is the plain text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from siddhi.planner.plan.connectors import TemplatePlan
from siddhi.planner.problems import unknown_attribute
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Node

__all__ = ["plan_option", "plan_payload"]

_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
_QUOTED = re.compile(r"`(\S+)`")


def plan_option(text: str, attributes: Sequence[Attribute] | None, at: Node) -> TemplatePlan:
    """Return the template of an option with the positions of its attributes.

    Args:
        text: the text of the option.
        attributes: the attributes it can name; None: none are allowed; a text with a placeholder gets a part at position 0.
        at: the location of the option.

    Raises:
        AttributeNotExistError: a placeholder names an unknown attribute.
    """
    if attributes is None:
        return TemplatePlan((text,) if _PLACEHOLDER.search(text) is None else (text, 0))
    return _filled(text, [attribute.name for attribute in attributes], at)


def plan_payload(text: str, attributes: Sequence[Attribute], at: Node) -> TemplatePlan:
    """Return a template of ``@payload`` with the positions of its attributes.

    Args:
        text: the text of the template.
        attributes: the attributes it can name.
        at: the location of the template.

    Raises:
        AttributeNotExistError: a placeholder names an unknown attribute.
    """
    names = [attribute.name for attribute in attributes]
    if (quoted := _QUOTED.fullmatch(text)) is not None:
        return _filled(quoted[1], names, at)
    if text.strip() in names:
        return TemplatePlan((names.index(text.strip()),), is_value=True)
    return _filled(text, names, at)


def _filled(text: str, names: list[str], at: Node) -> TemplatePlan:
    """Return the parts of a template. Single braces are text."""
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
