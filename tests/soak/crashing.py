"""A process that makes processes to be killed: each goes on from the last revision, sends and saves until it is gone.

It has imported what they need, so that one is there in a few milliseconds. Lines of its standard input say what to do:
``<store> <place>`` makes one and answers with its process id, ``wait`` waits until that one is gone.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.persistence import FileSystemPersistenceStore, PersistenceStore, RdbmsPersistenceStore

APP = """@app:name('Crashing') @app:playback
define stream S (n long, k string, v double);
define table Last (id int, n long);
define table Keys (k string, n long);
define aggregation Sums from S select k, sum(v) as total group by k aggregate every sec, min;
@info(name = 'last') from S select 1 as id, n update or insert into Last on Last.id == id;
@info(name = 'keys') from S select k, n update or insert into Keys on Keys.k == k;
@info(name = 'window') from S#window.length(5000) select k, sum(v) as total, max(v) as most group by k insert into Out;
@info(name = 'time') from S#window.time(3 sec) select k, v insert expired events into Gone;
@info(name = 'pattern') from every a=S[v < 3.0] -> b=S[k == a.k and v > 60.0] within 1 sec select b.n as n insert into Found;
@info(name = 'rate') from S select k, count() as n group by k output last every 1 sec insert into Slow;
partition with (k of S) begin
  @info(name = 'inner') from S#window.lengthBatch(7) select k, min(v) as least insert into Least;
end;
"""


def send(runtime: SiddhiAppRuntime, n: int) -> None:
    """The event of a number: the same in every process."""
    runtime.input_handler("S").send((n, f"key {n % 17}", n * 7919 % 6007 / 97), timestamp=1_000_000 + 3 * n)


def managed(kind: str, place: str) -> SiddhiManager:
    manager = SiddhiManager()
    store: PersistenceStore
    if kind == "sqlite":
        store = RdbmsPersistenceStore(f"sqlite:///{place}/state.db")
    else:
        store = FileSystemPersistenceStore(place)
    if kind == "increments":
        manager.set_incremental_persistence_store(store)
    else:
        manager.set_persistence_store(store)
    return manager


def restored(manager: SiddhiManager) -> tuple[SiddhiAppRuntime, str | None, int]:
    """The app, running; the revision it was restored from; the number of the last event it knows."""
    runtime = manager.create_siddhi_app_runtime(APP)
    runtime.start()
    revision = runtime.restore_last_revision()
    found = runtime.query("from Last select n")
    return runtime, revision, found[0].data[0] if found else 0


def live(kind: str, place: str) -> None:
    """Send in one thread and save in another, until killed. What was saved is noted down when it is said to be safe."""
    runtime, _, last = restored(managed(kind, place))
    noted = os.open(Path(place) / "saved", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def save() -> None:
        while True:
            os.write(noted, f"{runtime.persist()}\n".encode())

    threading.Thread(target=save, daemon=True).start()
    while True:
        last += 1
        send(runtime, last)


def main() -> None:
    with SiddhiManager() as manager:
        manager.create_siddhi_app_runtime(APP)  # brings in compiler and planner
    child = 0
    for line in sys.stdin:
        what, _, place = line.rstrip("\n").partition(" ")
        if what == "wait":
            os.waitpid(child, 0)
            child = 0
        else:
            child = os.fork()
            if child == 0:
                live(what, place)
        print(child, flush=True)  # noqa: T201 - that is the answer


if __name__ == "__main__":
    main()
