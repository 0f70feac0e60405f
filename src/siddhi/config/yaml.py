"""Configuration in a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siddhi.config.manager import ConfigManager
from siddhi.errors import ConfigError

__all__ = ["YAMLConfigManager"]


class YAMLConfigManager(ConfigManager):
    """Reads, once, what looks like this.

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

    Other keys are skipped. Needs PyYAML (``pip install 'siddhi[yaml]'``).

    Args:
        source: the text, or the path of a file.

    Raises:
        ConfigError: it can't be read, is not YAML, or has another shape.
    """

    def __init__(self, source: str | Path) -> None:
        root = _loaded(source)
        self._properties = _texts(root.get("properties"), "properties")
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
        """What ``refs`` says of a name."""
        return self._references.get(name)

    def extension_config(self, namespace: str, name: str) -> Mapping[str, str]:
        """What ``extensions`` says of an extension."""
        return self._extensions.get((namespace, name), {})

    def properties(self) -> Mapping[str, str]:
        """What ``properties`` says."""
        return self._properties


def _loaded(source: str | Path) -> dict[Any, Any]:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise ConfigError("a configuration in YAML needs PyYAML: pip install 'siddhi[yaml]'") from error
    try:
        root = yaml.safe_load(source.read_text(encoding="utf-8") if isinstance(source, Path) else source)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"the configuration can't be read: {error}") from error
    if root is None:
        return {}
    if not isinstance(root, dict):
        raise ConfigError("a configuration is a map, with properties, extensions and refs")
    return root


def _entries(root: Mapping[Any, Any], key: str, inner: str) -> list[Mapping[Any, Any]]:
    listed = root.get(key) or []
    if not isinstance(listed, list):
        raise ConfigError(f"'{key}' is a list")
    found: list[Mapping[Any, Any]] = []
    for entry in listed:
        of = entry.get(inner) if isinstance(entry, dict) else None
        if not isinstance(of, dict):
            raise ConfigError(f"each entry of '{key}' is a map with the one key '{inner}'")
        found.append(of)
    return found


def _text(entry: Mapping[Any, Any], key: str, of: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigError(f"'{key}' of {of} is missing")
    return value


def _texts(values: Any, of: str) -> dict[str, str]:
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"the properties of {of} are a map")
    return {str(key): _as_text(value, of) for key, value in values.items() if value is not None}


def _as_text(value: Any, of: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        raise ConfigError(f"a property of {of} is not a single value")
    return str(value)
