"""The event loop of the connectors: its uses, and what a forked process has of it."""

from __future__ import annotations

import threading

from siddhi.io.event_loop import LoopUse
from tests.kit.forked import in_child

WAIT = 10


async def answer() -> int:
    return 7


def test_a_forked_process_has_an_event_loop_of_its_own() -> None:
    use = LoopUse()
    answers: list[int] = []

    def ask() -> None:
        own = LoopUse()
        answers.append(own.run(answer()))
        use.release()  # has no effect on the loop of this process
        answers.append(own.run(answer()))
        own.release()

    def act() -> int:
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(WAIT)
        return 0 if answers == [7, 7] else 1

    assert in_child(act) == 0
    assert use.run(answer()) == 7
    use.release()
