"""Completion marks of written batches, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.sinks import written_batch


@pytest.mark.parametrize(
    ("mark", "rows"),
    [
        ('{"rows": 3, "files": {"a": 1}}', 3),
        ('{"rows": 3, "files": {"a": 2}}', None),
        ('{"rows": 3, "fil', None),
        ("[]", None),
        ("7", None),
        ("{}", None),
        ('{"rows": "3", "files": {"a": 1}}', None),
        ('{"rows": 3}', None),
    ],
)
def test_a_batch_is_complete_if_its_mark_says_so(monkeypatch: pytest.MonkeyPatch, mark: str, rows: int | None) -> None:
    spark: Any = None
    monkeypatch.setattr(written_batch.files, "exists", lambda spark, path: True)
    monkeypatch.setattr(written_batch.files, "read_text", lambda spark, path: mark)
    monkeypatch.setattr(written_batch, "_files", lambda spark, folder: {"a": 1})
    assert written_batch.rows_written(spark, "batch=1") == rows
