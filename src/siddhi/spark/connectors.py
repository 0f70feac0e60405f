"""``@source`` and ``@sink`` that Spark itself serves: files, Kafka, and rows at a rate for tests.

They are taken out of the app before it is planned, as the engine has no such extensions. Event time and how late rows may
be are options of the source: ``@source(type='file', file.uri='/data/in', timestamp='ts', watermark='10 seconds',
@map(type='parquet'))``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.errors import SiddhiAppCreationError, SiddhiAppError, SparkLoweringError, SparkSetupError, did_you_mean
from siddhi.planner.nodes import StreamPlan
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.definition import StreamDefinition
from siddhi.query_api.span import Span
from siddhi.spark._compat import spark_version
from siddhi.spark.expressions import SPARK_TYPES

__all__ = [
    "FILE_FORMATS",
    "Connector",
    "connectors_of",
    "foreign_of",
    "read_source",
    "refuse_foreign",
    "require_kafka",
    "without_connectors",
]

FILE_FORMATS = ("parquet", "csv", "json", "orc")
"""What ``@map(type=...)`` of a file may say."""
_SERVED = {"source": ("file", "kafka", "rate"), "sink": ("file", "kafka", "log")}
_OWN = ("type", "file.uri", "timestamp", "watermark", "sequence", "max.idle")
_KAFKA = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


@dataclass(frozen=True, slots=True)
class Connector:
    """A source or sink; ``options`` are all elements of the annotation, ``format`` the type of its map."""

    stream: str
    direction: str
    type: str
    options: dict[str, str]
    format: str
    span: Span | None

    def extra(self) -> dict[str, str]:
        """Options for Spark's reader or writer."""
        return {key: value for key, value in self.options.items() if key not in _OWN}


def connectors_of(app: SiddhiApp) -> tuple[Connector, ...]:
    """The sources and sinks that Spark serves.

    Raises:
        SparkLoweringError: an option is missing or wrong; all of them are told.
    """
    found = [
        _connector(definition, annotation)
        for definition in app.definitions
        if isinstance(definition, StreamDefinition)
        for annotation in definition.annotations
        if _is_served(annotation)
    ]
    refused: list[SiddhiAppError] = []
    for connector in found:
        refused += [error.located(source=app.source, app=app.name) for error in _mistakes(connector, app)]
    if refused:
        raise SparkLoweringError(refused)
    return tuple(found)


def foreign_of(app: SiddhiApp) -> tuple[Connector, ...]:
    """The sources and sinks that neither Spark serves nor this process: their streams are bound, or given a sink, by hand."""
    return tuple(
        _connector(definition, annotation)
        for definition in app.definitions
        if isinstance(definition, StreamDefinition)
        for annotation in definition.annotations
        if _is_foreign(annotation)
    )


def refuse_foreign(found: Iterable[Connector], app: SiddhiApp) -> None:
    """Raise that these would have to be used.

    Raises:
        SparkLoweringError: there are some; all are told.
    """
    refused = []
    for connector in found:
        if connector.direction == "source":
            message = (
                f"the {connector.type} source of '{connector.stream}' can't be read by Spark, which reads again what was "
                "lost in a failure"
            )
            hint = f"bind('{connector.stream}', frame, ...), or a source that keeps its events: kafka, file"
        else:
            message = f"the {connector.type} sink of '{connector.stream}' is none of Spark's"
            hint = f"start(checkpoint, {{'{connector.stream}': sink}}), output('{connector.stream}'), or a sink of type kafka, file"
        error = SiddhiAppCreationError(message, code="E409", span=connector.span, hint=hint)
        refused.append(error.located(source=app.source, app=app.name))
    if refused:
        raise SparkLoweringError(refused)


def without_connectors(app: SiddhiApp) -> SiddhiApp:
    """The app without those that Spark serves and those that nobody does."""
    definitions = tuple(
        replace(
            definition, annotations=tuple(a for a in definition.annotations if not (_is_served(a) or _is_foreign(a)))
        )
        if isinstance(definition, StreamDefinition)
        else definition
        for definition in app.definitions
    )
    return replace(app, definitions=definitions)


def _is_served(annotation: Annotation) -> bool:
    served = _SERVED.get(annotation.name.lower(), ())
    return (annotation.element("type") or "") in served


def _is_foreign(annotation: Annotation) -> bool:
    """Whether it is a source or sink of another type; those in memory are what a binding and an output are."""
    here = {"source": "inMemory", "sink": "inMemory"}.get(annotation.name.lower())
    type_ = annotation.element("type")
    return here is not None and type_ is not None and type_ != here and not _is_served(annotation)


