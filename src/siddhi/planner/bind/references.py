"""Resolve ``ref = 'name'``: elements of an annotation that are in the configuration of the system."""

from __future__ import annotations

from siddhi._frozen import replace
from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.bind.permissions import Referred
from siddhi.planner.problems import creation_error
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.span import Node

__all__ = ["resolved"]


def resolved(catalog: Catalog, annotation: Annotation, at: Node, key: str = "ref") -> Annotation:
    """Return an annotation with the elements of its reference; its own elements take precedence.

    Args:
        catalog: has the configuration.
        annotation: the annotation.
        at: where it is.
        key: the element that names the reference.

    Raises:
        SiddhiAppCreationError: the reference is not in the configuration, or not allowed by the policy.
    """
    name = annotation.element(key)
    if name is None:
        return annotation
    catalog.permissions.reference(name, at)
    configured = catalog.reference(name)
    if configured is None:
        raise creation_error(
            "E326",
            f"{key} '{name}' is not defined in the configuration",
            at,
            f"give the manager a configuration with a ref '{name}' by set_config_manager()",
        )
    own = tuple(element for element in annotation.elements if (element.key or "").lower() != key)
    catalog.permissions.beside_reference(name, configured, own, at)
    own_keys = {(element.key or "").lower() for element in own}
    referred = tuple(Referred(key, value) for key, value in configured.items() if key.lower() not in own_keys)
    return replace(annotation, elements=(*own, *referred))
