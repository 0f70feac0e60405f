"""Metadata of the source and sink ``s3``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import ACK, BUFFER, QUEUE

__all__ = ["CONNECTORS"]

_COMMON = (
    ConnectorOption("bucket.name", "name of the bucket", required=True, place="url"),
    ConnectorOption("aws.region", "the region, such as eu-west-1; default: as for all tools of AWS"),
    ConnectorOption(
        "aws.access.key", "the access key; default: as for all tools of AWS, from environment, files or machine"
    ),
    ConnectorOption("aws.secret.key", "its secret", secret=True),
    ConnectorOption("credential.provider.class", "not supported: refused"),
    ConnectorOption("endpoint.url", "another service with the same interface", place="url"),
    ConnectorOption("tls.ca.file", "PEM file of the authorities to trust; default: those of botocore", place="file"),
    ConnectorOption("timeout", "how long the service has to answer, in ms; default: 30 sec", unit="ms"),
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="s3",
        builtin="s3",
        location="s3.source.S3Source",
        packages=("boto3",),
        extra="aws",
        options=(
            *_COMMON,
            ConnectorOption("object.prefix", "what the keys of the objects begin with; default: all objects"),
            ConnectorOption("object.suffix", "what their keys end with, such as .json; default: anything"),
            ConnectorOption("mode", "line, regex, text.full or binary.full; default: line"),
            ConnectorOption(
                "begin.regex",
                "mode regex: what a payload begins with, a pattern of RE2; default: the end of the last one",
            ),
            ConnectorOption(
                "end.regex", "mode regex: what it ends with; default: it ends before the next 'begin.regex'"
            ),
            ConnectorOption("header.present", "whether lines at the beginning are skipped; default: 'false'"),
            ConnectorOption("header.line.count", "the number of these lines; default: 1"),
            ConnectorOption("polling.interval", "time between two listings, in ms; default: 10 sec", unit="ms"),
            ConnectorOption(
                "action.after.process", "keep, delete or move: what happens to a processed object; default: keep"
            ),
            ConnectorOption("move.after.process", "what 'object.prefix' is replaced by in the keys of moved objects"),
            ConnectorOption(
                "remembered.objects",
                "number of objects that are known to be read; keys below them are not listed any more; default: 10000",
            ),
            ACK,
            BUFFER,
        ),
        description="Reads the objects of a bucket of Amazon S3, and waits for more.",
        example="@source(type = 's3', bucket.name = 'trades', aws.region = 'eu-west-1', object.prefix = 'in/',\n"
        "        action.after.process = 'delete', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="s3",
        builtin="s3",
        location="s3.sink.S3Sink",
        packages=("boto3",),
        extra="aws",
        options=(
            *_COMMON,
            ConnectorOption("object.path", "what the keys of the objects begin with", required=True, dynamic=True),
            ConnectorOption(
                "object.numbered",
                "whether a number of the payload follows; 'false': 'object.path' is the key, and the last payload stays; "
                "default: 'true'",
            ),
            ConnectorOption(
                "object.suffix", "what the keys end with after the number, such as .json; default: nothing"
            ),
            ConnectorOption(
                "node.id", "what the names of the objects begin with after 'object.path'; default: nothing"
            ),
            ConnectorOption("content.type", "media type of the objects; default: application/octet-stream"),
            ConnectorOption("storage.class", "storage class of the objects; default: standard"),
            ConnectorOption("versioning.enabled", "whether to switch on versions of the bucket; default: 'false'"),
            ConnectorOption("bucket.acl", "not supported: refused"),
            ConnectorOption("concurrency", "number of requests at the same time; default: 1"),
            QUEUE,
        ),
        description="Writes each payload as an object to a bucket of Amazon S3.",
        example="@sink(type = 's3', bucket.name = 'alerts', aws.region = 'eu-west-1', object.path = 'by-symbol/{{symbol}}',\n"
        "      object.suffix = '.json', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
