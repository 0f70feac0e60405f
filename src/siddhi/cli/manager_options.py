"""Options of the command line that set up the manager of an app: configuration, saved state, failed events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from siddhi import SiddhiManager
from siddhi.errors import SiddhiError

__all__ = ["ManagerOptions", "manager_options"]

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """Values of the options.

    Attributes:
        config: YAML file of the system configuration.
        persist: folder of saved states.
        persist_every: seconds between two saves.
        error_store: database URL of the error store.
    """

    config: str | None = None
    persist: str | None = None
    persist_every: float = 10.0
    error_store: str | None = None

    def apply(self, manager: SiddhiManager) -> None:
        """Set configuration and stores of a manager.

        Raises:
            click.UsageError: the configuration or a store can't be used.
        """
        try:
            if self.config is not None:
                from siddhi.config import YAMLConfigManager

                manager.set_config_manager(YAMLConfigManager(Path(self.config)))
            if self.persist is not None:
                from siddhi.persistence import FileSystemPersistenceStore

                manager.set_persistence_store(FileSystemPersistenceStore(self.persist))
            if self.error_store is not None:
                from siddhi.persistence import RdbmsErrorStore

                manager.set_error_store(RdbmsErrorStore(self.error_store))
        except (SiddhiError, ImportError) as error:
            raise click.UsageError(str(error)) from error


def manager_options(command: _F) -> _F:
    """Add the options to a command."""
    options = [
        click.option(
            "--config",
            type=click.Path(exists=True, dir_okay=False),
            metavar="FILE",
            help="YAML file with the system configuration: properties, settings of extensions, and what ref = '...' refers to.",
        ),
        click.option(
            "--persist",
            type=click.Path(file_okay=False),
            metavar="FOLDER",
            help="Without --input: save the state of the app in a folder, and start from its last state.",
        ),
        click.option(
            "--persist-every",
            type=click.FloatRange(min=0.01),
            default=10.0,
            show_default=True,
            metavar="SECONDS",
            help="With --persist: seconds between two saves; the state is also saved at the end.",
        ),
        click.option(
            "--error-store",
            metavar="URL",
            help="Database for events that failed, with @OnError(action = 'store') or on.error = 'STORE'; such as "
            "sqlite:///errors.db.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command
