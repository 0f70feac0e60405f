"""Measure scenarios and print their rates: ``python bench/run.py --scenario filter --mode event``.

Every figure is the best of R runs in M events/s; engine and limit loop alternate. The results are checked first: a
scenario with wrong results gets no figure, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import gc
import json
import os
import pathlib
import platform
import sys
import traceback
from dataclasses import asdict, dataclass
from time import perf_counter, process_time
from typing import Any

import driver
from scenarios import MODES, Scenario, load
from subjects import Engine, Loop, NotSupportedError, has_loop


@dataclass
class Result:
    """One line of the table. Rates in M events/s, latencies in ns; None: not measured."""

    scenario: str
    mode: str
    state: str
    """``ok``, ``wrong`` (wrong outputs), ``unsupported`` (the app has an error) or ``failed``"""
    events: int = 0
    engine: float | None = None
    limit: float | None = None
    p50_ns: int | None = None
    p99_ns: int | None = None
    limit_p50_ns: int | None = None
    limit_p99_ns: int | None = None
    reason: str = ""

    @property
    def times_limit(self) -> float | None:
        """How many times slower than the loop."""
        if self.engine and self.limit:
            return self.limit / self.engine
        if self.p50_ns and self.limit_p50_ns:
            return self.p50_ns / self.limit_p50_ns
        return None


def measure(
    scenario: Scenario, mode: str, *, events: int | None, repeat: int, engine: bool, limit: bool, clock: driver.Clock
) -> Result:
    """Check the results of one scenario in one mode, then time it *repeat* times."""
    kinds = [kind for kind, wanted in ((Engine, engine), (Loop, limit and has_loop(scenario))) if wanted]
    if mode == "latency":
        return _measure_latency(scenario, kinds, events or 100_000, repeat)
    n = events or scenario.events
    best: dict[type, float] = {}
    outputs = {kind: driver.check(kind, scenario, mode, n).outputs for kind in kinds}
    for _ in range(repeat):
        for kind in kinds:
            seconds = driver.timed(kind, scenario, mode, n, outputs[kind], clock)
            best[kind] = max(best.get(kind, 0.0), n / seconds / 1e6)
    return Result(scenario.name, mode, "ok", n, engine=best.get(Engine), limit=best.get(Loop))


def _measure_latency(scenario: Scenario, kinds: list[driver.SubjectClass], n: int, repeat: int) -> Result:
    best: dict[type, tuple[int, int]] = {}
    for kind in kinds:
        driver.check(kind, scenario, "event", n)
    for _ in range(repeat):
        for kind in kinds:
            samples = driver.latencies(kind, scenario, n)
            found = samples[n // 2], samples[n * 99 // 100]
            best[kind] = min(best.get(kind, found), found)
    p50, p99 = best.get(Engine, (None, None))
    limit_p50, limit_p99 = best.get(Loop, (None, None))
    return Result(
        scenario.name, "latency", "ok", n, p50_ns=p50, p99_ns=p99, limit_p50_ns=limit_p50, limit_p99_ns=limit_p99
    )


def attempt(scenario: Scenario, mode: str, *, verbose: bool, **settings: Any) -> Result:
    """Call `measure`, and return errors as a result."""
    try:
        return measure(scenario, mode, **settings)
    except NotSupportedError as refusal:
        return Result(scenario.name, mode, "unsupported", reason=_first_line(refusal))
    except driver.WrongAnswerError as wrong:
        return Result(scenario.name, mode, "wrong", reason=str(wrong))
    except Exception as failure:  # noqa: BLE001  one broken scenario must not hide the others
        if verbose:
            traceback.print_exc()
        return Result(scenario.name, mode, "failed", reason=f"{type(failure).__name__}: {_first_line(failure)}")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


HEADER = f"{'scenario':<22}{'mode':<9}{'engine':>9}{'limit':>9}{'xlimit':>8}{'Java':>8}{'xJava':>7}{'aim':>7}  answers"


def line(result: Result, scenario: Scenario) -> str:
    """Format one line of the table."""
    head = f"{result.scenario:<22}{result.mode:<9}"
    if result.state != "ok":
        return f"{head}{result.state.upper()}: {result.reason}"
    times = f"{result.times_limit:.2f}" if result.times_limit else "-"
    if result.mode == "latency":
        java = f"{scenario.java.get('p50_ns', 0):.0f}/{scenario.java.get('p99_ns', 0):.0f}" if scenario.java else "-"
        engine = f"{result.p50_ns}/{result.p99_ns}" if result.p50_ns else "-"
        limit = f"{result.limit_p50_ns}/{result.limit_p99_ns}" if result.limit_p50_ns else "-"
        return f"{head}{engine:>9}{limit:>9}{times:>8}{java:>10}{'':>5}{'':>7}  ok"
    engine = f"{result.engine:.2f}" if result.engine else "-"
    limit = f"{result.limit:.2f}" if result.limit else "-"
    java_rate, aim = scenario.java.get(result.mode), scenario.aim.get(result.mode)
    java = f"{java_rate:.2f}" if java_rate else "-"
    times_java = f"{result.engine / java_rate:.2f}" if java_rate and result.engine else "-"
    reached = f"{aim:g}{'' if not result.engine else '✓' if result.engine >= aim else '✗'}" if aim else ""
    return f"{head}{engine:>9}{limit:>9}{times:>8}{java:>8}{times_java:>7}{reached:>7}  ok"


def select(patterns: list[str], scenarios: dict[str, Scenario]) -> list[Scenario]:
    """Return the scenarios that match one of *patterns* (shell style), or all; exit if a pattern matches none."""
    for pattern in patterns:
        if not fnmatch.filter(scenarios, pattern):
            sys.exit(f"no scenario matches {pattern!r}; there are: {', '.join(scenarios)}")
    return [s for name, s in scenarios.items() if not patterns or any(fnmatch.fnmatch(name, p) for p in patterns)]


def machine() -> dict[str, str | int | None]:
    """Describe the machine of the measurements."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for text in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if text.startswith("model name"):
                model = text.partition(":")[2].strip()
                break
    where = {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
    return where | {"siddhi": getattr(sys.modules.get("siddhi"), "__file__", None)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--scenario", nargs="+", action="extend", default=[], metavar="NAME", help="names, or patterns such as *_avg"
    )
    parser.add_argument(
        "--mode", nargs="+", default=["event", "batch"], choices=[*MODES, "all"], help="default: event batch"
    )
    parser.add_argument("--events", type=int, help="trades per run (default: as many as the recorded answers cover)")
    parser.add_argument("--repeat", type=int, default=3, help="number of timed runs, the best one counts (default: 3)")
    parser.add_argument("--cpu", action="store_true", help="measure processor time, for a machine with other load")
    parser.add_argument("--engine-only", action="store_true", help="do not run the limit loops")
    parser.add_argument("--limit-only", action="store_true", help="do not run the engine")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the results to this file")
    parser.add_argument("--verbose", "-v", action="store_true", help="show tracebacks")
    options = parser.parse_args(arguments)
    modes = MODES if "all" in options.mode else [mode for mode in MODES if mode in options.mode]

    if not options.engine_only:
        from limits.build import build, is_current

        if not is_current():
            print("compiling the limit loops ...", file=sys.stderr, flush=True)
            build()
    where = machine()
    unit = f"M events per second of {'processor time' if options.cpu else 'time'}"
    print(f"{where['cpu']}, {where['cores']} cores, Python {where['python']}; {unit}, best of {options.repeat} runs")
    if "latency" in modes:
        print(f"latency in ns, p50/p99 of single sends; including {driver.clock_ns()} ns of the clock")
    print(HEADER)
    results = []
    for scenario in select(options.scenario, load()):
        for mode in modes:
            if mode not in scenario.modes:
                continue
            gc.collect()
            gc.freeze()  # exclude the input rows from garbage collection
            result = attempt(
                scenario,
                mode,
                verbose=options.verbose,
                events=options.events,
                repeat=options.repeat,
                engine=not options.limit_only,
                limit=not options.engine_only,
                clock=process_time if options.cpu else perf_counter,
            )
            results.append(result)
            print(line(result, scenario), flush=True)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(
            json.dumps({"machine": machine(), "results": [asdict(r) for r in results]}, indent=1) + "\n"
        )
    states = [result.state for result in results]
    bad = states.count("wrong") + states.count("failed")
    summary = {state: states.count(state) for state in ("ok", "wrong", "failed", "unsupported") if state in states}
    print(", ".join(f"{count} {state}" for state, count in summary.items()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
