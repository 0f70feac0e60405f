"""What users do with the clock of an app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.runtime.clock import LATEST_MS, Heartbeat

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["AppClock"]


class AppClock:
    """Base of :class:`SiddhiAppRuntime`.

    Args:
        assembly: the app's operators.
    """

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
        """Let the timestamps of events drive the app's clock, or go back to the system's clock.

        In an app that runs, what counts time from the start (triggers, output rates, a leading ``not X for t``) counts it
        from the next event on, as if playback had been enabled before the start.

        Args:
            enabled: whether events drive the clock.
            idle_time: ms of system time without an event after which the clock moves on by itself; with ``increment``.
            increment: ms it moves then.
            timers: ``"exact"``: each timer that an event moves the clock over runs at its own time, in time order, before
                the clock goes on to the event, as on the live clock; ``"jump"``: they all run at the event's time, as
                Siddhi does it. None: what the app's ``@app:playback`` says (without a word ``"jump"``), in an app without
                ``"exact"``.

        Raises:
            TypeError: one of the two times is not an int.
            ValueError: only one of the two times is given, one is out of range, or ``timers`` is neither.
        """
        from siddhi.planner.bind.app_annotations import TIMER_RULES
        from siddhi.query_compiler.time_units import LONGEST_MS

        if (idle_time is None) != (increment is None):
            raise ValueError("idle_time and increment go together")
        for name, value in (("idle_time", idle_time), ("increment", increment)):
            if value is not None and type(value) is not int:
                raise TypeError(f"{name} = {value!r}: it is a whole number of ms")
            if value is not None and not 0 <= value <= LONGEST_MS:
                raise ValueError(f"{name} = {value} ms: it is a duration from 0 ms to {LONGEST_MS} ms")
        if timers is None:
            said = self._assembly.plan.playback
            timers = "exact" if said is None or said.exact else "jump"
        if timers not in TIMER_RULES:
            raise ValueError(f"timers = {timers!r}: it is {' or '.join(map(repr, TIMER_RULES))}")
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
                # Timers that events were to bring about may be due, or will be, by the system's clock.
                self._context.wake()

    def advance_clock(self, timestamp: int) -> None:
        """Playback: move the clock to a time (ms) and fire the timers due by then, as an event would. It never goes back.

        Raises:
            TypeError: the time is not an integer.
            ValueError: it is not between -2^62 and 2^62, or the app is not in playback.
        """
        self._require_playback()
        self._context.advance_clock(timestamp)

    def advance_to_end(self, *, most_rounds: int = 1_000_000) -> None:
        """Playback: the input has ended; let time pass until nothing held waits for it any more.

        Windows of time run empty, batches and sessions end, absences are noticed, rate limits hand out what they hold.
        The clock stays at the last timer that had something to do.

        Args:
            most_rounds: how often time may pass until the last timer that is awaited then; what has been put out by the last
                round has been put out.

        Raises:
            ValueError: the app is not in playback, or it does not come to rest: the message names what goes on.
        """
        from siddhi.planner.plan.endless import endless_parts

        self._require_playback()
        endless = endless_parts(self._assembly.plan)
        if endless:
            raise ValueError(
                f"app '{self._context.name}' never comes to rest: {'; '.join(part.reason for part in endless)}"
            )
        latest = self._context.latest_awaited()
        rounds = 0
        while latest is not None:
            if rounds == most_rounds:
                raise ValueError(
                    f"app '{self._context.name}' does not come to rest: at {self.now}, after {rounds} rounds, "
                    f"{self._waiting()} still waits for time to pass"
                )
            if latest > LATEST_MS:
                raise ValueError(
                    f"app '{self._context.name}' does not come to rest: {self._waiting()} waits for {latest}, "
                    "which is beyond the last time there is"
                )
            rounds += 1
            self._context.advance_clock(latest)
            latest = self._context.latest_awaited()

    def _waiting(self) -> str:
        """A query whose timers are awaited."""
        targets = {id(target) for target in self._context.awaited_targets()}
        for name, query in self._assembly.queries.items():
            if any(id(step) in targets for step in query.stateful.values()):
                return f"query '{name}'"
        return "a part of it"

    @property
    def now(self) -> int:
        """The app's clock in ms."""
        return self._context.now

    @property
    def next_due(self) -> int | None:
        """When the next timer is due (ms), or None."""
        return self._context.next_due

    def _keep_time_of(self, assembly: Assembly) -> None:
        """Go on with other operators, by the clock that was asked for; it begins anew."""
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
            raise ValueError(f"app '{self._context.name}' follows the system's clock")
