"""System configuration of apps: references, settings of extensions, properties.

manager.set_config_manager(YAMLConfigManager(Path("siddhi.yaml")))
"""

from siddhi.config.manager import *  # noqa: F403
from siddhi.config.yaml import *  # noqa: F403
