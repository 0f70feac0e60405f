"""Siddhi in notebooks: the magics ``%%siddhi`` and ``%siddhi``, loaded by ``%load_ext siddhi``, and plots of streams."""

from __future__ import annotations

from typing import Any

from siddhi.notebook.plot import plot

__all__ = ["load_ipython_extension", "plot", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Register the magics in a shell; IPython calls this."""
    from siddhi.notebook.magics import SiddhiMagics

    shell.register_magics(SiddhiMagics)


def unload_ipython_extension(shell: Any) -> None:
    """Stop the apps of the cells of a shell; IPython calls this."""
    from siddhi.notebook.magics import SiddhiMagics

    magics = shell.magics_manager.registry.get("SiddhiMagics")
    if isinstance(magics, SiddhiMagics):
        magics.stop_all()
