"""Metadata of the source ``cdc``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SourceMetadata
from siddhi.library.transports.delivery import ACK, BUFFER

__all__ = ["CONNECTORS"]

_UNSUPPORTED = "not supported: refused"

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="cdc",
        builtin="cdc",
        location="cdc.source.CdcSource",
        packages=("sqlalchemy",),
        extra="cdc",
        options=(
            ConnectorOption("url", "the database: a URL of SQLAlchemy", required=True, place="url"),
            ConnectorOption("mode", "listening (PostgreSQL only) or polling; default: listening"),
            ConnectorOption("username", "name of the user; default: that of the 'url'"),
            ConnectorOption("password", "password of the user", secret=True),
            ConnectorOption("table.name", "the table, also with its schema", required=True, place="name"),
            ConnectorOption("timeout", "how long the database has to answer, in ms; default: 30 sec", unit="ms"),
            BUFFER,
            ConnectorOption("polling.column", "polling: the column whose values grow with each change"),
            ConnectorOption("polling.interval", "polling: seconds between two polls; default: 1 sec", unit="sec"),
            ConnectorOption("cron.expression", "polling: times of the polls, instead of the interval"),
            ConnectorOption(
                "start.from",
                "polling: earliest, latest, or a value of the column from which on rows are read; default: latest",
            ),
            ConnectorOption(
                "primary.key", "polling: columns of the key, by commas; default: those that the database knows"
            ),
            ConnectorOption(
                "safety.lag",
                "polling: how far below the highest value rows can still appear: a number, or a duration for times; default: none",
            ),
            ConnectorOption(
                "wait.on.missed.record", "polling: whether a missing number is waited for; default: 'false'"
            ),
            ConnectorOption(
                "missed.record.waiting.timeout", "polling: how long, in seconds; default: -1, indefinitely", unit="sec"
            ),
            ConnectorOption("operation", "listening: insert, update, delete, or several of them, by commas"),
            ACK,
            ConnectorOption(
                "slot.name", "listening: the replication slot; default: siddhi_<app>_<stream>", place="name"
            ),
            ConnectorOption("publication.name", "listening: the publication; default: the same", place="name"),
            ConnectorOption("plugin.name", "listening: pgoutput, the only one"),
            ConnectorOption("jdbc.driver.name", "has no effect: the 'url' says which driver is used"),
            ConnectorOption("polling.history.size", "has no effect: no history of polls is kept"),
            ConnectorOption("database.server.id", "has no effect: it belongs to MySQL"),
            ConnectorOption("topic.prefix", "has no effect: there are no topics"),
            ConnectorOption("pool.properties", _UNSUPPORTED),
            ConnectorOption("datasource.name", _UNSUPPORTED),
            ConnectorOption("connector.properties", _UNSUPPORTED),
        ),
        description="Receives the changes of a table, by polling it or from the replication of PostgreSQL.",
        example="@source(type = 'cdc', mode = 'polling', url = 'sqlite:///trades.db', table.name = 'trades',\n"
        "        polling.column = 'id', @map(type = 'keyvalue'))\n"
        "define stream Trades (id int, symbol string, price double);",
    ),
)
