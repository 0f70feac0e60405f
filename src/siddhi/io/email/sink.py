"""``@sink(type = 'email')``: sends mails by SMTP."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import time
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, getaddresses
from hashlib import blake2b
from pathlib import Path
from typing import Any

import aiosmtplib

from siddhi.errors import ConnectionUnavailableError, MappingFailedError, SiddhiAppCreationError
from siddhi.extension.local_files import local_path
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.tls import client_context

__all__ = ["LARGEST_ATTACHMENTS", "EmailSink"]

LARGEST_ATTACHMENTS = 32 * 1024 * 1024
"""Bytes of all attachments of a mail."""

_CONTENT_TYPES = {"text/plain": "plain", "text/html": "html"}
_TESTED_AFTER_S = 5.0
_FAREWELL_S = 2.0


class _Client(aiosmtplib.SMTP):
    """A connection to the server, which ends when it is closed, also within the library.

    TLS would wait for the server's part of the farewell; the event loop that had to take it may have ended before.
    """

    def close(self) -> None:
        transport = self.transport
        super().close()
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()


class EmailSink(AsyncSink):
    """Sends each payload as a mail, which is published when the server has accepted it.

    Connections are kept and used again. A refusal that the server calls permanent is an error of the event; one that it calls
    temporary is a lost connection.
    """

    supported_input_event_classes = (str, bytes)

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self.concurrency = options.integer("connection.pool.size", 1, least=1, most=100)
        self._host = options.static("host", "smtp.gmail.com")
        implicit = options.flag("ssl.enable", default=True)
        self._authenticates = options.flag("auth", default=True)
        starttls = options.choice(
            "starttls", ("required", "optional", "never"), "required" if self._authenticates else "optional"
        )
        if implicit and "starttls" in options:
            raise options.invalid(
                "starttls", "ssl.enable = 'false' beside it: the connection begins with TLS otherwise"
            )
        self._tls: dict[str, Any] = {
            "use_tls": implicit,
            "start_tls": False if implicit else {"required": True, "optional": None, "never": False}[starttls],
            "tls_context": client_context(options),
        }
        default = 465 if implicit else 587 if self._authenticates else 25
        self._port = options.integer("port", default, least=1, most=65535)
        self._timeout = options.duration("timeout", "30 sec")
        self._options = options
        self._username = options.optional("username")
        if self._authenticates and self._username is None:
            raise SiddhiAppCreationError(
                "sink 'email' requires the option 'username', unless auth = 'false'", code="E326"
            )
        if self._authenticates and ("password" in options) == ("access.token" in options):
            raise SiddhiAppCreationError("sink 'email' requires either 'password' or 'access.token'", code="E326")
        self._credentials()
        self._from = options.static("address")
        self._subject = options.option("subject")
        self._recipients = [(name, options.option(name, "")) for name in ("to", "cc", "bcc")]
        options.option("to")  # required
        self._content_type = options.option("content.type", "text/plain")
        if self._content_type.is_static and str(self._content_type.value()).lower() not in _CONTENT_TYPES:
            raise options.invalid("content.type", "text/plain or text/html")
        self._attachments = options.option("attachments", "")
        self._folder = self._read_folder(options)
        self._free: list[tuple[_Client, float]] = []  # with the time of the last mail
        self._used: set[_Client] = set()
        try:
            _addresses(self._from)
        except MappingFailedError:
            raise options.invalid("address", "the address of the sender") from None

    def _read_folder(self, options: OptionHolder) -> str:
        text = options.optional("attachments.folder")
        if text is None:
            if "attachments" in options:
                raise SiddhiAppCreationError(
                    "sink 'email' requires 'attachments.folder' beside 'attachments'",
                    code="E326",
                    hint="name the folder that has all files which may be attached",
                )
            return ""
        path = local_path(text)
        if path is None or not Path(path).is_dir():
            raise options.invalid("attachments.folder", "a folder of this computer")
        return os.path.realpath(path)

    def _credentials(self) -> dict[str, Any]:
        if not self._authenticates:
            return {}
        if "access.token" not in self._options:
            return {"username": self._username, "password": self._options.secret("password")}

        async def token() -> str:
            return self._options.secret("access.token") or ""

        self._options.secret("access.token")
        return {"username": self._username, "oauth_token_generator": token}

    # --- connections

    async def open(self) -> None:
        self._free = [(await self._connect(), time.monotonic())]

    async def _connect(self) -> _Client:
        client = _Client(
            hostname=self._host, port=self._port, timeout=self._timeout, **self._tls, **self._credentials()
        )
        try:
            await client.connect()
        except BaseException as error:
            client.close()
            if isinstance(error, (OSError, aiosmtplib.SMTPException)):
                raise ConnectionUnavailableError(f"{self._host}:{self._port}: {_shown(error)}") from error
            raise
        return client

    async def _take(self) -> _Client:
        """Return a connection that works: the server closes those that are idle for long."""
        while self._free:
            client, last = self._free.pop()
            if time.monotonic() - last < _TESTED_AFTER_S and client.is_connected:
                return client
            try:
                await client.noop()
            except (OSError, aiosmtplib.SMTPException):
                client.close()
            else:
                return client
        return await self._connect()

    async def close(self) -> None:
        free, self._free = self._free, []
        for client, _ in free:
            try:
                await client.quit(timeout=min(self._timeout, _FAREWELL_S))
            except (OSError, aiosmtplib.SMTPException):
                client.close()
        for client in self._used:
            client.close()

    # --- mails

    async def send(self, payload: Any, options: DynamicOptions) -> None:
        message, recipients = await asyncio.to_thread(self._message, payload, options)
        client = await self._take()
        self._used.add(client)
        try:
            refused, _ = await client.send_message(message, recipients=recipients)
        except aiosmtplib.SMTPResponseException as error:
            raise self._refusal(error.code, _shown(error)) from error
        except aiosmtplib.SMTPRecipientsRefused as error:
            worst = min(one.code for one in error.recipients)
            raise self._refusal(
                worst, "; ".join(f"{one.recipient}: {one.message}" for one in error.recipients)
            ) from error
        except (OSError, aiosmtplib.SMTPException) as error:
            client.close()
            raise ConnectionUnavailableError(f"{self._host}:{self._port}: {_shown(error)}") from error
        except ValueError as error:  # what the mail has can't be sent
            raise MappingFailedError(f"the mail can't be sent: {error}") from error
        except BaseException:
            client.close()
            raise
        finally:
            self._used.discard(client)
            if client.is_connected:
                self._free.append((client, time.monotonic()))
        if refused:
            reasons = "; ".join(f"{recipient}: {answer.code} {answer.message}" for recipient, answer in refused.items())
            raise MappingFailedError(f"the server refuses some recipients, the others have the mail: {reasons}")

    def _refusal(self, code: int, reason: str) -> Exception:
        if code >= 500 and code not in (530, 534, 535, 538):  # which concern the authentication
            return MappingFailedError(f"the server refuses the mail: {reason}")
        return ConnectionUnavailableError(f"{self._host}:{self._port}: {reason}")

    def _message(self, payload: str | bytes, options: DynamicOptions) -> tuple[EmailMessage, list[str]]:
        content_type = str(self._content_type.value(options)).lower()
        if content_type not in _CONTENT_TYPES:
            raise MappingFailedError(f"content.type is '{content_type}', expected text/plain or text/html")
        message = EmailMessage()
        try:
            text = payload if isinstance(payload, str) else bytes(payload).decode()
            message["From"] = _addresses(self._from)
            message["Subject"] = str(self._subject.value(options))
            recipients: list[str] = []
            for name, option in self._recipients:
                addresses = _addresses(str(option.value(options)))
                recipients += [address.addr_spec for address in addresses]
                if addresses and name != "bcc":
                    message[name.capitalize()] = addresses
            message["Date"] = formatdate(localtime=False)
            message["Message-ID"] = self._identifier(payload, options)
            message.set_content(text, subtype=_CONTENT_TYPES[content_type], charset="utf-8")
        except (ValueError, UnicodeDecodeError) as error:  # such as a line end in the subject
            raise MappingFailedError(f"the mail can't be made: {error}") from error
        if not recipients:
            raise MappingFailedError("the mail has no recipients")
        self._attach(message, str(self._attachments.value(options)))
        return message, recipients

    def _identifier(self, payload: str | bytes, options: DynamicOptions) -> str:
        """Return the same identifier for the same event, so that a mail that is sent twice can be recognised."""
        event = options.event
        parts = (
            self.context.app,
            self.context.stream,
            event and (event.timestamp, event.data),
            options.destination,
            payload,
        )
        digest = blake2b(repr(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()
        return f"<{digest}@{_addresses(self._from)[0].domain or 'siddhi.invalid'}>"

    def _attach(self, message: EmailMessage, text: str) -> None:
        size = 0
        for part in text.split(",") if text.strip() else ():
            for path in self._files(part.strip()):
                try:
                    content = path.read_bytes()
                except OSError as error:
                    raise MappingFailedError(f"'{path.name}' can't be attached: {error.strerror}") from error
                size += len(content)
                if size > LARGEST_ATTACHMENTS:
                    raise MappingFailedError(f"the attachments have more than {LARGEST_ATTACHMENTS} bytes")
                kind, encoding = mimetypes.guess_type(path.name)
                main, _, sub = (
                    kind if kind is not None and encoding is None else "application/octet-stream"
                ).partition("/")
                message.add_attachment(content, maintype=main, subtype=sub, filename=path.name)

    def _files(self, text: str) -> list[Path]:
        """Return a file, or the files of a folder, if they are in the folder of the attachments."""
        local = local_path(text)
        path = None if local is None or not local else Path(os.path.realpath(Path(self._folder) / local))
        if path is None or not self._is_inside(path):
            raise MappingFailedError(f"'{text}' can't be attached: it is outside of attachments.folder")
        if not path.is_dir():
            return [path]
        found = [Path(os.path.realpath(one)) for one in sorted(path.iterdir()) if one.is_file()]
        return [one for one in found if self._is_inside(one)]

    def _is_inside(self, path: Path) -> bool:
        return path.is_relative_to(self._folder)


def _addresses(text: str) -> list[Address]:
    """Return the addresses in a list such as ``a@b.c, "D E" <d@e.f>``.

    Raises:
        MappingFailedError: one of them is not an address.
    """
    found = []
    for name, address in getaddresses([text]) if text.strip() else ():
        try:
            made = Address(display_name=name, addr_spec=address)
        except (ValueError, IndexError, MessageError):
            made = Address()
        if not made.username or "\n" in text or "\r" in text:
            raise MappingFailedError(f"invalid addresses: {text!r}")
        found.append(made)
    return found


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
