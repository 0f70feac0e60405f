"""Snapshots saved by earlier releases are restored and continue as they would have there."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from siddhi import __version__
from siddhi.library.aggregators import AGGREGATORS
from siddhi.library.windows import WINDOWS
from siddhi.persistence import FileSystemPersistenceStore
from tests.kit.new_process import play
from tests.persistence.kept import RELEASES, answer, cases_of, plain, revised

FOLDERS = sorted(
    (folder for folder in RELEASES.iterdir() if folder.is_dir()),
    key=lambda folder: [int(number) for number in folder.name.split(".")],
)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{folder.name} {case['id']}") for folder in FOLDERS for case in cases_of(folder)]
)
def test_a_snapshot_of_a_release_continues_as_it_would_have(case: dict[str, Any]) -> None:
    steps = [tuple(step) for step in case["steps"]]
    seen, _ = play(case["app"], base64.b64decode(case["snapshot"]), steps)
    assert plain(seen) == case["seen"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_revision_of_a_release_can_be_restored(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "revisions", tmp_path / "revisions")
    for name, kept in json.loads((folder / "revisions.json").read_text(encoding="utf-8")).items():
        revisions = list(kept["answers"])
        assert FileSystemPersistenceStore(tmp_path / "revisions").revisions(name) == revisions
        for revision in [None, *revisions]:
            manager = revised(tmp_path / "revisions", name)
            with manager, manager.create_siddhi_app_runtime(kept["app"]) as runtime:
                if revision is None:
                    assert runtime.restore_last_revision() == revisions[-1]
                else:
                    runtime.restore_revision(revision)
                assert answer(runtime) == kept["answers"][revision or revisions[-1]]


def test_the_last_release_has_snapshots_of_every_kind() -> None:
    last = FOLDERS[-1]
    assert ".dev" in __version__ or last.name == __version__, "make them with: python -m tests.persistence.kept"
    texts = " ".join(case["app"] for case in cases_of(last))
    named = [*(f"{window.name}(" for window in WINDOWS), *(f"{aggregator.name}(" for aggregator in AGGREGATORS)]
    kinds = ["->", "define table", "@index", "define aggregation", "define trigger", "define window", "partition with"]
    assert [kind for kind in [*named, *kinds, "output snapshot", "join", "within"] if kind not in texts] == []
    suffixes = {file.suffix for file in (last / "revisions").rglob("*.*")}
    assert suffixes == {".snapshot", ".increment"}
