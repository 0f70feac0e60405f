"""Changing a running app: its operators are built anew beside those that run, and exchanged while events wait."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from siddhi._core.snapshot.format import SnapshotReader
from siddhi._core.stream.trigger import StartTrigger
from siddhi.errors import (
    CannotChangeAppError,
    CannotRestoreStateError,
    CannotSaveStateError,
    SiddhiAppCreationError,
    SiddhiAppError,
)
from siddhi.runtime.state.app_state import AppState
from siddhi.runtime.state.identity import name_in, names_of

if TYPE_CHECKING:
    from siddhi._core.runtime.context import AppContext
    from siddhi._core.stream.junction import StreamJunction
    from siddhi.persistence import PersistenceStore
    from siddhi.planner.plan.nodes import Plan
    from siddhi.query_api.app import SiddhiApp
    from siddhi.runtime.app import Construction
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.assembly.async_stream import AsyncStream
    from siddhi.runtime.assembly.handover import Handover
    from siddhi.runtime.assembly.kept import Kept
    from siddhi.runtime.attachments import Attachments
    from siddhi.runtime.change.matching import Matching, Parts
    from siddhi.runtime.change.result import AppChange
    from siddhi.runtime.change.single import Ledger
    from siddhi.runtime.change.stored import StoredStates
    from siddhi.runtime.change.text import Added
    from siddhi.runtime.state.snapshot import SnapshotService

__all__ = ["AppChanges"]

logger = logging.getLogger("siddhi")

_INSIDE = "it was requested from within a callback or function of the app, whose event is still being processed"
_LATER = "change the app after the send has returned, or from another thread"


class AppChanges(AppState):
    """Base of :class:`SiddhiAppRuntime`: changes of the app while it runs."""

    _construction: Construction
    _context: AppContext
    """Shared by all operators of the app, those before and those after a change."""
    _attachments: Attachments
    _state_lock: threading.Lock
    """Guards start and shutdown."""

    def __init__(
        self, assembly: Assembly, persistence_store: Callable[[], tuple[PersistenceStore, bool] | None]
    ) -> None:
        super().__init__(assembly, persistence_store)
        self._one_change = threading.Lock()
        self._parts: Parts | None = None
        """Of the last change: the next one compares with them."""
        self._ledger: Ledger | None = None
        """Of the last query that was added or removed alone."""

    def replace(self, new_text: str | SiddhiApp, /, reset: Iterable[str] = (), **parameters: object) -> AppChange:
        """Replace the text of the app while it runs. What is the same in both texts continues as if nothing had happened.

        An element (query, partition, table, window, aggregation, trigger) whose definition and inputs are the same keeps its
        state, with pending timers and buffered events. Queries without a name are recognized by their text. An element that
        has changed and holds state must be named in ``reset``: it starts anew. Callbacks, input handlers, collected events,
        and sources and sinks whose definition is the same go on. Events that arrive meanwhile wait.

        Args:
            new_text: text of the whole app, or its object model. Without ``@app:name`` it has the name of this app.
            reset: names of elements that start with empty state, also if they have not changed: ``"q"``, or, where several
                elements have the name, ``"query 'q'"``. The name of a stream allows its attributes to change.
            parameters: values of ``${name}`` in the text.

        Returns:
            What was kept, started anew, added and removed, and how long events waited.

        Raises:
            SiddhiAppError, TypeError: the new text is not an app; nothing has changed.
            ValueError: ``reset`` names an element that neither text has; nothing has changed.
            CannotChangeAppError: elements have changed and are not named in ``reset``, or the app can't be changed in this
                way; the error has every reason, and nothing has changed.
            NotRunningError: the app is being shut down.
            Exception: a new sink, or a store, failed to connect: nothing has changed. Or a new source did: the app has
                changed.
        """
        return self._replace(lambda _: new_text, names_of(reset), parameters)

    def add(self, text: str, /, **parameters: object) -> AppChange:
        """Add definitions, queries and partitions to the app while it runs. All others continue.

        Args:
            text: SiddhiQL, without annotations of the app.
            parameters: values of ``${name}`` in the text.

        Raises:
            SiddhiAppError, TypeError, CannotChangeAppError, NotRunningError: as :meth:`replace`; nothing has changed.
        """
        from siddhi.query_compiler.variables import bind_parameters
        from siddhi.runtime.change.text import with_added

        bound = bind_parameters(text, parameters) if parameters else text
        self._require_outside()
        if (change := self._add_alone(bound)) is not None:
            return change
        added: Added | None = None

        def text_of(plan: Plan) -> str:
            nonlocal added
            added = with_added(plan, bound, ("*",) if plan.policy is None else plan.policy.environment)
            return added.text

        try:
            return self._replace(text_of, (), {})
        except SiddhiAppError as error:
            if added is not None:
                added.locate(error)
            raise

    def remove(self, name: str, /) -> AppChange:
        """Remove a query, partition or definition from the app while it runs. All others continue.

        Args:
            name: its name, or, where several elements have it, ``"query 'q'"``.

        Raises:
            DefinitionNotExistError: there is no such element.
            CannotChangeAppError: other elements depend on it, or a callback is attached to it; nothing has changed.
            NotRunningError: as :meth:`replace`.
        """
        from siddhi.runtime.change.text import without

        self._require_outside()
        if (change := self._remove_alone(name)) is not None:
            return change
        return self._replace(lambda plan: without(plan, name), (), {})

    # --- inside

    def _add_alone(self, text: object) -> AppChange | None:
        """Add queries without a change of anything else; None: the app has to be changed as a whole."""
        from siddhi.runtime.assembly.elements import query_element
        from siddhi.runtime.change.result import AppChange
        from siddhi.runtime.change.single import kept_of

        with self._one_change:
            if not isinstance(text, str):
                return None
            ledger = self._ledger_now()
            addition = None if ledger is None else ledger.addition(text, self._construction.manager.plan_added)
            if ledger is None or addition is None:
                return None
            construction = self._construction.manager.construction_of(addition.plan, replace=True)
            kept: tuple[str, ...] = ()

            def take_up() -> None:
                nonlocal kept
                kept = kept_of(self._state.elements)
                assembly, context = self._assembly, self._context
                starting = len(assembly.starting)
                timers = context.pending_timers()
                try:
                    built = assembly.add_queries(addition.queries)
                except BaseException:
                    context.set_timers(timers)
                    raise
                # From here on nothing fails.
                ledger.add(addition)
                self._construction = construction
                for query in built:
                    if query.stateful:
                        self._state.include(f"query '{query.name}'", query_element(query, ledger.statement(query.name)))
                assembly.follow(addition.plan)
                if context.running:
                    for element in assembly.starting[starting:]:
                        element.start()
                self._sharding.begin(self._state)

            try:
                pause = self._apply(take_up)
            except SiddhiAppCreationError:
                return None  # the engine can't run it: a change of the whole app says so, with the place in the text
            for warning in addition.warnings:
                logger.warning("app '%s': %s", addition.plan.name, warning)
            return AppChange(kept, added=tuple([f"query '{query.name}'" for query in addition.queries]), pause_ns=pause)

    def _remove_alone(self, name: object) -> AppChange | None:
        """Remove a query without a change of anything else; None: the app has to be changed as a whole."""
        from siddhi.runtime.change.result import AppChange
        from siddhi.runtime.change.single import kept_of

        with self._one_change:
            if not isinstance(name, str):
                return None
            ledger = self._ledger_now()
            own = name[len("query '") : -1] if name.startswith("query '") and name.endswith("'") else name
            removal = None if ledger is None or self._attachments.is_named(own) else ledger.removal(own)
            if ledger is None or removal is None:
                return None
            construction = self._construction.manager.construction_of(removal.plan, replace=True)
            kept: tuple[str, ...] = ()

            def take_away() -> None:
                nonlocal kept
                self._assembly.remove_query(own, removal.number)
                ledger.remove(removal)
                self._construction = construction
                self._state.leave_out(f"query '{own}'")
                kept = kept_of(self._state.elements)
                self._assembly.follow(removal.plan)

            pause = self._apply(take_away)
            return AppChange(kept, removed=(f"query '{own}'",), pause_ns=pause)

    def _ledger_now(self) -> Ledger | None:
        """Return the ledger of the present plan; None: its queries can't be added and removed alone."""
        from siddhi.runtime.change.single import Ledger

        plan = self._construction.plan
        if self._is_watched() or not Ledger.fits(plan):
            return None
        if self._ledger is None or self._ledger.plan is not plan:
            self._ledger = Ledger(plan)
        return self._ledger

    def _apply(self, change: Callable[[], None]) -> int:
        """Change the running operators while no event is being processed; return for how many ns events waited."""
        context = self._context
        with self._gate.closed():
            while True:
                with context.lock:
                    started = time.perf_counter_ns()
                    if context.lock.is_borrowed:
                        raise CannotChangeAppError(f"app '{context.name}' was not changed: {_INSIDE}; {_LATER}")
                    # Callbacks may shut down: who waits for this lock may hold the app's.
                    if self._state_lock.acquire(blocking=False):
                        try:
                            self._require_open()
                            change()
                        finally:
                            self._state_lock.release()
                        pause = time.perf_counter_ns() - started
                        self._note_change(pause / 1e9)
                        return pause
                with self._state_lock:  # wait until start or shutdown has ended
                    pass

    def _replace(
        self, text_of: Callable[[Plan], str | SiddhiApp], reset: tuple[str, ...], parameters: Mapping[str, object]
    ) -> AppChange:
        """Change the app to the text that follows from its plan, in which no other thread changes the app meanwhile."""
        self._require_outside()
        with self._one_change:
            construction, plan = self._construction, self._construction.plan
            new = construction.manager.construction(
                text_of(plan), policy=plan.policy, replace=True, parameters=parameters, name=plan.name
            )
            return self._change(new, reset)

    def _change(self, new: Construction, reset: tuple[str, ...]) -> AppChange:
        from siddhi.runtime.assembly.elements import stateful_elements

        # Imported with the first change: most apps are not changed.
        from siddhi.runtime.assembly.handover import Handover
        from siddhi.runtime.assembly.kept import Kept
        from siddhi.runtime.change.matching import Parts, match
        from siddhi.runtime.change.result import AppChange
        from siddhi.runtime.state.snapshot import SnapshotService

        self._rebuild_if_closed()
        former = self._assembly
        self._require_changeable(former.plan, new.plan)
        before = self._parts
        if before is None or before.plan is not former.plan:
            before = Parts(former.plan)
        now = Parts(new.plan)
        requested = now.requested(reset, before)  # raises before anything is built
        kept = Kept(former, new.plan, requested)
        assembly = new.build(former.context, kept)
        begun = kept.new_of(assembly)
        try:
            state = SnapshotService(former.context, stateful_elements(assembly, now.statements))
            matching = match(before, now, self._state.elements, state.elements, reset)
            self._require_fit(former, assembly, matching, requested)
            if self._context.running:
                begun.connect_sinks()
            handover = Handover(former, assembly, matching)
            with self._gate.closed():
                pause = self._exchange(new, assembly, state, kept, matching, requested, handover)
        except BaseException:
            begun.stop()
            raise
        self._parts = now
        left = kept.left()
        left.stop()
        _end(former, assembly)
        if self._context.running:
            begun.connect_sources()
        return AppChange(matching.kept, matching.started_anew, matching.added, matching.removed, pause)

    def _restore_anew(self, snapshot: bytes, reset: tuple[str, ...]) -> None:
        """Restore a snapshot of another version of the app, without the elements that start anew.

        Raises:
            NotRunningError, CannotRestoreStateError, ValueError: as :meth:`restore`; the state is unchanged.
        """
        from siddhi.runtime.assembly.elements import stateful_elements
        from siddhi.runtime.assembly.kept import Kept
        from siddhi.runtime.change.matching import Matching, Parts
        from siddhi.runtime.change.stored import StoredStates
        from siddhi.runtime.state.snapshot import SnapshotService

        if self._context.lock.is_mine:
            raise self._not_restored(f"{_INSIDE}; restore after the send has returned")
        with self._one_change:
            self._rebuild_if_closed()
            former, construction = self._assembly, self._construction
            if former.corrections is not None or former.temporal is not None:
                raise self._not_restored(
                    "an app with temporal or corrected streams has one state: reset is not supported"
                )
            parts = Parts(former.plan)
            kept = Kept(former, former.plan, None)
            with former.connectors.paused():
                assembly = construction.build(former.context, kept)
                state = SnapshotService(former.context, stateful_elements(assembly))
                stored = StoredStates(state, snapshot, parts, reset)
                if stored.reasons:
                    raise self._not_restored("\n".join(stored.reasons.values()))
                queries = {name: name for name in former.built_queries()} | {name: name for name in former.queries}
                moves = {label: label for label in self._state.elements if label not in stored.anew}
                try:
                    with self._gate.closed():
                        self._exchange(
                            construction, assembly, state, kept, Matching(moves, queries), set(), stored=stored
                        )
                except CannotChangeAppError as error:
                    raise self._not_restored(error) from error
            _end(former, assembly)

    def _not_restored(self, why: object) -> CannotRestoreStateError:
        return CannotRestoreStateError(f"the state of app '{self._context.name}' was not restored: {why}")

    def _exchange(
        self,
        new: Construction,
        assembly: Assembly,
        state: SnapshotService,
        kept: Kept,
        matching: Matching,
        requested: set[str],
        handover: Handover | None = None,
        stored: StoredStates | None = None,
    ) -> int:
        """Exchange the operators; return for how many ns events waited.

        Args:
            handover: queries whose operators go on; None: there are none.
            stored: states of a snapshot, instead of the present ones; None: there is no snapshot.
        """
        former, context = self._assembly, self._context
        running = context.running
        while True:
            with context.lock:
                started = time.perf_counter_ns()
                if context.lock.is_borrowed:
                    raise CannotChangeAppError(f"app '{context.name}' was not changed: {_INSIDE}; {_LATER}")
                # Callbacks may shut down: who waits for this lock may hold the app's.
                if self._state_lock.acquire(blocking=False):
                    try:
                        self._require_open()
                        if context.running is not running:
                            raise CannotChangeAppError(
                                f"app '{context.name}' was not changed: it was started meanwhile"
                            )
                        self._require_fit(former, assembly, matching, requested)
                        self._move_state(assembly, state, kept, matching, handover, stored)
                        # From here on nothing fails.
                        late = self._leave_buffers(former, assembly, requested)
                        self._leave_calls(former, assembly, matching)
                        kept.redirect(assembly)
                        self._pass_over_starts(assembly, matching)
                        self._install(new, assembly, state, matching.queries)
                    finally:
                        self._state_lock.release()
                    for stream, junction in late:
                        stream.deliver_to(junction)
                    if running:
                        assembly.start()
                    pause = time.perf_counter_ns() - started
                    self._note_change(pause / 1e9)
                    return pause
            with self._state_lock:  # wait until start or shutdown has ended
                pass

    def _move_state(
        self,
        assembly: Assembly,
        state: SnapshotService,
        kept: Kept,
        matching: Matching,
        handover: Handover | None,
        stored: StoredStates | None,
    ) -> None:
        """Load the states into the new operators; if that fails, all is as before."""
        context = self._context
        present = matching.moves.items()
        handed = set() if handover is None else handover.labels
        try:
            states = {
                target: SnapshotReader(self._state.save_element(label)).part()
                for label, target in present
                if target in state.elements
                and target not in kept.tables
                and target not in handed
                and (stored is None or target not in stored.states)
            }
        except CannotSaveStateError as error:
            raise CannotChangeAppError(f"app '{context.name}' was not changed: {error}") from error
        timers, clock = context.pending_timers(), context.now
        # Those of operators that go on, and of those that start, stay; the others are set again by the operators that load
        # the states.
        going_on = set() if handover is None else {id(step) for step in handover.steps()}
        loaded = states.keys() | handed if stored is None else states.keys() | stored.states.keys()
        for name, query in assembly.top_level_queries():
            if f"query '{name}'" not in loaded:
                going_on |= {id(step) for step in query.timed_steps().values()}
        context.set_timers([timer for timer in timers if id(timer[0]) in going_on])
        try:
            if stored is not None:
                states |= stored.states
                if stored.clock is not None:
                    context.restore_clock(stored.clock)
            state.load_elements(states)
            if stored is not None:
                self._state.load_elements(stored.buffers, renew=False)
        except BaseException as error:
            context.restore_clock(clock)
            context.set_timers(timers)
            if not isinstance(error, Exception):
                raise
            raise CannotChangeAppError(
                f"app '{context.name}' was not changed: a state could not be moved: {error}"
            ) from error
        if handover is not None:
            handover.move(state)

    def _leave_buffers(
        self, former: Assembly, assembly: Assembly, requested: set[str]
    ) -> list[tuple[AsyncStream, StreamJunction]]:
        """Hand over the buffers of ``@async`` streams; return the streams that have none any more, whose events are left."""
        late = []
        for id_, stream in former.async_streams.items():
            junction = assembly.junctions.get(id_)
            if junction is None:
                stream.leave_to(None)
                continue
            goes_on = (
                former.junctions[id_].layout.names == junction.layout.names
                and former.junctions[id_].layout.types == junction.layout.types
                and f"stream '{id_}'" not in requested
            )
            if goes_on and id_ not in assembly.async_streams:
                late.append((stream, junction))
            else:
                stream.leave_to(assembly.async_streams[id_] if goes_on else None)
        return late

    def _leave_calls(self, former: Assembly, assembly: Assembly, matching: Matching) -> None:
        """Hand over the calls of coroutine functions; cancel those of queries that start anew or are removed."""
        for name, calls in former.awaited.items():
            target = matching.moves.get(f"query '{name}'")
            if target is None:
                calls.cancel("its query was reset or removed")
            else:
                moved = name_in(target)
                calls.move_to(assembly.awaited[moved].operator)
                assembly.awaited[moved] = calls

    def _pass_over_starts(self, assembly: Assembly, matching: Matching) -> None:
        """Let triggers not fire at the start again."""
        if self._context.running:
            for id_, trigger in assembly.triggers.items():
                if isinstance(trigger, StartTrigger) and f"trigger '{id_}'" in matching.moves.values():
                    trigger.pass_over()

    def _require_outside(self) -> None:
        lock = self._context.lock
        if lock.is_mine:
            raise CannotChangeAppError(f"app '{self._context.name}' was not changed: {_INSIDE}; {_LATER}")

    def _require_changeable(self, before: Plan, now: Plan) -> None:
        """Refuse changes that no running app supports."""
        reasons: dict[str, str] = {}
        name = before.name
        if now.name != name:
            reasons["@app:name"] = f"the new text names the app '{now.name}'"
        for plan in (before, now):
            for stream in plan.streams.values():
                if stream.correction is not None:
                    reasons[f"stream '{stream.id}'"] = (
                        "it corrects late events, so that its state is that of the whole app"
                    )
                elif stream.temporal is not None:
                    reasons[f"stream '{stream.id}'"] = (
                        "it is temporal: its lifetimes are one state with all temporal queries"
                    )
        if before.playback != now.playback:
            reasons["@app:playback"] = "the clock of a running app is not exchanged; see enable_playback()"
        if now.is_on_both_sides_of_broker() and not before.is_on_both_sides_of_broker():
            reasons["inMemory"] = "the app begins to both publish to and read from the in-memory broker"
        self._refuse(reasons, "shut the app down and start the new one")

    def _require_fit(self, former: Assembly, assembly: Assembly, matching: Matching, requested: set[str]) -> None:
        """Raise an error with every reason why elements can't go on."""
        reasons = dict(matching.reasons)
        for id_, junction in assembly.junctions.items():
            old = former.junctions.get(id_)
            if (
                old is not None
                and (old.layout.names, old.layout.types) != (junction.layout.names, junction.layout.types)
                and f"stream '{id_}'" not in requested
                and self._attachments.is_used(id_)
            ):
                reasons.setdefault(
                    f"stream '{id_}'", "its attributes have changed, while callbacks or input handlers use it"
                )
        reasons |= self._attachments.misfits(assembly, matching.queries)
        self._refuse(reasons, "name those that may start anew with reset=..., and remove callbacks of what is removed")

    def _refuse(self, reasons: Mapping[str, str], hint: str) -> None:
        if reasons:
            listed = "\n".join(f"  {label}: {reason}" for label, reason in reasons.items())
            raise CannotChangeAppError(f"app '{self._context.name}' was not changed:\n{listed}\n{hint}", reasons)

    def _require_open(self) -> None:
        """Raise NotRunningError if the app is being shut down."""
        raise NotImplementedError

    def _install(
        self, construction: Construction, assembly: Assembly, state: SnapshotService, queries: Mapping[str, str]
    ) -> None:
        """Replace the operators by those of another version of the app, whose state is in place."""
        raise NotImplementedError

    def _note_change(self, seconds: float) -> None:
        raise NotImplementedError

    def _is_watched(self) -> bool:
        """Return whether a debugger, a profile or statistics look at the operators: they follow changes as a whole only."""
        raise NotImplementedError


def _end(former: Assembly, assembly: Assembly) -> None:
    """Wait for the end of the threads of operators that were exchanged."""
    for stream in former.async_streams.values():
        stream.join()
    for calls in former.awaited.values():
        if calls not in assembly.awaited.values():
            calls.stop()
