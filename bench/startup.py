"""Start-up times: import, parsing and planning, and a large app: ``python bench/startup.py``.

Every figure is the best of R new processes, so that only the file system and the grammar's cache are warm. The exit code is
1 if a figure is over its budget.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

BUDGETS_MS = {
    "import siddhi": 20.0,
    "import and run an app": 300.0,
    "parse and plan 100 lines": 40.0,
    "1000-query app": 3000.0,
}

_IMPORT = "import time; start = time.perf_counter(); import {}; print((time.perf_counter() - start) * 1e3)"


_RUN = """import time; start = time.perf_counter()
import siddhi
siddhi.run("define stream S (a int); from S[a > 1] select a insert into T;").shutdown()
print((time.perf_counter() - start) * 1e3)"""


def hundred_lines() -> str:
    """Return an app of 100 lines: streams, filters, windows, aggregates, output limits and expressions."""
    lines = ["@app:name('Desk')", "@app:playback"]
    lines += [f"define stream Trades{i} (symbol string, price double, volume long, ts long);" for i in range(7)]
    for i in range(7):
        lines += [
            f"@info(name = 'filtered{i}')",
            f"from Trades{i}[price > {i * 10}.0 and volume < 5000L or symbol == 'S{i}']",
            f"select symbol, price * volume as turnover, price / 2.0 as half, ts insert into Large{i};",
            f"@info(name = 'average{i}')",
            f"from Trades{i}#window.length({100 + i})",
            "select symbol, avg(price) as ap, sum(volume) as sv, count() as n",
            f"group by symbol having ap > {i}.5 insert into Average{i};",
            f"from Trades{i}#window.time({i + 1} sec) select symbol, max(price) as high, min(price) as low",
            f"group by symbol insert into Range{i};",
            f"from Average{i} select symbol, ifThenElse(ap > 10.0, 'high', 'low') as level, convert(ap, 'long') as ap",
            f"insert into Level{i};",
            f"from Large{i}#window.lengthBatch(10) select symbol, sum(turnover) as turnover insert into Sum{i};",
            f"from Range{i}[not(high is null)] select symbol, high - low as spread insert into Spread{i};",
        ]
    return "\n".join(lines)


def thousand_queries() -> str:
    """Return an app of 1,000 queries in chains of ten."""
    lines = ["define stream Trades (symbol string, price double, volume long, ts long);"]
    for chain in range(100):
        source = "Trades"
        for link in range(10):
            target = f"S{chain}_{link}"
            lines.append(f"from {source}[price > {link}.0] select symbol, price, volume insert into {target};")
            source = target
    return "\n".join(lines)


def _plan() -> None:
    import time

    from siddhi.planner.app import plan
    from siddhi.query_compiler import parse

    text = hundred_lines()
    start = time.perf_counter()
    plan(parse(text))
    print((time.perf_counter() - start) * 1e3)


def _create() -> None:
    import time

    import siddhi

    text = thousand_queries()
    start = time.perf_counter()
    manager = siddhi.SiddhiManager()
    manager.create_siddhi_app_runtime(text).start()
    print((time.perf_counter() - start) * 1e3)
    manager.shutdown()


def measure(repeat: int = 5, env: dict[str, str] | None = None) -> dict[str, float]:
    """Return milliseconds by name, each the best of *repeat* fresh processes with the environment *env*."""
    commands = {
        "import siddhi": ["-c", _IMPORT.format("siddhi")],
        "import and run an app": ["-c", _RUN],
        "parse and plan 100 lines": [__file__, "--step", "plan"],
        "1000-query app": [__file__, "--step", "create"],
    }
    return {name: min(_run(command, env) for _ in range(repeat)) for name, command in commands.items()}


def _run(command: list[str], env: dict[str, str] | None) -> float:
    done = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)


def over_budget(figures: dict[str, float]) -> list[str]:
    """Return the names of *figures* over their budget."""
    return [name for name, budget in BUDGETS_MS.items() if figures[name] > budget]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="fresh processes per figure (default: 5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object of milliseconds")
    parser.add_argument("--step", choices=["plan", "create"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        {"plan": _plan, "create": _create}[options.step]()
        return 0
    try:
        figures = measure(options.repeat)
    except RuntimeError as failure:
        sys.exit(str(failure))
    late = over_budget(figures)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, ms in figures.items():
            budget = BUDGETS_MS.get(name)
            verdict = "" if budget is None else f"   budget {budget:5.0f} ms   {'OVER' if name in late else 'ok'}"
            print(f"{name:<26}{ms:9.1f} ms{verdict}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
