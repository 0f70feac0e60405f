"""Mail servers for tests: SMTP in this process (aiosmtpd), IMAP in another one (pymap), and a small POP3 server."""

from __future__ import annotations

import asyncio
import atexit
import imaplib
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from functools import cache
from pathlib import Path
from typing import Any, cast

from siddhi.io.listening import end_listening
from tests.kit.proxy import FaultProxy

USER, PASSWORD = "demouser", "demopass"


def mail(subject: str, text: str = "a text", **fields: str) -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = subject
    made["From"] = "Sender <sender@example.org>"
    made["To"] = "user@example.org"
    for name, value in fields.items():
        made[name] = value
    made.set_content(text)
    return made


# --- SMTP


class Inbox:
    """What the SMTP server has accepted; it answers with the texts in ``answers`` first."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.recipients: list[list[str]] = []
        self.answers: list[str] = []
        self.refused: dict[str, str] = {}

    async def handle_RCPT(  # noqa: N802 - as aiosmtpd calls it
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802 - as above
        if self.answers:
            return self.answers.pop(0)
        self.recipients.append(list(envelope.rcpt_tos))
        self.mails.append(cast("EmailMessage", message_from_bytes(envelope.content, policy=default)))
        return "250 OK"


class SmtpServer:
    """A server on a port of its own; it can be stopped and started again."""

    def __init__(self, **more: Any) -> None:
        self.inbox = Inbox()
        self._more = more
        self.port = 0
        self._controller: Any = None

    def start(self) -> None:
        from aiosmtpd.controller import Controller

        if not self.port:
            self.port = free_port()
        self._controller = Controller(self.inbox, hostname="127.0.0.1", port=self.port, **self._more)
        self._controller.start()

    def stop(self) -> None:
        if self._controller is not None:
            ending = _end(self._controller.server)
            asyncio.run_coroutine_threadsafe(ending, self._controller.loop).result(30)
            self._controller.stop()
            self._controller = None


async def _end(server: asyncio.Server) -> None:
    """End a server and its sessions: those whose client has gone end by themselves, in a moment."""
    await end_listening(server)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 0.2
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        if loop.time() > deadline:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


# --- IMAP


class ImapServer:
    """A server with one user, and the connection of the tests to it."""

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self._client: imaplib.IMAP4 | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in stop
        # The hash of a password takes a quarter of a second, and so would each login.
        program = (
            "import sys; from pysasl.hashing import BuiltinHash; from pymap.main import main; "
            "BuiltinHash.__init__.__kwdefaults__['rounds'] = 1; sys.argv[0] = 'pymap'; sys.exit(main())"
        )
        arguments = [*options, "--host", "127.0.0.1", "--port", str(self.port), "dict", "--demo-data"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments], stdout=self._log, stderr=self._log
        )
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.02)

    def stop(self) -> None:
        if self._client is not None:
            self._client.shutdown()
        self._process.kill()
        self._process.wait()
        self._log.close()

    def client(self, context: ssl.SSLContext | None = None) -> imaplib.IMAP4:
        if self._client is None:
            self._client = imaplib.IMAP4("127.0.0.1", self.port, timeout=30)
            # A mail and the line end behind it are two writes: the second one would wait for the server's late ACK, 40 ms.
            self._client.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._client.starttls(context)
            self._client.login(USER, PASSWORD)
        return self._client

    def clear(self) -> None:
        """Delete all mails of the inbox, and all folders of tests."""
        client = self.client()
        client.select("INBOX")
        client.store("1:*", "+FLAGS", r"(\Deleted)")
        client.expunge()
        client.close()
        for line in client.list()[1]:
            name = cast("bytes", line).rpartition(b" ")[2].decode().strip('"')
            if name.startswith("Test"):
                client.delete(name)

    def create(self, folder: str) -> None:
        client = self.client()
        client.create(folder)

    def deliver(self, *mails: EmailMessage, folder: str = "INBOX") -> None:
        client = self.client()
        for one in mails:
            status, _ = client.append(folder, "", "", one.as_bytes(policy=default.clone(linesep="\r\n")))
            assert status == "OK"

    def subjects(self, folder: str = "INBOX", criterion: str = "ALL") -> list[str]:
        """Subjects of the mails of a folder that a criterion finds."""
        client = self.client()
        client.select(folder, readonly=True)
        found = []
        for number in client.uid("SEARCH", criterion)[1][0].split():
            answer = client.uid("FETCH", number.decode(), "(BODY.PEEK[HEADER])")[1]
            # A mail may be gone meanwhile, and there may be news of others.
            content = [part[1] for part in answer if isinstance(part, tuple)]
            found += [str(message_from_bytes(one, policy=default)["Subject"]) for one in content]
        client.close()
        return found


@cache
def imap_server() -> ImapServer:
    """Return a server that runs until the tests end."""
    made = ImapServer("--no-tls")
    atexit.register(made.stop)
    return made


# --- POP3


class Pop3Server:
    """Serves the mails in ``mails``, by identifier; sessions are one after the other, as for a real mailbox."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.mails: dict[str, bytes] = {}
        self.sessions = 0
        self.fails_at: str | None = None  # a command at which it hangs up
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                server.sessions += 1
                server._serve(self)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

            def get_request(self) -> tuple[Any, Any]:
                connection, address = super().get_request()
                if context is not None:
                    connection = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                return connection, address

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def deliver(self, identifier: str, made: EmailMessage) -> None:
        self.mails[identifier] = made.as_bytes(policy=default.clone(linesep="\r\n"))

    def _serve(self, handler: socketserver.StreamRequestHandler) -> None:
        def answer(line: str, *lines: bytes) -> None:
            content = [line.encode(), *(b"." + one if one.startswith(b".") else one for one in lines)]
            handler.wfile.write(b"\r\n".join(content) + (b"\r\n.\r\n" if lines or line.endswith(":") else b"\r\n"))

        answer("+OK ready")
        there, deleted, user = list(self.mails), set(), ""
        while line := handler.rfile.readline().decode().strip():
            command, _, argument = line.partition(" ")
            if command == self.fails_at:
                self.fails_at = None
                return
            if command == "USER":
                user = argument
                answer("+OK")
            elif command == "PASS":
                answer("+OK" if (user, argument) == (USER, PASSWORD) else "-ERR wrong")
            elif command in ("LIST", "UIDL"):
                lines = [
                    f"{number} {len(self.mails[name]) if command == 'LIST' else name}".encode()
                    for number, name in enumerate(there, 1)
                ]
                answer("+OK :", *lines)
            elif command == "RETR":
                answer("+OK :", *self.mails[there[int(argument) - 1]].removesuffix(b"\r\n").split(b"\r\n"))
            elif command == "DELE":
                deleted.add(there[int(argument) - 1])
                answer("+OK")
            elif command == "QUIT":
                for name in deleted:
                    self.mails.pop(name, None)
                answer("+OK")
                return
            else:
                answer("-ERR unknown")


@contextmanager
def tls_front(port: int, certificate: Path) -> Iterator[int]:
    """Take connections with TLS, and forward what they say to a port without it; return the own port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with FaultProxy(port, tls=context) as proxy:
        yield proxy.port
