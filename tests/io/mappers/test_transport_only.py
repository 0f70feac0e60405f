"""A source whose attributes all get transport properties does not map its payloads."""

from __future__ import annotations

import pytest

from tests.conformance.test_mappers import PropertySource, manager
from tests.kit.running import collect, running


@pytest.mark.parametrize("mapper", ["json", "csv", "passThrough"])
def test_the_payload_is_ignored(mapper: str) -> None:
    text = f"""@source(type = 'test', @map(type = '{mapper}', @attributes('trp:b', 'trp:a')))
    define stream S (x string, y int);"""
    with running(text, manager=manager()) as runtime:
        rows = collect(runtime, "S")
        assert PropertySource.last.names == ("b", "a")
        assert PropertySource.last.listener.on_event("[no payload", ["text", "7"])
    assert rows == [("text", 7)]
