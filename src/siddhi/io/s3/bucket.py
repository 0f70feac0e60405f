"""A bucket of Amazon S3."""

from __future__ import annotations

from typing import Any

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.aws import AwsClient, RefusedError
from siddhi.io.options import OptionHolder

__all__ = ["Bucket", "RefusedError"]


class Bucket:
    """Reads the options of the bucket, and calls it.

    Args:
        owner: for messages, such as ``sink 's3'``.
        options: the options.
        connections: number of calls at the same time.

    Raises:
        SiddhiAppCreationError: an option is missing, invalid or not supported.
    """

    def __init__(self, owner: str, options: OptionHolder, connections: int) -> None:
        self.name = options.static("bucket.name")
        if "credential.provider.class" in options:
            raise options.invalid(
                "credential.provider.class",
                "no class of Java: leave it out, and AWS finds credentials as for all its tools",
            )
        self._client = AwsClient(owner, "s3", f"bucket '{self.name}'", options, connections, prefix="aws.")
        # Services beside AWS seldom have a host name for each bucket.
        self._style = "path" if "endpoint.url" in options else "auto"

    async def open(self) -> None:
        """Make the client, and find the bucket.

        Raises:
            ConnectionUnavailableError: the service can't be reached, or the bucket does not exist or must not be used.
        """
        await self._client.open(s3={"addressing_style": self._style})
        try:
            await self.call("head_bucket")
        except RefusedError as error:
            raise ConnectionUnavailableError(f"bucket '{self.name}': {error}") from error

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a method of the client for the bucket, and return its answer.

        Raises:
            ConnectionUnavailableError: the service can't be reached, or is busy; the bucket does not exist.
            RefusedError: the request is wrong.
        """
        try:
            return await self._client.call(name, Bucket=self.name, **arguments)
        except RefusedError as error:
            if error.code == "NoSuchBucket":
                raise ConnectionUnavailableError(f"bucket '{self.name}': {error}") from error
            raise

    async def content(self, **arguments: Any) -> bytes:
        """Return the content of an object; arguments of ``get_object``, errors as for :meth:`call`."""
        answer = await self.call("get_object", **arguments)
        body = answer["Body"]

        def read() -> bytes:
            with body:
                content: bytes = body.read()
                return content

        return await self._client.run(read)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
