"""Messages of services: the events of Siddhi's event service, and the bytes of any other service.

service EventService {
    rpc process(Event) returns (Event);
    rpc consume(stream Event) returns (google.protobuf.Empty);
}
message Event { string payload = 1; map<string, string> headers = 2; }
"""

from __future__ import annotations

from typing import Any, Protocol

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from siddhi.errors import MappingFailedError

__all__ = ["EVENT_SERVICE", "EventFormat", "Format", "RawFormat"]

EVENT_SERVICE = "org.wso2.grpc.EventService"


def _event_class() -> Any:
    """Return the class of the message ``Event``, from a descriptor made here instead of generated code."""
    types = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="siddhi/event.proto", package="org.wso2.grpc", syntax="proto3")
    event = file.message_type.add(name="Event")
    event.field.add(name="payload", number=1, type=types.TYPE_STRING, label=types.LABEL_OPTIONAL)
    entry = event.nested_type.add(name="HeadersEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=types.TYPE_STRING, label=types.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=types.TYPE_STRING, label=types.LABEL_OPTIONAL)
    event.field.add(
        name="headers",
        number=2,
        type=types.TYPE_MESSAGE,
        label=types.LABEL_REPEATED,
        type_name=".org.wso2.grpc.Event.HeadersEntry",
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("org.wso2.grpc.Event"))


_Event = _event_class()


class Format(Protocol):
    """Converts payloads and headers to messages and back.

    Attributes:
        has_headers: whether a message has headers; otherwise they are metadata of the call.
    """

    has_headers: bool

    def encode(self, payload: object, headers: dict[str, str]) -> bytes:
        """Return a message.

        Raises:
            MappingFailedError: the payload has a wrong type.
        """

    def decode(self, message: bytes) -> tuple[str | bytes, dict[str, str]]:
        """Return the payload and the headers of a message.

        Raises:
            ValueError: the message has not the format.
        """


class EventFormat:
    """Messages ``Event``: payloads are texts."""

    has_headers = True

    def encode(self, payload: object, headers: dict[str, str]) -> bytes:
        if not isinstance(payload, str):
            raise MappingFailedError(
                f"the event service carries texts, not {type(payload).__name__}: use a mapper such as json"
            )
        try:
            message: bytes = _Event(payload=payload, headers=headers).SerializeToString()
        except ValueError as error:  # a lone surrogate
            raise MappingFailedError(f"the payload is not UTF-8: {error}") from None
        return message

    def decode(self, message: bytes) -> tuple[str | bytes, dict[str, str]]:
        try:
            event = _Event.FromString(message)
        except DecodeError as error:
            raise ValueError(f"not a message Event: {error}") from None
        return event.payload, dict(event.headers)


class RawFormat:
    """Messages of a user's service: payloads are their bytes, as of the mapper protobuf."""

    has_headers = False

    def encode(self, payload: object, headers: dict[str, str]) -> bytes:
        if isinstance(payload, (bytes, bytearray)):
            return bytes(payload)
        raise MappingFailedError(f"the service takes messages, not {type(payload).__name__}: use the mapper protobuf")

    def decode(self, message: bytes) -> tuple[str | bytes, dict[str, str]]:
        return message, {}
