"""One Spark session for all tests of this folder that need one; without Java or PySpark they are skipped, saying why."""

from __future__ import annotations

import pytest

from siddhi.errors import SparkSetupError
from tests.spark.small_session import small_session


@pytest.fixture(scope="session")
def spark():
    try:
        session = small_session("siddhi-tests")
    except SparkSetupError as error:
        pytest.skip(str(error))
    yield session
    session.stop()
