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

# Tests that can show what only a debug build notices: they run apps on the compiled core from end to end. tests/_core runs
# in `sanitize`, whose build is a debug build, too.
COMPILED = [f"tests/{name}" for name in "conformance golden property runtime".split()]
PROJECT = nox.project.load_toml("pyproject.toml")["project"]
BUILD = nox.project.load_toml("pyproject.toml")["build-system"]["requires"]
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


def install_requirements(session: nox.Session, *extras: str) -> None:
    """Install what the package and its extras need, not the package itself.

    SIDDHI_PACKAGES names a folder of site-packages that has them already: .ci/run installs them once for all sessions.
    """
    if found := os.environ.get("SIDDHI_PACKAGES"):
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        own = str(session.run("python", "-c", where, silent=True)).strip()
        Path(own, "requirements.pth").write_text(found + "\n", encoding="utf-8")
        return
    wanted = {requirement for name in extras for requirement in extra(name)}
    session.install("-q", *PROJECT["dependencies"], *sorted(wanted), *BUILD)


@nox.session
def dev(session: nox.Session) -> None:
    """Set up a checkout for development: .venv with the package (editable) and all tools."""
    python = VENV / ("Scripts" if os.name == "nt" else "bin") / "python"
    session.run("python", "-m", "venv", "--clear", str(VENV))
    session.run(str(python), "-m", "pip", "install", "-q", "-e", ".[dev]", external=True)
    session.log(f"activate it with: source {VENV}/bin/activate")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, Cython sources and their stubs. All checks run, even if one fails.

    ``nox --no-venv --no-install -s lint`` checks with the tools and the build of the current environment.
    """
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
def quick(session: nox.Session) -> None:
    """Run lint, and the tests of the layers that differ from ``main``: a first look, before `test` and .ci/run."""
    lint(session)
    changed = str(session.run("git", "diff", "--name-only", "main", external=True, silent=True))
    changed += str(session.run("git", "ls-files", "--others", "--exclude-standard", external=True, silent=True))
    # Structure, layers and budgets concern every change.
    wanted = {"tests/test_house.py", "tests/test_layers.py", "tests/test_import.py", *tests_of(changed.split())}
    session.run("pytest", "-n", "2", "-m", "not soak", *sorted(wanted), *session.posargs)


def tests_of(changed: list[str]) -> set[str]:
    """Return the tests of changed files: those in the folder that mirrors theirs, and changed tests themselves."""
    found: set[Path] = set()
    for path in map(Path, changed):
        if path.parts[0] == "tests" and path.name.startswith("test_") and path.exists():
            found.add(path)
        elif path.parts[:2] == ("src", "siddhi"):
            folder = Path("tests", *path.parts[2:-1])
            while not folder.is_dir():
                folder = folder.parent
            if folder == Path("tests"):  # a module or a folder at the top without a folder of tests
                folder = Path("tests", f"test_{Path(path.parts[2]).stem.strip('_')}.py")
            if folder.exists():
                found.add(folder)
        elif path.parts[0] == "examples":
            found.add(Path("tests/examples"))
        elif path.suffix == ".md":
            found.add(Path("tests/docs"))
    return {path.as_posix() for path in found if not found & set(path.parents)}


@nox.session
def prose(session: nox.Session) -> None:
    """List words in documents, comments and messages for which the project has better ones. It is advice and never fails."""
    session.run("python", "-m", "tests.gate.prose")


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
    every = {"SIDDHI_SPARK_STREAMS": "1"} if pyspark != "4.0" else {}
    session.run("pytest", "-n", "2", "tests/spark", "-m", "spark", *session.posargs, env=every)


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
    install_requirements(session, "bench")
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
    install_requirements(session, "test")
    build = ["python", "-m", "pip", "install", "-v", "--force-reinstall", "--no-deps", "--no-build-isolation", "."]
    with log.open("w") as output:
        session.run(*build, env=env, stdout=output)
    session.run("python", "wheels/hints.py", str(log))
    # Few examples of each law: the release build runs more.
    env["HYPOTHESIS_PROFILE"] = os.environ.get("SIDDHI_DEBUG_PROFILE", "few")
    session.run("python", "-m", "pytest", "-n", "2", "-m", "not spark", *(session.posargs or COMPILED), env=env)


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
    install_requirements(session, "test")
    build = ["python", "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", "--no-build-isolation", "."]
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
    session.run("python", "-m", "build", "--outdir", "dist")  # the wheel from the sdist
    session.run("python", "wheels/contents.py", *map(str, sorted(Path("dist").iterdir())))
    session.install("-q", *map(str, Path("dist").glob("*.whl")))
    smoke = Path("wheels/smoke.py").resolve()
    session.chdir(session.create_tmp())
    session.run("python", str(smoke))
