"""The app's lock: held by one thread, as often as it likes."""

from __future__ import annotations

import threading

from siddhi._core.context import AppContext


def test_a_thread_may_take_it_again_and_gives_it_back_as_often() -> None:
    lock = AppContext("A").lock
    assert not lock.is_mine
    with lock:
        with lock:
            assert lock.is_mine
        assert lock.is_mine
    assert not lock.is_mine


def test_it_is_given_back_where_an_exception_leaves() -> None:
    lock = AppContext("A").lock
    try:
        with lock:
            raise ValueError
    except ValueError:
        pass
    assert not lock.is_mine


def test_others_wait() -> None:
    lock = AppContext("A").lock
    order: list[str] = []
    at_the_door = threading.Event()

    def other() -> None:
        at_the_door.set()
        with lock:
            order.append("other")

    with lock:
        thread = threading.Thread(target=other)
        thread.start()
        assert at_the_door.wait(30)
        thread.join(0.02)
        assert thread.is_alive()
        order.append("first")
    thread.join(30)
    assert order == ["first", "other"]


def test_nobody_holds_it_for_another() -> None:
    lock = AppContext("A").lock
    seen: list[bool] = []
    with lock:
        thread = threading.Thread(target=lambda: seen.append(lock.is_mine))
        thread.start()
        thread.join(30)
    assert seen == [False]


def test_threads_add_up_what_they_add_under_it() -> None:
    lock = AppContext("A").lock
    total = 0

    def add() -> None:
        nonlocal total
        for _ in range(500):
            with lock:
                seen = total
                total = seen + 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert total == 2_000
