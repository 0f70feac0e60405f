"""Contents of an installation: one version, type hints, C headers, a command."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import siddhi
from siddhi._version import __version__


def test_the_version_is_defined_once() -> None:
    assert siddhi.__version__ == __version__ == metadata.version("siddhi")


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(siddhi.__file__).parent / "py.typed").exists()


def test_headers_are_in_the_folder_of_get_include() -> None:
    assert list((Path(siddhi.get_include()) / "siddhi").glob("*.h"))


def test_the_command_is_installed() -> None:
    (command,) = metadata.entry_points(group="console_scripts", name="siddhi")
    assert command.value == "siddhi.cli:main"
    assert callable(command.load())
