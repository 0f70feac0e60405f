"""What librdkafka's clients log."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import KafkaException, Producer

from siddhi.io.kafka.client_log import ClientLog


def test_repeated_lines_of_a_kind_are_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    log = ClientLog()
    for number in range(100):
        log.log(logging.ERROR, "%s [%s] %s", "FAIL", "client", number)
    log.log(logging.WARNING, "%s [%s] %s", "CONFWARN", "client", "100 %")
    assert [record.getMessage() for record in caplog.records] == [
        "FAIL [client] 0",
        "FAIL [client] 1",
        "FAIL [client] 2",
        "FAIL [client] 5 (6 like this so far, 2 of them not shown)",
        "FAIL [client] 11 (12 like this so far, 5 of them not shown)",
        "FAIL [client] 23 (24 like this so far, 11 of them not shown)",
        "FAIL [client] 47 (48 like this so far, 23 of them not shown)",
        "FAIL [client] 95 (96 like this so far, 47 of them not shown)",
        "CONFWARN [client] 100 %",
    ]


def test_a_client_without_brokers_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    settings = {"bootstrap.servers": "127.0.0.1:1", "reconnect.backoff.ms": 1, "reconnect.backoff.max.ms": 1}
    producer = Producer(settings, logger=ClientLog())
    with pytest.raises(KafkaException):
        producer.list_topics(timeout=0.3)
    producer.poll(0)
    assert 3 <= len(caplog.records) <= 12
