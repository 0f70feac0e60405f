"""The live view in JupyterLab, seen by a browser: how often it is renewed, how it ends, and what the notebook keeps."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.waiting import wait_until

pytestmark = pytest.mark.server

nbformat: Any = pytest.importorskip("nbformat", reason="notebooks need nbformat")
pytest.importorskip("jupyterlab", reason="the browser shows notebooks in JupyterLab")
playwright: Any = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")

APP = """%%siddhi ticker --out Counts --live 60s
define trigger Ticks at every 10 millisec;
from Ticks select count() as n insert into Counts;"""

# What the notebook shows is read when it changes, not asked for at intervals: no renewal is missed.
WATCH = """() => {
  window.renewals = [];
  let last = null;
  new MutationObserver(() => {
    const found = /Counts: ([0-9,]+) events/.exec(document.querySelector(".jp-Notebook").innerText);
    if (found && found[1] !== last) { last = found[1]; window.renewals.push(performance.now()); }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""
RUN = "async () => { await window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
KERNEL = "window.jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel?.status"
INTERRUPT = "() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')"
SAVE = "() => window.jupyterapp.commands.execute('docmanager:save')"


@pytest.fixture
def browser() -> Iterator[Any]:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no chromium is installed (Debian: chromium)")
    with (
        playwright.sync_playwright() as driver,
        driver.chromium.launch(executable_path=found, args=["--no-sandbox"]) as started,
    ):
        yield started


@pytest.fixture
def lab(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Any, str, Path]]:
    """Start JupyterLab with a notebook that shows a live view: the browser, the address, the path of the notebook."""
    path = tmp_path / "live.ipynb"
    cells = [nbformat.v4.new_code_cell(text) for text in ("%load_ext siddhi", APP)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    folders = (
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "IPYTHONDIR",
        "JUPYTERLAB_WORKSPACES_DIR",
    )
    env = {**os.environ, **{name: str(tmp_path / "jupyter" / name.lower()) for name in folders}}
    options = {
        "ServerApp.port": 0,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.root_dir": tmp_path,
        "IdentityProvider.token": "token",
        "LabApp.expose_app_in_browser": True,
        "LabApp.extension_manager": "readonly",
        "LabApp.news_url": None,
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--{name}={value}" for name, value in options.items()]
    server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    runtime = Path(env["JUPYTER_RUNTIME_DIR"])
    try:
        browser = request.getfixturevalue("browser")  # both start at the same time
        wait_until(lambda: server.poll() is not None or [*runtime.glob("jpserver-*.json")])
        assert server.poll() is None, "JupyterLab did not start"
        (file,) = runtime.glob("jpserver-*.json")
        wait_until(lambda: file.read_text().endswith("}"))
        yield (
            browser,
            f"http://127.0.0.1:{json.loads(file.read_text())['port']}/lab/tree/live.ipynb?token=token&reset",
            path,
        )
    finally:
        server.terminate()  # it ends its kernels
        server.wait(30)


def test_a_live_view_is_renewed_ends_and_stays_small(lab: tuple[Any, str, Path]) -> None:
    browser, address, path = lab
    page = browser.new_page()
    page.goto(address, wait_until="domcontentloaded")
    page.wait_for_function(f"{KERNEL} === 'idle'")
    page.evaluate(WATCH)
    page.evaluate(f"() => {{ window.ended = ({RUN})(); }}")
    page.wait_for_function("window.renewals.length >= 2")
    small = len(page.content())
    page.wait_for_function("window.renewals.length >= 10")
    assert len(page.content()) < small + 2_000  # replaced, not appended
    page.evaluate(INTERRUPT)
    page.evaluate("() => window.ended")
    times = page.evaluate("window.renewals")
    shown = page.locator(".jp-RenderedHTML").all_inner_texts()
    page.evaluate(SAVE)
    gaps = [after - before for before, after in itertools.pairwise(times[1:])]
    assert statistics.median(gaps) < 250  # milliseconds: at least four times in a second
    stored = nbformat.read(path, as_version=4)
    (output,) = stored.cells[1]["outputs"]
    assert output["output_type"] == "display_data"  # the interrupt is no error
    assert "<b>Counts</b>" in output["data"]["text/html"]
    assert ["ticker" in text for text in shown] == [True]
    assert path.stat().st_size < 6_000
    assert "widgets" not in stored.metadata
