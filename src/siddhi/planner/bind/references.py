"""``ref = 'name'``: elements of an annotation that stand in the system's configuration."""

from __future__ import annotations

from siddhi._frozen import replace
from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.bind.permissions import Referred
from siddhi.planner.problems import creation_error
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.span import Node

__all__ = ["resolved"]


def resolved(catalog: Catalog, annotation: Annotation, at: Node) -> Annotation:
    """An annotation with what its reference stands for; its own elements go before.

    Raises:
        SiddhiAppCreationError: the configuration has no such reference, or the app's policy doesn't allow it.
    """
    name = annotation.element("ref")
    if name is None:
        return annotation
    catalog.permissions.reference(name, at)
    meant = catalog.reference(name)
    if meant is None:
        raise creation_error(
            "E326",
            f"ref '{name}' is not defined in the configuration",
            at,
            "give the manager a configuration with set_config_manager()",
        )
    own = tuple(element for element in annotation.elements if (element.key or "").lower() != "ref")
    catalog.permissions.beside_reference(name, meant, own, at)
    said = {(element.key or "").lower() for element in own}
    referred = tuple(Referred(key, value) for key, value in meant.items() if key.lower() not in said)
    return replace(annotation, elements=(*own, *referred))
