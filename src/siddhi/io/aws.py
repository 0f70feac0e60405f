"""A client of a service of AWS, through boto3, whose calls run in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.extension.local_files import local_path
from siddhi.io.blocking_calls import in_thread
from siddhi.io.options import OptionHolder

__all__ = ["AwsClient", "RefusedError"]

_T = TypeVar("_T")


class RefusedError(Exception):
    """The service refuses a request because of what it contains.

    Attributes:
        code: the code of the service.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class AwsClient:
    """Reads the options of credentials and endpoint, and calls the service.

    Args:
        owner: for messages, such as ``sink 'sqs'``.
        service: name of the service for boto3.
        place: what is called, for messages, such as ``the queue``.
        options: the options.
        connections: number of calls at the same time.
        prefix: before the names of the options of region and keys.

    Raises:
        SiddhiAppCreationError: an option is invalid.
    """

    def __init__(
        self, owner: str, service: str, place: str, options: OptionHolder, connections: int, prefix: str = ""
    ) -> None:
        key, secret = options.optional(f"{prefix}access.key"), options.secret(f"{prefix}secret.key")
        if (key is None) != (secret is None):
            raise SiddhiAppCreationError(
                f"{owner} requires both or none of '{prefix}access.key' and '{prefix}secret.key'", code="E326"
            )
        authorities = options.optional("tls.ca.file")
        if authorities is not None and local_path(authorities) is None:
            raise options.invalid("tls.ca.file", "a local file")
        self.timeout = options.duration("timeout", "30 sec")
        self._arguments: dict[str, Any] = {
            "service_name": service,
            "region_name": options.optional(f"{prefix}region"),
            "endpoint_url": options.optional("endpoint.url"),
            "aws_access_key_id": key,
            "aws_secret_access_key": secret,
            "verify": None if authorities is None else local_path(authorities),
        }
        self._place = place
        self._connections = connections
        self._client: Any = None

    async def open(self, wait: float = 0.0, **config: Any) -> None:
        """Make the client.

        Args:
            wait: seconds that a call may wait for messages.
            config: further settings of botocore.

        Raises:
            ConnectionUnavailableError: there is no region, or it is invalid.
        """
        settings = Config(
            connect_timeout=min(self.timeout, 10.0),
            read_timeout=self.timeout + wait,
            retries={"total_max_attempts": 1},  # the app tries again
            max_pool_connections=self._connections + 2,
            **config,
        )
        try:
            self._client = await in_thread(
                lambda: boto3.session.Session().client(config=settings, **self._arguments),
                "AWS",
                self.timeout,
                lambda: None,
            )
        except (BotoCoreError, ValueError) as error:
            raise ConnectionUnavailableError(f"{self._place} can't be reached: {error}") from error

    async def call(self, name: str, *, wait: float = 0.0, **arguments: Any) -> dict[str, Any]:
        """Call a method of the client, and return its answer.

        Raises:
            ConnectionUnavailableError: the service can't be reached, or is busy.
            RefusedError: the request is wrong.
        """
        client = self._client
        if client is None:
            raise ConnectionUnavailableError("not connected")
        answer: dict[str, Any] = await self.run(lambda: getattr(client, name)(**arguments), wait)
        return answer

    async def run(self, work: Callable[[], _T], wait: float = 0.0) -> _T:
        """Run a function that uses answers of the service in a thread; errors as for :meth:`call`."""
        try:
            return await in_thread(work, self._place, self.timeout + wait + 5.0, lambda: None)
        except ClientError as error:
            details = error.response.get("Error", {})
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            code = str(details.get("Code", ""))
            is_denied = status == 403 and code != "InvalidObjectState"  # an object in an archive
            if status >= 500 or is_denied or "Throttl" in code or code == "OverLimit":
                raise ConnectionUnavailableError(
                    f"{self._place} refuses for now: {code}: {details.get('Message')}"
                ) from error
            raise RefusedError(code, str(details.get("Message"))) from error
        except BotoCoreError as error:
            raise ConnectionUnavailableError(f"{self._place} can't be reached: {error}") from error

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