def _connector(definition: StreamDefinition, annotation: Annotation) -> Connector:
    options = {element.key: element.value for element in annotation.elements if element.key is not None}
    map_ = next((nested for nested in annotation.annotations if nested.name.lower() == "map"), None)
    format_ = (map_.element("type") if map_ is not None else None) or "json"
    for element in map_.elements if map_ is not None else ():
        if element.key is not None and element.key != "type":
            options.setdefault(element.key, element.value)
    span = annotation.span or definition.span
    return Connector(definition.id, annotation.name.lower(), options["type"], options, format_, span)


def _mistakes(connector: Connector, app: SiddhiApp) -> Iterator[SiddhiAppError]:
    def mistake(message: str, hint: str) -> SiddhiAppError:
        return SiddhiAppCreationError(message, code="E408", span=connector.span, hint=hint)

    options, what = connector.options, f"the {connector.type} {connector.direction} of '{connector.stream}'"
    if connector.type == "file":
        if "file.uri" not in options:
            yield mistake(f"{what} has no file.uri", "file.uri='/data/trades'")
        if connector.format not in FILE_FORMATS:
            hint = f"@map(type='parquet'): files are {', '.join(FILE_FORMATS)}"
            yield mistake(f"{what} is mapped by '{connector.format}'", hint)
    if connector.type == "kafka":
        for option in ("bootstrap.servers", "topic"):
            if option not in options:
                yield mistake(f"{what} has no {option}", f"{option}='...'")
        if connector.format != "json":
            yield mistake(f"{what} is mapped by '{connector.format}'", "@map(type='json'), or bind a DataFrame")
    if connector.direction == "source":
        names = next(
            d.attributes for d in app.definitions if isinstance(d, StreamDefinition) and d.id == connector.stream
        )
        attribute = options.get("timestamp")
        if attribute is None:
            yield mistake(f"{what} does not say which attribute is the event time", "timestamp='ts'")
        elif attribute not in [name.name for name in names]:
            close = did_you_mean(attribute, [name.name for name in names])
            yield mistake(f"{what}: the stream has no attribute '{attribute}'{close}", "timestamp names an attribute")


def read_source(spark: SparkSession, connector: Connector, stream: StreamPlan, *, streaming: bool) -> DataFrame:
    """The rows of a source, with the stream's attributes.

    Raises:
        SparkSetupError: Spark's Kafka package is not there.
    """
    schema = ", ".join(f"`{a.name}` {SPARK_TYPES[a.type]}" for a in stream.attributes)
    if connector.type == "file":
        reader = spark.readStream if streaming else spark.read
        defaults = {"header": "true"} if connector.format == "csv" else {}
        options = {**defaults, **connector.extra()}
        return reader.format(connector.format).schema(schema).options(**options).load(connector.options["file.uri"])
    if connector.type == "kafka":
        return _read_kafka(spark, connector, schema, streaming=streaming)
    ticks = spark.readStream.format("rate").options(**connector.extra()).load() if streaming else spark.range(100)
    number = F.col("value") if streaming else F.col("id")
    return ticks.select(
        *(
            (F.unix_millis("timestamp") if streaming and a.name == connector.options["timestamp"] else number)
            .cast(SPARK_TYPES[a.type])
            .alias(a.name)
            for a in stream.attributes
        )
    )


def _read_kafka(spark: SparkSession, connector: Connector, schema: str, *, streaming: bool) -> DataFrame:
    require_kafka(spark)
    reader = spark.readStream if streaming else spark.read
    options = {
        "kafka.bootstrap.servers": connector.options["bootstrap.servers"],
        "subscribe": connector.options["topic"],
        "startingOffsets": "earliest",
    }
    rows = reader.format("kafka").options(**options).load()
    value = F.from_json(F.col("value").cast("string"), schema)
    return rows.select(value.alias("row"), F.col("partition"), F.col("offset")).select("row.*", "partition", "offset")


def require_kafka(spark: SparkSession) -> None:
    """Whether Spark's Kafka connector is on the class path.

    Raises:
        SparkSetupError: it is not; the message names the package and how to give it.
    """
    assert spark._jvm is not None
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource(_KAFKA.replace(".", "/") + ".class") is None:
        version = ".".join(map(str, spark_version()))
        raise SparkSetupError(
            "Kafka needs Spark's connector: start the session with "
            f"spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"
        )
