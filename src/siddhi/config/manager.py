"""The contract of configuration, and one that is given its values."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ConfigManager", "InMemoryConfigManager"]


class ConfigManager:
    """Answers what apps ask of the system they run in, while they are created. This one knows nothing."""

    def reference(self, name: str) -> Mapping[str, str] | None:
        """The elements that ``ref = 'name'`` stands for in ``@store``, ``@source`` and ``@sink``, ``type`` among them.

        Returns:
            Values by key; None: there is no such reference, and the app is refused.
        """
        del name
        return None

    def extension_config(self, namespace: str, name: str) -> Mapping[str, str]:
        """The system's settings for an extension, as ``('store', 'rdbms')``; empty where there are none."""
        del namespace, name
        return {}

    def properties(self) -> Mapping[str, str]:
        """Plain properties of the system, such as ``shardId`` and ``aggTimeZone``."""
        return {}


class InMemoryConfigManager(ConfigManager):
    """Knows what it is given.

    Args:
        extensions: settings by ``'namespace.name.key'``.
        references: elements by ``'name.key'``.
        properties: values by name.
    """

    def __init__(
        self,
        extensions: Mapping[str, str] | None = None,
        references: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._extensions = dict(extensions or {})
        self._references = dict(references or {})
        self._properties = dict(properties or {})

    def reference(self, name: str) -> Mapping[str, str] | None:
        """The elements below ``name``."""
        return _below(self._references, f"{name}.") or None

    def extension_config(self, namespace: str, name: str) -> Mapping[str, str]:
        """The settings below ``namespace.name``."""
        return _below(self._extensions, f"{namespace}.{name}.")

    def properties(self) -> Mapping[str, str]:
        """As given."""
        return self._properties


def _below(values: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key[len(prefix) :]: value for key, value in values.items() if key.startswith(prefix)}
