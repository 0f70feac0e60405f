"""Snapshots that a release took, kept to be restored by those after it.

``python -m tests.persistence.kept`` makes the folder ``releases/<version>`` anew, of the version in ``siddhi._version`` (without `.dev0`): when a
version is about to be released, and where the format of snapshots changes before that. Later on a folder stays as it is.

    cases.jsonl.xz   a line a case: app, snapshot (base64), steps that follow, what comes out of them
    revisions/       what a FileSystemPersistenceStore wrote, whole and in increments
    revisions.json   for each app there: its text, and by revision the rows of its table and what it answers to an event
"""

from __future__ import annotations

import base64
import json
import lzma
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from siddhi import SiddhiAppRuntime, SiddhiManager, __version__
from siddhi.persistence import FileSystemPersistenceStore
from tests.kit.new_process import Step, play
from tests.property.test_restored_in_a_new_process import apps

__all__ = ["RELEASES", "answer", "cases_of", "plain", "revised", "steps_of"]

RELEASES = Path(__file__).parent / "releases"
COMING = __version__.partition(".dev")[0]  # the release that this tree becomes
BEFORE, AFTER = 25, 10
REVISED = """@app:name('{name}') @app:playback define stream S (k string, n long);
@primaryKey('k') define table T (k string, n long);
@info(name = 'keep') from S select k, n update or insert into T set T.n = n on T.k == k;
@info(name = 'sums') from S#window.length({length}) select k, sum(n) as total, max(n) as most group by k insert into Sums;"""


def plain(seen: Any) -> Any:
    """What was seen as JSON gives it back."""
    return json.loads(json.dumps(seen))


def steps_of(chance: random.Random, clock: int, count: int) -> list[Step]:
    """Events whose time goes on, now and then by a leap or back a little."""
    found: list[Step] = []
    for _ in range(count):
        clock += chance.choice([0, 1, 60, 250, 400, 1_700])
        stream = chance.choice(["S", "S", "S", "R"])
        rows: list[tuple[Any, ...]] = []
        for _ in range(chance.choice([1, 1, 1, 4])):
            if stream == "R":
                rows.append((chance.choice("abc"), chance.randrange(10)))
            else:
                number = chance.choice([-1.5, 0.0, 0.25, 3.0, 8.5, None])
                at = clock - chance.randrange(3) * 100
                rows.append(
                    (chance.choice(["a", "b", "c", None]), chance.randrange(10), number, at, chance.random() < 0.5)
                )
        found.append((stream, clock - chance.choice([0, 0, 0, 30]), rows))
    return [*found, ("clock", clock + 500)]


def cases_of(folder: Path) -> list[dict[str, Any]]:
    """The cases of a release."""
    with lzma.open(folder / "cases.jsonl.xz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _made() -> Iterator[dict[str, Any]]:
    for number, parameters in enumerate(apps()):
        app, asks = parameters.values
        chance = random.Random(number)
        before = steps_of(chance, 10_000, BEFORE)
        after = [*steps_of(chance, before[-1][1], AFTER), *(("ask", text) for text in asks)]
        _, state = play(app, None, before)
        seen, _ = play(app, state, after)
        snapshot = base64.b64encode(state).decode()
        yield {"id": parameters.id, "app": app, "snapshot": snapshot, "steps": plain(after), "seen": plain(seen)}


def revised(folder: Path, name: str) -> SiddhiManager:
    """A manager that saves to a folder, in increments where the app's name says so."""
    manager = SiddhiManager()
    store = FileSystemPersistenceStore(folder, revisions_to_keep=5)
    if name == "Increments":
        manager.set_incremental_persistence_store(store)
    else:
        manager.set_persistence_store(store)
    return manager


def answer(runtime: SiddhiAppRuntime) -> dict[str, Any]:
    """The rows of its table, and what one more event gives."""
    rows = sorted(event.data for event in runtime.query("from T select k, n"))
    seen: list[Any] = []
    runtime.add_callback("Sums", lambda events: seen.extend((event.timestamp, event.data) for event in events))
    runtime.input_handler("S").send(("key 1", 5), timestamp=9_000_000)
    return dict(plain({"rows": rows, "seen": seen}))


def _make_revisions(folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, length, saved in (("Wholes", 20, (20, 40, 60)), ("Increments", 5000, (5000, 5200, 5400, 5600))):
        app = REVISED.format(name=name, length=length)
        with revised(folder, name) as manager, manager.create_siddhi_app_runtime(app) as runtime:
            revisions = []
            for n in range(1, saved[-1] + 1):
                runtime.input_handler("S").send((f"key {n % 9}", n * 7919 % 101), timestamp=1_000_000 + n)
                if n in saved:
                    revisions.append(runtime.persist())
        answers = {}
        for revision in revisions:
            with revised(folder, name) as manager, manager.create_siddhi_app_runtime(app) as runtime:
                runtime.restore_revision(revision)
                answers[revision] = answer(runtime)
        made[name] = {"app": app, "answers": answers}
    return made


def main() -> None:
    """Make the folder of this version."""
    os.environ["TZ"] = "UTC"  # of cron texts
    if hasattr(time, "tzset"):
        time.tzset()
    folder = RELEASES / COMING
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with lzma.open(folder / "cases.jsonl.xz", "wt", encoding="utf-8", preset=9) as file:
        for case in _made():
            file.write(json.dumps(case, separators=(",", ":")) + "\n")
    revisions = _make_revisions(folder / "revisions")
    (folder / "revisions.json").write_text(json.dumps(revisions, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
