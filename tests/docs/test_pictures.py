"""The pictures of the documents are what their script draws."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Golden

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
PICTURES: dict[str, Callable[[], str]] = runpy.run_path(str(FOLDER / "draw.py"))["PICTURES"]


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_those_of_the_script(name: str, golden: Golden) -> None:
    golden(FOLDER / name, PICTURES[name]())


def test_every_picture_is_drawn_by_the_script() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.svg")) == sorted(PICTURES)
