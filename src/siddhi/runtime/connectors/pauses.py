"""Pauses the sources of an app while its state is saved or restored."""

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
    """Counted pauses: several callers may pause the sources of an app; the first pauses, the last resumes.

    A caller waits while another thread is still pausing or resuming the sources. A thread that is processing an event of an
    app does not wait: a source, or the thread that pauses it, may be waiting for that thread.

    Args:
        sources: returns all sources of the app.
        is_inside: whether the calling thread is processing an event of the app.
    """

    _all: ClassVar[WeakSet[SourcePauses]] = WeakSet()

    def __init__(self, sources: Callable[[], Iterable[Source]], is_inside: Callable[[], bool]) -> None:
        self._sources = sources
        self._is_inside = is_inside
        self._changed = Condition()
        self._holders = 0
        self._paused: list[Source] = []
        self._are_paused = False
        self._active_thread: int | None = None  # the thread that is pausing or resuming the sources
        self._all.add(self)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause all sources until the block ends; sources that were paused before stay paused."""
        self._pause()
        try:
            yield
        finally:
            self._release()

    def _pause(self) -> None:
        with self._changed:
            if self._active_thread not in (None, get_ident()) and not any(
                each._is_inside() for each in list(self._all)
            ):
                self._changed.wait_for(lambda: self._active_thread is None)
            self._holders += 1
            if self._are_paused or self._active_thread is not None:
                return
            self._active_thread = get_ident()
        done = False
        try:
            for source in [source for source in self._sources() if not source.is_paused]:
                if all(source is not other for other in self._paused):
                    self._paused.append(source)  # before pause(), so that a source that fails half-way is resumed
                source.pause()
            done = True
        finally:
            self._finish(are_paused=done)
            if not done:
                self._release()

    def _release(self) -> None:
        with self._changed:
            self._holders -= 1
            if self._holders or self._active_thread is not None:
                return
            self._active_thread = get_ident()
            resumed, self._paused = self._paused, []
        try:
            # If one fails to resume, the others are resumed all the same.
            with ExitStack() as resuming:
                for source in resumed:
                    resuming.callback(source.resume)
        finally:
            self._finish(are_paused=False)

    def _finish(self, *, are_paused: bool) -> None:
        with self._changed:
            self._active_thread = None
            self._are_paused = are_paused
            self._changed.notify_all()
