"""The header of a csv file stands at the beginning of each file that the sink begins, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from siddhi import SiddhiManager
from tests.kit.running import running

CSV = "@map(type = 'csv', header = 'true')"


def app(options: str, map_: str = CSV) -> str:
    return f"@app:name('Out') @sink(type = 'file', {options}, {map_}) define stream S (k string, v int);"


def send(text: str, rows: list[Any], snapshot: bytes | None = None) -> bytes:
    with running(text) as runtime:
        if snapshot is not None:
            runtime.restore(snapshot)
        for row in rows:
            runtime.input_handler("S").send(row)
        return runtime.snapshot()


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


@pytest.mark.parametrize("restores", [False, True])
def test_a_file_that_goes_on_gets_no_second_header(tmp_path: Path, restores: bool) -> None:
    text = app(f"file.uri = '{tmp_path}/a.csv'")
    snapshot = send(text, [("a", 1)])
    send(text, [("b", 2)], snapshot if restores else None)
    assert content(tmp_path) == {"a.csv": "k,v\na,1\nb,2\n"}


def test_each_file_of_dynamic_names_has_a_header(tmp_path: Path) -> None:
    send(app(f"file.uri = '{tmp_path}/{{{{k}}}}.csv'"), [("a", 1), ("b", 2), ("a", 3)])
    assert content(tmp_path) == {"a.csv": "k,v\na,1\na,3\n", "b.csv": "k,v\nb,2\n"}


def test_each_replaced_file_has_a_header(tmp_path: Path) -> None:
    send(app(f"file.uri = '{tmp_path}/a.csv', append = 'false'"), [("a", 1), ("b", 2)])
    assert content(tmp_path) == {"a.csv": "k,v\nb,2\n"}


def test_a_new_file_after_a_rotation_has_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with running(app(f"file.uri = '{path}'")) as runtime:
        runtime.input_handler("S").send(("a", 1))
        path.rename(tmp_path / "a.1")
        runtime.input_handler("S").send(("b", 2))
        runtime.input_handler("S").send(("c", 3))
    assert content(tmp_path) == {"a.1": "k,v\na,1\n", "a.csv": "k,v\nb,2\nc,3\n"}


def test_each_file_of_a_round_robin_has_a_header(tmp_path: Path) -> None:
    text = f"""@sink(type = 'file', {CSV}, @distribution(strategy = 'roundRobin',
        @destination(file.uri = '{tmp_path}/a.csv'), @destination(file.uri = '{tmp_path}/b.csv')))
        define stream S (k string, v int);"""
    send(text, [("a", 1), ("b", 2), ("c", 3)])
    assert content(tmp_path) == {"a.csv": "k,v\na,1\nc,3\n", "b.csv": "k,v\nb,2\n"}


def test_a_file_that_a_restore_empties_gets_its_header_again(tmp_path: Path) -> None:
    text = app(f"file.uri = '{tmp_path}/a.csv', on.restore = 'truncate'")
    snapshot = send(text, [])
    send(text, [("a", 1)])
    send(text, [("b", 2)], snapshot)
    assert content(tmp_path) == {"a.csv": "k,v\nb,2\n"}


def test_an_empty_file_and_one_that_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.csv").write_text("k,v\n", encoding="utf-8")
    send(app(f"file.uri = '{tmp_path}/{{{{k}}}}.csv'"), [("a", 1), ("b", 2)])
    assert content(tmp_path) == {"a.csv": "k,v\na,1\n", "b.csv": "k,v\nb,2\n"}


def test_other_maps_have_no_header(tmp_path: Path) -> None:
    send(app(f"file.uri = '{tmp_path}/a.json'", "@map(type = 'json')"), [("a", 1)])
    assert content(tmp_path) == {"a.json": '{"event":{"k":"a","v":1}}\n'}


def test_a_sink_without_events_begins_no_file(tmp_path: Path) -> None:
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app(f"file.uri = '{tmp_path}/a.csv'")):
        pass
    assert content(tmp_path) == {}
