"""``siddhi run --engine spark`` on a session: the rows of the same command without Spark."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

from siddhi.cli.command import siddhi

pytestmark = pytest.mark.spark
APP = """define stream Trades (ts long, symbol string, price double, n int);
from Trades[price > 2.0] select symbol, n insert into Dear;
partition with (symbol of Trades) begin
    from every a=Trades, b=Trades[price > a.price] select a.symbol as symbol, a.n as first, b.n as last insert into Rises;
end;
"""


@pytest.fixture
def masters(spark, monkeypatch):
    """The masters asked for; the session is the one of all tests, which nobody stops."""
    found = []
    monkeypatch.setattr("siddhi.spark.local_session", lambda master: found.append(master) or spark, raising=False)
    monkeypatch.setattr(type(spark), "stop", lambda self: found.append("stopped"))
    return found


def run(*arguments: str) -> str:
    result = CliRunner().invoke(siddhi, ["run", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_files_go_in_and_out(masters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.siddhi").write_text(APP)
    lines = [f"{1000 + 100 * n},{'AB'[n % 3 == 0]},{n * 7 % 5}.5,{n}" for n in range(40)]
    (tmp_path / "trades.csv").write_text("\n".join(["ts,symbol,price,n", *lines, "6000,A,,41"]) + "\n")
    common = ["app.siddhi", "--input", f"Trades={tmp_path}/trades.csv", "--timestamp", "ts", "--emit-timestamp", "at"]
    run(*common, "--output", "Rises=want-rises.csv", "--output", "Dear=want-dear.jsonl")
    spark = ["--engine", "spark", "--master", "local[2]", "--shards", "3"]
    told = run(*common, *spark, "--output", "Rises=rises.csv", "--output", "Dear=dear.jsonl")
    assert masters == ["local[2]", "stopped"]
    for name in ("rises.csv", "dear.jsonl"):
        want, got = ((tmp_path / file).read_text().splitlines() for file in (f"want-{name}", name))
        assert len(want) > 10
        assert (got[0], sorted(got)) == (want[0], sorted(want))
        assert [line.split(",")[0] for line in got] == [line.split(",")[0] for line in want]
    assert f"Rises: {len((tmp_path / 'rises.csv').read_text().splitlines()) - 1} events out to rises.csv" in told


def test_a_stream_of_files_goes_on_where_it_was(masters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "app.siddhi").write_text(
        f"""@app:name('Dear')
        @source(type = 'file', file.uri = '{tmp_path}/in', timestamp = 'ts', watermark = '1 second', @map(type = 'csv'))
        define stream Trades (ts long, price double);
        @sink(type = 'file', file.uri = '{tmp_path}/out', @map(type = 'csv'))
        define stream Dear (price double);
        from Trades[price > 2.0] select price insert into Dear;"""
    )
    arguments = [
        "app.siddhi",
        "--engine",
        "spark",
        "--master",
        "local[2]",
        "--checkpoint",
        str(tmp_path / "checkpoint"),
    ]
    for n, text in enumerate(["1000,1.5\n2000,2.5\n", "3000,3.5\n"]):
        (tmp_path / "in" / f"{n}.csv").write_text(f"ts,price\n{text}")
        assert "0 late rows" in run(*arguments)
    rows = [line for path in (tmp_path / "out").rglob("*.csv") for line in path.read_text().splitlines()]
    assert sorted(line.split(",")[0] for line in rows) == ["2.5", "3.5"]
