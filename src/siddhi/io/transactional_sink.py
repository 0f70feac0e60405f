"""Base of sinks that publish in transactions, each of which is committed once a state of the app is saved."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from siddhi.errors import CannotSaveStateError, ConnectionUnavailableError
from siddhi.event import Event
from siddhi.io.async_sink import DRAIN_SECONDS, AsyncSink, Entry
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import end_tasks
from siddhi.io.options import OptionHolder

__all__ = ["Mark", "TransactionalSink"]

logger = logging.getLogger("siddhi")

_RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Mark:
    """What a transaction stores together with its payloads, so that a restored app finds out whether it was committed.

    Attributes:
        place: where it is stored, such as a topic of the transaction.
        run: id of the life of the app, from its first start on through all restores.
        number: number of the transaction; it grows.
    """

    place: str
    run: str
    number: int


@dataclass(slots=True, eq=False)
class _Cut:
    """The end of a transaction: the state that contains it is saved (True), not saved (False), or being saved (None)."""

    mark: Mark | None  # None: it has no payloads
    number: int
    saved: bool | None = None


class TransactionalSink(AsyncSink):
    """A sink whose payloads become visible with the state of the app that has produced them.

    A transaction ends where ``persist`` takes a state, and is committed when that state is saved. Until then its payloads
    are part of snapshots, also the published ones. A restored app looks for the mark of the last transaction of its state: it
    is stored together with the payloads, so that they are published again if, and only if, it is missing. An
    aborted transaction is published again as a whole.

    Subclasses set :attr:`is_transactional` in ``init``; without, it is a plain :class:`AsyncSink`.

    Attributes:
        is_transactional: whether there are transactions.
    """

    is_transactional: bool = False

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self.epoch = 1
        self._run = uuid.uuid4().hex
        self._kept: list[Entry] = []  # published in the open transaction
        self._left: Counter[int] = Counter()  # number of payloads by epoch that are neither published nor handled
        self._cut: _Cut | None = None  # the transaction that is to be committed next
        self._last_epoch = 1  # payloads of later epochs wait for the next transaction
        self._is_broken = True  # there is no transaction
        self._generation = 0
        self._turned = asyncio.Event()
        self._begun = asyncio.Event()
        self._decided = asyncio.Event()
        self._recovering = asyncio.Lock()
        self._committing: asyncio.Task[None] | None = None

    # --- to be implemented

    @abstractmethod
    async def begin_transaction(self) -> None:
        """Begin a transaction; abort the open one, if there is one.

        Raises:
            ConnectionUnavailableError: that is not possible now.
        """
        raise NotImplementedError

    @abstractmethod
    async def commit_transaction(self, mark: Mark) -> None:
        """Store the mark, and commit the transaction.

        Raises:
            ConnectionUnavailableError: it is not committed, or that is unknown.
        """
        raise NotImplementedError

    @abstractmethod
    async def last_mark(self, place: str) -> Mark | None:
        """Return the mark of the last transaction that was committed with this place.

        Raises:
            ConnectionUnavailableError: that is not possible now.
        """
        raise NotImplementedError

    @abstractmethod
    async def send_in_transaction(self, entry: Entry) -> None:
        """Publish a payload in the open transaction.

        Raises:
            ConnectionUnavailableError: the transaction has failed.
        """
        raise NotImplementedError

    @abstractmethod
    def place_of(self, entries: Sequence[Entry]) -> str:
        """Return the place of the mark of a transaction with these payloads; at least one."""
        raise NotImplementedError

    # --- for subclasses

    async def recover(self) -> None:
        """Begin a transaction with all that was published in the last one, unless that was committed. To be called by ``open``.

        Raises:
            ConnectionUnavailableError: that is not possible now.
        """
        async with self._recovering:
            if self._is_broken:
                self._begun.clear()
                self._generation += 1
                await self.begin_transaction()
                cut = self._cut
                if cut is not None and cut.saved and cut.mark is not None and await self._is_committed(cut.mark):
                    self._forget(cut)
                await asyncio.gather(*(self.send_in_transaction(entry) for entry in self._kept))
                self._is_broken = False
                self._begun.set()
        if self._committing is None or self._committing.done():
            self._committing = asyncio.ensure_future(self._commit_saved())

    async def in_transaction(self) -> int:
        """Wait until there is a transaction; return its number for :meth:`has_failed`."""
        await self._begun.wait()
        return self._generation

    def has_failed(self, generation: int) -> None:
        """Note that a payload could not be published in a transaction, which has to be aborted therefore."""
        if generation == self._generation:
            self._is_broken = True
            self._begun.clear()

    async def end_transactions(self) -> None:
        """Commit nothing more."""
        task, self._committing = self._committing, None
        if task is not None:
            await end_tasks((task,))

    async def _is_committed(self, mark: Mark) -> bool:
        last = await self.last_mark(mark.place)
        return last is not None and last.run == mark.run and last.number >= mark.number

    def _forget(self, cut: _Cut) -> None:
        """Drop the payloads of a committed transaction."""
        cut.mark = None
        with self._changed:
            self._kept.clear()
            self._queue = type(self._queue)(entry for entry in self._queue if entry.epoch > cut.number)
            for epoch in [epoch for epoch in self._left if epoch <= cut.number]:
                del self._left[epoch]
            self._changed.notify_all()

    async def _commit_saved(self) -> None:
        while True:
            cut = self._cut
            if cut is None or cut.saved is None or (cut.saved and self._count_left(cut.number)):
                self._decided.clear()
                await self._decided.wait()
                continue
            if cut.saved and cut.mark is not None and self._kept:
                try:
                    if self._is_broken:
                        await self.recover()
                        continue
                    self._begun.clear()
                    await self.commit_transaction(cut.mark)
                except Exception as error:  # noqa: BLE001 - payloads that are never committed would be lost
                    self._warn("a transaction is repeated", error)
                    self._is_broken = True
                    await asyncio.sleep(_RETRY_SECONDS)
                    continue
                self._forget(cut)
                self._is_broken = True
                await self._begin_next()
            with self._changed:
                self._cut = None
                self._last_epoch = cut.number + 1
                self._changed.notify_all()
            turned, self._turned = self._turned, asyncio.Event()
            turned.set()

    async def _begin_next(self) -> None:
        while True:
            try:
                await self.recover()
            except Exception as error:  # noqa: BLE001 - as above
                self._warn("no transaction begins", error)
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    def _warn(self, what: str, error: Exception) -> None:
        unexpected = None if isinstance(error, ConnectionUnavailableError) else error
        logger.warning(
            "app '%s', sink of stream '%s': %s: %s",
            self.context.app,
            self.context.stream,
            what,
            error,
            exc_info=unexpected,
        )

    def _count_left(self, number: int) -> int:
        return sum(count for epoch, count in list(self._left.items()) if epoch <= number)

    def connect(self) -> None:
        super().connect()
        self._decide()  # for what was decided while the connection was being made

    def _decide(self) -> None:
        use = self._use
        if use is not None:
            with suppress(RuntimeError):  # the loop is closed
                use.loop.call_soon_threadsafe(self._decided.set)

    async def _stop_senders(self) -> None:
        await super()._stop_senders()
        await self.end_transactions()

    # --- payloads

    def submit(self, payload: object, events: Sequence[Event]) -> None:
        if not self.is_transactional:
            super().submit(payload, events)
            return
        with self._changed:
            self._left[self.epoch] += 1
        try:
            super().submit(payload, events)
        except BaseException:
            with self._changed:
                self._left[self.epoch] -= 1
            raise

    async def _admit(self, entry: Entry) -> None:
        while self.is_transactional and entry.epoch > self._last_epoch:
            await self._turned.wait()

    def _settle(self, entry: Entry, *, is_published: bool) -> None:
        if not self.is_transactional:
            return
        if is_published:
            self._kept.append(entry)
        self._left[entry.epoch] -= 1
        if not self._left[entry.epoch]:
            del self._left[entry.epoch]
            self._decided.set()

    def flush(self) -> None:
        """Publish what is queued, and commit the transaction whose state is saved."""
        super().flush()
        deadline = time.monotonic() + DRAIN_SECONDS
        with self._changed:
            self._changed.wait_for(lambda: self._cut is None or not self._cut.saved, deadline - time.monotonic())

    # --- snapshots

    def checkpoint(self) -> Callable[[bool], None] | None:
        if not self.is_transactional:
            return None
        deadline = time.monotonic() + DRAIN_SECONDS
        while True:
            self._handle_failures()
            with self._changed:
                if self._cut is None:
                    break
                if time.monotonic() > deadline:
                    raise CannotSaveStateError(
                        f"the transaction of the last state is not committed yet by the sink of stream '{self.context.stream}'"
                    )
                self._changed.wait(0.05)
        with self._changed:
            entries = self._uncommitted()
            mark = Mark(self.place_of(entries), self._run, self.epoch) if entries else None
            cut = self._cut = _Cut(mark, self.epoch)
            self.epoch += 1

        def decide(saved: bool) -> None:
            cut.saved = saved
            self._decide()

        return decide

    def _uncommitted(self) -> list[Entry]:
        return [*self._kept, *self._sending, *self._queue]

    def snapshot(self) -> object:
        if not self.is_transactional:
            return super().snapshot()
        with self._changed:
            number = self._cut.number if self._cut is not None else self.epoch
            return {
                "run": self._run,
                "number": number,
                "entries": [
                    [entry.payload, [[event.timestamp, list(event.data)] for event in entry.events]]
                    for entry in self._uncommitted()
                ],
            }

    def restore(self, state: Any) -> None:
        if not self.is_transactional:
            super().restore(state["entries"] if isinstance(state, dict) else state)
            return
        if isinstance(state, list):  # taken before the sink had transactions
            state = {"run": self._run, "number": self.epoch, "entries": state}
        use = self._use
        if use is not None:
            use.run(self._restore(state))
        else:
            self._set(state)

    async def _restore(self, state: Any) -> None:
        """Restore while connected: what was published since is aborted."""
        senders = len(self._senders)
        await self._stop_senders()
        self._set(state)
        await self.recover()
        loop = asyncio.get_running_loop()
        self._senders = [loop.create_task(self._publish_queue()) for _ in range(senders)]

    def _set(self, state: Any) -> None:
        number = state["number"]
        entries = [
            Entry(payload, [Event(moment, tuple(data)) for moment, data in events], number)
            for payload, events in state["entries"]
        ]
        with self._changed:
            self._run = state["run"]
            self._kept.clear()
            self._sending.clear()
            self._queue.clear()
            self._queue.extend(entries)
            self._left.clear()
            self._left[number] = len(entries)
            # The state is saved, or it could not be restored: its transaction can be committed at once.
            mark = Mark(self.place_of(entries), self._run, number) if entries else None
            self._cut = _Cut(mark, number, saved=True) if entries else None
            self._last_epoch = number if entries else number + 1
            self.epoch = number + 1
            self._is_broken = True
            self._changed.notify_all()
            self._wake()
