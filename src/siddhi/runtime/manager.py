"""SiddhiManager: creates apps; owns the extensions and stores that they share."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING

from siddhi._frozen import replace as replace_fields
from siddhi.errors import (
    ExtensionError,
    NoPersistenceStoreError,
    NotRunningError,
    PersistenceStoreError,
    SiddhiAppCreationError,
    SiddhiAppError,
    SiddhiError,
)
from siddhi.runtime.app import Construction, SiddhiAppRuntime
from siddhi.runtime.state.names import refuse_names
from siddhi.sandbox import SandboxPolicy

if TYPE_CHECKING:
    from collections import Counter

    from siddhi._core.runtime.context import AppContext
    from siddhi.config import ConfigManager
    from siddhi.extension.registry import Registry
    from siddhi.persistence import ErrorStore, PersistenceStore
    from siddhi.planner.added import AddedQueries
    from siddhi.query_api.app import SiddhiApp
    from siddhi.query_api.query import Query
    from siddhi.runtime.assembly.app import Assembly, Plan
    from siddhi.runtime.assembly.kept import Kept
    from siddhi.runtime.connectors.retry import RetryScheduler
    from siddhi.runtime.state.periodic import PeriodicPersistence

__all__ = ["SiddhiManager"]

_LONG = 50_000
"""Characters of an app, some hundred queries, whose creation is worth a pause of garbage collection."""
logger = logging.getLogger("siddhi")


class SiddhiManager:
    """Creates apps; they share its extensions and its persistence store. A context manager: leaving shuts all apps down.

    Args:
        policy: permissions and limits of apps whose text is not trusted; None: no restrictions.
        allow_scripts: whether apps may contain ``define function f[python]`` bodies, which run with all the rights of this
            process. False removes scripts, and nothing else, from the policy.
        retries: schedule for reconnecting sources and sinks; None: after 5, 10, 15, 30, 60, 60, 120 seconds, then every
            5 minutes. Tests pass one that does not wait.
    """

    def __init__(
        self,
        *,
        policy: SandboxPolicy | None = None,
        allow_scripts: bool = True,
        retries: RetryScheduler | None = None,
    ) -> None:
        self._policy = _checked(policy)
        if not allow_scripts:
            self._policy = dataclasses.replace(self._policy or SandboxPolicy.trusted(), scripts=())
        self._retries = retries
        self._registry: Registry | None = None
        self._runtimes: dict[str, SiddhiAppRuntime] = {}
        self._shutdowns = 0
        self._persistence_store: PersistenceStore | None = None
        self._incremental_store: PersistenceStore | None = None
        self._periodic: PeriodicPersistence | None = None
        self._error_store: ErrorStore | None = None
        self._config: ConfigManager | None = None

    def create_siddhi_app_runtime(
        self,
        app: str | SiddhiApp,
        *,
        policy: SandboxPolicy | None = None,
        replace: bool = False,
        parameters: Mapping[str, object] | None = None,
    ) -> SiddhiAppRuntime:
        """Compile, plan and build an app.

        Args:
            app: SiddhiQL text, or its object model.
            policy: permissions and limits of this app; None: the manager's policy.
            replace: whether a running app of this name is shut down once the new one has been built. Its state is lost
                unless it was saved.
            parameters: values of ``${name}`` in the text: ``bool``, ``int``, ``float``, ``str``, or ``timedelta`` for a time
                constant. A value becomes one constant, or a part of the string constant around it, whatever characters it
                has. Every other ``${name}`` is replaced by the text of the environment variable.

        Returns:
            The app, not started. The manager keeps one runtime per name: the running one, else the last one created.

        Raises:
            TypeError: ``app`` is neither text nor object model; a parameter has another type, or is not in the text.
            ValueError: SiddhiQL has no constant for the value of a parameter.
            SiddhiParserError: the text is not SiddhiQL.
            SiddhiAppValidationError: the app contradicts itself.
            SiddhiAppCreationError: the engine can't build the app, the policy forbids it, or an app of this name is running.
                All three errors show line, column and a hint.

        Text without effect, such as a misspelt element of an annotation, is logged as a warning (logger ``siddhi``).
        """
        construction = self.construction(app, policy=policy, replace=replace, parameters=parameters or {})
        runtime = SiddhiAppRuntime.build(construction)
        construction.adopt(runtime)
        return runtime

    def create_sandbox_siddhi_app_runtime(self, app: str | SiddhiApp, *, replace: bool = False) -> SiddhiAppRuntime:
        """Create an app without access to the outside, to try it out; else as :meth:`create_siddhi_app_runtime`.

        Sources and sinks other than those of type ``inMemory`` are left out, and tables are kept in memory. All other access
        to the outside (``${variables}``, scripts, references, extensions of installed packages, the error store) is an
        error, and the limits of ``SandboxPolicy()`` apply.

        Args:
            app, replace: as :meth:`create_siddhi_app_runtime`.

        Raises:
            SiddhiAppError: as :meth:`create_siddhi_app_runtime`.
        """
        from siddhi.runtime.sandbox import SANDBOX, sandboxed

        return self.create_siddhi_app_runtime(sandboxed(_parsed(app, SANDBOX)), policy=SANDBOX, replace=replace)

    def validate_siddhi_app(self, app: str | SiddhiApp, *, policy: SandboxPolicy | None = None) -> None:
        """Create an app, start it and shut it down again; another app of its name may be running.

        Args:
            app, policy: as :meth:`create_siddhi_app_runtime`.

        Raises:
            SiddhiAppError: as :meth:`create_siddhi_app_runtime`.
        """
        construction = self.construction(app, policy=policy, replace=True, parameters={})
        with SiddhiAppRuntime.build(dataclasses.replace(construction, claim_name=lambda _: None)):
            pass

    def runtime(self, name: str) -> SiddhiAppRuntime | None:
        """Return the app of a name, or None."""
        return self._runtimes.get(name)

    @property
    def runtimes(self) -> tuple[SiddhiAppRuntime, ...]:
        """All apps, in order of creation."""
        return tuple(self._runtimes.values())

    def set_extension(self, name: str, extension: object) -> None:
        """Register an extension for the apps created from now on; an extension of the same name is replaced.

        Args:
            name: ``namespace:name`` or ``name``, as written in apps; sources, sinks and the like also as ``sink:name``.
            extension: a function or class declared with a decorator of :mod:`siddhi.extension`.

        Raises:
            ExtensionError: the object declares no extension, or one of another name.
        """
        from siddhi.extension.registry import metadata_of

        declared = tuple(metadata_of(extension))
        meant = [metadata for metadata in declared if name in metadata.names]
        if not meant:
            names = ", ".join(metadata.full_name for metadata in declared) or "nothing"
            raise ExtensionError(f"can't register {extension!r} as extension '{name}': it declares {names}")
        for metadata in meant:
            self._extensions.register(metadata, replace=True)

    def set_persistence_store(self, store: PersistenceStore | None) -> None:
        """Set the store in which apps save their whole state at each save; None removes it.

        Raises:
            ValueError: an incremental store is set: an app saves in one way only.
            TypeError: the object is not a persistence store.
            PersistenceStoreError: the store can't save under the name of an existing app.
        """
        self._require_store(store)
        if store is not None and self._incremental_store is not None:
            raise ValueError("the manager has an incremental persistence store; set that to None first")
        self._persistence_store = store

    def set_incremental_persistence_store(self, store: PersistenceStore | None) -> None:
        """Set the store in which apps save increments: only what changed since earlier revisions; None removes it.

        Whole states are saved in between: at first, after a restore, and when the increments have become larger than a whole
        state. Every revision can be restored until the store deletes it. The stores are those of
        :meth:`set_persistence_store`.

        Raises:
            ValueError: a store for whole states is set: an app saves in one way only.
            TypeError: the object is not a persistence store, or its ``save`` has no parameter ``base``, so that it would
                delete revisions on which increments depend.
            PersistenceStoreError: the store can't save under the name of an existing app.
        """
        self._require_store(store)
        if store is not None and self._persistence_store is not None:
            raise ValueError("the manager has a persistence store; set that to None first")
        if store is not None and not _takes_base(store):
            raise TypeError(f"{type(store).__name__} can't save increments: its save() has no parameter 'base'")
        self._incremental_store = store

    def persist_every(self, interval_ms: int | None) -> None:
        """Save the state of every running app periodically, by the system clock; None ends it.

        A background thread saves until :meth:`shutdown`. A failure is logged, and the next attempt follows an interval
        later.

        Args:
            interval_ms: time from the end of one save to the beginning of the next.

        Raises:
            TypeError: the interval is not an int.
            ValueError: the interval is below 1 ms.
            NoPersistenceStoreError: there is no store.
        """
        if interval_ms is not None and type(interval_ms) is not int:
            raise TypeError(f"invalid interval_ms {interval_ms!r}: expected a number of ms (int)")
        if interval_ms is not None and interval_ms < 1:
            raise ValueError(f"invalid interval_ms {interval_ms}: expected 1 or more")
        if interval_ms is not None and self._store() is None:
            raise NoPersistenceStoreError("no persistence store: call manager.set_persistence_store(...) first")
        if self._periodic is not None:
            self._periodic.stop()
            self._periodic = None
        if interval_ms is not None:
            from siddhi.runtime.state.periodic import PeriodicPersistence

            self._periodic = PeriodicPersistence(lambda: self.runtimes, interval_ms)

    def set_error_store(self, store: ErrorStore | None) -> None:
        """Set the error store for failed events of ``@OnError(action = 'store')`` and ``on.error = 'STORE'``.

        Raises:
            PersistenceStoreError: the store can't save under the name of an existing app.
        """
        for name in self._runtimes:
            if store is not None and (why := store.refuses(name)):
                raise PersistenceStoreError(f"the error store can't save events of app {name!a:.40}: {why}")
        self._error_store = store

    def set_config_manager(self, config: ConfigManager | None) -> None:
        """Set the configuration that ``ref``, extensions and aggregations read, for the apps created from now on."""
        self._config = config

    def persist(self) -> dict[str, str]:
        """Save the state of every running app; return revisions by app name.

        An app that has not been started is not saved: its state is not newer than its last revision. If one app fails, the
        others are saved all the same; the first error is raised afterwards, further ones are logged.

        Raises:
            NoPersistenceStoreError: there is no store.
            PersistenceStoreError: the store can't be read or written.
            CannotSaveStateError: the caller is a callback or function of an app that is processing an event, or the state
                of an app can't be serialized.
        """
        revisions: dict[str, str] = {}
        first: SiddhiError | None = None
        for runtime in self.runtimes:
            if runtime.is_running:
                try:
                    revisions[runtime.name] = runtime.persist()
                except SiddhiError as error:
                    if first is None:
                        first = error
                    else:
                        logger.error("app '%s' was not saved: %s", runtime.name, error)
        if first is not None:
            raise first
        return revisions

    def restore_last_state(self) -> dict[str, str | None]:
        """Restore every app from its newest revision; return revisions (None: there was none) by app name.

        Apps are restored one after the other: if one fails, those before it stay restored, those after it are unchanged.

        Raises:
            NoPersistenceStoreError: there is no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: no revision of an app can be read.
            CannotRestoreStateError: a revision does not match its app.
        """
        return {runtime.name: runtime.restore_last_revision() for runtime in self.runtimes}

    def shutdown(self) -> None:
        """Shut all apps down and end :meth:`persist_every`. The apps created so far can't be started again."""
        self._shutdowns += 1
        self.persist_every(None)
        for runtime in self.runtimes:
            runtime.shutdown()

    def __enter__(self) -> SiddhiManager:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown()

    def construction(
        self,
        app: str | SiddhiApp,
        *,
        policy: SandboxPolicy | None,
        replace: bool,
        parameters: Mapping[str, object],
        name: str | None = None,
    ) -> Construction:
        """Plan an app, and return what :class:`SiddhiAppRuntime` is built from.

        Args:
            app, policy, replace, parameters: as :meth:`create_siddhi_app_runtime`.
            name: name of the app if its text gives none; None: a random name.

        Raises:
            SiddhiAppError, TypeError, ValueError: as :meth:`create_siddhi_app_runtime`.
        """
        # Imported with the first app: a program that only imports siddhi should not load compiler and planner.
        from siddhi.planner.app import plan as make_plan

        policy = self._policy if policy is None else _checked(policy)
        with _uncollected(app):
            model = _parsed(app, policy, parameters)
        with _uncollected(app), _located(model):
            if not replace and model.name is not None:
                self._refuse_second(model.name, model)
            config = self._config
            plan = make_plan(
                model,
                registry=self._extensions,
                properties=None if config is None else config.properties(),
                config=config,
                policy=policy,
            )
            if name is not None and model.name is None:
                plan = replace_fields(plan, name=name)
            states = self._store()
            refuse_names(model, plan.name, None if states is None else states[0], self._error_store)
        for line in plan.warnings:
            logger.warning("app '%s': %s", plan.name, line)
        return self.construction_of(plan, replace=replace)

    def construction_of(self, plan: Plan, *, replace: bool) -> Construction:
        """Return what :class:`SiddhiAppRuntime` is built from, for a plan with the extensions of this manager.

        Args:
            plan: the plan.
            replace: as :meth:`create_siddhi_app_runtime`.
        """
        created, model = self._shutdowns, plan.app

        def build(context: AppContext | None = None, kept: Kept | None = None) -> Assembly:
            if self._shutdowns != created:
                raise NotRunningError(
                    f"Siddhi app '{plan.name}' cannot start again: its manager was shut down; create it again"
                )
            with _located(model):
                return self._assembled(plan, context, kept)

        def adopt(runtime: SiddhiAppRuntime) -> None:
            running = self._runtimes.get(runtime.name)
            if replace and running is not None and running.is_running:
                running.shutdown()
            self._claim_name(runtime)

        return Construction(self, plan, build, self._store, adopt, self._claim_name, self._forget)

    def plan_added(
        self, plan: Plan, added: Sequence[tuple[str, Query]], values: Mapping[str, Counter[int]]
    ) -> AddedQueries | None:
        """Plan queries that are added to an app: see :func:`siddhi.planner.added.plan_added`.

        Raises:
            SiddhiAppError: a query is invalid.
        """
        from siddhi.planner.added import plan_added

        config = self._config
        return plan_added(
            plan,
            added,
            values,
            registry=self._extensions,
            properties=None if config is None else config.properties(),
            config=config,
        )

    def _assembled(self, plan: Plan, context: AppContext | None, kept: Kept | None) -> Assembly:
        """Build the operators of an app; its scripts are compiled anew."""
        from siddhi.runtime.assembly.app import Assembly
        from siddhi.runtime.assembly.budget import record_budget

        scripts: dict[str, Callable[..., object]] = {}
        if plan.functions:
            from siddhi.runtime.scripts import compile_script

            for name, definition in plan.functions.items():
                language = self._extensions.script_language(definition.language)
                scripts[name] = compile_script(definition, language=language, source=plan.app.source)
        # Without permission for the error store, payloads that can't be mapped are not stored either.
        keeps = plan.policy is None or plan.policy.error_store
        with _uncollected(plan.app.source), record_budget(plan):
            return Assembly(
                plan,
                scripts,
                self._extensions,
                self._retries,
                lambda: self._error_store if keeps else None,
                context=context,
                kept=kept,
            )

    def _store(self) -> tuple[PersistenceStore, bool] | None:
        """Return the persistence store, and whether it is incremental."""
        store = self._persistence_store if self._incremental_store is None else self._incremental_store
        return None if store is None else (store, self._incremental_store is not None)

    def _require_store(self, store: object) -> None:
        from siddhi.persistence import PersistenceStore

        if store is None:
            return
        if not isinstance(store, PersistenceStore):
            raise TypeError(
                f"{store!r} is not a persistence store: expected an instance of siddhi.persistence.PersistenceStore"
            )
        for name in self._runtimes:
            if why := store.refuses(name):
                raise PersistenceStoreError(f"the persistence store can't save the state of app {name!a:.40}: {why}")

    @property
    def _extensions(self) -> Registry:
        if self._registry is None:
            from siddhi.extension.registry import Registry, shared_registry

            self._registry = Registry(shared_registry())
        return self._registry

    def _forget(self, runtime: SiddhiAppRuntime) -> None:
        if self._runtimes.get(runtime.name) is runtime:
            del self._runtimes[runtime.name]

    def _claim_name(self, runtime: SiddhiAppRuntime) -> None:
        """Register the app under its name.

        Raises:
            SiddhiAppCreationError: another app of this name runs.
        """
        if self._runtimes.get(runtime.name) is not runtime:
            with _located(runtime.plan.app):
                self._refuse_second(runtime.name, runtime.plan.app)
        self._runtimes[runtime.name] = runtime

    def _refuse_second(self, name: str, app: SiddhiApp) -> None:
        other = self._runtimes.get(name)
        if other is not None and other.is_running:
            raise SiddhiAppCreationError(
                f"an app named '{name}' is already running in this manager",
                code="E208",
                span=next((one.span for one in app.annotations if one.name.lower() == "name"), None),
                hint="rename this app, shut the running one down first, or create this one with replace=True",
            )


