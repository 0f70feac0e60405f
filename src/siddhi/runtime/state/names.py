"""Check of the names of apps, streams and tables: a store must be able to save under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.errors import SiddhiAppCreationError

if TYPE_CHECKING:
    from siddhi.persistence import ErrorStore, PersistenceStore
    from siddhi.query_api.app import SiddhiApp
    from siddhi.query_api.span import Span

__all__ = ["refuse_names"]


def refuse_names(app: SiddhiApp, name: str, states: PersistenceStore | None, errors: ErrorStore | None) -> None:
    """Refuse an app whose state or failed events a store could not save.

    Args:
        app: the app that is being created.
        name: its name.
        states: persistence store; None: there is none.
        errors: error store; None: there is none.

    Raises:
        SiddhiAppCreationError: a store can't save under the name of the app, of a stream or of a table.
    """
    span = next((one.span for one in app.annotations if one.name.lower() == "name"), None)
    if states is not None and (why := states.refuses(name)):
        raise _creation_error(f"the persistence store can't save the state of app {name!a:.40}: {why}", span)
    if errors is None:
        return
    for what, key, where in (
        ("app", name, span),
        *(("definition", definition.id, definition.span) for definition in app.definitions),
    ):
        if why := errors.refuses(key):
            raise _creation_error(f"the error store can't save events of {what} {key!a:.40}: {why}", where)


def _creation_error(message: str, span: Span | None) -> SiddhiAppCreationError:
    return SiddhiAppCreationError(
        message, code="E315", span=span, hint="use a shorter name of plain letters and digits"
    )
