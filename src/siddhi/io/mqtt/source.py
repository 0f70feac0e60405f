"""``@source(type = 'mqtt')``: subscribes a topic of MQTT."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any, ClassVar, cast

from paho.mqtt.client import MQTTMessage

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.mqtt.connection import MqttConnection
from siddhi.io.mqtt.options import MqttOptions, check_topic
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener
from siddhi.io.unacknowledged import UnacknowledgedLimit

__all__ = ["MqttSource"]

logger = logging.getLogger("siddhi")

_PROPERTIES = ("topic", "qos", "retain", "duplicate")
_PROPERTIES_5 = ("content.type", "response.topic")
_MOST_READ = 200
"""Number of received messages that wait for their turn; then the connection is not read."""


class MqttSource(AsyncSource):
    """Receives the messages of a topic.

    Messages of quality of service 1 are acknowledged once they are processed or persisted; the broker sends those that are not
    acknowledged again, if it keeps the session.
    """

    ack_modes: ClassVar = ("processed", "checkpoint", "received")

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._names = transport_properties
        self._options = MqttOptions.read(options)
        if self._options.version == 4:
            for name in transport_properties:
                if name not in _PROPERTIES:
                    raise SiddhiAppCreationError(
                        f"source 'mqtt' has no transport property '{name}'",
                        code="E326",
                        hint=f"use {', '.join(_PROPERTIES)}; user properties need version = '5'",
                    )
        self._topic = options.static("topic")
        check_topic(options, "topic", has_wildcards=True)
        self._qos = options.integer("quality.of.service", 1, most=2)
        if self._qos != 1:
            if "ack" in options and self.acknowledges != "received":
                expected = (
                    "quality.of.service = '1' beside it: a broker repeats no message of another quality of service"
                )
                raise options.invalid("ack", expected)
            self.acknowledges = "received"
        elif self.acknowledges != "received" and "ack" in options and self._options.clean:
            expected = "clean.session = 'false' beside it: otherwise the broker forgets what is not acknowledged"
            raise options.invalid("ack", expected)
        self._limit = UnacknowledgedLimit.read(
            options, self.acknowledges, f"app '{context.app}', source 'mqtt' of stream '{context.stream}'"
        )
        self._link: MqttConnection | None = None
        self._is_receiving = False
        self._number = 0
        self._arrived = asyncio.Event()
        self._messages: deque[MQTTMessage] = deque()
        self._pending: deque[tuple[int, int]] = deque()  # position and message identifier

    async def open(self) -> None:
        self._arrived = asyncio.Event()
        self._messages.clear()
        self._pending.clear()
        self._limit.begin()
        # The messages of a session may come before the answer to the subscription, which must be read.
        self._is_receiving = False
        self._link = link = MqttConnection(self._options, self._take, self._arrived.set)
        await link.open(receive_maximum=self._limit.most or self.buffer_size)
        granted = await link.subscribe(self._topic, self._qos)
        if granted < self._qos:
            logger.warning(
                "source 'mqtt' of stream '%s': the broker grants '%s' the quality of service %d instead of %d",
                self.context.stream,
                self._topic,
                granted,
                self._qos,
            )

    def _take(self, message: MQTTMessage) -> None:
        self._messages.append(message)
        self._arrived.set()
        if self._is_receiving and len(self._messages) >= _MOST_READ and self._link is not None:
            self._link.pause()

    async def receive(self) -> None:
        link = self._link
        assert link is not None
        self._is_receiving = True
        while True:
            while not self._messages or self._limit.is_reached:  # then the connection is soon read no more
                if link.failure is not None:
                    raise link.failure
                self._arrived.clear()
                await self._arrived.wait()
            message = self._messages.popleft()
            if not self._messages:
                link.resume()
            self._number += 1
            if message.qos == 1 and self.acknowledges != "received":
                self._pending.append((self._number, message.mid))
                self._limit.note(len(self._pending))
            elif message.qos:
                link.acknowledge(message.mid, message.qos)
            await self.put(message.payload, self._properties(message), self._number)

    async def acknowledge(self, position: object) -> None:
        link = self._link
        number = cast("int", position)
        while link is not None and self._pending and self._pending[0][0] <= number:
            link.acknowledge(self._pending.popleft()[1], 1)
        self._limit.note(len(self._pending))
        self._arrived.set()

    async def close(self) -> None:
        link, self._link = self._link, None
        self._limit.end()
        if link is not None:
            await link.close()

    def _properties(self, message: MQTTMessage) -> list[object]:
        return [_property(message, name) for name in self._names]


def _property(message: MQTTMessage, name: str) -> object:
    if name == "topic":
        return message.topic
    if name == "qos":
        return message.qos
    if name in ("retain", "duplicate"):
        return "true" if (message.retain if name == "retain" else message.dup) else "false"
    properties: Any = message.properties
    if name == "content.type":
        return getattr(properties, "ContentType", None)
    if name == "response.topic":
        return getattr(properties, "ResponseTopic", None)
    return next((value for key, value in getattr(properties, "UserProperty", ()) if key == name), None)
