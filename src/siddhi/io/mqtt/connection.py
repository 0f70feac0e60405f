"""A connection to a broker of MQTT on the event loop of the connectors."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from siddhi.errors import ConnectionUnavailableError, MappingFailedError
from siddhi.io.event_loop import end_tasks
from siddhi.io.mqtt.options import MqttOptions

__all__ = ["MqttConnection"]

_MISC_SECONDS = 1.0
_CLOSE_SECONDS = 2.0
_REFUSED = (0x87, 0x90, 0x95, 0x99)
"""Reasons that concern one message: not authorized, topic name invalid, packet too large, payload format invalid."""


class _ClosingSocket(ssl.SSLSocket):
    """A socket that closes itself if the handshake fails: the library leaves it open then."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


class MqttConnection:
    """One connection. The library's client is driven by the event loop; all methods are called on it.

    Args:
        options: the options.
        on_message: receives messages; None: for a connection that only publishes.
        on_lost: called when the connection is lost.

    Attributes:
        failure: why the connection was lost; None: it is not.
        receive_maximum: number of messages that the broker accepts without having acknowledged them.
    """

    def __init__(
        self,
        options: MqttOptions,
        on_message: Callable[[MQTTMessage], None] | None = None,
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        self.failure: ConnectionUnavailableError | None = None
        self.receive_maximum = 65535
        self._options = options
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._is_paused = False
        self._is_closing = False
        self._answers: dict[tuple[str, int], asyncio.Future[Any]] = {}
        self._misc: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        client = self._client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=options.client_id,
            clean_session=options.clean if options.version == 4 else None,
            protocol=MQTTProtocolVersion(options.version),
            reconnect_on_failure=False,
            manual_ack=on_message is not None,
        )
        client.connect_timeout = options.timeout
        client.max_inflight_messages_set(0)  # the sink limits them
        if options.username is not None:
            client.username_pw_set(options.username, options.password)
        if options.tls is not None:
            options.tls.sslsocket_class = _ClosingSocket
            client.tls_set_context(options.tls)
        if (will := options.will) is not None:
            client.will_set(will.topic, will.payload, will.qos, will.retain)
        client.on_connect = lambda _client, _data, _flags, code, properties: self._answer(
            "connect", 0, (code, properties)
        )
        client.on_disconnect = lambda _client, _data, _flags, code, _properties: self._lose(f"{code}")
        client.on_subscribe = lambda _client, _data, mid, codes, _properties: self._answer("subscribe", mid, codes)
        client.on_publish = lambda _client, _data, mid, code, _properties: self._answer("publish", mid, code)
        if on_message is not None:
            client.on_message = lambda _client, _data, message: on_message(message)

    # --- connection

    async def open(self, receive_maximum: int | None = None) -> None:
        """Connect.

        Args:
            receive_maximum: number of messages that the broker may send without an acknowledgement, in MQTT 5.

        Raises:
            ConnectionUnavailableError, OSError: it is not possible.
        """
        options, client = self._options, self._client
        more: dict[str, Any] = {}
        if options.version == 5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = options.expiry
            if receive_maximum is not None:
                properties.ReceiveMaximum = max(1, min(receive_maximum, 65535))
            more = {"clean_start": options.clean, "properties": properties}
        connected = self._expect("connect", 0)
        await asyncio.to_thread(client.connect, options.host, options.port, options.keep_alive, **more)
        found = client.socket()
        assert isinstance(found, socket.socket)
        self._socket = found
        client.on_socket_close = lambda _client, _data, closed: self._forget(closed)
        client.on_socket_register_write = lambda _client, _data, open_: self._loop.add_writer(open_, self._write)
        client.on_socket_unregister_write = lambda _client, _data, open_: self._stop_writing(open_)
        self._loop.add_reader(found, self._read)
        if client.want_write():
            self._loop.add_writer(found, self._write)
        self._misc = self._loop.create_task(self._ping())
        code, properties_ = await self._answered(connected)
        if code.is_failure:
            raise ConnectionUnavailableError(f"the broker refuses the connection: {code}")
        if properties_ is not None:
            self.receive_maximum = getattr(properties_, "ReceiveMaximum", 65535)

    async def close(self) -> None:
        """Disconnect, and close the socket; a second call has no effect."""
        self._is_closing = True
        if self._socket is not None:
            self._client.disconnect()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _CLOSE_SECONDS)
        if (left := self._client.socket()) is not None:
            self._forget(left)
            left.close()
        if self._misc is not None:
            await end_tasks((self._misc,))
        self._fail_answers(ConnectionUnavailableError("the connection to the broker was closed"))

    def _forget(self, closed: Any) -> None:
        if self._socket is not None:
            self._loop.remove_reader(closed)
            self._loop.remove_writer(closed)
            self._socket = None
        self._ended.set()

    def _stop_writing(self, open_: Any) -> None:
        self._loop.remove_writer(open_)

    def _lose(self, why: str) -> None:
        self._ended.set()
        if self.failure is None and not self._is_closing:
            self.failure = ConnectionUnavailableError(f"the connection to the broker is lost: {why}")
            self._fail_answers(self.failure)
            self._on_lost()

    def _fail_answers(self, failure: Exception) -> None:
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            if not answer.done():
                answer.set_exception(failure)
                answer.exception()  # its task may have ended: an exception that is not read is logged

    # --- the loop of the library

    def _read(self) -> None:
        open_ = self._socket
        while open_ is not None and open_ is self._socket and not self._is_paused:
            self._check(self._client.loop_read())
            # TLS may have decrypted more than one packet.
            if not (hasattr(open_, "pending") and open_ is self._socket and open_.pending()):
                return

    def _write(self) -> None:
        self._check(self._client.loop_write())

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(_MISC_SECONDS)
            if not self._is_paused:  # the answer to a ping would not be read
                self._check(self._client.loop_misc())

    def _check(self, code: MQTTErrorCode) -> None:
        if code not in (MQTTErrorCode.MQTT_ERR_SUCCESS, MQTTErrorCode.MQTT_ERR_AGAIN):
            self._lose(code.name)

    def pause(self) -> None:
        """Read no more until :meth:`resume`."""
        if self._socket is not None and not self._is_paused:
            self._is_paused = True
            self._loop.remove_reader(self._socket)

    def resume(self) -> None:
        """Read again."""
        if self._is_paused:
            self._is_paused = False
            if self._socket is not None:
                self._loop.add_reader(self._socket, self._read)
                self._loop.call_soon(self._read_rest)

    def _read_rest(self) -> None:
        """Read what TLS has decrypted before the pause: the socket does not become readable by it."""
        open_ = self._socket
        if open_ is not None and hasattr(open_, "pending") and open_.pending():
            self._read()

    # --- requests

    def _expect(self, kind: str, mid: int) -> asyncio.Future[Any]:
        expected: asyncio.Future[Any] = self._loop.create_future()
        self._answers[kind, mid] = expected
        return expected

    def _answer(self, kind: str, mid: int, answer: Any) -> None:
        expected = self._answers.pop((kind, mid), None)
        if expected is not None and not expected.done():
            expected.set_result(answer)

    async def _answered(self, expected: asyncio.Future[Any]) -> Any:
        try:
            return await asyncio.wait_for(expected, self._options.timeout)
        except asyncio.TimeoutError:
            raise ConnectionUnavailableError(f"the broker did not answer in {self._options.timeout:g} s") from None

    async def subscribe(self, topic: str, qos: int) -> int:
        """Subscribe a topic; return the granted quality of service.

        Raises:
            ConnectionUnavailableError: the broker refuses it.
        """
        code, mid = self._client.subscribe(topic, qos)
        if mid is None:
            raise ConnectionUnavailableError(f"can't subscribe '{topic}': {code.name}")
        granted: list[ReasonCode] = await self._answered(self._expect("subscribe", mid))
        if granted[0].is_failure:
            raise ConnectionUnavailableError(f"the broker refuses to subscribe '{topic}': {granted[0]}")
        return int(granted[0].value)

    async def publish(self, topic: str, payload: Any, qos: int, *, retain: bool, more: Mapping[str, Any]) -> None:
        """Publish a message; return when the broker has acknowledged it, with quality of service 0 when it is sent.

        Args:
            topic: the topic.
            payload: a text or bytes.
            qos: the quality of service.
            retain: whether the broker keeps it for later subscribers.
            more: properties of MQTT 5 by their names in the library.

        Raises:
            ConnectionUnavailableError: the connection is lost.
            MappingFailedError: this message can't be published.
        """
        properties = None
        if more:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            for name, value in more.items():
                setattr(properties, name, value)
        try:
            info = self._client.publish(topic, payload, qos, retain, properties)
        except (ValueError, TypeError) as error:
            raise MappingFailedError(f"the message can't be published: {error}") from error
        if info.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise ConnectionUnavailableError(f"the connection to the broker is lost: {info.rc.name}")
        if qos == 0 and info.is_published():
            return
        code = await self._answered(self._expect("publish", info.mid))
        if code.is_failure:
            text = f"the broker refuses the message to '{topic}': {code}"
            raise MappingFailedError(text) if code.value in _REFUSED else ConnectionUnavailableError(text)

    def acknowledge(self, mid: int, qos: int) -> None:
        """Acknowledge a message.

        Raises:
            ConnectionUnavailableError: the connection is lost.
        """
        code = self._client.ack(mid, qos)
        if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise ConnectionUnavailableError(f"the connection to the broker is lost: {code.name}")
