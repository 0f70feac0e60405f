"""OAuth 2: access tokens of clients, kept for all sinks of the process."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.io.options import DynamicOptions, OptionHolder

__all__ = ["Authorization", "TokenRequest"]

_SOONER = 30.0
"""Seconds before its end that a token is replaced."""


class TokenRequest(Protocol):
    """Sends a form to the token endpoint, and returns status and body of the answer."""

    async def __call__(self, url: str, form: Mapping[str, str], user: tuple[str, str] | None) -> tuple[int, bytes]: ...


@dataclass
class _Token:
    """A token, and how to get the next one."""

    access: str = ""
    until: float = 0.0  # by the monotonic clock; 0: until it is refused
    refresh: str | None = None
    asking: asyncio.Lock | None = None
    loop: asyncio.AbstractEventLoop | None = field(default=None, repr=False)

    def lock(self) -> asyncio.Lock:
        """Return the lock of those who ask for the next token; a new event loop has a new one."""
        loop = asyncio.get_running_loop()
        if self.asking is None or self.loop is not loop:
            self.asking, self.loop = asyncio.Lock(), loop
        return self.asking

    @property
    def is_valid(self) -> bool:
        return bool(self.access) and (not self.until or time.monotonic() < self.until)


class Authorization:
    """The OAuth options of a sink. The grant is that of a refresh token if one is known, of a user, or of the client."""

    _tokens: ClassVar[dict[tuple[object, ...], _Token]] = {}

    def __init__(self, url: str, client: tuple[str, str] | None, options: OptionHolder, *, in_body: bool) -> None:
        self._url = url
        self._client = client
        self._in_body = in_body
        self._user = options.optional("oauth.username")
        self._password = options.secret("oauth.password")
        self._scope = options.optional("oauth.scope")
        self._refresh = options.option("refresh.token", "")
        self._secret_refresh = options.secret("refresh.token") if self._refresh.is_static else None

    @classmethod
    def read(cls, options: OptionHolder) -> Authorization | None:
        """Read the options; None: there is no OAuth.

        Raises:
            SiddhiAppCreationError: an option is missing.
        """
        pairs = (
            ("consumer.key", "consumer.secret"),
            ("body.consumer.key", "body.consumer.secret"),
            ("oauth.username", "oauth.password"),
        )
        for first, second in pairs:
            if (first in options) != (second in options):
                raise SiddhiAppCreationError(f"'{first}' and '{second}' need each other", code="E326", hint="set both")
        if not any(first in options for first, _ in pairs):
            for name in ("token.url", "refresh.token", "oauth.scope"):
                if name in options:
                    raise SiddhiAppCreationError(
                        f"'{name}' needs a client or a user",
                        code="E326",
                        hint="set 'consumer.key' and 'consumer.secret'",
                    )
            return None
        in_body = "body.consumer.key" in options
        prefix = "body." if in_body else ""
        client = None
        if f"{prefix}consumer.key" in options:
            client = (options.static(f"{prefix}consumer.key"), options.secret(f"{prefix}consumer.secret") or "")
        return cls(options.static("token.url"), client, options, in_body=in_body)

    def _token(self, options: DynamicOptions) -> _Token:
        refresh = str(self._refresh.value(options)) if self._secret_refresh is None else self._secret_refresh
        key = (self._url, self._client, self._user, self._password, self._scope, refresh)
        return self._tokens.setdefault(key, _Token(refresh=refresh or None))

    async def header(self, options: DynamicOptions, request: TokenRequest, refused: str | None = None) -> str:
        """Return the value of the header ``Authorization``.

        Args:
            options: those of the payload.
            request: sends the request for a token.
            refused: the value that the server has refused; None: there is none.

        Raises:
            ConnectionUnavailableError: there is no token now.
        """
        token = self._token(options)
        async with token.lock():
            if not token.is_valid or f"Bearer {token.access}" == refused:
                await self._renew(token, request)
        return f"Bearer {token.access}"

    async def _renew(self, token: _Token, request: TokenRequest) -> None:
        forms = [self._form(token.refresh)] if token.refresh else []
        forms.append(self._form(None))
        for form in forms:
            if self._client is not None and self._in_body:
                form |= {"client_id": self._client[0], "client_secret": self._client[1]}
            status, body = await request(self._url, form, None if self._in_body else self._client)
            found = _object_of(body)
            if status == 200 and isinstance(found.get("access_token"), str):
                token.access = str(found["access_token"])
                refresh, seconds = found.get("refresh_token"), found.get("expires_in")
                token.refresh = refresh if isinstance(refresh, str) else token.refresh
                known = isinstance(seconds, (int, float, str)) and str(seconds).replace(".", "", 1).isdecimal()
                token.until = time.monotonic() + max(float(str(seconds)) - _SOONER, 1.0) if known else 0.0
                return
            token.access = ""
            if form["grant_type"] == "refresh_token" and status in (400, 401):
                token.refresh = None  # it is used up
        reason = found.get("error")
        raise ConnectionUnavailableError(
            f"no access token from '{self._url}': status {status}" + (f", {reason}" if isinstance(reason, str) else "")
        )

    def _form(self, refresh: str | None) -> dict[str, str]:
        if refresh:
            form = {"grant_type": "refresh_token", "refresh_token": refresh}
        elif self._user is not None:
            form = {"grant_type": "password", "username": self._user, "password": self._password or ""}
        else:
            form = {"grant_type": "client_credentials"}
        return form if self._scope is None else form | {"scope": self._scope}


def _object_of(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
