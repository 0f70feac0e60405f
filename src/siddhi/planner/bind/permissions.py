"""What the text of an app may touch and hold: the one place where its policy is asked.

The catalog has one of these; whoever resolves a name that leads out of the app asks it.

E330 script not allowed    E340 something outside that the policy doesn't allow    E341 more than a limit of the policy
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from siddhi.extension.connectors import (
    ConnectorMetadata,
    SinkMapperMetadata,
    SinkMetadata,
    SourceMapperMetadata,
    SourceMetadata,
    StoreMetadata,
)
from siddhi.planner.bind.locations import Place, is_allowed, is_file_allowed
from siddhi.planner.problems import creation_error
from siddhi.query_api.annotation import Element
from siddhi.query_api.definition import FunctionDefinition
from siddhi.query_api.span import Node, Span
from siddhi.sandbox import ANY, SandboxPolicy

if TYPE_CHECKING:
    from siddhi.errors import SiddhiAppError
    from siddhi.extension.metadata import ExtensionMetadata
    from siddhi.extension.registry import Registry
    from siddhi.planner.plan.connectors import OptionPlan

__all__ = ["Permissions", "Referred"]

_TRUSTED = SandboxPolicy.trusted()
_FIELDS: dict[type[ConnectorMetadata], str] = {
    SourceMetadata: "sources",
    SinkMetadata: "sinks",
    SourceMapperMetadata: "mappers",
    SinkMapperMetadata: "mappers",
    StoreMetadata: "stores",
}


class Referred(Element):
    """An element that the host's configuration gives, not the text."""

    __slots__ = ()


