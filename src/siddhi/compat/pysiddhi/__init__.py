"""PySiddhi 5.1 without Java: its managers, handlers, callbacks, events and debugger over this engine.

A program of PySiddhi runs unchanged after one call::

    import siddhi.compat.pysiddhi

    siddhi.compat.pysiddhi.install()

    from PySiddhi.core.SiddhiManager import SiddhiManager

``import siddhi.compat.pysiddhi as PySiddhi`` gives the same modules as attributes (``PySiddhi.core.SiddhiManager``).
``PySiddhi.sp``, the client of WSO2's server, is not part of it.

As with Java, a number is converted to the type of its attribute (a float for an ``int`` loses its fraction), values of
``long`` and ``double`` attributes are :class:`LongType` and :class:`DoubleType`, and an event is sent without a timestamp.
Unlike with Java, callbacks run in the thread that sends.
"""

from __future__ import annotations

import sys
from types import ModuleType

from siddhi.compat.pysiddhi import modules as _modules

__all__ = ["DataTypes", "SiddhiLoader", "core", "install"]

_TREE = _modules.build(__name__)
SiddhiLoader: ModuleType = _TREE["SiddhiLoader"]
DataTypes: ModuleType = _TREE["DataTypes"]
core: ModuleType = _TREE["core"]
# `from siddhi.compat.pysiddhi.core.SiddhiManager import SiddhiManager` works, too.
sys.modules.update({f"{__name__}.{path}": module for path, module in _TREE.items()})


def install(name: str = "PySiddhi") -> None:
    """Let ``import PySiddhi`` find these modules instead of the package over Java, in this process.

    Args:
        name: the package's name; ``PySiddhi5`` and ``PySiddhi4`` were those of earlier releases.

    Raises:
        ImportError: another package of this name is imported already: its classes are in use.
    """
    here = sys.modules[__name__]
    imported = sys.modules.get(name)
    if imported is not None and imported is not here:
        raise ImportError(
            f"{name} is already imported from {getattr(imported, '__file__', 'elsewhere')}: call install() first"
        )
    sys.modules[name] = here
    sys.modules.update({f"{name}.{path}": module for path, module in _TREE.items()})
