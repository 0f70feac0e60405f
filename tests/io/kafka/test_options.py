"""Options of the source ``kafka`` that the library would not survive."""

from __future__ import annotations

import pytest

from siddhi import SiddhiManager
from siddhi.errors import SiddhiAppCreationError

pytest.importorskip("confluent_kafka")


@pytest.mark.parametrize("group", ["", " "])
def test_a_group_without_a_name_is_refused(group: str) -> None:
    app = f"""@source(type = 'kafka', bootstrap.servers = '127.0.0.1:1', topic.list = 't', group.id = '{group}', @map(type = 'json'))
define stream S (a string);"""
    with SiddhiManager() as manager, pytest.raises(SiddhiAppCreationError, match=r"group\.id"):
        manager.create_siddhi_app_runtime(app)
