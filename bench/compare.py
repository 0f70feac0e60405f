"""Regression gate: compare the speed of the working tree with that of a revision: ``python bench/compare.py main``

Both sides are built from a copy of their sources into separate directories, with the build tools of the current
environment, and measured by the bench scripts of this checkout. For every scenario both sides run back to back for several
rounds, in alternating order; the result is the median ratio of their processor times. A scenario whose median is below the
noise band is measured again with twice the rounds, and fails only if that confirms it. The gate also fails for a scenario
with wrong results or that only the change does not support, and for a start-up time over its budget.

With ``--quick`` six scenarios are measured where a machine's speed may double from one moment to the next: each side's best of
ten rounds counts, and only a quarter less is a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any

import startup
from run import select
from scenarios import load

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
DEFAULT_BAND = 0.08
QUICK = (
    ("filter", "event"), ("filter", "batch"), ("length_avg", "event"),
    ("pattern", "event"), ("join", "batch"), ("table_upsert", "event"),
)  # fmt: skip
QUICK_ROUNDS = 10
QUICK_BAND = 0.25
TABLES_TIMES = 5
"""Runs with tables use this many times more trades, since they are faster."""


@dataclass
class Side:
    """One of the two builds."""

    name: str
    revision: str | None
    """A revision, or the path of a wheel; None: the working tree."""
    target: pathlib.Path

    @property
    def wheel(self) -> pathlib.Path | None:
        return pathlib.Path(self.revision) if self.revision is not None and self.revision.endswith(".whl") else None

    @property
    def env(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self.target)}


@dataclass
class Comparison:
    """Measurements of one scenario and mode."""

    scenario: str
    mode: str
    base: list[float] = field(default_factory=list)
    change: list[float] = field(default_factory=list)
    problem: str = ""
    best_only: bool = False

    @property
    def ratios(self) -> list[float]:
        """Ratio of rates change / base by round; above 1 is faster."""
        return [change / base for base, change in zip(self.base, self.change)]

    @property
    def ratio(self) -> float:
        return max(self.change) / max(self.base) if self.best_only else statistics.median(self.ratios)


def build(side: Side, work: pathlib.Path) -> None:
    """Copy the sources of *side* and install them, or its wheel, into its target directory."""
    sources = work / f"{side.name}-sources"
    sources.mkdir()
    if side.wheel is not None:
        sources = side.wheel.resolve()
    elif side.revision is None:
        listed = _git("ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
        for name in filter(None, listed):
            if (ROOT / name).is_file():
                (sources / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, sources / name)
    else:
        archive = work / f"{side.name}.tar"
        _git("archive", "--format=tar", f"--output={archive}", side.revision)
        shutil.unpack_archive(archive, sources)
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(side.target), str(sources)], check=True)
    found = subprocess.run(
        [sys.executable, "-c", "import siddhi; print(siddhi.__file__)"],
        env=side.env, cwd=work, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    if not pathlib.Path(found).is_relative_to(side.target):
        sys.exit(f"{side.name}: expected siddhi in {side.target}, but {found} is imported")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout


def run(side: Side, scenario: str, mode: str, events: int, work: pathlib.Path) -> dict[str, Any]:
    """Run one scenario in a fresh process and return its result."""
    report = work / "result.json"
    command = [sys.executable, str(HERE / "run.py"), "--engine-only", "--cpu", "--scenario", scenario, "--mode", mode]
    n = events * TABLES_TIMES if mode == "batch" else events
    command += ["--events", str(n), "--repeat", "3", "--json", str(report)]
    report.unlink(missing_ok=True)
    done = subprocess.run(command, env=side.env, cwd=work, capture_output=True, text=True, check=False)
    if not report.exists():
        return {"state": "failed", "reason": f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"}
    result: dict[str, Any] = json.loads(report.read_text())["results"][0]
    return result


def compare(
    base: Side, change: Side, scenario: str, mode: str, *, events: int, rounds: int, work: pathlib.Path
) -> Comparison:
    """Run both sides back to back *rounds* times."""
    comparison = Comparison(scenario, mode)
    for number in range(rounds):
        order = (base, change) if number % 2 == 0 else (change, base)
        results = {side.name: run(side, scenario, mode, events, work) for side in order}
        before, after = results["base"], results["change"]
        if after["state"] in ("wrong", "failed") or (after["state"] == "unsupported" and before["state"] == "ok"):
            comparison.problem = after["reason"]
            return comparison
        if "ok" not in (before["state"], after["state"]) or before["state"] != "ok":
            return comparison  # new, or supported by neither side: nothing to compare
        comparison.base.append(before["engine"])
        comparison.change.append(after["engine"])
    return comparison


def line(comparison: Comparison, band: float) -> tuple[str, bool]:
    """Return one line of the report, and whether it is a failure."""
    head = f"{comparison.scenario:<22}{comparison.mode:<7}"
    if comparison.problem:
        return f"{head}BROKEN: {comparison.problem}", True
    if not comparison.ratios:
        return f"{head}not compared: the base does not support it", False
    slower = comparison.ratio < 1.0 - band
    spread = f"{min(comparison.ratios):.2f}..{max(comparison.ratios):.2f}"
    verdict = "SLOWER" if slower else "faster" if comparison.ratio > 1.0 + band else "same"
    return (
        f"{head}{max(comparison.base):>9.2f}{max(comparison.change):>9.2f}{comparison.ratio:>8.3f}  {spread:<12}{verdict}",
        slower,
    )


def gate_scenarios(base: Side, change: Side, options: argparse.Namespace, work: pathlib.Path) -> list[str]:
    """Compare the selected scenarios, print a line each, and return the names of the failures."""
    print(
        f"{'scenario':<22}{'mode':<7}{'base':>9}{'change':>9}{'ratio':>8}  {'rounds':<12}M events/s; band {options.band:.0%}"
    )
    bad = []
    selected = [(scenario.name, mode) for scenario in select(options.scenario, load()) for mode in scenario.modes]
    for scenario, mode in QUICK if options.quick else selected:
        if mode not in options.mode:
            continue
        text, is_bad = "", True
        for rounds in (options.rounds, 2 * options.rounds):
            found = compare(base, change, scenario, mode, events=options.events, rounds=rounds, work=work)
            found.best_only = options.quick
            text, is_bad = line(found, options.band)
            if not is_bad or found.problem:
                break
        print(text, flush=True)
        if is_bad:
            bad.append(f"{scenario} ({mode})")
    return bad


def gate_startup(base: Side, change: Side) -> list[str]:
    """Measure the start-up times of both sides, and return the names of the change's times over their budget."""
    try:
        before: dict[str, float] = startup.measure(3, base.env)
    except RuntimeError as failure:
        print(f"start-up of the base: {failure}")
        before = {}
    try:
        after = startup.measure(3, change.env)
    except RuntimeError as failure:
        print(f"start-up of the change: {failure}")
        return ["start-up"]
    for name, ms in after.items():
        was = f"{before[name]:8.1f}" if name in before else f"{'-':>8}"
        budget = f"   budget {startup.BUDGETS_MS[name]:.0f} ms" if name in startup.BUDGETS_MS else ""
        print(f"{name:<29}{was} ms {ms:8.1f} ms{budget}")
    return startup.over_budget(after)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="git revision to compare with")
    parser.add_argument("--change", metavar="REV", help="git revision, or a wheel, instead of the working tree")
    parser.add_argument("--quick", action="store_true", help="six scenarios, the best of ten rounds, a band of 25 %%")
    parser.add_argument("--scenario", nargs="+", action="extend", default=[], metavar="NAME", help="names or patterns")
    parser.add_argument("--mode", nargs="+", default=["event", "batch"], choices=["event", "batch"])
    parser.add_argument(
        "--events", type=int, default=200_000, help="trades per run, five times as many in tables (default: 200000)"
    )
    parser.add_argument("--rounds", type=int, help=f"pairs of runs (default: 5; {QUICK_ROUNDS} with --quick)")
    parser.add_argument(
        "--band", type=float, help=f"noise band as a fraction (default: {DEFAULT_BAND}; {QUICK_BAND} with --quick)"
    )
    parser.add_argument("--no-startup", action="store_true", help="do not measure start-up times")
    options = parser.parse_args()
    options.rounds = options.rounds or (QUICK_ROUNDS if options.quick else 5)
    if options.band is None:
        options.band = QUICK_BAND if options.quick else DEFAULT_BAND

    from limits.build import build as build_limits

    build_limits()
    with tempfile.TemporaryDirectory(prefix="siddhi-compare-") as folder:
        work = pathlib.Path(folder)
        base = Side("base", _git("rev-parse", options.base).strip(), work / "base")
        changed = options.change
        if changed and not changed.endswith(".whl"):
            changed = _git("rev-parse", changed).strip()
        change = Side("change", changed, work / "change")
        if base.revision == change.revision:
            change.target = base.target  # measures the noise: one build is enough
        for side in (base,) if change.target == base.target else (base, change):
            print(f"building {side.name}: {side.revision or 'the working tree'}", flush=True)
            build(side, work)
        bad = gate_scenarios(base, change, options, work)
        if not (options.no_startup or options.quick):  # the budgets are times of a quiet machine
            bad += gate_startup(base, change)
    print(f"FAILED: {', '.join(bad)}" if bad else "passed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