@contextmanager
def _uncollected(app: object) -> Iterator[None]:
    """Make no garbage collections while a long app is created: they would visit what is there for good again and again."""
    pauses = isinstance(app, str) and len(app) >= _LONG and gc.isenabled()
    if pauses:
        gc.disable()
    try:
        yield
    finally:
        if pauses:
            gc.enable()


@contextmanager
def _located(model: SiddhiApp) -> Iterator[None]:
    """Add the app's text and name to errors, so that they show line and column."""
    try:
        yield
    except SiddhiAppError as error:
        raise error.located(source=model.source, app=model.name) from error.__cause__


def _parsed(
    app: str | SiddhiApp, policy: SandboxPolicy | None, parameters: Mapping[str, object] = MappingProxyType({})
) -> SiddhiApp:
    """Parse an app; the policy limits the length of its text and the environment variables it may read."""
    from siddhi.planner.bind.sandbox_limits import limit_text
    from siddhi.query_api.app import SiddhiApp
    from siddhi.query_compiler.parser import parse
    from siddhi.query_compiler.variables import bind_parameters

    if parameters and isinstance(app, SiddhiApp):
        raise TypeError("parameters are for the text of an app: its object model has none")
    if parameters and isinstance(app, str):
        app = bind_parameters(app, parameters)
    text = app.source if isinstance(app, SiddhiApp) else app
    if policy is None or not isinstance(text, str):
        return app if isinstance(app, SiddhiApp) else parse(app)
    limit_text(policy, text, "the app")
    return app if isinstance(app, SiddhiApp) else parse(text, environment=policy.environment)


def _checked(policy: object) -> SandboxPolicy | None:
    if policy is not None and not isinstance(policy, SandboxPolicy):
        raise TypeError(f"invalid policy {policy!r}: expected a siddhi.SandboxPolicy")
    return policy


def _takes_base(store: PersistenceStore) -> bool:
    parameters = inspect.signature(store.save).parameters
    return "base" in parameters or any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
