"""One Spark session for all tests of this folder that need one; without Java or PySpark they are skipped, saying why."""

from __future__ import annotations

import pytest

from siddhi.errors import SparkSetupError
from siddhi.spark import local_session


@pytest.fixture(scope="session")
def spark():
    try:
        session = local_session("local[2]", app_name="siddhi-tests", settings={"spark.driver.memory": "1g"})
    except SparkSetupError as error:
        pytest.skip(str(error))
    yield session
    session.stop()
