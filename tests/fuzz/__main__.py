"""Fuzz the engine: ``python -m tests.fuzz [KIND ...] [--seconds S | --count N] [--seed N]``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time

from tests.fuzz.driver import run

KINDS = ("grammar", "rows", "columns", "snapshots", "times")


def main() -> int:
    """Run the kinds one after the other; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all without one")
    parser.add_argument("--seconds", type=float, default=60.0, help="for all kinds together (60)")
    parser.add_argument("--count", type=int, help="cases of each kind, instead of seconds")
    parser.add_argument("--seed", type=int, help="of the first case; without it another one each time")
    arguments = parser.parse_args()
    if "PYTHONHASHSEED" not in os.environ:  # sets and hashes the same each time, too
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    kinds = arguments.kinds or KINDS
    for kind in kinds:
        if kind not in KINDS:
            parser.error(f"'{kind}' is none of {', '.join(KINDS)}")
    if arguments.seconds <= 0 or (arguments.count is not None and arguments.count < 1):
        parser.error("--seconds and --count are above 0")
    seed = time.time_ns() // 1_000_000 % 1_000_000_000 if arguments.seed is None else arguments.seed
    found = 0
    for kind in kinds:
        attempt = importlib.import_module(f"tests.fuzz.{kind}").attempt
        outcome = run(kind, attempt, seed=seed, count=arguments.count, seconds=arguments.seconds / len(kinds))
        for finding in outcome.findings:
            print(f"\n*** nox -s fuzz -- {finding}", flush=True)
        last = seed + max(outcome.tries - 1, 0)
        print(f"{kind}: {outcome.tries} tries (seeds {seed} to {last}), {len(outcome.findings)} failures", flush=True)
        found += len(outcome.findings)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
