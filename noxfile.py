"""Every task of the project by name: ``nox -s dev``, then ``lint``, ``test``, ``golden``, ``bench``, ``debug``,
``wheel``, and ``spark`` for older versions of it.

Each session runs in a fresh virtual environment; ``nox -R`` reuses the last one. What follows ``--`` goes to the tool.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "virtualenv"
nox.options.sessions = ["lint", "test"]

PROJECT = nox.project.load_toml("pyproject.toml")["project"]
VENV = Path(".venv")


def extra(name: str) -> list[str]:
    """Return the requirements of an extra, nested ones included, without the package itself."""
    requirements: list[str] = []
    for requirement in PROJECT["optional-dependencies"][name]:
        if requirement.startswith("siddhi["):
            nested = requirement.removeprefix("siddhi[").removesuffix("]").split(",")
            requirements += [item for part in nested for item in extra(part)]
        else:
            requirements.append(requirement)
    return sorted(set(requirements))


@nox.session
def dev(session: nox.Session) -> None:
    """Make a working checkout: .venv with the package, editable, and every tool."""
    python = VENV / ("Scripts" if os.name == "nt" else "bin") / "python"
    session.run("python", "-m", "venv", "--clear", str(VENV))
    session.run(str(python), "-m", "pip", "install", "-q", "-e", ".[dev]", external=True)
    session.log(f"activate it with: source {VENV}/bin/activate")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, Cython sources and their stubs. A failing check does not hide the next one."""
    session.install("-q", *PROJECT["dependencies"], *extra("dev"))
    session.install("-q", "--no-deps", "-e", ".")  # stubs are compared with what was compiled
    failed = []
    stubs = "stubtest siddhi._core --concise --ignore-missing-stub --ignore-disjoint-bases"
    for check in ("ruff check .", "ruff format --check .", "mypy", stubs, "cython-lint src bench"):
        try:
            session.run(*check.split())
        except CommandFailed:
            failed.append(check)
    if failed:
        session.error(", ".join(failed))


@nox.session
def test(session: nox.Session) -> None:
    """Run the test suite on the release build."""
    session.install("-q", "-e", ".[test]")
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session
@nox.parametrize("pyspark", ["4.0", "4.1"])
def spark(session: nox.Session, pyspark: str) -> None:
    """Run the tests on Spark with its older versions; the newest one is that of ``test``."""
    session.install("-q", "-e", ".[test]", f"pyspark=={pyspark}.*")
    session.run("pytest", "-n", "2", "tests/spark", "-m", "spark", *session.posargs)


@nox.session
def golden(session: nox.Session) -> None:
    """Compare plans, runs and errors with their golden files; ``-- --accept`` rewrites them."""
    session.install("-q", "-e", ".[test]")
    session.run("pytest", "tests/golden", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the scenarios of bench/ and their limits."""
    session.install("-q", "-e", ".[bench]")
    session.run("pytest", "bench", *session.posargs)


@nox.session
def debug(session: nox.Session) -> None:
    """Run the suite on a build with bounds checks, pool poisoning and leak counts; no Cython hint may appear.

    The package is installed, not linked, so that the release libraries of the checkout stay as they are.
    """
    env = {"SIDDHI_DEBUG": "1"}
    log = Path(session.create_tmp()) / "build.log"
    shutil.rmtree("build/debug", ignore_errors=True)
    with log.open("w") as output:
        session.run("pip", "install", "-v", "--force-reinstall", "--no-deps", ".", env=env, stdout=output)
    session.run("python", "wheels/hints.py", str(log))
    session.install("-q", *PROJECT["dependencies"], *extra("test"))
    # On Spark's workers there is the same engine; what is not seen here without Spark is not seen there.
    session.run("pytest", "-n", "2", "-m", "not spark", *session.posargs, env=env)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Try mutated apps, hostile values, columns and snapshots: ``-- KIND ... --seconds 600 --seed 1``."""
    session.install("-q", "-e", ".[test]")
    session.run("python", "-m", "tests.fuzz", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Let calls that concern files, and allocations, fail one after the other; ``-- files --every 10``: a part of them."""
    session.install("-q", "-e", ".[test]")
    session.run("python", "-m", "tests.faults", *session.posargs)


@nox.session
def sanitize(session: nox.Session) -> None:
    """Run tests/_core and the fuzzers on a debug build under AddressSanitizer and UndefinedBehaviorSanitizer.

    Arguments are those of the fuzzers; by default all kinds together are tried for half a minute. ``-- quick`` runs few
    examples of each test and a few cases of each fuzzer.
    """
    quick = session.posargs == ["quick"]
    runtime = _sanitizer_of(session, "libasan.so")
    env = {"SIDDHI_SANITIZE": "1", "CC": "gcc"}
    session.install("-q", *PROJECT["dependencies"], *extra("test"), "setuptools>=77", "Cython>=3.1")
    build = ["pip", "install", "-q", "--force-reinstall", "--no-deps", "--no-build-isolation", "."]
    session.run(*build, env=env)
    report = Path(session.create_tmp(), "report").resolve()
    options = [
        # What Python holds at its end is no leak of the engine's; its records are counted by the debug build, and tests
        # look at the counts.
        "detect_leaks=0",
        # A size that no machine has is a MemoryError, as without the sanitizer.
        "allocator_may_return_null=1",
        "abort_on_error=1",
        f"log_path={report}",  # standard error is taken by pytest, and gone with the process
    ]
    env = {
        "PYTHONMALLOC": "malloc",  # each object in memory of its own, so that what is used after its end is seen
        "ASAN_OPTIONS": ":".join(options),
        "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:log_path={report}",
        "HYPOTHESIS_PROFILE": "few" if quick else "ci",
    }
    cases = ["--seed", "1", "--count", "60"] if quick else session.posargs or ["--seconds", "30"]
    try:
        # Frames are larger under a sanitizer, and what an event leads to may be as deep as the engine allows.
        deep = ["bash", "-c", 'ulimit -s 262144 && exec "$@"', "sanitize"]
        for command in (["pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "tests/_core"], ["tests.fuzz", *cases]):
            session.run(*deep, "env", f"LD_PRELOAD={runtime}", "python", "-m", *command, env=env, external=True)
    finally:
        for found in sorted(report.parent.glob("report.*")):
            print(found.read_text(errors="replace")[:8000])  # noqa: T201 - in front of the failure
            found.unlink()


def _sanitizer_of(session: nox.Session, name: str) -> str:
    """The path of a sanitizer's library, which Python has to be started with."""
    if shutil.which("gcc") is None:
        session.error("sanitize needs gcc (on Linux), and there is none")
    found = str(session.run("gcc", f"-print-file-name={name}", external=True, silent=True)).strip()
    if not Path(found).is_absolute():
        session.error(
            f"sanitize needs {name} of gcc, and there is none: install libasan (Fedora) or libgcc-<version>-dev"
        )
    return str(Path(found).resolve())


@nox.session
def wheel(session: nox.Session) -> None:
    """Build sdist and wheel, compare their contents with the allow-list, run the smoke test on the installed wheel."""
    shutil.rmtree("dist", ignore_errors=True)
    session.install("-q", "build")
    session.run("python", "-m", "build", "--outdir", "dist")
    session.run("python", "wheels/contents.py", *map(str, sorted(Path("dist").iterdir())))
    session.install("-q", *map(str, Path("dist").glob("*.whl")))
    smoke = Path("wheels/smoke.py").resolve()
    session.chdir(session.create_tmp())
    session.run("python", str(smoke))