class Permissions:
    """Refuses, with a SiddhiAppCreationError at the place in the text, what the policy of an app does not allow.

    Args:
        policy: of the app.

    Attributes:
        allows_all: the policy is that of trusted text: it allows everything and limits nothing.
    """

    def __init__(self, policy: SandboxPolicy) -> None:
        self._policy = policy
        self.allows_all = policy == _TRUSTED

    def registry(self, registry: Registry) -> Registry:
        """The extensions that the app may use: of installed packages those alone that are named."""
        offered = self._policy.extensions
        return registry if ANY in offered else registry.without_offered(offered)

    def script(self, definition: FunctionDefinition) -> None:
        """Refuse a script in a language that is not allowed; names of languages are found in any case."""
        languages = {language.lower() for language in self._policy.scripts}
        if not languages & {ANY, definition.language.lower()}:
            raise creation_error(
                "E330",
                f"script function '{definition.id}' is refused: a script runs with all rights of this process, and this "
                "app is not trusted",
                definition,
                f"where the app's author is trusted: SandboxPolicy(scripts={{'{definition.language.lower()}'}}); "
                "or register the function as an extension",
            )

    def connector(self, metadata: ConnectorMetadata, named: Element, at: Node) -> None:
        """Refuse a source, sink, mapper or store of a type that is not allowed; ``named`` is what names it."""
        field = _FIELDS.get(type(metadata))
        # Mappers that are built in touch nothing.
        if field is None or isinstance(named, Referred) or (field == "mappers" and metadata.native is not None):
            return
        if self._prefixes(metadata) is None:
            what = f"{metadata.title} '{metadata.full_name}'"
            raise _refused(what, _at(named, at), f"{field}={{'{metadata.full_name}': ('*',)}}")

    def options(
        self, metadata: ConnectorMetadata, options: Iterable[OptionPlan], elements: Iterable[Element], at: Node
    ) -> None:
        """Refuse places that are not allowed, and options that the extension says nothing of.

        Args:
            metadata: of the extension that is given the options.
            options: as planned.
            elements: they are planned from.
            at: where the annotation stands.
        """
        if self.allows_all:
            return
        written = {element.key.lower(): element for element in elements if element.key is not None}
        for option in options:
            element, known = written[option.name.lower()], metadata.option(option.name)
            if isinstance(element, Referred):
                continue
            if known is None:
                self._unknown_option(metadata, option, _at(element, at))
            elif known.place is not None:
                self._place(metadata, option, Place(known.place), _at(element, at))

    def has_place(self, metadata: ConnectorMetadata, options: Iterable[OptionPlan], at: Node) -> None:
        """Refuse a connector without the option that says where: it would choose a place by itself."""
        places = [option.name for option in metadata.options if option.place is not None]
        anywhere = ANY in (self._prefixes(metadata) or ()) and not isinstance(metadata, StoreMetadata)
        if places and not self.allows_all and not anywhere and not {option.name for option in options} & set(places):
            what = f"{metadata.title} '{metadata.full_name}' without '{places[0]}'"
            raise _refused(what, at, None, f"write {places[0]} = '...'")

    def reference(self, name: str, at: Node) -> None:
        """Refuse a reference to the host's configuration that is not allowed."""
        if not {ANY, name} & set(self._policy.references):
            raise _refused(f"ref '{name}'", at, f"references={{'{name}'}}")

    def beside_reference(self, name: str, meant: Mapping[str, str], own: Sequence[Element], at: Node) -> None:
        """Refuse elements of the text that replace what a reference says: its password is for its own place."""
        if self.allows_all:
            return
        given = {key.lower() for key in meant}
        for element in own:
            if (element.key or "").lower() in given:
                what = f"another '{element.key}' than ref '{name}' says"
                raise _refused(what, _at(element, at), None, "leave it out: what the configuration says holds")

    def error_store(self, at: Node) -> None:
        """Refuse to keep events that failed in the store of the host."""
        if not self._policy.error_store:
            raise _refused("the error store", at, "error_store=True")

    def statistics(self, reporter: str, at: Node) -> None:
        """Refuse a reporter that writes where the host does not want it."""
        if not {ANY, reporter} & set(self._policy.statistics):
            raise _refused(f"statistics reporter '{reporter}'", at, f"statistics={{'{reporter}'}}")

    def app_name(self, name: str | None, at: Node) -> None:
        """Refuse a name under which another app may have saved its state."""
        prefixes = tuple(self._policy.app_names)
        if name is not None and ANY not in prefixes and not name.startswith(prefixes):
            hint = f"begin it with {' or '.join(map(repr, prefixes))}"
            raise _refused(f"the app's name '{name}'", at, None, hint)

    def stream_function(self, function: ExtensionMetadata, at: Node) -> None:
        """Refuse ``#log(...)`` where the sink ``log`` is not allowed."""
        if function.native == "log" and not {ANY, "log"} & set(self._policy.sinks):
            raise _refused("'#log'", at, "sinks={'log': ('*',)}")

    def not_found(
        self, error: SiddhiAppError, registry: Registry, name: str, *kinds: type[ExtensionMetadata]
    ) -> SiddhiAppError:
        """The error about an extension that is not found: not allowed, where an installed package offers it."""
        if ANY in self._policy.extensions or not registry.is_offered(name, *kinds):
            return error
        return _refused(f"'{name}', which an installed package offers,", error.span, f"extensions={{'{name}'}}")

    def limit(self, field: str, value: int | None, what: str, at: Node | Span | None) -> None:
        """Refuse more than a limit.

        Args:
            field: of the policy that sets the limit.
            value: what the text asks for; None: it sets no end.
            what: has that value, for the message.
            at: where it stands.
        """
        limit: int | None = getattr(self._policy, field)
        if limit is None or (value is not None and value <= limit):
            return
        unit = " ms" if field.endswith("_ms") else ""
        asked = "has no end" if value is None else f"is {value}{unit}"
        hint = f"the host may set SandboxPolicy({field}=...)"
        raise creation_error("E341", f"{what} {asked}; this app may have {limit}{unit} at the most", at, hint)

    @property
    def max_keys(self) -> int | None:
        """Keys that an element may hold; None: any number."""
        return self._policy.max_keys

    @property
    def max_rows(self) -> int | None:
        """Rows that a table in memory may hold; None: any number."""
        return self._policy.max_rows

    def _prefixes(self, metadata: ConnectorMetadata) -> tuple[str, ...] | None:
        """The prefixes allowed for a type of connector; None where the type is not allowed."""
        types: Mapping[str, Iterable[str]] = getattr(self._policy, _FIELDS.get(type(metadata), ""), {})
        found = next((types[name] for name in (*metadata.names, ANY) if name in types), None)
        return None if found is None else tuple(found)

    def _unknown_option(self, metadata: ConnectorMetadata, option: OptionPlan, at: Node) -> None:
        field = _FIELDS.get(type(metadata))
        anywhere = ANY in (self._prefixes(metadata) or ()) and ANY in self._policy.folders
        if field is not None and not anywhere:
            what = f"option '{option.name}', of which {metadata.title} '{metadata.full_name}' doesn't say what it does,"
            raise _refused(what, at, f"{field}={{'{metadata.full_name}': ('*',)}}, folders=('*',)")

    def _place(self, metadata: ConnectorMetadata, option: OptionPlan, kind: Place, at: Node) -> None:
        field = _FIELDS.get(type(metadata))
        prefixes, folders = self._prefixes(metadata) or (), tuple(map(str, self._policy.folders))
        for template in option.templates:
            first = template.parts[0]
            value, is_whole = first if isinstance(first, str) else "", template.is_static
            what = f"'{option.name}' of {metadata.title} '{metadata.full_name}'"
            if not is_allowed(kind, value, prefixes, is_whole=is_whole):
                # The hint shows no value: a password may stand in it.
                raise _refused(f"the place that {what} names", at, f"{field}={{'{metadata.full_name}': ('<prefix>',)}}")
            if not is_file_allowed(kind, value, folders, is_whole=is_whole):
                raise _refused(f"the file that {what} names", at, "folders=('<folder>',)")


def _refused(what: str, at: Node | Span | None, allowing: str | None, hint: str | None = None) -> SiddhiAppError:
    if allowing is not None:
        hint = f"the host may allow it: SandboxPolicy({allowing})"
    return creation_error("E340", f"{what} is refused: the policy of this app doesn't allow it", at, hint)


def _at(node: Node, otherwise: Node) -> Node:
    return node if node.span is not None else otherwise
