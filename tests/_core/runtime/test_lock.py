"""The app's lock: a reentrant lock with detection of deadlocks."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import functools
import signal
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from siddhi import SiddhiManager
from siddhi._core.runtime.context import AppContext
from siddhi.errors import DeadlockError


def test_the_lock_is_reentrant() -> None:
    lock = AppContext("A").lock
    assert not lock.is_mine
    with lock:
        with lock:
            assert lock.is_mine
        assert lock.is_mine
    assert not lock.is_mine


def test_the_lock_is_released_by_an_exception() -> None:
    lock = AppContext("A").lock
    try:
        with lock:
            raise ValueError
    except ValueError:
        pass
    assert not lock.is_mine


def test_other_threads_wait() -> None:
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


def test_only_the_holder_can_release_the_lock() -> None:
    lock = AppContext("A").lock
    seen: list[bool] = []
    with lock:
        thread = threading.Thread(target=lambda: seen.append(lock.is_mine))
        thread.start()
        thread.join(30)
    assert seen == [False]


def test_threads_under_the_lock_lose_no_update() -> None:
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


def test_nested_locking_breaks_a_cycle_of_waiting_threads() -> None:
    for n in (2, 2, 3, 5):
        order = crossed(n)
        assert len(order) == 3 * n
        # The one that came last borrowed, and was done before any other went on.
        assert [line.split()[1] for line in order[:3]] == [order[0].split()[1]] * 3


def test_a_borrowed_lock_returns_to_its_owner_and_excludes_others() -> None:
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


APP = "define stream S (v int); define stream T (v int);"


def waiting_callback(
    wait: Callable[[Callable[[], None]], object], threads: Sequence[threading.Thread] = ()
) -> tuple[list[BaseException], list[object]]:
    """What a thread gets that sends into an app whose callback waits for it, and what arrives once all threads are done."""
    errors: list[BaseException] = []
    arrived: list[object] = []
    with SiddhiManager().create_siddhi_app_runtime(APP) as runtime:

        def send() -> None:
            try:
                runtime.input_handler("T").send((2,))
            except DeadlockError as error:
                errors.append(error)

        runtime.add_callback("S", lambda _: wait(send))
        runtime.add_callback("T", arrived.extend)
        sender = threading.Thread(target=runtime.input_handler("S").send, args=((1,),), daemon=True)
        sender.start()
        sender.join(30)
        assert not sender.is_alive()
        for thread in threads:
            thread.join(30)
        runtime.input_handler("T").send((3,))
    return errors, [event.data for event in arrived]


def join(send: Callable[[], None]) -> None:
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    thread.join()


def join_by_way_of_another(send: Callable[[], None]) -> None:
    join(lambda: join(send))


def leave_a_pool(send: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(send)


def ask_a_pool(send: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(send).result()


def map_in_a_pool(send: Callable[[], None]) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: send(), range(1)))


def ask_by_way_of_a_joined_thread(send: Callable[[], None]) -> None:
    join(lambda: ask_a_pool(send))


def run_on_a_loop(coroutine: Callable[[], Coroutine[object, object, None]], *, begins: bool = True) -> None:
    """Wait for a coroutine on the event loop of another thread; not ``begins``: the loop is kept from beginning with it."""
    loop, ready, submitted = asyncio.new_event_loop(), threading.Event(), threading.Event()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    futures: list[concurrent.futures.Future[None]] = []

    async def wait() -> None:
        ready.set()
        assert submitted.wait(30)  # blocks the loop
        await coroutine()

    async def nothing() -> None: ...

    futures.append(asyncio.run_coroutine_threadsafe(wait(), loop))
    assert ready.wait(30)
    if not begins:
        futures.append(asyncio.run_coroutine_threadsafe(nothing(), loop))
    submitted.set()
    futures[-1].result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def ask_a_loop(send: Callable[[], None]) -> None:
    async def sends() -> None:
        send()

    run_on_a_loop(sends)


def ask_a_loop_that_is_kept_from_beginning(send: Callable[[], None]) -> None:
    async def sends() -> None:
        send()

    run_on_a_loop(sends, begins=False)


@pytest.mark.parametrize(
    "wait",
    [
        join,
        join_by_way_of_another,
        leave_a_pool,
        ask_a_pool,
        map_in_a_pool,
        ask_by_way_of_a_joined_thread,
        ask_a_loop,
        ask_a_loop_that_is_kept_from_beginning,
    ],
)
def test_a_wait_for_a_callback_is_reported_as_a_deadlock(wait: Callable[..., object]) -> None:
    errors, arrived = waiting_callback(wait)
    (error,) = errors
    assert "waits for this thread to end" in str(error)
    assert "docs/threads.md" in str(error)
    assert arrived == [(3,)]


@pytest.mark.parametrize("in_a_task", [False, True])
def test_a_coroutine_that_a_callback_waits_for_gets_an_error(in_a_task: bool) -> None:
    errors: list[DeadlockError] = []
    with SiddhiManager().create_siddhi_app_runtime(APP) as runtime:
        arrived: list[object] = []
        handler = runtime.input_handler("T")

        async def send() -> None:
            sending = handler.send_async((2,))
            try:
                await (asyncio.gather(asyncio.create_task(sending), asyncio.sleep(0)) if in_a_task else sending)
            except DeadlockError as error:
                errors.append(error)

        runtime.add_callback("S", lambda _: run_on_a_loop(send))
        runtime.add_callback("T", arrived.extend)
        runtime.input_handler("S").send((1,))
    (error,) = errors
    assert "a callback or function is running that waits for the result of the coroutine" in str(error)
    assert arrived == []


def test_a_callback_that_waits_for_its_own_loop_is_an_error_of_others() -> None:
    """Nothing can end that wait; senders of other threads hear of it."""
    errors: list[DeadlockError] = []
    with SiddhiManager().create_siddhi_app_runtime(APP) as runtime:
        futures: list[concurrent.futures.Future[None]] = []

        def send() -> None:
            try:
                runtime.input_handler("T").send((2,))
            except DeadlockError as error:
                errors.append(error)
            futures[0].cancel()

        def ask(_: object) -> None:
            loop = asyncio.get_running_loop()
            futures.append(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))
            threads.append(threading.Thread(target=send, daemon=True))
            threads[0].start()
            with pytest.raises(concurrent.futures.CancelledError):
                futures[0].result()

        async def main() -> None:
            runtime.input_handler("S").send((1,))

        threads: list[threading.Thread] = []
        runtime.add_callback("S", ask)
        asyncio.run(main())
        threads[0].join(30)
    assert "waits for what can never happen" in str(errors[0])


def test_a_sender_for_whom_its_reader_waits_is_refused() -> None:
    with SiddhiManager().create_siddhi_app_runtime(APP) as runtime:
        errors: list[DeadlockError] = []

        def send() -> None:
            for value in range(10):
                try:
                    runtime.input_handler("S").send((value,))
                except DeadlockError as error:
                    errors.append(error)
                    return

        async def main() -> int:
            stream = runtime.stream("S", buffer=2)
            runtime.input_handler("S").send((1,))
            await anext(stream)
            thread = threading.Thread(target=send, daemon=True)
            thread.start()
            thread.join()  # blocks the loop, which runs the reader
            return stream.buffered

        assert asyncio.run(main()) == 2
    assert "its reader waits for thread" in str(errors[0]).replace("the thread that runs its reader", "its reader")


def test_a_wait_that_ends_is_not_a_deadlock() -> None:
    """The thread waits for longer than it takes to look, and then gets the lock."""
    threads: list[threading.Thread] = []

    def join_for_a_while(send: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=send, daemon=True))
        threads[0].start()
        threads[0].join(0.2)

    def join_another(send: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=send, daemon=True))
        threads[-1].start()
        other = threading.Timer(0.2, lambda: None)
        other.start()
        other.join()

    def ask_for_another_result(send: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=send, daemon=True))
        threads[-1].start()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(threading.Event().wait, 0.2).result()

    def ask_another_loop(send: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=send, daemon=True))
        threads[-1].start()
        run_on_a_loop(lambda: asyncio.sleep(0.2))

    def ask_a_loop_for_a_while(send: Callable[[], None]) -> None:
        async def sends() -> None:
            send()

        threads.append(threading.Thread(target=lambda: asyncio.run(sends()), daemon=True))
        threads[-1].start()
        threads[-1].join(0.2)

    for wait in (join_for_a_while, join_another, ask_for_another_result, ask_another_loop, ask_a_loop_for_a_while):
        threads.clear()
        errors, arrived = waiting_callback(wait, threads)
        assert (errors, arrived) == ([], [(2,), (3,)])


def test_the_lock_works_after_a_deadlock() -> None:
    lock = AppContext("A").lock
    refused: list[bool] = []
    taken: list[str] = []

    def want() -> None:
        try:
            with lock:
                taken.append("in vain")
        except DeadlockError:
            refused.append(True)

    for _ in range(2):
        with lock:
            thread = threading.Thread(target=want, daemon=True)
            thread.start()
            thread.join()
        assert not lock.is_mine
    with lock:
        taken.append("again")
    join(lambda: taken.append("elsewhere") if lock.__enter__() and lock.__exit__(None, None, None) is None else None)
    assert (refused, taken) == ([True, True], ["again", "elsewhere"])


def test_ctrl_c_interrupts_a_wait_of_the_main_thread() -> None:
    lock = AppContext("A").lock
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(10)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    # C throughout: no Python runs between the signal and the lock.
    steps = [functools.partial(_thread.interrupt_main, signal.SIGINT), functools.partial(type(lock).__enter__, lock)]
    waiting = map(functools.partial.__call__, steps)
    try:
        with pytest.raises(KeyboardInterrupt):
            deque(waiting, maxlen=0)
        assert not lock.is_mine
    finally:
        done.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    with lock:
        assert lock.is_mine
