"""Options of asynchronous transports: buffers and acknowledgements."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorOption

__all__ = ["ACK", "BUFFER", "EVENT_TIME", "QUEUE", "UNACKNOWLEDGED"]

BUFFER = ConnectorOption(
    "buffer.payloads", "number of payloads that may wait for the app; then the source reads no more; default: 1000"
)
QUEUE = ConnectorOption(
    "buffer.payloads", "number of payloads that may wait for the sink; then the app waits; default: 1000"
)
ACK = ConnectorOption(
    "ack",
    "when a message is acknowledged: 'received', 'processed' (the app has processed its events) or 'checkpoint' (they are "
    "part of a state that was persisted)",
)
EVENT_TIME = ConnectorOption(
    "event.time",
    "timestamp of the events: 'arrival' (the app's time) or 'message' (the time of the message, if it has one); default: "
    "'arrival'",
)
UNACKNOWLEDGED = ConnectorOption(
    "buffer.unacknowledged",
    "with ack = 'checkpoint': number of messages that may wait for the next persist; then the source receives no more; "
    "default: 10000",
)
