"""Sources that stand still while the state of their app is taken or put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Condition, get_ident
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakSet

if TYPE_CHECKING:
    from siddhi.io.source import Source

__all__ = ["SourcePauses"]


class SourcePauses:
    """Several may want the sources of an app to stand still at once: the first pauses them, the last lets them go on.

    Who comes while another one is still pausing them waits until that is done. Only a thread at work in an app does not:
    it may be the one that a source waits for, or be waited for by that one.

    Args:
        sources: all of the app.
        is_inside: whether the thread that asks is at work in the app.
    """

    _all: ClassVar[WeakSet[SourcePauses]] = WeakSet()

    def __init__(self, sources: Callable[[], Iterable[Source]], is_inside: Callable[[], bool]) -> None:
        self._sources = sources
        self._is_inside = is_inside
        self._changed = Condition()
        self._holders = 0
        self._paused: list[Source] = []
        self._are_paused = False
        self._at_work: int | None = None  # the thread that pauses the sources, or lets them go on
        self._all.add(self)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no source bring events in until the block ends; what was paused before stays so."""
        self._pause()
        try:
            yield
        finally:
            self._let_go()

    def _pause(self) -> None:
        with self._changed:
            if self._at_work not in (None, get_ident()) and not any(each._is_inside() for each in list(self._all)):
                self._changed.wait_for(lambda: self._at_work is None)
            self._holders += 1
            if self._are_paused or self._at_work is not None:
                return
            self._at_work = get_ident()
        done = False
        try:
            for source in [source for source in self._sources() if not source.is_paused]:
                if all(source is not other for other in self._paused):
                    self._paused.append(source)  # first, so that one that fails half-way is resumed
                source.pause()
            done = True
        finally:
            self._end_work(are_paused=done)
            if not done:
                self._let_go()

    def _let_go(self) -> None:
        with self._changed:
            self._holders -= 1
            if self._holders or self._at_work is not None:
                return
            self._at_work = get_ident()
            going_on, self._paused = self._paused, []
        try:
            # One that fails to resume holds up no other.
            with ExitStack() as resuming:
                for source in going_on:
                    resuming.callback(source.resume)
        finally:
            self._end_work(are_paused=False)

    def _end_work(self, *, are_paused: bool) -> None:
        with self._changed:
            self._at_work = None
            self._are_paused = are_paused
            self._changed.notify_all()
