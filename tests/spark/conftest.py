"""One Spark session for all tests of this folder that need one; without Java or PySpark they are skipped, saying why."""

from __future__ import annotations

import pytest

from siddhi.errors import SparkSetupError
from tests.spark.small_session import COMPILED, INTERPRETED, small_session


def pytest_collection_modifyitems(items):
    """PySpark 4.0 and 4.1 leave the sockets of results to the garbage collector."""
    for item in items:
        if item.get_closest_marker("spark") is not None:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def spark():
    try:
        session = small_session("siddhi-tests")
    except SparkSetupError as error:
        pytest.skip(str(error))
    yield session
    session.stop()


@pytest.fixture
def compiled(spark):
    """The session with code generation, as users have it."""
    for name, value in COMPILED.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
