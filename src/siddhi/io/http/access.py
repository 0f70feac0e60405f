"""Who may send requests: users with passwords, and bearer tokens."""

from __future__ import annotations

import base64
import binascii
import hmac

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.http.messages import Header, Request
from siddhi.io.options import OptionHolder, pairs_of

__all__ = ["Access"]


class Access:
    """The users and tokens of a server.

    Args:
        users: passwords by user name.
        tokens: bearer tokens.
    """

    def __init__(self, users: dict[str, str], tokens: list[str]) -> None:
        self._users = {name.encode(): password.encode() for name, password in users.items()}
        self._tokens = [token.encode() for token in tokens]
        challenges = ['Basic realm="siddhi", charset="UTF-8"'] * bool(users) + ['Bearer realm="siddhi"'] * bool(tokens)
        self._refusal = (401, "the credentials are missing or wrong")
        self._headers: tuple[Header, ...] = tuple((b"WWW-Authenticate", text.encode()) for text in challenges)

    @classmethod
    def read(cls, options: OptionHolder) -> Access | None:
        """Read the options; None: everybody may send.

        Raises:
            SiddhiAppCreationError: an option is missing or invalid.
        """
        users: dict[str, str] = {}
        name, password = options.optional("basic.auth.username"), options.secret("basic.auth.password")
        if (name is None) != (password is None):
            raise SiddhiAppCreationError(
                "'basic.auth.username' and 'basic.auth.password' need each other", code="E326", hint="set both"
            )
        if name is not None and password is not None:
            users[name] = password
        text = options.secret("basic.auth.users")
        if text is not None:
            try:
                users.update(pairs_of(text))
            except ValueError:
                expected = "names and passwords such as 'ada:secret','bob:secret'"
                raise options.invalid("basic.auth.users", expected, shown=False) from None
        enabled = options.flag("basic.auth.enabled", default=bool(users))
        if enabled and not users:
            raise SiddhiAppCreationError(
                "basic.auth.enabled = 'true' needs users",
                code="E326",
                hint="set 'basic.auth.username' and 'basic.auth.password', or 'basic.auth.users'",
            )
        if any(":" in user for user in users) or any(not word for word in users.values()):
            raise SiddhiAppCreationError(
                "users of basic authentication need a name without colons and a password", code="E326"
            )
        token = options.secret("bearer.token")
        if token is not None and not token.strip():
            raise options.invalid("bearer.token", "a token that is not empty", shown=False)
        tokens = [] if token is None else [token.strip()]
        return cls(users if enabled else {}, tokens) if enabled or tokens else None

    def refuse(self, request: Request) -> tuple[int, str, tuple[Header, ...]] | None:
        """Return the answer to a request without valid credentials; None: they are valid."""
        if self.allows(request.header(b"authorization") or ""):
            return None
        return (*self._refusal, self._headers)

    def allows(self, header: str) -> bool:
        """Return whether a header ``Authorization`` has valid credentials."""
        scheme, _, given = header.partition(" ")
        if scheme.lower() == "basic":
            return bool(self._users) and self._is_user(given.strip())
        return scheme.lower() == "bearer" and bool(self._tokens) and self._is_token(given.strip())

    def _is_user(self, given: str) -> bool:
        try:
            name, colon, password = base64.b64decode(given, validate=True).partition(b":")
        except (binascii.Error, ValueError):
            return False
        expected = self._users.get(name)
        # An unknown user takes the same time.
        equal = hmac.compare_digest(password, password[::-1] + b"x" if expected is None else expected)
        return equal and expected is not None and bool(colon)

    def _is_token(self, given: str) -> bool:
        equal = [hmac.compare_digest(given.encode(), token) for token in self._tokens]
        return any(equal)
