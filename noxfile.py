"""Tasks of the project: ``nox -s dev``, then ``lint``, ``test``, ``golden``, ``bench``, ``bench-gate``, ``debug``, ``wheel``,
and ``spark`` for older versions of Spark.

Each session runs in a fresh virtual environment; ``nox -R`` reuses the last one. Arguments after ``--`` are passed to the
tool.
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

# Where tests run the compiled core: apps from end to end, and its state, rows and mappers.
COMPILED = [
    f"tests/{name}" for name in "conformance faults fuzz golden io/mappers persistence property runtime soak".split()
]
PROJECT = nox.project.load_toml("pyproject.toml")["project"]
VENV = Path(".venv")


def extra(name: str) -> list[str]:
    """Return the requirements of an extra, including nested extras, without the package itself."""
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
    """Set up a checkout for development: .venv with the package (editable) and all tools."""
    python = VENV / ("Scripts" if os.name == "nt" else "bin") / "python"
    session.run("python", "-m", "venv", "--clear", str(VENV))
    session.run(str(python), "-m", "pip", "install", "-q", "-e", ".[dev]", external=True)
    session.log(f"activate it with: source {VENV}/bin/activate")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, Cython sources and their stubs. All checks run, even if one fails."""
    session.install("-q", *PROJECT["dependencies"], *extra("dev"))
    session.install("-q", "--no-deps", "-e", ".")  # stubs are compared with the compiled modules
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
    """Run the tests on Spark with older versions of Spark; ``test`` uses the newest one."""
    session.install("-q", "-e", ".[test]", f"pyspark=={pyspark}.*")
    session.run("pytest", "-n", "2", "tests/spark", "-m", "spark", *session.posargs)


@nox.session
def servers(session: nox.Session) -> None:
    """Run the tests against servers such as RabbitMQ, mosquitto, Redis and JupyterLab, with 20 rounds of each fault.

    It installs no Debian package: the tests of a server or browser that is missing are skipped with the reason.
    """
    session.install("-q", "-e", ".[test]", "jupyterlab>=4", "playwright>=1.40")
    env = {"SIDDHI_FAULT_ROUNDS": os.environ.get("SIDDHI_FAULT_ROUNDS", "20")}
    session.run("pytest", "-m", "server", *session.posargs, env=env)


