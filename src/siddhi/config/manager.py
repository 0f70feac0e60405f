"""Interface of configurations, and one from given values."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ConfigManager", "InMemoryConfigManager"]


class ConfigManager:
    """Provides system configuration to apps while they are created. This base class is empty."""

    def reference(self, name: str) -> Mapping[str, str] | None:
        """Return the elements that ``ref = 'name'`` adds to ``@store``, ``@source`` and ``@sink``, including ``type``.

        Returns:
            Values by key; None: there is no such reference, which is an error of the app.
        """
        del name
        return None

    def extension_config(self, namespace: str, name: str) -> Mapping[str, str]:
        """Return the settings of an extension, such as ``('store', 'rdbms')``; empty if there are none."""
        del namespace, name
        return {}

    def properties(self) -> Mapping[str, str]:
        """Return the system properties, such as ``shardId`` and ``aggTimeZone``."""
        return {}


class InMemoryConfigManager(ConfigManager):
    """A configuration of given values.

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
        """Return the elements below ``name``."""
        return _below(self._references, f"{name}.") or None

    def extension_config(self, namespace: str, name: str) -> Mapping[str, str]:
        """Return the settings below ``namespace.name``."""
        return _below(self._extensions, f"{namespace}.{name}.")

    def properties(self) -> Mapping[str, str]:
        """Return the properties as passed."""
        return self._properties


def _below(values: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key[len(prefix) :]: value for key, value in values.items() if key.startswith(prefix)}
