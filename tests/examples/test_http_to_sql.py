"""The example ``http_to_sql``: the table in the database is what pandas computes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.http import free_port

pd = pytest.importorskip("pandas")
for needed in ("confluent_kafka", "httptools", "sqlalchemy", "msgspec"):
    pytest.importorskip(needed)

from tests.kit.kafka import KafkaServer  # noqa: E402 - needs confluent_kafka

FOLDER = Path(__file__).parents[2] / "examples" / "http_to_sql"


@pytest.fixture(scope="module")
def bars() -> pd.DataFrame:
    lines = (FOLDER / "bars.jsonl").read_text(encoding="utf-8").splitlines()
    return pd.DataFrame([bar for line in lines for bar in json.loads(line)])


def test_the_table_has_the_breakouts(bars: pd.DataFrame, tmp_path: Path) -> None:
    broker = KafkaServer().address
    command = [sys.executable, str(FOLDER / "run.py"), "--broker", broker, "--port", str(free_port())]
    command += ["--database", str(tmp_path / "breakouts.db")]
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    found = pd.DataFrame([json.loads(line) for line in result.stdout.splitlines()])
    averages = bars.groupby("symbol")["close"].transform(lambda values: values.rolling(20, min_periods=1).mean())
    expected = bars.assign(average=averages)[bars["close"] > averages * 1.05].sort_values(["date", "symbol"])
    assert len(expected) > 10
    pd.testing.assert_frame_equal(
        found, expected[["date", "symbol", "close", "average"]].reset_index(drop=True), check_exact=False
    )


def test_the_data_is_that_of_the_script(bars: pd.DataFrame) -> None:
    counts = bars.groupby("date").size()
    assert (len(counts), counts.min(), counts.max()) == (290, 4, 4)
