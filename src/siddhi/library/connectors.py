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
from siddhi.library import transports

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    *transports.CONNECTORS,
    SourceMetadata(
        name="inMemory",
        native="inMemory",
        options=(ConnectorOption("topic", "the topic to subscribe to", place="name"),),
        description="Receives the messages published to a topic of the process, in the thread of the publisher.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'passThrough'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SourceMapperMetadata(
        name="passThrough",
        native="passThrough",
        description="Passes on an event, a list of events, or a list of values unchanged.",
    ),
    SourceMapperMetadata(
        name="json",
        native="json",
        options=(
            ConnectorOption("enclosing.element", "JSONPath of the event or list of events; default: '$'"),
            ConnectorOption(
                "fail.on.missing.attribute",
                "whether an event without a value for an attribute is dropped; default: 'true'",
            ),
            ConnectorOption(
                "event.grouping.enabled", "whether the events of a list enter the app as one chunk; default: 'true'"
            ),
        ),
        description="Maps a JSON object to an event and a list of objects to a chunk of events.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'json', enclosing.element = '$.trades',\n"
        "    @attributes(symbol = 'stock.symbol', price = 'stock.price')))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SourceMapperMetadata(
        name="csv",
        native="csv",
        options=(
            ConnectorOption("delimiter", "one or more characters between the columns; default: ','"),
            ConnectorOption("header", "whether the first record of the first payload is skipped; default: 'false'"),
            ConnectorOption("header.present", "the same as 'header'"),
            ConnectorOption(
                "fail.on.unknown.attribute",
                "whether a record with a missing column, or a text that is not a number, is dropped; otherwise the value is "
                "null; default: 'true'",
            ),
            ConnectorOption("event.grouping.enabled", "has no effect: the records of a payload are one chunk"),
            ConnectorOption("null.text", "a column with this text is null; default: none"),
        ),
        description="Maps each record of a CSV text to an event.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'csv', @attributes(symbol = '2', price = '0')))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SourceMapperMetadata(
        name="keyvalue",
        native="keyvalue",
        options=(
            ConnectorOption(
                "fail.on.missing.attribute",
                "whether an event without a value for an attribute is dropped; default: 'true'",
            ),
            ConnectorOption(
                "implicit.cast.enable", "whether the text of a value of another type is converted; default: 'false'"
            ),
        ),
        description="Maps a dict to an event.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'keyvalue', implicit.cast.enable = 'true'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SourceMapperMetadata(
        name="binary",
        native="binary",
        description="Maps a message of Siddhi's binary format to a chunk of events with their timestamps.",
    ),
    SourceMapperMetadata(
        name="xml",
        native="xml",
        options=(
            ConnectorOption("namespaces", "namespaces of the XPaths, such as 'p=urn:a, q=urn:b'; default: none"),
            ConnectorOption(
                "enclosing.element",
                "XPath of the elements whose children are the events; default: the root is the event",
            ),
            ConnectorOption(
                "enclosing.element.as.event",
                "whether the enclosing elements are the events themselves; default: 'false'",
            ),
            ConnectorOption(
                "fail.on.missing.attribute",
                "whether an event without a value for an attribute is dropped; default: 'true'",
            ),
            ConnectorOption(
                "enable.streaming.xml.content",
                "whether payloads are consecutive parts of a document, such as lines of a file; default: 'false'",
            ),
            ConnectorOption(
                "extract.leaf.node.data",
                "whether @attributes are the paths of leaves, with an event per innermost element; default: 'false'",
            ),
        ),
        description="Maps elements of an XML document to a chunk of events (pip install 'siddhi[xml]').",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'xml', enclosing.element = '/portfolio',\n"
        "    @attributes(symbol = 'company/symbol', price = 'price')))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="inMemory",
        native="inMemory",
        options=(ConnectorOption("topic", "the topic to publish to", required=True, dynamic=True, place="name"),),
        description="Publishes to a topic of the process. Subscribers are called synchronously, in order of subscription.",
        example="@sink(type = 'inMemory', topic = 'alerts_{{symbol}}', @map(type = 'passThrough'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SinkMetadata(
        name="log",
        native="log",
        options=(
            ConnectorOption("priority", "TRACE, DEBUG, INFO, WARN, ERROR, FATAL or OFF; default: INFO"),
            ConnectorOption("prefix", "prefix of the log line; default: '<app> : <stream>'"),
        ),
        description="Logs each payload.",
        example="@sink(type = 'log', prefix = 'alert') define stream Alerts (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="passThrough",
        native="passThrough",
        description="Passes on an event unchanged, and the events of a chunk as a list.",
    ),
    SinkMapperMetadata(
        name="json",
        native="json",
        options=(
            ConnectorOption("enclosing.element", "keys around the event, such as '$.portfolio.trade'; default: none"),
            ConnectorOption("event.grouping.enabled", "whether a chunk becomes one list; default: 'true'"),
            ConnectorOption(
                "enable.null.attribute.value", "whether null is written as null, not as \"undefined\"; default: 'false'"
            ),
            ConnectorOption("validate.json", "whether the payload of a template must be JSON; default: 'false'"),
        ),
        description="Maps an event to a JSON object, or fills the template of @payload.",
        example="@sink(type = 'inMemory', topic = 'alerts', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="csv",
        native="csv",
        options=(
            ConnectorOption("delimiter", "one or more characters between the columns; default: ','"),
            ConnectorOption("header", "whether the names are published before the first event; default: 'false'"),
            ConnectorOption(
                "event.grouping.enabled", "whether the events of a chunk become one payload; default: 'false'"
            ),
            ConnectorOption("null.text", "the text of null; default: 'null'"),
        ),
        description="Maps an event to a record of CSV.",
        example="@sink(type = 'inMemory', topic = 'alerts', @map(type = 'csv', @payload(price = '0', symbol = '1')))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="keyvalue",
        native="keyvalue",
        description="Maps an event to a dict, or to the dict of @payload: values of attributes, and texts.",
        example="@sink(type = 'inMemory', topic = 'alerts',\n"
        "    @map(type = 'keyvalue', @payload(price = 'price', text = '{{symbol}} costs {{price}}')))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="binary",
        native="binary",
        description="Maps an event or a chunk to a message of Siddhi's binary format.",
    ),
    SinkMapperMetadata(
        name="xml",
        native="xml",
        options=(
            ConnectorOption(
                "enclosing.element", "opening tag around the events, such as '<portfolio>'; default: '<events>'"
            ),
            ConnectorOption("validate.xml", "whether the payload of a template must be XML; default: 'false'"),
        ),
        description="Maps the events of a chunk to an XML document, or fills the template of @payload.",
        example="@sink(type = 'inMemory', topic = 'alerts', @map(type = 'xml'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    SourceMapperMetadata(
        name="text",
        native="text",
        options=(
            ConnectorOption("regex.*", "a regular expression, as in regex.A; @attributes names its groups: 'A[1]'"),
            ConnectorOption(
                "fail.on.missing.attribute",
                "whether an event without a value for an attribute is dropped; default: 'true'",
            ),
            ConnectorOption("event.grouping.enabled", "whether a payload has several events; default: 'false'"),
            ConnectorOption("delimiter", "the line between two events; default: '~~~~~~~~~~'"),
            ConnectorOption("new.line.character", "the line end; default: '\\n'"),
        ),
        description="Maps lines of name:value, or the groups of regular expressions, to an event.",
        example="@source(type = 'inMemory', topic = 'log', @map(type = 'text', regex.A = 'price of (\\\\w+) is ([0-9.]+)',\n"
        "    @attributes(symbol = 'A[1]', price = 'A[2]')))\n"
        "define stream Prices (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="text",
        native="text",
        plain_payload_if="mustache.enabled",
        options=(
            ConnectorOption("event.grouping.enabled", "whether a chunk becomes one payload; default: 'false'"),
            ConnectorOption("delimiter", "the line between two events; default: '~~~~~~~~~~'"),
            ConnectorOption("new.line.character", "the line end; default: '\\n'"),
            ConnectorOption("mustache.enabled", "whether @payload is a Mustache template; default: 'false'"),
        ),
        description="Maps an event to lines of name:value, or fills the template of @payload.",
        example="@sink(type = 'inMemory', topic = 'alerts', @map(type = 'text', @payload('{{symbol}} costs {{price}}')))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    DistributionStrategyMetadata(
        name="roundRobin",
        native="roundRobin",
        description="Publishes each payload to the next connected destination.",
    ),
    DistributionStrategyMetadata(
        name="partitioned",
        native="partitioned",
        options=(ConnectorOption("partitionKey", "the attribute that determines the destination", required=True),),
        keyed=True,
        description="Publishes events with the same key to the same destination.",
    ),
    DistributionStrategyMetadata(
        name="broadcast",
        native="broadcast",
        description="Publishes each payload to every connected destination.",
    ),
    StoreMetadata(
        name="rdbms",
        native="rdbms",
        options=(
            ConnectorOption(
                "url",
                "the URL of the database, such as postgresql+psycopg://host/name; default: the SQLite file <app name>.db in "
                "the working directory",
                place="url",
            ),
            ConnectorOption("username", "the user, unless the url contains it"),
            ConnectorOption("password", "the password, unless the url contains it"),
            ConnectorOption("table.name", "the name of the table in the database; default: the name of the table"),
            ConnectorOption("timeout", "how long to wait for an answer of the database; default: '30 sec'"),
        ),
        description="Stores a table in an SQL database through SQLAlchemy (pip install 'siddhi[rdbms]').",
        example="@store(type = 'rdbms', url = 'sqlite:///trades.db') @primaryKey('symbol')\n"
        "define table Prices (symbol string, price double);",
    ),
)
