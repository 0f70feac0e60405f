"""Metadata of the source and sink ``email``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import ACK, BUFFER, QUEUE
from siddhi.library.transports.security import CLIENT_TLS

__all__ = ["CONNECTORS"]

_IMAP_ACTIONS = "NONE, SEEN, FLAGGED, ANSWERED, DELETE or MOVE; with pop3 NONE or DELETE; default: NONE"
_TOKEN = ConnectorOption("access.token", "access token of OAuth 2, instead of a password", secret=True)
_TIMEOUT = ConnectorOption("timeout", "how long the server has to answer a request, in ms; default: 30 sec", unit="ms")
_TLS = ConnectorOption("ssl.enable", "whether the connection begins with TLS; default: 'true'")

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="email",
        builtin="email",
        location="email.source.EmailSource",
        options=(
            ConnectorOption("username", "name of the user", required=True),
            ConnectorOption("password", "password of the user", secret=True),
            _TOKEN,
            ConnectorOption("store", "imap or pop3; default: imap"),
            ConnectorOption("host", "the server; default: imap.gmail.com or pop.gmail.com", place="url"),
            ConnectorOption("port", "its port; default: 993 or 995, without TLS at the beginning 143 or 110"),
            _TLS,
            ConnectorOption("starttls", "required or never: the change to TLS without 'ssl.enable'; default: required"),
            ConnectorOption("folder", "the folder of an IMAP server; default: INBOX", place="name"),
            ConnectorOption(
                "search.term", "what header fields must contain: subject:x, from:y, to:z, cc:, bcc:; default: all mails"
            ),
            ConnectorOption(
                "content.type", "the part of a mail to receive: text/plain or text/html; default: text/plain"
            ),
            ConnectorOption("polling.interval", "seconds between two polls; default: 600", unit="sec"),
            ConnectorOption(
                "start.from", "earliest, or latest: without mails that are there at the first start; default: earliest"
            ),
            ConnectorOption("action.after.processed", f"what is done with a processed mail: {_IMAP_ACTIONS}"),
            ConnectorOption("folder.to.move", "the folder to move it to", place="name"),
            ConnectorOption("action.after.failure", f"what is done with a mail that can't be mapped: {_IMAP_ACTIONS}"),
            ConnectorOption("folder.to.move.failure", "the folder to move it to", place="name"),
            _TIMEOUT,
            ACK,
            BUFFER,
            *CLIENT_TLS,
        ),
        description="Receives the mails of a mailbox; header fields are transport properties.",
        example="@source(type = 'email', username = 'user', password = 'env:MAIL_PASSWORD', host = 'imap.example.org',\n"
        "        search.term = 'subject:order', action.after.processed = 'SEEN', @map(type = 'json'))\n"
        "define stream Orders (item string, amount int);",
    ),
    SinkMetadata(
        name="email",
        builtin="email",
        location="email.sink.EmailSink",
        packages=("aiosmtplib",),
        extra="email",
        options=(
            ConnectorOption("address", "address of the sender", required=True),
            ConnectorOption("username", "name of the user"),
            ConnectorOption("password", "password of the user", secret=True),
            _TOKEN,
            ConnectorOption("auth", "whether the sink logs in; default: 'true'"),
            ConnectorOption("host", "the server; default: smtp.gmail.com", place="url"),
            ConnectorOption("port", "its port; default: 465; without TLS at the beginning 587, without login 25"),
            _TLS,
            ConnectorOption(
                "starttls",
                "required, optional or never: the change to TLS without 'ssl.enable'; default: required with a login",
            ),
            ConnectorOption("subject", "the subject", required=True, dynamic=True),
            ConnectorOption("to", "addresses of the recipients, by commas", required=True, dynamic=True),
            ConnectorOption("cc", "addresses of recipients of a copy", dynamic=True),
            ConnectorOption("bcc", "addresses of hidden recipients", dynamic=True),
            ConnectorOption("content.type", "text/plain or text/html; default: text/plain", dynamic=True),
            ConnectorOption(
                "attachments", "files in 'attachments.folder', or folders of files, by commas", dynamic=True
            ),
            ConnectorOption("attachments.folder", "the folder that has all files which may be attached", place="file"),
            ConnectorOption("connection.pool.size", "number of connections; with more than 1 in no order; default: 1"),
            _TIMEOUT,
            QUEUE,
            *CLIENT_TLS,
        ),
        description="Sends each payload as a mail.",
        example="@sink(type = 'email', address = 'alerts@example.org', username = 'alerts', password = 'env:MAIL_PASSWORD',\n"
        "      host = 'smtp.example.org', subject = 'Price of {{symbol}}', to = 'desk@example.org', @map(type = 'text'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
