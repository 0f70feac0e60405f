"""``python -m siddhi`` is the ``siddhi`` command."""

from __future__ import annotations

from siddhi.cli import main

main()
