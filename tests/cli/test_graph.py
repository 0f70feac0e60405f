"""``siddhi graph``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.cli.conftest import Command

APP = """@app:name('means')
define stream S (price double, id int);
define table T (id int);
@info(name = 'join') from S join T on S.id == T.id select price insert into Mid;
@info(name = 'mean') from Mid#window.length(5) select avg(price) as a insert into Out;
"""


def test_text_lists_elements_with_their_readers(command: Command) -> None:
    result = command("graph", "-", stdin=APP)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "app 'means'",
        "stream S",
        "  -> query join",
        "table T",
        "  is read by query join",
        "query join",
        "  -> stream Mid",
        "stream Mid",
        "  -> query mean",
        "query mean",
        "  -> stream Out",
        "stream Out",
    ]


def test_json_has_nodes_and_edges(command: Command) -> None:
    found = json.loads(command("graph", "-", "--format", "json", stdin=APP).stdout)
    assert found["app"] == "means"
    assert {node["id"] for node in found["nodes"]} == {
        "stream S", "stream Mid", "stream Out", "table T", "query join", "query mean"
    }  # fmt: skip
    assert {"source": "table T", "target": "query join", "kind": "reads"} in found["edges"]


def test_the_suffix_of_the_file_chooses_the_format(command: Command, write: Callable[[str, str], None]) -> None:
    write("app.siddhi", APP)
    assert command("graph", "app.siddhi", "--out", "app.svg").exit_code == 0
    assert ET.parse("app.svg").getroot().tag.endswith("svg")
    assert command("graph", "app.siddhi", "--out", "app.mmd").exit_code == 0
    assert Path("app.mmd").read_text(encoding="utf-8").startswith("flowchart LR\n")
    refused = command("graph", "app.siddhi", "--out", "app.png")
    assert refused.exit_code == 2
    assert "name a --format" in refused.stderr


def test_an_invalid_app_is_an_error_with_its_location(command: Command) -> None:
    result = command("graph", "-", stdin="define stream S (a int); from S[b > 1] select a insert into T;")
    assert result.exit_code == 1
    assert result.stderr.startswith("[E")
    assert "^" in result.stderr
