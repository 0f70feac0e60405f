"""``python -m siddhi.cli`` is the ``siddhi`` command."""

from __future__ import annotations

from siddhi.cli import main

main()
