"""Clock of an app: playback, advancing time, reading it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.runtime.clock import LATEST_MS, Heartbeat

if TYPE_CHECKING:
    from siddhi._core.record.user_event import _Time
    from siddhi._core.runtime.context import AppContext
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["AppClock"]


class AppClock:
    """Base of :class:`SiddhiAppRuntime`.

    Args:
        assembly: the app's operators.
    """

    _context: AppContext

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._context = assembly.context
        self._heartbeat: Heartbeat | None = None
        self._heartbeat_settings: tuple[int, int] | None = None
        playback = assembly.plan.playback
        if playback is not None:
            self.enable_playback(
                True,
                idle_time=playback.idle_time_ms,
                increment=playback.increment_ms,
                timers="exact" if playback.exact else "jump",
            )

    def enable_playback(
        self,
        enabled: bool = True,
        *,
        idle_time: int | None = None,
        increment: int | None = None,
        timers: str | None = None,
    ) -> None:
        """Let the timestamps of events drive the app's clock, or return to the system clock.

        In a running app, operators that count time from the start (triggers, output rates, a leading ``not X for t``) count
        it from the next event, as if playback had been enabled before the start.

        Args:
            enabled: whether events drive the clock.
            idle_time: ms of system time without an event after which the clock advances by itself; requires ``increment``.
            increment: ms by which it advances then.
            timers: ``"exact"``: when an event moves the clock past timers, each runs at its own time, in time order, before
                the clock reaches the event, as in live mode; ``"jump"``: all run at the event's time, as in Siddhi. None:
                the value of the app's ``@app:playback`` (``"jump"`` unless it says otherwise); without the annotation
                ``"exact"``.

        Raises:
            TypeError: ``idle_time`` or ``increment`` is not an int.
            ValueError: only one of the two is given, one is out of range, ``timers`` is not one of the two values, or an app
                with temporal streams, or one that corrects late events, would leave the time of its events.
        """
        from siddhi.planner.bind.app_annotations import TIMER_RULES
        from siddhi.query_compiler.time_units import LONGEST_MS

        if (idle_time is None) != (increment is None):
            raise ValueError("idle_time and increment must be given together")
        for name, value in (("idle_time", idle_time), ("increment", increment)):
            if value is not None and type(value) is not int:
                raise TypeError(f"invalid {name} {value!r}: expected a whole number of ms (int)")
            if value is not None and not 0 <= value <= LONGEST_MS:
                raise ValueError(f"invalid {name} {value} ms: expected a duration from 0 ms to {LONGEST_MS} ms")
        if not enabled or idle_time is not None:
            self._require_system_clock_allowed()
        if timers is None:
            said = self._assembly.plan.playback
            timers = "exact" if said is None or said.exact else "jump"
        if timers not in TIMER_RULES:
            raise ValueError(f"invalid timers {timers!r}: expected {' or '.join(map(repr, TIMER_RULES))}")
        with self._context.lock:
            begins = enabled and self._context.running and not self._context.playback
            self._context.set_playback(enabled)
            if begins:
                self._assembly.await_first_instant()
        self._context.set_exact_timers(timers == "exact")
        self._stop_heartbeat()
        self._heartbeat_settings = (idle_time, increment) if enabled and idle_time and increment else None
        if self._context.running:
            self._start_heartbeat()
            if not enabled and self._context.wake is not None:
                # Timers that were set in playback may be due, or become due, by the system clock.
                self._context.wake()

    def _require_system_clock_allowed(self) -> None:
        """Refuse what would make results depend on the system's clock, in an app whose results depend on its events alone."""
        assembly = self._assembly
        if assembly.corrections is not None or assembly.temporal is not None:
            what = "corrects late events" if assembly.corrections is not None else "has temporal streams"
            raise ValueError(
                f"app '{self._context.name}' {what}: its clock follows its events alone, without a heartbeat"
            )

    def advance_clock(self, timestamp: _Time) -> None:
        """Move the playback clock to a time (ms, a datetime with a zone or a ``numpy.datetime64``) and fire the timers due by then, as an event would; never move it back.

        Temporal streams that are sent to get a CTI at this time.

        Raises:
            TypeError: it is not a time.
            ValueError: the time is not between -2^62 and 2^62, or the app is not in playback.
        """
        self._require_playback()
        self._advance(timestamp)

    def advance_to_end(self, *, most_rounds: int = 1_000_000) -> None:
        """End the input of an app in playback: advance the clock until no buffered event waits for time to pass.

        Time windows expire, batches and sessions end, absent patterns match, rate limits emit their buffers. The clock stays
        at the last timer that had an effect. Temporal streams that are sent to get a CTI at ``siddhi.temporal.MAX``.

        Args:
            most_rounds: maximum number of advances; each goes to the last timer awaited then. Events emitted before the
                maximum is reached stay emitted.

        Raises:
            ValueError: the app is not in playback, or its timers never end: the message names the cause.
        """
        from siddhi.planner.plan.endless import endless_parts

        self._require_playback()
        endless = endless_parts(self._assembly.plan)
        if endless:
            raise ValueError(
                f"the timers of app '{self._context.name}' never end: {'; '.join(part.reason for part in endless)}"
            )
        if self._assembly.temporal is not None:
            self._assembly.temporal.advance_inputs()
        latest = self._context.latest_awaited()
        rounds = 0
        while latest is not None:
            if rounds == most_rounds:
                raise ValueError(
                    f"the timers of app '{self._context.name}' do not end: at {self.now}, after {rounds} rounds, "
                    f"{self._waiting()} still waits for time to pass"
                )
            if latest > LATEST_MS:
                raise ValueError(
                    f"the timers of app '{self._context.name}' do not end: {self._waiting()} waits for {latest}, "
                    f"which is later than the last valid time {LATEST_MS}"
                )
            rounds += 1
            self._advance(latest)
            latest = self._context.latest_awaited()

    def held_back(self) -> tuple[str, int] | None:
        """Return which query holds events that wait for time to pass in playback, and until when (ms); None: none does.

        The query is written as ``query 'name'``, or ``a part of the app`` where no query holds them.
        """
        latest = self._context.latest_awaited() if self._context.playback else None
        return None if latest is None else (self._waiting(), latest)

    def _advance(self, timestamp: _Time) -> None:
        corrections, temporal = self._assembly.corrections, self._assembly.temporal
        if corrections is not None:
            corrections.core.advance_clock(timestamp)
            return
        if temporal is not None:
            temporal.advance_inputs(timestamp)
        self._context.advance_clock(timestamp)

    def _waiting(self) -> str:
        """Name a query whose timers are awaited."""
        targets = {id(target) for target in self._context.awaited_targets()}
        for name, query in self._assembly.queries.items():
            if any(id(step) in targets for step in query.stateful.values()):
                return f"query '{name}'"
        return "a part of the app"

    @property
    def is_in_playback(self) -> bool:
        """Whether the timestamps of events drive the clock."""
        return self._context.playback

    @property
    def now(self) -> int:
        """The app's clock in ms."""
        return self._context.now

    @property
    def next_due(self) -> int | None:
        """Time (ms) at which the next timer is due, or None."""
        return self._context.next_due

    def _bind_clock(self, assembly: Assembly) -> None:
        """Switch to new operators with the same clock settings; the clock starts anew."""
        before = self._context
        self._assembly = assembly
        self._context = assembly.context
        self._context.set_playback(before.playback)
        self._context.set_exact_timers(before.exact)

    def _start_heartbeat(self) -> None:
        if self._heartbeat_settings is not None and self._heartbeat is None:
            idle, increment = self._heartbeat_settings
            self._heartbeat = Heartbeat(self._context, idle, increment)

    def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()
            self._heartbeat = None

    def _require_playback(self) -> None:
        if not self._context.playback:
            raise ValueError(
                f"app '{self._context.name}' is not in playback: call enable_playback(), or write @app:playback in the app"
            )
