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


def crossed(n: int) -> list[str]:
    """As many threads, each of which holds a lock and then takes that of the next, all at once."""
    locks = [AppContext(f"A{i}").lock for i in range(n)]
    together = threading.Barrier(n)
    order: list[str] = []

    def take(i: int) -> None:
        with locks[i]:
            together.wait(30)
            with locks[(i + 1) % n]:
                assert locks[(i + 1) % n].is_mine
                order.append(f"in {i}")
                with locks[(i + 1) % n], locks[i]:
                    order.append(f"deep {i}")
            order.append(f"out {i}")
            assert locks[i].is_mine

    threads = [threading.Thread(target=take, args=(i,), daemon=True) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "they wait for each other"
    for lock in locks:
        assert not lock.is_mine
        with lock:
            assert lock.is_mine
    return order


def test_threads_that_would_wait_for_each_other_go_one_inside_the_other() -> None:
    for n in (2, 2, 3, 5):
        order = crossed(n)
        assert len(order) == 3 * n
        # The one that came last borrowed, and was done before any other went on.
        assert [line.split()[1] for line in order[:3]] == [order[0].split()[1]] * 3


def test_a_borrowed_lock_goes_back_to_its_owner_and_keeps_others_out() -> None:
    a, b = AppContext("A").lock, AppContext("B").lock
    inside, seen = [], []
    has_b, wants_b = threading.Event(), threading.Event()

    def owner_of_b() -> None:
        with b:
            has_b.set()
            with a:
                assert not inside
            assert b.is_mine
            seen.append("owner")

    def third() -> None:
        wants_b.set()
        with b:
            assert not inside
            seen.append("third")

    threads = [threading.Thread(target=target, daemon=True) for target in (owner_of_b, third)]
    with a:
        threads[0].start()
        assert has_b.wait(30)
        threads[1].start()
        assert wants_b.wait(30)
        threads[0].join(0.05)
        with b:
            inside.append(1)
            threads[1].join(0.05)
            inside.clear()
        seen.append("borrower")
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert sorted(seen) == ["borrower", "owner", "third"]
