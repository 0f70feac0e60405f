"""The notebooks in ``examples/notebooks``, and a live view, in one kernel without a browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ipykernel", reason="notebooks need a kernel")
nbclient: Any = pytest.importorskip("nbclient", reason="notebooks are run by nbclient")
nbformat: Any = pytest.importorskip("nbformat", reason="notebooks are run by nbclient")
managers: Any = pytest.importorskip("jupyter_client.manager", reason="notebooks need a kernel")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"\d")
APP = """%%siddhi ticker --live 60s
define trigger Ticks at every 10 millisec;
from Ticks select count() as n insert into Counts;"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    found = managers.KernelManager(
        transport="ipc", connection_file=str(tmp_path_factory.mktemp("kernel") / "kernel.json")
    )
    found.start_kernel()
    yield found
    found.shutdown_kernel(now=True)
    found.cleanup_resources()
    found.context.destroy(linger=0)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def kinds(cell: Any) -> list[tuple[str, list[str]]]:
    """Return what the outputs of a cell are: their MIME types, or the lines of a text without its numbers."""
    return [
        (output["output_type"], sorted(output["data"]) if "data" in output else [NUMBER.sub("", output["name"])])
        for output in cell["outputs"]
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(kernel: Any, path: Path) -> None:
    stored, fresh = read(path), read(path)
    fresh.cells.insert(0, nbformat.v4.new_code_cell("%reset -f\n%reload_ext siddhi"))
    client = nbclient.NotebookClient(fresh, km=kernel, timeout=60, store_widget_state=False)
    try:
        client.execute(reset_kc=False)
    finally:
        client.kc.stop_channels()
        client.kc.context.destroy(linger=0)
    for before, after in zip(stored.cells, fresh.cells[1:], strict=True):
        if before["cell_type"] == "code":
            loads = before["source"].startswith("%load_ext")  # it was loaded already, which IPython says
            assert loads or kinds(before) == kinds(after), before["source"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_was_executed_and_is_small(path: Path) -> None:
    assert path.stat().st_size < 200_000
    nbformat.validate(read(path))
    numbers = [cell["execution_count"] for cell in read(path).cells if cell["cell_type"] == "code"]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert "/home/" not in path.read_text(encoding="utf-8")


def test_an_interrupt_ends_a_live_view_that_stays_in_its_output(kernel: Any) -> None:
    client = kernel.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        client.execute("%load_ext siddhi", store_history=False)
        shown = client.execute(APP)
        counts: dict[str, int] = {}
        html = ""
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            message = client.get_iopub_msg(timeout=30)
            if message["parent_header"].get("msg_id") != shown:
                continue
            kind = message["msg_type"]
            counts[kind] = counts.get(kind, 0) + 1
            renewed = counts.get("comm_msg", 0) or counts.get("update_display_data", 0)
            if renewed >= 3 and not html:
                html = "interrupted"
                kernel.interrupt_kernel()
            if kind == "update_display_data":
                html = message["content"]["data"]["text/html"]
            if kind == "status" and message["content"]["execution_state"] == "idle":
                break
        assert counts.get("display_data") == 1
        assert "error" not in counts
        assert "<b>Counts</b>" in html
        client.execute("%siddhi stop")
    finally:
        client.stop_channels()
        client.context.destroy(linger=0)
