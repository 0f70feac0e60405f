"""The client of sinks: requests with authentication over one pool of connections."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit

import aiohttp

from siddhi._version import __version__
from siddhi.errors import ConnectionUnavailableError, MappingFailedError, SiddhiAppCreationError, SiddhiRuntimeError
from siddhi.io.connector import ConnectorContext
from siddhi.io.http.oauth import Authorization
from siddhi.io.http.options import refuse_stores, status_ranges
from siddhi.io.http.templates import Headers
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.tls import client_context

__all__ = ["ClientOptions", "HttpClient", "StatusError"]

_OF_THE_PAYLOAD = frozenset({400, 413, 414, 415, 422, 431})
"""Status codes that mean: this request will never be accepted."""
_METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS".split()


class StatusError(SiddhiRuntimeError):
    """The answer to a request has a status code that does not count as success."""


class ClientOptions:
    """The options of a sink or source that sends requests.

    Attributes:
        concurrency: number of requests at the same time.
        redirects: number of redirects that are followed.
        request_seconds: maximum time of a request; 0: no limit.
        proxy: URL of a proxy; None: there is none.
        proxy_authorization: value of the header ``Proxy-Authorization``.
        accepted: status codes that count as success.

    Raises:
        SiddhiAppCreationError: an option is missing or invalid, or not supported.
    """

    def __init__(
        self,
        options: OptionHolder,
        context: ConnectorContext,
        *,
        url: str = "publisher.url",
        default_method: str = "POST",
        concurrency: int = 1,
    ) -> None:
        refuse_stores(options)
        self._context = context
        self._url = options.option(url)
        if self._url.is_static:
            self._check_url(options, url)
        self._method = options.option("method", default_method)
        if self._method.is_static and str(self._method.value()).upper() not in ("", *_METHODS):
            raise options.invalid("method", f"one of {', '.join(_METHODS)}")
        self._headers = Headers(options, context)
        self._key = options.option("idempotency.key") if "idempotency.key" in options else None
        self.accepted = status_ranges(options, "success.codes", "200-299")
        self.concurrency = options.integer("executor.service.threads", concurrency, least=1, most=1000)
        self.redirects = options.integer("max.redirects", 0, most=20)
        self.request_seconds = options.duration("request.timeout", "30000")
        self._connect_timeout = options.duration("connect.timeout", "10000")
        idle = options.static("socket.idle.timeout", "-1").strip()
        self._idle_timeout = None if idle == "-1" else options.duration("socket.idle.timeout")
        active = options.integer("max.pool.active.connections", -1, least=-1)
        self._most_connections = 0 if active == -1 else max(active, 1)
        self._kept = options.duration("min.evictable.idle.time", "300000")
        self._tls = self._context_of(options)
        self.proxy, self.proxy_authorization = self._proxy_of(options)
        self._authorization = self._authorization_of(options)
        self.oauth = Authorization.read(options)
        if self.oauth is not None and self._authorization is not None:
            raise SiddhiAppCreationError(
                "OAuth and other authentication exclude each other", code="E326", hint="set only one of them"
            )

    def _check_url(self, options: OptionHolder, name: str) -> None:
        try:
            parts = urlsplit(str(self._url.value()))
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise options.invalid(name, "a URL such as http://localhost:8080/trades")
        if parts.username is not None or parts.password is not None:
            raise SiddhiAppCreationError(
                f"option '{name}' contains a user or a password", code="E326", hint="use 'basic.auth.username'"
            )

    def _context_of(self, options: OptionHolder) -> ssl.SSLContext:
        context = client_context(options)
        if options.flag("ssl.verification.disabled", default=False):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif not options.flag("hostname.verification.enabled", default=True):
            context.check_hostname = False
        if options.choice("ssl.protocol", ("TLS", "TLSv1.2", "TLSv1.3"), "TLS") == "TLSv1.3":
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        return context

    def _proxy_of(self, options: OptionHolder) -> tuple[str | None, str | None]:
        host, user = options.optional("proxy.host"), options.optional("proxy.username")
        if not host:
            for name in ("proxy.port", "proxy.username", "proxy.password"):
                if options.optional(name):
                    raise options.invalid(name, "'proxy.host' beside it", shown=False)
            return None, None
        port = options.integer("proxy.port", 80, least=1, most=65535)
        return f"http://{host}:{port}", None if not user else _basic(user, options.secret("proxy.password") or "")

    def _authorization_of(self, options: OptionHolder) -> str | None:
        user, password = options.optional("basic.auth.username"), options.secret("basic.auth.password")
        token = options.secret("bearer.token")
        if (user is None) != (password is None):
            raise SiddhiAppCreationError(
                "'basic.auth.username' and 'basic.auth.password' need each other", code="E326", hint="set both"
            )
        if user is not None and token is not None:
            raise options.invalid("bearer.token", "only one of a token and a user", shown=False)
        if token is not None:
            return f"Bearer {token}"
        return None if user is None else _basic(user, password or "")

    def url(self, options: DynamicOptions) -> str:
        """Return the URL for a payload."""
        return str(self._url.value(options))

    def method(self, options: DynamicOptions) -> str:
        """Return the method for a payload.

        Raises:
            MappingFailedError: there is no such method.
        """
        method = str(self._method.value(options)).strip().upper() or "POST"
        if method not in _METHODS:
            raise MappingFailedError(f"unknown method '{method}': use one of {', '.join(_METHODS)}")
        return method

    def headers(self, options: DynamicOptions, type_: str | None) -> list[tuple[str, str]]:
        """Return the headers for a payload.

        Args:
            options: those of the payload.
            type_: the content type if ``headers`` has none; None: there is no body.
        """
        headers = self._headers.values(options)
        names = {name.lower() for name, _ in headers}
        if type_ is not None and "content-type" not in names:
            headers.append(("Content-Type", type_))
        if self._key is not None and (key := self._key.value(options)) is not None:
            headers.append(("Idempotency-Key", str(key)))
        if self._authorization is not None and "authorization" not in names:
            headers.append(("Authorization", self._authorization))
        return headers

    def timeout(self, silence: float | None = None) -> aiohttp.ClientTimeout:
        """Return the limits of time of a request; see :meth:`HttpClient.request`."""
        if silence is None:
            silence, total = self._idle_timeout or 0.0, self.request_seconds
        else:
            total = 0.0
        return aiohttp.ClientTimeout(
            total=total or None, sock_connect=self._connect_timeout or None, sock_read=silence or None
        )

    def session(self) -> aiohttp.ClientSession:
        """Return a pool of connections."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._most_connections, limit_per_host=0, keepalive_timeout=self._kept, ssl=self._tls
            ),
            timeout=self.timeout(),
            headers={"User-Agent": f"siddhi/{__version__}"},
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self.proxy,
        )


