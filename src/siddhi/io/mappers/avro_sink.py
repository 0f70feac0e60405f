"""``@map(type = 'avro')`` of a sink: events are mapped to records of Avro."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.avro_registry import frame, registry_of, schema_of
from siddhi.io.mappers.avro_values import avro_json_reader, writer
from siddhi.io.mappers.templates import only_template
from siddhi.io.options import OptionHolder, Template
from siddhi.io.sink import SinkListener, SinkMapper

__all__ = ["AvroSinkMapper"]

logger = logging.getLogger("siddhi")


class AvroSinkMapper(SinkMapper):
    """Maps an event to a record whose fields are the attributes of the same names, or to the record of ``@payload``."""

    output_event_classes: ClassVar[tuple[type, ...]] = (bytes, dict)

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        registry = registry_of(options)
        self._schema = schema_of("sink mapper 'avro'", options, registry, context)
        self._prefix = b""
        self._gives_records = False
        if options.flag("use.avro.serializer", default=False):
            self._gives_records = registry is None
            if registry is not None:
                self._prefix = frame(options.integer("schema.id", most=2**31 - 1))
        template = only_template("avro", payloads)
        self._record_of = self._default(context) if template is None else self._custom(template)

    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Publish the record of an event.

        Raises:
            MappingFailedError: the event does not fit the schema.
        """
        record = self._record_of(event)
        listener.publish(record if self._gives_records else self._prefix + self._schema.encode(record))

    def _default(self, context: ConnectorContext) -> Callable[[Event], Any]:
        if self._schema.kind(self._schema.root) != "record":
            raise SiddhiAppCreationError(
                "the Avro schema of sink mapper 'avro' is not that of a record",
                code="E326",
                hint="add @payload('...') with the JSON of a value",
            )
        fields = self._schema.fields(self._schema.root)
        names = [name for name, _ in context.attributes]
        missing = [name for name, field in fields.items() if name not in names and "default" not in field]
        if missing:
            problem = f"the stream has no attribute for field '{missing[0]}' of the Avro schema, which has no default"
            logger.warning("app '%s', stream '%s': each event will fail: %s", context.app, context.stream, problem)
            return lambda _: _fail(problem)
        columns = [
            (name, position, writer(name, type_, self._schema, fields[name]["type"]))
            for position, (name, type_) in enumerate(context.attributes)
            if name in fields
        ]

        def record_of(event: Event) -> dict[str, Any]:
            data = event.data
            return {
                name: data[position] if write is None else write(data[position]) for name, position, write in columns
            }

        return record_of

    def _custom(self, template: Template) -> Callable[[Event], Any]:
        read = avro_json_reader(self._schema)

        def value_of(event: Event) -> Any:
            text = str(template.render(event))
            try:
                return read(json.loads(text))
            except (ValueError, RecursionError) as error:
                raise MappingFailedError(f"the text of @payload is not JSON: {error}: {text[:200]}") from None

        return value_of


def _fail(why: str) -> Any:
    raise MappingFailedError(why)
