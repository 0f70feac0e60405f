"""Enforce the sandbox policy of an app: which resources its text can use, and the limits of its state.

The catalog owns the :class:`Permissions`; every part of the binder that resolves an external name checks it.

E330 script not allowed    E340 external resource not allowed    E341 limit of the policy exceeded
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
from siddhi.planner.problems import creation_error, located
from siddhi.query_api.annotation import Element
from siddhi.query_api.definition import FunctionDefinition
from siddhi.query_api.span import Node, Span
from siddhi.sandbox import ANY, SandboxPolicy

if TYPE_CHECKING:
    from siddhi.errors import SiddhiAppError
    from siddhi.extension.metadata import ExtensionMetadata
    from siddhi.extension.registry import Registry
    from siddhi.planner.plan.connectors import OptionPlan

__all__ = ["Permissions", "Referred", "refused"]

_TRUSTED = SandboxPolicy.trusted()
_READS = {
    "env:getEnvironmentProperty": "environment variable",
    "env:getSystemProperty": "property",
    "env:getYAMLProperty": "property",
}
"""What a function reads by a name, which the policy must allow."""
_FIELDS: dict[type[ConnectorMetadata], str] = {
    SourceMetadata: "sources",
    SinkMetadata: "sinks",
    SourceMapperMetadata: "mappers",
    SinkMapperMetadata: "mappers",
    StoreMetadata: "stores",
}


class Referred(Element):
    """An element from the configuration of the host, not from the text."""

    __slots__ = ()


class Permissions:
    """Checks an app against its policy. A violation raises a SiddhiAppCreationError with its location in the text.

    Args:
        policy: the policy of the app.

    Attributes:
        allows_all: whether the policy is that of trusted text, which allows everything and sets no limits.
    """

    def __init__(self, policy: SandboxPolicy) -> None:
        self._policy = policy
        self.allows_all = policy == _TRUSTED

    def registry(self, registry: Registry) -> Registry:
        """Return the extensions that the app can use, without those of installed packages that the policy does not name."""
        offered = self._policy.extensions
        return registry if ANY in offered else registry.without_offered(offered)

    def script(self, definition: FunctionDefinition) -> None:
        """Reject a script in a language that is not allowed; languages are compared without regard to case."""
        languages = {language.lower() for language in self._policy.scripts}
        if not languages & {ANY, definition.language.lower()}:
            raise creation_error(
                "E330",
                f"script function '{definition.id}' is not allowed: a script runs with all rights of this process, and this "
                "app is not trusted",
                definition,
                f"if you trust the author of the app, set SandboxPolicy(scripts={{'{definition.language.lower()}'}}); "
                "or register the function as an extension",
            )

    def connector(self, metadata: ConnectorMetadata, named: Element, at: Node) -> None:
        """Reject a source, sink, mapper or store of a type that is not allowed; ``named`` is the element with the type."""
        field = _FIELDS.get(type(metadata))
        # Built-in mappers use no external resource, except by options that are locations.
        if field is None or isinstance(named, Referred) or (field == "mappers" and metadata.builtin is not None):
            return
        if self._prefixes(metadata) is None:
            what = f"{metadata.title} '{metadata.full_name}'"
            raise refused(what, _at(named, at), f"{field}={{'{metadata.full_name}': ('*',)}}")

    def options(
        self, metadata: ConnectorMetadata, options: Iterable[OptionPlan], elements: Iterable[Element], at: Node
    ) -> None:
        """Reject locations that are not allowed, and options that the extension does not declare.

        Args:
            metadata: the extension.
            options: the bound options.
            elements: the elements of the annotation.
            at: the location of the annotation.
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
            elif known.secret:
                self._secret(metadata, option, _at(element, at))

    def has_place(self, metadata: ConnectorMetadata, options: Iterable[OptionPlan], at: Node) -> None:
        """Reject a connector without an option for its location: it would use a default location.

        If it has a URL, a topic or a file does not replace it. The built-in mappers have no default locations.
        """
        if _FIELDS.get(type(metadata)) == "mappers" and metadata.builtin is not None:
            return
        urls = [option.name for option in metadata.options if option.place == Place.URL.value]
        places = urls or [option.name for option in metadata.options if option.place is not None]
        anywhere = ANY in (self._prefixes(metadata) or ()) and not isinstance(metadata, StoreMetadata)
        if places and not self.allows_all and not anywhere and not {option.name for option in options} & set(places):
            what = f"{metadata.title} '{metadata.full_name}' without '{places[0]}'"
            raise refused(what, at, None, f"write {places[0]} = '...'")

    def reference(self, name: str, at: Node) -> None:
        """Reject a reference to the configuration of the host that is not allowed."""
        if not {ANY, name} & set(self._policy.references):
            raise refused(f"ref '{name}'", at, f"references={{'{name}'}}")

    def beside_reference(self, name: str, meant: Mapping[str, str], own: Sequence[Element], at: Node) -> None:
        """Reject elements that override a reference: its password must not be sent to another location."""
        if self.allows_all:
            return
        given = {key.lower() for key in meant}
        for element in own:
            if (element.key or "").lower() in given:
                what = f"overriding '{element.key}' of ref '{name}'"
                raise refused(what, _at(element, at), None, "remove it: the value of the configuration applies")

    def error_store(self, at: Node) -> None:
        """Reject the use of the error store if it is not allowed."""
        if not self._policy.error_store:
            raise refused("the error store", at, "error_store=True")

    def statistics(self, reporter: str, at: Node) -> None:
        """Reject a statistics reporter that is not allowed."""
        if not {ANY, reporter} & set(self._policy.statistics):
            raise refused(f"statistics reporter '{reporter}'", at, f"statistics={{'{reporter}'}}")

    def app_name(self, name: str | None, at: Node) -> None:
        """Reject an app name that is not allowed: the state of another app may be saved under it."""
        prefixes = tuple(self._policy.app_names)
        if name is not None and ANY not in prefixes and not name.startswith(prefixes):
            hint = f"start the name with {' or '.join(map(repr, prefixes))}"
            raise refused(f"the app name '{name}'", at, None, hint)

    def stream_function(self, function: ExtensionMetadata, at: Node) -> None:
        """Reject ``#log(...)`` if the sink ``log`` is not allowed."""
        if function.builtin == "log" and not {ANY, "log"} & set(self._policy.sinks):
            raise refused("'#log'", at, "sinks={'log': ('*',)}")

    def function(self, function: ExtensionMetadata, key: object, at: Node) -> None:
        """Reject the read of an environment variable or a property of the configuration that is not allowed; ``key`` is its
        name, None if it is not a literal."""
        if function.builtin in _READS and not {ANY, key} & set(self._policy.environment):
            what = (
                f"'{function.full_name}' of a key that is not a literal"
                if key is None
                else f"{_READS[function.builtin]} '{key}'"
            )
            raise refused(what, at, f"environment={{'{ANY if key is None else key}'}}")

    def not_found(
        self, error: SiddhiAppError, registry: Registry, name: str, *kinds: type[ExtensionMetadata]
    ) -> SiddhiAppError:
        """Return the error for an unknown extension: that it is not allowed, if an installed package offers it."""
        if ANY in self._policy.extensions or not registry.is_offered(name, *kinds):
            return error
        return refused(f"'{name}', which an installed package offers,", error.span, f"extensions={{'{name}'}}")

    def limit(self, field: str, value: int | None, what: str, at: Node | Span | None) -> None:
        """Reject a value above a limit of the policy.

        Args:
            field: the field of the policy that sets the limit.
            value: the value in the text; None: unlimited.
            what: the name of the value, for the message.
            at: the location of the value.
        """
        limit: int | None = getattr(self._policy, field)
        if limit is None or (value is not None and value <= limit):
            return
        unit = " ms" if field.endswith("_ms") else ""
        actual = "unlimited" if value is None else f"{value}{unit}"
        hint = f"the host can raise the limit with SandboxPolicy({field}=...)"
        raise creation_error(
            "E341", f"{what} is {actual}, but the sandbox policy of this app allows at most {limit}{unit}", at, hint
        )

    @property
    def max_keys(self) -> int | None:
        """Limit of the keys of an element; None: unlimited."""
        return self._policy.max_keys

    @property
    def max_rows(self) -> int | None:
        """Limit of the rows of a table in memory; None: unlimited."""
        return self._policy.max_rows

    def _prefixes(self, metadata: ConnectorMetadata) -> tuple[str, ...] | None:
        """Return the prefixes allowed for a type of connector; None if the type is not allowed."""
        types: Mapping[str, Iterable[str]] = getattr(self._policy, _FIELDS.get(type(metadata), ""), {})
        found = next((types[name] for name in (*metadata.names, ANY) if name in types), None)
        return None if found is None else tuple(found)

    def _unknown_option(self, metadata: ConnectorMetadata, option: OptionPlan, at: Node) -> None:
        field = _FIELDS.get(type(metadata))
        anywhere = ANY in (self._prefixes(metadata) or ()) and ANY in self._policy.folders
        if field is not None and not anywhere:
            what = f"option '{option.name}', which {metadata.title} '{metadata.full_name}' does not declare,"
            raise refused(what, at, f"{field}={{'{metadata.full_name}': ('*',)}}, folders=('*',)")

    def _secret(self, metadata: ConnectorMetadata, option: OptionPlan, at: Node) -> None:
        """Reject a secret of the environment, or of a file, that is not allowed."""
        kind, _, name = str(option.templates[0].parts[0]).partition(":")
        what = f"'{option.name}' of {metadata.title} '{metadata.full_name}'"
        if kind == "env" and not {ANY, name} & set(self._policy.environment):
            raise refused(f"the environment variable in {what}", at, "environment={'<name>'}")
        folders = tuple(map(str, self._policy.folders))
        if kind == "file" and not is_file_allowed(Place.FILE, f"file:{name}", folders, is_whole=True):
            raise refused(f"the file in {what}", at, "folders=('<folder>',)")

    def _place(self, metadata: ConnectorMetadata, option: OptionPlan, kind: Place, at: Node) -> None:
        field = _FIELDS.get(type(metadata))
        prefixes, folders = self._prefixes(metadata) or (), tuple(map(str, self._policy.folders))
        for template in option.templates:
            first = template.parts[0]
            value, is_whole = first if isinstance(first, str) else "", template.is_static
            what = f"'{option.name}' of {metadata.title} '{metadata.full_name}'"
            if not is_allowed(kind, value, prefixes, is_whole=is_whole):
                # The hint does not show the value: it may contain a password.
                raise refused(f"the location in {what}", at, f"{field}={{'{metadata.full_name}': ('<prefix>',)}}")
            if not is_file_allowed(kind, value, folders, is_whole=is_whole):
                raise refused(f"the file in {what}", at, "folders=('<folder>',)")


def refused(what: str, at: Node | Span | None, allowing: str | None, hint: str | None = None) -> SiddhiAppError:
    """Return the error for something that the policy does not allow.

    Args:
        what: its name.
        at: its location in the text.
        allowing: the fields of a policy that allows it; None: there are none.
        hint: what to do instead.
    """
    if allowing is not None:
        hint = f"the host can allow it with SandboxPolicy({allowing})"
    return creation_error("E340", f"{what} is not allowed by the sandbox policy of this app", at, hint)


def _at(node: Node, otherwise: Node) -> Node:
    return located(node, otherwise)
