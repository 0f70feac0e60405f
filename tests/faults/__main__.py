"""Let calls and allocations fail: ``python -m tests.faults [KIND ...] [--every N]``."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
import time

from tests.faults.report import EnoughError, Report
from tests.faults.shim import restart_under_shim

KINDS = ("files", "memory", "clock")


def main() -> int:
    """Run the kinds one after the other; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all without one")
    parser.add_argument("--every", type=int, default=1, help="fail every n-th call only (1: each)")
    arguments = parser.parse_args()
    for kind in arguments.kinds:
        if kind not in KINDS:
            parser.error(f"'{kind}' is none of {', '.join(KINDS)}")
    if arguments.every < 1:
        parser.error("--every is at least 1")
    restart_under_shim()
    logging.getLogger("siddhi").addHandler(logging.NullHandler())
    logging.getLogger("siddhi").propagate = False
    found = 0
    for kind in arguments.kinds or KINDS:
        report = Report()
        started = time.monotonic()
        try:
            importlib.import_module(f"tests.faults.{kind}").run(report, arguments.every)
        except EnoughError:
            print("there may be more", flush=True)
        took = time.monotonic() - started
        print(f"{kind}: {report.tries} tries, {len(report.findings)} failures, {took:.0f} s", flush=True)
        found += len(report.findings)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
