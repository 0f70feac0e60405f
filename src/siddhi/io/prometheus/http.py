"""HTTP of the connectors of Prometheus: a client by the options of an annotation, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx2

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.options import OptionHolder
from siddhi.io.tls import client_context

__all__ = ["LARGEST_ANSWER", "credentials_of", "fetch", "make_client", "read_url"]

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of the largest answer that is read."""


def read_url(options: OptionHolder, name: str, default: str | None = None) -> str:
    """Return the URL in an option.

    Raises:
        SiddhiAppCreationError: it is missing, or not one of http or https.
    """
    url = options.static(name, default)
    try:
        parts = urlsplit(url)
        is_valid = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port >= 0)
        )
    except ValueError:
        is_valid = False
    if not is_valid:
        raise options.invalid(name, "a URL such as http://localhost:9090/metrics")
    return url


def credentials_of(options: OptionHolder) -> tuple[str, str] | None:
    """Return the options ``username`` and ``password``; None: they are not set.

    Raises:
        SiddhiAppCreationError: one of them is missing.
    """
    name, password = options.optional("username"), options.secret("password")
    if (name is None) != (password is None):
        raise options.invalid("username" if password is None else "password", "both username and password", shown=False)
    return None if name is None or password is None else (name, password)


def make_client(options: OptionHolder, timeout: float, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """Return a client that verifies certificates, unless options say otherwise.

    Raises:
        SiddhiAppCreationError: an option of TLS or of the credentials is invalid.
    """
    return httpx2.AsyncClient(
        verify=client_context(options), auth=credentials_of(options), timeout=timeout, headers=dict(headers)
    )


async def fetch(client: httpx2.AsyncClient, method: str, url: str, **more: object) -> tuple[int, bytes]:
    """Send a request, and return status and content of the answer.

    Raises:
        ConnectionUnavailableError: the server can't be reached, or its answer is larger than :data:`LARGEST_ANSWER`.
    """
    try:
        async with client.stream(method, url, **more) as answer:  # type: ignore[arg-type]
            content = bytearray()
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > LARGEST_ANSWER:
                    raise ConnectionUnavailableError(f"the answer of '{url}' is larger than {LARGEST_ANSWER} bytes")
            return answer.status_code, bytes(content)
    except httpx2.HTTPError as error:
        raise ConnectionUnavailableError(f"'{url}' can't be reached: {type(error).__name__}: {error}") from error
