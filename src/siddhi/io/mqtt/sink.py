"""``@sink(type = 'mqtt')``: publishes messages of MQTT."""

from __future__ import annotations

from typing import Any

from siddhi.errors import ConnectionUnavailableError, MappingFailedError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.mqtt.connection import MqttConnection
from siddhi.io.mqtt.options import MqttOptions, check_topic
from siddhi.io.options import DynamicOptions, OptionHolder, pairs_of

__all__ = ["MqttSink"]

_PROPERTIES_5 = {"content.type": "ContentType", "response.topic": "ResponseTopic"}


class MqttSink(AsyncSink):
    """Publishes payloads. One is published when the broker has acknowledged it, with quality of service 0 when it is sent."""

    supported_input_event_classes = (str, bytes, bytearray)
    concurrency = 20

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._options = MqttOptions.read(options)
        self._topic = options.option("topic")
        if self._topic.is_static:
            check_topic(options, "topic", has_wildcards=False)
        self._qos = options.option("quality.of.service", "1")
        self._retain = options.option("message.retain", "false")
        if self._qos.is_static:
            options.integer("quality.of.service", 1, most=2)
        if self._retain.is_static:
            options.flag("message.retain", default=False)
        self._texts = {name: options.option(name) for name in _PROPERTIES_5 if name in options}
        self._user = options.option("user.properties") if "user.properties" in options else None
        if self._user is not None and self._user.is_static:
            options.pairs("user.properties")
        self._expiry = 0.0
        if "message.expiry" in options:
            self._expiry = options.duration("message.expiry")
        if self._options.version != 5:
            for name in (*_PROPERTIES_5, "user.properties", "message.expiry"):
                if name in options:
                    raise options.invalid(name, "version = '5' beside it", shown=False)
        self._link: MqttConnection | None = None

    async def open(self) -> None:
        self._link = link = MqttConnection(self._options)
        await link.open()

    async def send(self, payload: object, options: DynamicOptions) -> None:
        if not isinstance(payload, (str, bytes, bytearray)):
            raise MappingFailedError(f"sink 'mqtt' publishes texts and bytes, not {type(payload).__name__}")
        qos, retain = str(self._qos.value(options)).strip(), str(self._retain.value(options)).strip().lower()
        if qos not in ("0", "1", "2"):
            raise MappingFailedError(f"the quality of service is 0, 1 or 2, not '{qos}'")
        if retain not in ("true", "false"):
            raise MappingFailedError(f"'message.retain' is 'true' or 'false', not '{retain}'")
        more = self._more(options) if self._options.version == 5 else {}
        link = self._link
        if link is None:
            raise ConnectionUnavailableError("the connection to the broker is closed")
        if link.failure is not None:
            raise link.failure
        topic = str(self._topic.value(options))
        await link.publish(topic, payload, int(qos), retain=retain == "true", more=more)

    def _more(self, options: DynamicOptions) -> dict[str, Any]:
        more: dict[str, Any] = {_PROPERTIES_5[name]: str(option.value(options)) for name, option in self._texts.items()}
        if self._expiry:
            more["MessageExpiryInterval"] = int(self._expiry)
        if self._user is not None:
            try:
                pairs = pairs_of(str(self._user.value(options)))
            except ValueError as error:
                raise MappingFailedError(f"invalid 'user.properties': {error}") from None
            more["UserProperty"] = list(pairs.items())
        return more

    async def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()
