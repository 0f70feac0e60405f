"""The checks of wheels/ find stray files, missing files and Cython hints."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from wheels import contents, hints

ROOT = Path(__file__).parents[2]
NOT_SHIPPED = ("findings/", ".ci/", ".gitignore", "bench/.gitignore")


def test_names_of_an_sdist_have_no_top_directory(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    archive = tmp_path / "siddhi-1.tar.gz"
    with tarfile.open(archive, "w:gz") as sdist:
        sdist.add(tmp_path / "a.py", "siddhi-1/src/siddhi/a.py")
    assert contents.names(archive) == ["src/siddhi/a.py"]


def test_names_of_a_wheel_are_its_files(tmp_path: Path) -> None:
    archive = tmp_path / "siddhi-1-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        wheel.writestr("siddhi/b.py", "")
        wheel.writestr("siddhi/a.py", "")
    assert contents.names(archive) == ["siddhi/a.py", "siddhi/b.py"]


def test_generated_c_files_and_unknown_files_are_surplus() -> None:
    found = [
        "siddhi/_core/record/event.c",
        "siddhi/_core/record/event.cpython-311-x86_64-linux-gnu.so",
        "siddhi/_core/record/event.cp311-win_amd64.pyd",
        "siddhi/_core/record/event.pxd",
        "siddhi/include/siddhi/event.h",
        "siddhi/planner/plan/nodes.py",
        "siddhi/planner/core.so",
        "siddhi-0.1.0.dist-info/licenses/LICENSE",
        "tests/test_layers.py",
    ]
    assert contents.surplus(found, contents.WHEEL_MAY) == [
        "siddhi/_core/record/event.c",
        "siddhi/planner/core.so",
        "tests/test_layers.py",
    ]
    assert contents.surplus(["venv/bin/python", "src/siddhi/_core/record/event.pyx"], contents.SDIST_MAY) == [
        "venv/bin/python"
    ]


def test_every_file_of_the_repository_may_be_in_the_sdist() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout of git")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = [name for name in listed.splitlines() if not name.startswith(NOT_SHIPPED)]
    assert contents.surplus(found, contents.SDIST_MAY) == []


def checkout(root: Path) -> Path:
    for name in (
        "src/siddhi/_core/record/event.pyx",
        "src/siddhi/_core/record/event.pxd",
        "src/siddhi/errors.py",
        "include/siddhi/e.h",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return root


def test_a_wheel_needs_a_library_for_every_pyx(tmp_path: Path) -> None:
    must = [f"siddhi/{name}" for name in contents.MUST]
    found = [*must, "siddhi/_core/record/event.pxd", "siddhi/errors.py", "siddhi/include/siddhi/e.h"]
    library = "siddhi/_core/record/event.cpython-311-x86_64-linux-gnu.so"
    assert contents.missing(found, "siddhi", checkout(tmp_path), compiled=True) == ["siddhi/_core/record/event.pyx"]
    assert contents.missing([*found, library], "siddhi", tmp_path, compiled=True) == []


def test_an_sdist_needs_every_source(tmp_path: Path) -> None:
    must = [f"src/siddhi/{name}" for name in contents.MUST]
    found = [*must, "src/siddhi/_core/record/event.pyx", "src/siddhi/errors.py"]
    assert contents.missing(found, "src/siddhi", checkout(tmp_path), compiled=False) == [
        "include/siddhi/e.h",
        "src/siddhi/_core/record/event.pxd",
    ]


def test_hints_are_found_in_indented_logs_of_pip(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("  [1/1] Cythonizing src/siddhi/_core/record/event.pyx\n  copying x\n")
    assert hints.main(str(log)) == 0
    for line in (
        "performance hint: src/siddhi/_core/record/event.pyx:3:1: x",
        "warning: src/siddhi/_core/record/event.pxd:1:2: y",
    ):
        log.write_text(f"  [1/1] Cythonizing src/siddhi/_core/record/event.pyx\n  {line}\n")
        assert hints.main(str(log)) == 1


def test_a_log_without_compilation_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("Successfully installed siddhi\n")
    assert hints.main(str(log)) == 1
