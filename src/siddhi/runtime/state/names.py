"""Names of apps, streams and tables under which a store keeps something: what it can't keep is refused beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.errors import SiddhiAppCreationError

if TYPE_CHECKING:
    from siddhi.persistence import ErrorStore, PersistenceStore
    from siddhi.query_api.app import SiddhiApp
    from siddhi.query_api.span import Span

__all__ = ["refuse_names"]


def refuse_names(app: SiddhiApp, name: str, states: PersistenceStore | None, errors: ErrorStore | None) -> None:
    """Refuse an app of which a store could keep nothing.

    Args:
        app: that is being created.
        name: of it.
        states: where its states will be saved; None: nowhere.
        errors: where its events will be kept that fail; None: nowhere.

    Raises:
        SiddhiAppCreationError: a store refuses the name of the app, or of a stream or table.
    """
    place = next((one.span for one in app.annotations if one.name.lower() == "name"), None)
    if states is not None and (why := states.refuses(name)):
        raise _refusal(f"the persistence store can't keep the state of app {name!a:.40}: {why}", place)
    if errors is None:
        return
    for what, kept, span in (
        ("app", name, place),
        *(("definition", definition.id, definition.span) for definition in app.definitions),
    ):
        if why := errors.refuses(kept):
            raise _refusal(f"the error store can't keep events of {what} {kept!a:.40}: {why}", span)


def _refusal(message: str, span: Span | None) -> SiddhiAppCreationError:
    return SiddhiAppCreationError(message, code="E315", span=span, hint="give it a shorter, plain name")
