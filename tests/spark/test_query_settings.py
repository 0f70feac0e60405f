"""Settings of the session while a query is started; needs no Java."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.query_settings import with_settings

SHUFFLE = "spark.sql.shuffle.partitions"


class Conf:
    def __init__(self):
        self.held = {SHUFFLE: "17"}

    def get(self, name, default):
        return self.held.get(name, default)

    def set(self, name, value):
        self.held[name] = value

    def unset(self, name):
        self.held.pop(name, None)


def test_two_threads_that_start_queries_restore_the_users_settings():
    spark = SimpleNamespace(conf=Conf())
    inside, seen = threading.Event(), []

    def second() -> None:
        inside.wait()
        with with_settings(spark, {SHUFFLE: "3", "other": "x"}):
            seen.append(dict(spark.conf.held))

    thread = threading.Thread(target=second)
    thread.start()
    with with_settings(spark, {SHUFFLE: "2"}):
        inside.set()
        thread.join(0.05)
        assert thread.is_alive()  # waits for its turn
        assert seen == []
        with with_settings(spark, {SHUFFLE: "4"}):  # of the same thread
            assert spark.conf.held == {SHUFFLE: "4"}
    thread.join()
    assert seen == [{SHUFFLE: "3", "other": "x"}]
    assert spark.conf.held == {SHUFFLE: "17"}


def test_a_refused_setting_restores_all_others():
    spark = SimpleNamespace(conf=Conf())
    spark.conf.set = lambda name, value: (
        (_ for _ in ()).throw(ValueError(name)) if name == "bad" else Conf.set(spark.conf, name, value)
    )
    with pytest.raises(ValueError, match="bad"), with_settings(spark, {SHUFFLE: "2", "bad": "x"}):
        pass
    assert spark.conf.held == {SHUFFLE: "17"}
