"""The live view as a widget of anywidget, where that is installed."""

from __future__ import annotations

from typing import Any

__all__ = ["live_widget"]

_SCRIPT = """
function render({ model, el }) {
  const show = () => { el.innerHTML = model.get("html"); };
  model.on("change:html", show);
  show();
}
export default { render };
"""


def live_widget(html: str) -> Any:
    """Return a widget that shows its attribute ``html``; None: anywidget is not installed, or no kernel could reach it."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError:
        return None
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython  # has no types
    if getattr(shell(), "kernel", None) is None:
        return None  # a terminal

    class View(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = _SCRIPT
        html = traitlets.Unicode().tag(sync=True)

    return View(html=html)
