"""Fail on warnings and performance hints of Cython in a build log: each is an exception check or a GIL taken per event.

Usage: ``python wheels/hints.py build.log``; exit status 1 prints them. A log without Cython's own lines fails, too. What
was taken from the cache had no hint: setup.py keeps no translation with one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HINT = re.compile(r"^\s*(?:performance hint|warning): .*\.(?:pyx|pxd|pxi):\d+")


def main(log: str) -> int:
    """Print the hints of a log; 0 if there are none."""
    lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()
    if not any("Cythonizing" in line or re.search(r"Found compiled .* in cache", line) for line in lines):
        print(f"{log}: nothing was compiled from Cython, so nothing was checked")
        return 1
    hints = [line.strip() for line in lines if HINT.match(line)]
    print("\n".join([*hints, f"{len(hints)} Cython warnings and performance hints"]))
    return int(bool(hints))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
