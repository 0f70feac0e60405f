"""The built-in sources, sinks, mappers, strategies and stores; their classes are those of :mod:`siddhi.io` and
:mod:`siddhi.stores`."""

from __future__ import annotations

from siddhi.extension.connectors import (
    ConnectorMetadata,
    ConnectorOption,
    DistributionStrategyMetadata,
    SinkMapperMetadata,
    SinkMetadata,
    SourceMapperMetadata,
    SourceMetadata,
    StoreMetadata,
)

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="inMemory",
        native="inMemory",
        options=(ConnectorOption("topic", "what it subscribes to", place="name"),),
        description="Takes what is published to a topic of the process, in the thread of the publisher.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'passThrough'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SourceMapperMetadata(
        name="passThrough",
        native="passThrough",
        description="Takes an event, a list of events, or a list of values as they are.",
    ),
    SinkMetadata(
        name="inMemory",
        native="inMemory",
        options=(ConnectorOption("topic", "where it publishes", required=True, dynamic=True, place="name"),),
        description="Publishes to a topic of the process: subscribers are called at once, in order of subscription.",
        example="@sink(type = 'inMemory', topic = 'alerts_{{symbol}}', @map(type = 'passThrough'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SinkMetadata(
        name="log",
        native="log",
        options=(
            ConnectorOption("priority", "TRACE, DEBUG, INFO, WARN, ERROR, FATAL or OFF; INFO where it is not given"),
            ConnectorOption("prefix", "text in front; '<app> : <stream>' where it is not given"),
        ),
        description="Logs what it is given.",
        example="@sink(type = 'log', prefix = 'alert') define stream Alerts (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="passThrough",
        native="passThrough",
        description="Gives an event as it is; events that came together, as a list.",
    ),
    DistributionStrategyMetadata(
        name="roundRobin",
        native="roundRobin",
        description="Each payload goes to the next destination that is connected.",
    ),
    DistributionStrategyMetadata(
        name="partitioned",
        native="partitioned",
        options=(ConnectorOption("partitionKey", "the attribute that chooses the destination", required=True),),
        keyed=True,
        description="Events with the same key go to the same destination.",
    ),
    DistributionStrategyMetadata(
        name="broadcast",
        native="broadcast",
        description="Each payload goes to every destination that is connected.",
    ),
    StoreMetadata(
        name="rdbms",
        native="rdbms",
        options=(
            ConnectorOption(
                "url",
                "of the database, such as postgresql+psycopg://host/name; where it is not given, a file of SQLite in the "
                "working directory that is called as the app, <app name>.db",
                place="url",
            ),
            ConnectorOption("username", "where it does not stand in the url"),
            ConnectorOption("password", "where it does not stand in the url"),
            ConnectorOption("table.name", "its name in the database; that of the table where it is not given"),
            ConnectorOption(
                "timeout", "how long an answer of the database is waited for; '30 sec' where it is not given"
            ),
        ),
        description="Keeps a table in an SQL database, through SQLAlchemy: pip install 'siddhi[rdbms]'.",
        example="@store(type = 'rdbms', url = 'sqlite:///trades.db') @primaryKey('symbol')\n"
        "define table Prices (symbol string, price double);",
    ),
)
