"""SiddhiManager: creates apps and holds what they share."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from siddhi.errors import (
    ExtensionError,
    NoPersistenceStoreError,
    NotRunningError,
    PersistenceStoreError,
    SiddhiAppCreationError,
    SiddhiAppError,
    SiddhiError,
)
from siddhi.runtime.app import SiddhiAppRuntime
from siddhi.runtime.state.names import refuse_names
from siddhi.sandbox import SandboxPolicy

if TYPE_CHECKING:
    from siddhi.config import ConfigManager
    from siddhi.extension.registry import Registry
    from siddhi.persistence import ErrorStore, PersistenceStore
    from siddhi.query_api.app import SiddhiApp
    from siddhi.runtime.assembly.app import Assembly, Plan
    from siddhi.runtime.connectors.retry import RetryScheduler
    from siddhi.runtime.state.periodic import PeriodicPersistence

__all__ = ["SiddhiManager"]

logger = logging.getLogger("siddhi")


class SiddhiManager:
    """Creates apps; they share its extensions and its persistence store. A context manager: leaving shuts all apps down.

    Args:
        policy: what the text of apps may touch and hold, where it comes from people you don't trust; None: anything.
        allow_scripts: whether apps may hold ``define function f[python]`` bodies, which run with all the rights of this
            process. False takes scripts, and nothing else, out of the policy.
        retries: when lost connections of sources and sinks are tried again; None: after 5, 10, 15, 30, 60, 60, 120
            seconds, then every 5 minutes. Tests give one that needs no time.
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
            self._policy = replace(self._policy or SandboxPolicy.trusted(), scripts=())
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
        self, app: str | SiddhiApp, *, policy: SandboxPolicy | None = None, replace: bool = False
    ) -> SiddhiAppRuntime:
        """Compile, plan and build an app.

        Args:
            app: SiddhiQL text (with ``${variables}`` taken from the environment), or its object model.
            policy: what this app may touch and hold, in place of the manager's policy; None: as the manager's says.
            replace: whether an app of this name that is running is shut down, once the new one has been built, and makes
                room for it. Its state goes with it, unless it was saved.

        Returns:
            The app, not started. The manager keeps one runtime per name: that which runs, else the last one created.

        Raises:
            TypeError: it is neither text nor object model.
            SiddhiParserError: the text is not SiddhiQL.
            SiddhiAppValidationError: it contradicts itself.
            SiddhiAppCreationError: the engine can't build it, the policy refuses it, or an app of this name is running. All
                three show place, line and a hint.

        What has no effect, such as a misspelt element of an annotation, is logged as a warning (logger ``siddhi``).
        """
        runtime = self._create(app, policy, claim_name=self._claim_name, replace=replace)
        running = self._runtimes.get(runtime.name)
        if replace and running is not None and running.is_running:
            running.shutdown()
        self._claim_name(runtime)
        return runtime

    def create_sandbox_siddhi_app_runtime(self, app: str | SiddhiApp, *, replace: bool = False) -> SiddhiAppRuntime:
        """As :meth:`create_siddhi_app_runtime`, but cut off from the outside, to try an app out.

        Sources and sinks other than those of type ``inMemory`` are left out, and tables are kept in memory. What else leads
        outside (``${variables}``, scripts, references, extensions of installed packages, the error store) is refused, and the
        limits of ``SandboxPolicy()`` hold.

        Args:
            app, replace: as :meth:`create_siddhi_app_runtime`.

        Raises:
            SiddhiAppError: as :meth:`create_siddhi_app_runtime`.
        """
        from siddhi.runtime.sandbox import SANDBOX, sandboxed

        return self.create_siddhi_app_runtime(sandboxed(_parsed(app, SANDBOX)), policy=SANDBOX, replace=replace)

    def validate_siddhi_app(self, app: str | SiddhiApp, *, policy: SandboxPolicy | None = None) -> None:
        """Create an app, start it and shut it down again; an app of its name may be running.

        Args:
            app, policy: as :meth:`create_siddhi_app_runtime`.

        Raises:
            SiddhiAppError: as :meth:`create_siddhi_app_runtime`.
        """
        with self._create(app, policy, claim_name=lambda _: None, replace=True):
            pass

    def runtime(self, name: str) -> SiddhiAppRuntime | None:
        """The app of a name, or None."""
        return self._runtimes.get(name)

    @property
    def runtimes(self) -> tuple[SiddhiAppRuntime, ...]:
        """All apps, in order of creation."""
        return tuple(self._runtimes.values())

    def set_extension(self, name: str, extension: object) -> None:
        """Make an extension known to the apps created from now on; one of the same name is replaced.

        Args:
            name: ``namespace:name`` or ``name``, as apps write it; sources, sinks and the like also as ``sink:name``.
            extension: a function or class declared with a decorator of :mod:`siddhi.extension`.

        Raises:
            ExtensionError: it declares no extension, or one of another name.
        """
        from siddhi.extension.registry import metadata_of

        declared = tuple(metadata_of(extension))
        meant = [metadata for metadata in declared if name in metadata.names]
        if not meant:
            names = ", ".join(metadata.full_name for metadata in declared) or "nothing"
            raise ExtensionError(f"{extension!r} declares {names}, not '{name}'")
        for metadata in meant:
            self._extensions.register(metadata, replace=True)

    def set_persistence_store(self, store: PersistenceStore | None) -> None:
        """Where apps save their state, as a whole each time; None takes it away.

        Raises:
            ValueError: there is an incremental store: an app saves in one way only.
            TypeError: it is not a persistence store.
            PersistenceStoreError: it can't keep anything under the name of an app that is there.
        """
        self._require_store(store)
        if store is not None and self._incremental_store is not None:
            raise ValueError("the manager has an incremental persistence store; set that to None first")
        self._persistence_store = store

    def set_incremental_persistence_store(self, store: PersistenceStore | None) -> None:
        """Where apps save of their state what they have not saved before; None takes it away.

        Whole states are saved in between: at first, after a restore, and where the increments come to more than one. Every
        revision can be restored, until the store deletes it. The stores are those of :meth:`set_persistence_store`.

        Raises:
            ValueError: there is a store for whole states: an app saves in one way only.
            TypeError: it is not a persistence store, or its ``save`` takes no ``base``, so that it would delete what revisions
                are made of.
            PersistenceStoreError: it can't keep anything under the name of an app that is there.
        """
        self._require_store(store)
        if store is not None and self._persistence_store is not None:
            raise ValueError("the manager has a persistence store; set that to None first")
        if store is not None and not _takes_base(store):
            raise TypeError(f"{type(store).__name__} keeps whole states only: its save() takes no base")
        self._incremental_store = store

    def persist_every(self, interval_ms: int | None) -> None:
        """From now on save the state of every running app at an interval of the system's clock; None ends it.

        A thread does it, until :meth:`shutdown`. What fails is logged, and tried again an interval later.

        Args:
            interval_ms: from the end of one save to the beginning of the next.

        Raises:
            TypeError: the interval is not an int.
            ValueError: the interval is below 1 ms.
            NoPersistenceStoreError: there is no store.
        """
        if interval_ms is not None and type(interval_ms) is not int:
            raise TypeError(f"the interval is a number of ms, an int, not {interval_ms!r}")
        if interval_ms is not None and interval_ms < 1:
            raise ValueError(f"the interval must be 1 ms or more, not {interval_ms}")
        if interval_ms is not None and self._store() is None:
            raise NoPersistenceStoreError("there is nowhere to save: call manager.set_persistence_store(...) first")
        if self._periodic is not None:
            self._periodic.stop()
            self._periodic = None
        if interval_ms is not None:
            from siddhi.runtime.state.periodic import PeriodicPersistence

            self._periodic = PeriodicPersistence(lambda: self.runtimes, interval_ms)

    def set_error_store(self, store: ErrorStore | None) -> None:
        """Where apps save events that failed, as ``@OnError(action = 'store')`` and ``on.error = 'STORE'`` say.

        Raises:
            PersistenceStoreError: it can't keep anything under the name of an app that is there.
        """
        for name in self._runtimes:
            if store is not None and (why := store.refuses(name)):
                raise PersistenceStoreError(f"the store can't keep events of app {name!a:.40}: {why}")
        self._error_store = store

    def set_config_manager(self, config: ConfigManager | None) -> None:
        """What ``ref``, extensions and aggregations read of the system, for the apps created from now on."""
        self._config = config

    def persist(self) -> dict[str, str]:
        """Save the state of every running app; returns revisions by app name.

        An app that has not been started has nothing to save that is newer than what was saved of it before. One app that
        fails does not keep the others from being saved: its error is raised when all have been tried, and those of
        further apps are logged.

        Raises:
            NoPersistenceStoreError: there is no store.
            PersistenceStoreError: the store can't be read or written.
            CannotSaveStateError: a callback or function of an app asks while its event is at work, or the state of an app
                is not data.
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
        """Restore every app from its newest revision; returns revisions (None: there was none) by app name.

        One app after the other: those before one that fails stay restored, those behind it are as they were.

        Raises:
            NoPersistenceStoreError: there is no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: no revision of an app can be read.
            CannotRestoreStateError: a revision does not fit its app.
        """
        return {runtime.name: runtime.restore_last_revision() for runtime in self.runtimes}

    def shutdown(self) -> None:
        """Shut all apps down, and end :meth:`persist_every`. None of the apps created until now can be started again."""
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

    def _create(
        self,
        app: str | SiddhiApp,
        policy: SandboxPolicy | None,
        *,
        claim_name: Callable[[SiddhiAppRuntime], None],
        replace: bool,
    ) -> SiddhiAppRuntime:
        # Imported with the first app: a program that only imports siddhi should not wait for compiler and planner.
        from siddhi.planner.app import plan as make_plan

        policy = self._policy if policy is None else _checked(policy)
        model = _parsed(app, policy)
        with _located(model):
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
            states = self._store()
            refuse_names(model, plan.name, None if states is None else states[0], self._error_store)
        created = self._shutdowns

        def build() -> Assembly:
            if self._shutdowns != created:
                raise NotRunningError(
                    f"Siddhi app '{plan.name}' cannot start again: its manager was shut down; create it again"
                )
            with _located(model):
                return self._assembled(plan)

        runtime = SiddhiAppRuntime(
            build, persistence_store=self._store, on_shutdown=self._forget, claim_name=claim_name
        )
        for line in plan.warnings:
            logger.warning("app '%s': %s", runtime.name, line)
        return runtime

    def _assembled(self, plan: Plan) -> Assembly:
        """The operators of an app, with scripts that have not run yet."""
        from siddhi.runtime.assembly.app import Assembly
        from siddhi.runtime.assembly.budget import record_budget

        scripts: dict[str, Callable[..., object]] = {}
        if plan.functions:
            from siddhi.runtime.scripts import compile_script

            for name, definition in plan.functions.items():
                language = self._extensions.script_language(definition.language)
                scripts[name] = compile_script(definition, language=language, source=plan.app.source)
        # Without leave, what a mapper refuses is not kept either.
        keeps = plan.policy is None or plan.policy.error_store
        with record_budget(plan):
            return Assembly(
                plan, scripts, self._extensions, self._retries, lambda: self._error_store if keeps else None
            )

    def _store(self) -> tuple[PersistenceStore, bool] | None:
        """Where apps save, and whether in increments."""
        store = self._persistence_store if self._incremental_store is None else self._incremental_store
        return None if store is None else (store, self._incremental_store is not None)

    def _require_store(self, store: object) -> None:
        from siddhi.persistence import PersistenceStore

        if store is None:
            return
        if not isinstance(store, PersistenceStore):
            raise TypeError(f"{store!r} is not a persistence store: give an instance of one of siddhi.persistence")
        for name in self._runtimes:
            if why := store.refuses(name):
                raise PersistenceStoreError(f"the store can't keep the state of app {name!a:.40}: {why}")

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
        """Have the name mean this app.

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
                f"an app called '{name}' is running in this manager",
                code="E208",
                span=next((one.span for one in app.annotations if one.name.lower() == "name"), None),
                hint="give this one another name, shut that one down first, or create this one with replace=True",
            )