class HttpClient:
    """Sends requests. Used on the event loop only."""

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._session = options.session()
        self._users = 0
        self._is_closed = False

    async def close(self) -> None:
        """Close the connections, after the answers to the requests that are being sent."""
        self._is_closed = True
        if not self._users:
            await self._session.close()

    @asynccontextmanager
    async def request(
        self,
        body: bytes,
        type_: str,
        options: DynamicOptions,
        *,
        silence: float | None = None,
        more: Sequence[tuple[str, str]] = (),
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request, and return its answer, whatever the status.

        Args:
            body: the body; GET and HEAD have none.
            type_: its content type.
            options: those of the payload.
            silence: the answer may have no end: the request fails after these seconds without a byte; 0: no limit. None: the
                request has the limits of its options.
            more: more headers.

        Raises:
            ConnectionUnavailableError: there is no answer.
            MappingFailedError: the URL, the method or a header is invalid.
        """
        method, url = self._options.method(options), self._options.url(options)
        has_body = method not in ("GET", "HEAD")
        headers = [*self._options.headers(options, type_ if has_body else None), *more]
        self._users += 1
        try:
            response = await self._send(method, url, headers, body if has_body else None, options, silence)
            try:
                yield response
            finally:
                response.release()
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise MappingFailedError(f"invalid URL '{url}'") from error
        except asyncio.TimeoutError:
            raise ConnectionUnavailableError(f"'{url}': no answer within the limits of time") from None
        except aiohttp.ClientError as error:
            raise ConnectionUnavailableError(f"'{url}': {type(error).__name__}: {error}") from error
        finally:
            self._users -= 1
            if self._is_closed and not self._users:
                await self._session.close()

    async def _send(
        self,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        body: bytes | None,
        options: DynamicOptions,
        silence: float | None,
    ) -> aiohttp.ClientResponse:
        """Send a request; again with another token after 401, and to the new place after 307 and 308."""
        oauth, refused, renewals, redirects = self._options.oauth, None, 0, 0
        token, first = None, url
        timeout = self._options.timeout(silence)
        while True:
            given = list(headers)
            if oauth is not None:
                token = await oauth.header(options, self._request_token, refused)
                given.append(("Authorization", token))
            if not _same_origin(first, url):
                given = [header for header in given if header[0].lower() not in ("authorization", "cookie")]
            response = await self._request(method, url, given, body, timeout)
            if response.status == 401 and oauth is not None and renewals < 2:
                renewals += 1
                refused = token
            elif response.status in (307, 308) and redirects < self._options.redirects:
                redirects += 1
                url = urljoin(url, response.headers.get("Location", ""))
            else:
                return response
            response.release()

    async def _request(
        self,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        body: bytes | dict[str, str] | None,
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        """Send one request, through the proxy if there is one."""
        authorization = self._options.proxy_authorization
        tunnel = None
        if authorization is not None:
            if url.lower().startswith("https:"):
                tunnel = {"Proxy-Authorization": authorization}
            else:
                headers = [*headers, ("Proxy-Authorization", authorization)]
        return await self._session.request(
            method, url, headers=headers, data=body, allow_redirects=False, timeout=timeout, proxy_headers=tunnel
        )

    async def _request_token(
        self, url: str, form: Mapping[str, str], user: tuple[str, str] | None
    ) -> tuple[int, bytes]:
        headers = [] if user is None else [("Authorization", _basic(*user))]
        async with await self._request("POST", url, headers, dict(form), self._options.timeout()) as response:
            return response.status, await response.content.read(1 << 20)


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _same_origin(one: str, other: str) -> bool:
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.hostname, first.port) == (second.scheme, second.hostname, second.port)


async def check(response: aiohttp.ClientResponse, accepted: frozenset[int]) -> None:
    """Raise the error of an answer whose status code does not count as success.

    Raises:
        MappingFailedError: this request will never be accepted.
        StatusError: another one may be.
    """
    status = response.status
    if status in accepted:
        return
    text = (await response.content.read(200)).decode(errors="replace").strip()
    message = f"'{response.url}' answered with status {status}" + (f": {text}" if text else "")
    raise MappingFailedError(message) if status in _OF_THE_PAYLOAD else StatusError(message)
