from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kit.kafka import KafkaServer

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def kafka() -> KafkaServer:
    """The mock cluster of librdkafka."""
    pytest.importorskip("confluent_kafka")
    from tests.kit.kafka import KafkaServer

    return KafkaServer()


@pytest.fixture
def topic(kafka: KafkaServer) -> str:
    """The name of a new topic."""
    name = f"topic{next(_NUMBERS)}"
    kafka.create(name)
    return name
