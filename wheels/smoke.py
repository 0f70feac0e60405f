"""Does an installed wheel work? Imports every compiled module and runs one app; uses nothing but the package.

Run it outside of the checkout: ``python /path/to/wheels/smoke.py``.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import siddhi
import siddhi._core

APP = """
define stream Trades (symbol string, price double, volume int);
from Trades[price > 100.0]#window.length(2)
select symbol, avg(price) as average, sum(volume) as total group by symbol
insert into Averages;
"""
EXPECTED = [("IBM", 110.0, 10), ("IBM", 115.0, 30), ("IBM", 125.0, 50)]


def main() -> None:
    """Run the checks; an assertion or import error is the verdict."""
    checkout = Path(__file__).resolve().parents[1]
    package = Path(siddhi.__file__).resolve().parent
    assert checkout / "src" not in package.parents, f"{package} is the checkout, not the installed package"

    found = pkgutil.walk_packages(siddhi._core.__path__, "siddhi._core.")
    modules = [module.name for module in found if not module.ispkg]
    for name in modules:
        importlib.import_module(name)
    headers = sorted(path.name for path in (Path(siddhi.get_include()) / "siddhi").glob("*.h"))
    assert headers, f"no headers in {siddhi.get_include()}"

    rows: list[tuple[object, ...]] = []
    manager = siddhi.SiddhiManager()
    with manager.create_siddhi_app_runtime(APP) as runtime:
        runtime.add_callback("Averages", lambda events: rows.extend(event.data for event in events))
        trades = runtime.input_handler("Trades")
        for row in [("IBM", 110.0, 10), ("IBM", 90.0, 5), ("IBM", 120.0, 20), ("IBM", 130.0, 30)]:
            trades.send(row)
    manager.shutdown()
    assert rows == EXPECTED, rows
    print(f"siddhi {siddhi.__version__}: {len(modules)} compiled modules, {len(headers)} headers, app ran")


if __name__ == "__main__":
    main()
