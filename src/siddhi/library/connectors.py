"""The built-in sources, sinks, mappers, strategies and stores; their classes are those of :mod:`siddhi.io` and
:mod:`siddhi.stores`. Mappers and transports have packages of their own."""

from __future__ import annotations

from siddhi.extension.connectors import (
    ConnectorMetadata,
    ConnectorOption,
    DistributionStrategyMetadata,
    SinkMetadata,
    SourceMetadata,
    StoreMetadata,
)
from siddhi.library import mappers, transports

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    *mappers.CONNECTORS,
    *transports.CONNECTORS,
    SourceMetadata(
        name="inMemory",
        builtin="inMemory",
        location="sources.in_memory.InMemorySource",
        options=(
            ConnectorOption("topic", "the topic to subscribe to", place="name"),
            ConnectorOption(
                "replay",
                "of a temporal stream: 'alive' to get first the rows that are valid now in the temporal streams which publish to "
                "the topic; default: none",
            ),
        ),
        description="Receives the messages published to a topic of the process, in the thread of the publisher.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'passThrough'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="inMemory",
        builtin="inMemory",
        location="sinks.in_memory.InMemorySink",
        options=(ConnectorOption("topic", "the topic to publish to", required=True, dynamic=True, place="name"),),
        description="Publishes to a topic of the process. Subscribers are called synchronously, in order of subscription.",
        example="@sink(type = 'inMemory', topic = 'alerts_{{symbol}}', @map(type = 'passThrough'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SinkMetadata(
        name="log",
        builtin="log",
        location="sinks.log.LogSink",
        options=(
            ConnectorOption("priority", "TRACE, DEBUG, INFO, WARN, ERROR, FATAL or OFF; default: INFO"),
            ConnectorOption("prefix", "prefix of the log line; default: '<app> : <stream>'"),
        ),
        description="Logs each payload.",
        example="@sink(type = 'log', prefix = 'alert') define stream Alerts (symbol string, price double);",
    ),
    DistributionStrategyMetadata(
        name="roundRobin",
        builtin="roundRobin",
        location="distribution.RoundRobinStrategy",
        description="Publishes each payload to the next connected destination.",
    ),
    DistributionStrategyMetadata(
        name="partitioned",
        builtin="partitioned",
        location="distribution.PartitionedStrategy",
        options=(ConnectorOption("partitionKey", "the attribute that determines the destination", required=True),),
        keyed=True,
        description="Publishes events with the same key to the same destination.",
    ),
    DistributionStrategyMetadata(
        name="broadcast",
        builtin="broadcast",
        location="distribution.BroadcastStrategy",
        description="Publishes each payload to every connected destination.",
    ),
    StoreMetadata(
        name="rdbms",
        builtin="rdbms",
        options=(
            ConnectorOption(
                "url",
                "the URL of the database, such as postgresql+psycopg://host/name; default: the SQLite file <app name>.db in "
                "the working directory",
                place="url",
            ),
            ConnectorOption(
                "jdbc.url",
                "instead of 'url': the address of a database of MySQL, MariaDB, PostgreSQL or SQLite as Java writes it, such as "
                "jdbc:mysql://host:3306/db",
                place="url",
            ),
            ConnectorOption("jdbc.driver.name", "has no effect: the address says which driver is used"),
            ConnectorOption("datasource", "a ref in the configuration of the manager that has the other options"),
            ConnectorOption("username", "the user, unless the url contains it"),
            ConnectorOption("password", "the password, unless the url contains it", secret=True),
            ConnectorOption(
                "field.length",
                "in MySQL and MariaDB the most characters of strings in keys and indexes, such as 'symbol:100,name:50'; "
                "default: 254",
            ),
            ConnectorOption("table.name", "the name of the table in the database; default: the name of the table"),
            ConnectorOption(
                "timeout", "how long to wait for an answer of the database, in seconds; default: '30 sec'", unit="sec"
            ),
        ),
        description="Stores a table in an SQL database through SQLAlchemy (pip install 'siddhi[rdbms]').",
        example="@store(type = 'rdbms', url = 'sqlite:///trades.db') @primaryKey('symbol')\n"
        "define table Prices (symbol string, price double);",
    ),
)