@contextmanager
def _located(model: SiddhiApp) -> Iterator[None]:
    """Errors of an app show where in its text they are."""
    try:
        yield
    except SiddhiAppError as error:
        raise error.located(source=model.source, app=model.name) from error.__cause__


def _parsed(app: str | SiddhiApp, policy: SandboxPolicy | None) -> SiddhiApp:
    """The object model of an app whose text may be no longer, and read no more of the environment, than its policy says."""
    from siddhi.planner.bind.sandbox_limits import limit_text
    from siddhi.query_api.app import SiddhiApp
    from siddhi.query_compiler.parser import parse

    text = app.source if isinstance(app, SiddhiApp) else app
    if policy is None or not isinstance(text, str):
        return app if isinstance(app, SiddhiApp) else parse(app)
    limit_text(policy, text, "the app")
    return app if isinstance(app, SiddhiApp) else parse(text, environment=policy.environment)


def _checked(policy: object) -> SandboxPolicy | None:
    if policy is not None and not isinstance(policy, SandboxPolicy):
        raise TypeError(f"the policy is a siddhi.SandboxPolicy, not {policy!r}")
    return policy


def _takes_base(store: PersistenceStore) -> bool:
    parameters = inspect.signature(store.save).parameters
    return "base" in parameters or any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
