"""System configuration of apps: references, settings of extensions, properties.

manager.set_config_manager(YAMLConfigManager(Path("siddhi.yaml")))
"""

from __future__ import annotations

from siddhi.config.manager import ConfigManager, InMemoryConfigManager
from siddhi.config.yaml import YAMLConfigManager

__all__ = ["ConfigManager", "InMemoryConfigManager", "YAMLConfigManager"]
