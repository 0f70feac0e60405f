"""Templates of ``@payload`` for mappers that publish texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import Template

__all__ = ["only_template", "with_null"]


def only_template(mapper: str, payloads: Mapping[str, Template]) -> Template | None:
    """Return the template of ``@payload``, or None without one.

    Raises:
        SiddhiAppCreationError: there are several, or it is an attribute's value instead of a text.
    """
    if not payloads:
        return None
    if len(payloads) > 1:
        raise SiddhiAppCreationError(f"sink mapper '{mapper}' takes one text in @payload", code="E326")
    (template,) = payloads.values()
    if template.is_value:
        raise SiddhiAppCreationError(
            f"sink mapper '{mapper}' needs a text in @payload, not the value of an attribute",
            code="E326",
            hint="write {{name}} for the text of an attribute, or put the name in back quotes",
        )
    return template


def with_null(template: Template, null: str, context: ConnectorContext) -> Template:
    """Return a template that writes null as a given text."""
    return Template(template.parts, [_with_null(text_of, null) for text_of in context.texts])


def _with_null(text_of: Callable[[object], str], null: str) -> Callable[[object], str]:
    return lambda value: null if value is None else text_of(value)
