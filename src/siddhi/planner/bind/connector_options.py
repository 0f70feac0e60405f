"""Bind the extension that an annotation names, and its options: sources, sinks, mappers, strategies and stores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TypeVar

from siddhi.extension.connectors import ConnectorMetadata
from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.bind.templates import plan_option
from siddhi.planner.plan.connectors import OptionPlan, TemplatePlan
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import close_to, creation_error, located, unknown_extension
from siddhi.query_api.annotation import Annotation, Element
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Node

__all__ = ["extension_of", "options_of", "require_options"]

_K = TypeVar("_K", bound=ConnectorMetadata)

_DEPLOYMENT = "dep:"
_OF_SIDDHI = frozenset(
    "azuredatalake google-cloud-storage googlepubsub googlepubsubmessage hl7 ibmmq jms kafkamultidc kafka-replay-request kafka-replay-response sap snmp twitter websubhub wso2event".split()
)
"""Connectors that exist for Siddhi on the JVM alone."""


def extension_of(catalog: Catalog, kind: type[_K], annotation: Annotation, key: str, at: Node) -> _K:
    """Return the extension that an annotation names."""
    named = next((element for element in annotation.elements if (element.key or "").lower() == key), None)
    if named is None:
        names = ", ".join(catalog.registry.names(kind))
        raise creation_error("E315", f"@{annotation.name} requires the element '{key}'", at, f"registered: {names}")
    name = named.value
    if name.count(":") > 1:
        raise creation_error("E315", f"invalid name '{name}' of a {kind.title}", at, "write name or namespace:name")
    metadata = catalog.registry.connector(kind, name)
    if metadata is None:
        known = catalog.registry.names(kind)
        error = unknown_extension(kind.title, name, known, at)
        registered = f"registered: {', '.join(known) or 'none'}"
        if name.lower() in _OF_SIDDHI:
            registered += f"; docs/connectors.md shows how to write a {kind.title}"
        error.hint = f"{error.hint} ({registered})" if error.hint else registered
        raise catalog.permissions.not_found(error, catalog.registry, name, kind)
    catalog.permissions.connector(metadata, named, at)
    missing = next((package for package in metadata.packages if not _is_installed(package)), None)
    if missing is not None:
        raise creation_error(
            "E301",
            f"{metadata.title} '{metadata.full_name}' requires the package '{missing}', which is not installed",
            at,
            f"pip install 'siddhi[{metadata.extra}]'",
        )
    catalog.note_use(metadata)
    return metadata


def options_of(
    catalog: Catalog,
    metadata: ConnectorMetadata,
    elements: Iterable[Element],
    attributes: Sequence[Attribute],
    at: Node,
    *,
    named_by: str = "type",
) -> tuple[OptionPlan, ...]:
    """Return the options of an annotation; options that the extension declares as dynamic can contain attributes."""
    found: dict[str, OptionPlan] = {}
    elements = tuple(elements)
    what = f"{metadata.title} '{metadata.full_name}'"
    for element in elements:
        name, location = element.key, located(element, at)
        if name is None:
            raise creation_error(
                "E315", f"option value '{element.value}' of {what} has no name", location, "write <name> = '...'"
            )
        if name.lower() == named_by:
            continue
        if name.lower().startswith(_DEPLOYMENT):
            raise creation_error("E326", f"option '{name}' needs a service, which {what} does not offer", location)
        if name.lower() in found:
            raise creation_error("E315", f"duplicate option '{name}' of {what}", location)
        known = metadata.option(name)
        if known is None and (metadata.options or metadata.builtin is not None):
            catalog.note(AppWarning(f"unknown option '{name}' of {what}", location, _hint(name, metadata)))
        template = TemplatePlan((element.value,))
        if attributes and known is not None and known.dynamic:
            template = plan_option(element.value, attributes, location)
        elif not plan_option(element.value, None, location).is_static:
            dynamic = [option.name for option in metadata.options if option.dynamic]
            raise creation_error(
                "E326",
                f"option '{name}' of {what} can't contain attributes",
                location,
                f"only {' and '.join(dynamic)} can" if dynamic and attributes else None,
            )
        found[name.lower()] = OptionPlan(name if known is None or known.is_prefix else known.name, (template,))
    catalog.permissions.options(metadata, found.values(), elements, at)
    return tuple(found.values())


def _hint(name: str, metadata: ConnectorMetadata) -> str:
    names = [option.name for option in metadata.options]
    return close_to(name, names) or (f"the options are {', '.join(names)}" if names else "it has no options")


def require_options(
    catalog: Catalog, metadata: ConnectorMetadata, options: Iterable[Sequence[OptionPlan]], at: Node
) -> None:
    """Reject a connector without a required option."""
    for given in options:
        catalog.permissions.has_place(metadata, given, at)
        names = {option.name for option in given}
        for option in metadata.options:
            if option.required and option.name not in names:
                raise creation_error(
                    "E326",
                    f"{metadata.title} '{metadata.full_name}' requires the option '{option.name}'",
                    at,
                    option.description or None,
                )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False
