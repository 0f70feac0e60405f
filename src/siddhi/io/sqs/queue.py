"""A queue of Amazon SQS."""

from __future__ import annotations

from typing import Any

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.aws import AwsClient, RefusedError
from siddhi.io.options import OptionHolder

__all__ = ["Queue", "RefusedError"]


class Queue:
    """Reads the options of the queue, and calls it.

    Args:
        owner: for messages, such as ``sink 'sqs'``.
        options: the options.
        connections: number of calls at the same time.

    Raises:
        SiddhiAppCreationError: an option is missing or invalid.
    """

    def __init__(self, owner: str, options: OptionHolder, connections: int) -> None:
        self._queue = options.static("queue")
        options.static("region")  # required
        self._client = AwsClient(owner, "sqs", "the queue", options, connections)
        self._url = ""

    @property
    def is_fifo(self) -> bool:
        """Whether the queue keeps the order of the messages of a group."""
        return self._queue.endswith(".fifo")

    async def open(self, wait: float = 0.0) -> None:
        """Make the client, and find the queue.

        Args:
            wait: seconds that a call may wait for messages.

        Raises:
            ConnectionUnavailableError: the service can't be reached, or the queue does not exist or must not be used.
        """
        await self._client.open(wait)
        try:
            if self._queue.startswith(("http://", "https://")):
                self._url = self._queue
                await self.call("get_queue_attributes", AttributeNames=["VisibilityTimeout"])
            else:
                self._url = (await self._client.call("get_queue_url", QueueName=self._queue))["QueueUrl"]
        except RefusedError as error:
            raise ConnectionUnavailableError(f"queue '{self._queue}': {error}") from error

    async def call(self, name: str, *, wait: float = 0.0, **arguments: Any) -> dict[str, Any]:
        """Call a method of the client for the queue, and return its answer.

        Raises:
            ConnectionUnavailableError: the service can't be reached, or is busy.
            RefusedError: the request is wrong.
        """
        return await self._client.call(name, wait=wait, QueueUrl=self._url, **arguments)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
