"""The plug-in of pytest: the fixture ``siddhi_app``. pytest finds it by itself where this package is installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from siddhi._core.record.user_event import _Time
    from siddhi.query_api import SiddhiApp
    from siddhi.runtime.manager import SiddhiManager
    from siddhi.sandbox import SandboxPolicy
    from siddhi.testing.app import AppUnderTest

SNAPSHOTS = "siddhi_snapshots"
"""Folder beside the test's file, with a folder for each test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--siddhi-update``."""
    parser.getgroup("siddhi").addoption(
        "--siddhi-update", action="store_true", help="Write the snapshots that app.expect_snapshot() compares with."
    )


@pytest.fixture
def siddhi_app(request: pytest.FixtureRequest) -> Iterator[Callable[..., AppUnderTest]]:
    """Return a function that creates and starts an app: ``siddhi_app(text_or_path, start=0, **parameters)``.

    The app is an :class:`siddhi.testing.app.AppUnderTest`; it is shut down after the test. An exception of its processing
    that the test has not taken from ``app.errors`` fails the test.
    """
    from siddhi.testing.app import AppUnderTest

    apps: list[AppUnderTest] = []
    test = re.sub(r"[^\w.-]+", "_", request.node.nodeid.split("::", 1)[-1])

    def create(
        app: str | SiddhiApp | Path,
        /,
        *,
        start: _Time = 0,
        manager: SiddhiManager | None = None,
        policy: SandboxPolicy | None = None,
        params: Mapping[str, object] | None = None,
        **parameters: object,
    ) -> AppUnderTest:
        made = AppUnderTest(
            app,
            start=start,
            snapshots=Path(request.path).parent / SNAPSHOTS / test,
            update=bool(request.config.getoption("--siddhi-update")),
            manager=manager,
            policy=policy,
            params=params,
            **parameters,
        )
        apps.append(made)
        return made

    yield create
    failures: list[tuple[str, Exception]] = []
    for app in apps:
        try:
            app.shutdown()
        except Exception as error:  # noqa: BLE001 - the other apps are shut down, too; it fails the test
            failures.append((f"shutdown of app '{app.name}' failed", error))
    failures += [(f"app '{app.name}' failed", error) for app in apps for error in app.errors]
    if failures:
        lines = [f"{what}: {type(error).__name__}: {error}" for what, error in failures]
        raise AssertionError("\n".join(lines)) from failures[0][1]