@nox.session
def golden(session: nox.Session) -> None:
    """Compare plans, runs and errors with their golden files; ``-- --accept`` rewrites them."""
    session.install("-q", "-e", ".[test]")
    session.run("pytest", "tests/golden", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks of bench/ and compare them with their limits."""
    session.install("-q", "-e", ".[bench]")
    session.run("pytest", "bench", *session.posargs)


@nox.session(name="bench-gate")
def bench_gate(session: nox.Session) -> None:
    """Compare the speed with that of the commit before: 5 % less fails; ``-- --quick`` for a machine whose speed jumps."""
    build = nox.project.load_toml("pyproject.toml")["build-system"]["requires"]
    session.install("-q", *build, *PROJECT["dependencies"], *extra("bench"))
    band = [] if "--quick" in session.posargs else ["--band", "0.05"]
    session.run("python", "bench/compare.py", "HEAD~1", *band, *session.posargs)


@nox.session
def debug(session: nox.Session) -> None:
    """Run the tests on a build with bounds checks, pool poisoning and leak counts; fail if Cython prints a hint.

    The package is installed, not linked, so that the release libraries of the checkout are not replaced.
    """
    env = {"SIDDHI_DEBUG": "1"}
    log = Path(session.create_tmp()) / "build.log"
    shutil.rmtree("build/debug", ignore_errors=True)
    with log.open("w") as output:
        session.run("pip", "install", "-v", "--force-reinstall", "--no-deps", ".", env=env, stdout=output)
    session.run("python", "wheels/hints.py", str(log))
    session.install("-q", *PROJECT["dependencies"], *extra("test"))
    # Tests of what is written in Python would find no further errors of the core; those of tests/_core run in `sanitize`, whose
    # build is a debug build, too.
    session.run("pytest", "-n", "2", "-m", "not spark", *(session.posargs or COMPILED), env=env)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz apps, values, columns and snapshots: ``-- KIND ... --seconds 600 --seed 1``."""
    session.install("-q", "-e", ".[test]")
    session.run("python", "-m", "tests.fuzz", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Inject failures into file operations and allocations, one at a time; ``-- files --every 10`` runs a part of them."""
    session.install("-q", "-e", ".[test]")
    session.run("python", "-m", "tests.faults", *session.posargs)


@nox.session
def sanitize(session: nox.Session) -> None:
    """Run tests/_core and the fuzzers on a debug build under AddressSanitizer and UndefinedBehaviorSanitizer.

    Its C files are those of `debug`, if that ran before in the same checkout.
    Arguments are those of the fuzzers; by default all kinds run together for half a minute. ``-- quick`` runs few examples
    of each test and few cases of each fuzzer.
    """
    quick = session.posargs == ["quick"]
    runtime = _sanitizer_of(session, "libasan.so")
    env = {"SIDDHI_SANITIZE": "1", "CC": "gcc"}
    session.install("-q", *PROJECT["dependencies"], *extra("test"), "setuptools>=77", "Cython>=3.1")
    build = ["pip", "install", "-q", "--force-reinstall", "--no-deps", "--no-build-isolation", "."]
    session.run(*build, env=env)
    report = Path(session.create_tmp(), "report").resolve()
    options = [
        # Objects that Python keeps until exit are no leaks of the engine; the debug build counts its records, and tests
        # check the counts.
        "detect_leaks=0",
        # Too large an allocation raises MemoryError, as without the sanitizer.
        "allocator_may_return_null=1",
        "abort_on_error=1",
        f"log_path={report}",  # pytest captures standard error, which is lost in a crash
    ]
    env = {
        "PYTHONMALLOC": "malloc",  # one allocation per object, so that use after free is detected
        "ASAN_OPTIONS": ":".join(options),
        "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:log_path={report}",
        "HYPOTHESIS_PROFILE": "few" if quick else "ci",
    }
    cases = ["--seed", "1", "--count", "60"] if quick else session.posargs or ["--seconds", "30"]
    try:
        # Frames are larger under a sanitizer, and events may recurse as deeply as the engine allows.
        deep = ["bash", "-c", 'ulimit -s 262144 && exec "$@"', "sanitize"]
        for command in (["pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "tests/_core"], ["tests.fuzz", *cases]):
            session.run(*deep, "env", f"LD_PRELOAD={runtime}", "python", "-m", *command, env=env, external=True)
    finally:
        for found in sorted(report.parent.glob("report.*")):
            print(found.read_text(errors="replace")[:8000])  # noqa: T201 - printed before the failure
            found.unlink()


def _sanitizer_of(session: nox.Session, name: str) -> str:
    """Return the path of a sanitizer's library, which must be preloaded into Python."""
    if shutil.which("gcc") is None:
        session.error("sanitize requires gcc (on Linux), which is not installed")
    found = str(session.run("gcc", f"-print-file-name={name}", external=True, silent=True)).strip()
    if not Path(found).is_absolute():
        session.error(
            f"sanitize requires {name} of gcc, which is not installed: install libasan (Fedora) or libgcc-<version>-dev"
        )
    return str(Path(found).resolve())


@nox.session
def wheel(session: nox.Session) -> None:
    """Build sdist and wheel, compare their contents with the allow-list, and run the smoke test on the installed wheel."""
    shutil.rmtree("dist", ignore_errors=True)
    session.install("-q", "build")
    session.run("python", "-m", "build", "--outdir", "dist")
    session.run("python", "wheels/contents.py", *map(str, sorted(Path("dist").iterdir())))
    session.install("-q", *map(str, Path("dist").glob("*.whl")))
    smoke = Path("wheels/smoke.py").resolve()
    session.chdir(session.create_tmp())
    session.run("python", str(smoke))
