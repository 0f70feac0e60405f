"""The app of this folder inside a Python program: columns in, events out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from siddhi import SiddhiManager

here = Path(__file__).parent
app = (here / "moving_average.siddhi").read_text(encoding="utf-8")
with SiddhiManager().create_siddhi_app_runtime(app) as runtime:
    runtime.add_callback("Breakouts", lambda events: print(*(event.data for event in events), sep="\n"))
    runtime.input_handler("Bars").send_batch(pd.read_csv(here / "bars.csv"))
