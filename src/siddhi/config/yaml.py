"""Configuration in a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siddhi.config.manager import ConfigManager
from siddhi.errors import ConfigError

__all__ = ["YAMLConfigManager"]


class YAMLConfigManager(ConfigManager):
    """A configuration from YAML of this structure, read once.

    ::

        properties:
          aggTimeZone: Asia/Colombo
        extensions:
          - extension:
              namespace: store
              name: rdbms
              properties: {key: value}
        refs:
          - ref:
              name: trades
              type: rdbms
              properties: {url: 'sqlite:///trades.db'}

    Other keys are ignored. Requires PyYAML (``pip install 'siddhi[yaml]'``).

    Args:
        source: the text, or the path of a file.

    Raises:
        ConfigError: the source can't be read, is not YAML, or has another structure.
    """

    def __init__(self, source: str | Path) -> None:
        root = _loaded(source)
        self._properties = _texts(root.get("properties"), "the system")
        self._extensions: dict[tuple[str, str], dict[str, str]] = {}
        for entry in _entries(root, "extensions", "extension"):
            named = (_text(entry, "namespace", "extension"), _text(entry, "name", "extension"))
            self._extensions[named] = _texts(entry.get("properties"), f"extension '{':'.join(named)}'")
        self._references: dict[str, dict[str, str]] = {}
        for entry in _entries(root, "refs", "ref"):
            name = _text(entry, "name", "ref")
            self._references[name] = {
                "type": _text(entry, "type", f"ref '{name}'"),
                **_texts(entry.get("properties"), f"ref '{name}'"),
            }

    def reference(self, name: str) -> Mapping[str, str] | None:
        """Return the elements of a name in ``refs``."""
        return self._references.get(name)

    def extension_config(self, namespace: str, name: str) -> Mapping[str, str]:
        """Return the settings of an extension in ``extensions``."""
        return self._extensions.get((namespace, name), {})

    def properties(self) -> Mapping[str, str]:
        """Return the values of ``properties``."""
        return self._properties


def _loaded(source: str | Path) -> dict[Any, Any]:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise ConfigError("a YAML configuration requires PyYAML: pip install 'siddhi[yaml]'") from error
    try:
        root = yaml.safe_load(source.read_text(encoding="utf-8") if isinstance(source, Path) else source)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"the configuration can't be read: {error}") from error
    if root is None:
        return {}
    if not isinstance(root, dict):
        raise ConfigError("invalid configuration: expected a map with the keys properties, extensions and refs")
    return root


def _entries(root: Mapping[Any, Any], key: str, inner: str) -> list[Mapping[Any, Any]]:
    listed = root.get(key) or []
    if not isinstance(listed, list):
        raise ConfigError(f"invalid '{key}' in the configuration: expected a list")
    found: list[Mapping[Any, Any]] = []
    for entry in listed:
        of = entry.get(inner) if isinstance(entry, dict) else None
        if not isinstance(of, dict):
            raise ConfigError(f"invalid entry of '{key}' in the configuration: expected a map with the key '{inner}'")
        found.append(of)
    return found


def _text(entry: Mapping[Any, Any], key: str, of: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigError(f"missing '{key}' of {of} in the configuration")
    return value


def _texts(values: Any, of: str) -> dict[str, str]:
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"invalid properties of {of} in the configuration: expected a map")
    return {str(key): _as_text(value, of) for key, value in values.items() if value is not None}


def _as_text(value: Any, of: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        raise ConfigError(f"invalid property of {of} in the configuration: expected a single value")
    return str(value)
