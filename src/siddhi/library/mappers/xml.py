"""Metadata of the mapper ``xml``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMapperMetadata, SourceMapperMetadata

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMapperMetadata(
        name="xml",
        builtin="xml",
        location="mappers.xml_source.XmlSourceMapper",
        packages=("lxml",),
        extra="xml",
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
        description="Maps elements of an XML document to a chunk of events.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'xml', enclosing.element = '/portfolio',\n"
        "    @attributes(symbol = 'company/symbol', price = 'price')))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="xml",
        builtin="xml",
        location="mappers.xml_sink.XmlSinkMapper",
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
)
