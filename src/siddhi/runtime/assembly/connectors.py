"""Plans of sources and sinks → running sources and sinks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from siddhi._core.record.binary import BinaryReader
from siddhi._core.record.java import RecordReader, text_of, value_of
from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.input import InputHandler, RowInput
from siddhi._core.stream.junction import StreamJunction
from siddhi.errors import SiddhiAppCreationError, SiddhiAppError
from siddhi.event import Event
from siddhi.io.built_in import class_of
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, Option, OptionHolder, Template
from siddhi.io.sink import Sink, SinkMapper
from siddhi.io.source import AttributeMapping, SourceMapper
from siddhi.persistence.error_store import ErrorOccurrence
from siddhi.planner.bind.cron import parse_cron
from siddhi.planner.plan.connectors import (
    DistributionPlan,
    OptionPlan,
    SinkErrorAction,
    SinkPlan,
    SourceErrorAction,
    SourcePlan,
    TemplatePlan,
)
from siddhi.planner.plan.nodes import StreamPlan
from siddhi.runtime.assembly.types import type_code
from siddhi.runtime.connectors.distributed import DistributedSink
from siddhi.runtime.connectors.retry import RetryPolicy, RetryScheduler
from siddhi.runtime.connectors.sink import OnError, SinkRuntime
from siddhi.runtime.connectors.source import SourceRuntime, TransportMapping
from siddhi.runtime.connectors.worker import Worker
from siddhi.runtime.errors.faults import FaultHandling
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.extension.connectors import ConnectorMetadata
    from siddhi.query_api.span import Span
    from siddhi.runtime.assembly.async_stream import AsyncInputHandler
    from siddhi.runtime.assembly.corrections import CorrectedInput
    from siddhi.runtime.assembly.temporal_connectors import TemporalInput

__all__ = ["build_sink", "build_source", "fault_of"]

logger = logging.getLogger("siddhi")


def build_source(
    plan: SourcePlan,
    number: int,
    stream: StreamPlan,
    context: AppContext,
    worker: Worker,
    input_: InputHandler | AsyncInputHandler | TemporalInput | CorrectedInput,
    junction: StreamJunction,
    faults: FaultHandling,
    retries: RetryScheduler,
) -> SourceRuntime:
    """Build the source with a number of a stream.

    Raises:
        SiddhiAppError: the source or its mapper rejects its options, or their payload types do not match.
    """
    source = class_of(plan.source)()
    mapper: SourceMapper = class_of(plan.mapper)()
    _check_payload_types(
        plan.source, source.output_event_classes, plan.mapper, mapper.supported_input_event_classes, plan.span
    )
    about = replace(_context_of(stream, context, worker), mapper=plan.mapper.full_name)
    options = _holder(plan.source, plan.options, about)
    rows = RowInput(input_, context) if isinstance(input_, InputHandler) else input_.row_input(context)
    runtime = SourceRuntime(
        source,
        mapper,
        f"app '{context.name}', source '{plan.source.full_name}' of stream '{stream.id}'",
        input_,
        rows,
        getattr(rows, "now", None) or (lambda: context.now),
        [
            TransportMapping(
                mapping.transport, mapping.position, _transport_reader(stream.attributes[mapping.position].type)
            )
            for mapping in plan.mappings
            if mapping.transport is not None
        ],
        retries,
        lambda error, payload, properties: (
            plan.on_mapping_error is not SourceErrorAction.LOG
            and faults.save(
                error,
                stream.id,
                (),
                ErrorOccurrence.BEFORE_SOURCE_MAPPING,
                payload,
                connector=runtime.number,
                transport_properties=properties,
            )
        ),
        plan.source.full_name,
        _policy(plan.source, options, plan.span),
        fault_of(junction) if plan.on_mapping_error is SourceErrorAction.STREAM else None,
        context.lock,
        len(stream.attributes),
        None if type(mapper).snapshot is SourceMapper.snapshot else lambda: initialised(class_of(plan.mapper)()),
    )
    mappings = tuple(
        AttributeMapping(mapping.name, mapping.position, mapping.mapping)
        for mapping in plan.mappings
        if mapping.transport is None
    )

    def initialised(mapper: SourceMapper) -> SourceMapper:
        _init(plan.mapper, plan.span, mapper.init, _holder(plan.mapper, plan.mapper_options, about), mappings, about)
        return mapper

    initialised(mapper)
    if plan.mappings and not mappings:
        runtime.ignore_payloads()
    own = replace(
        about,
        config=plan.config,
        is_named=plan.app_is_named,
        line_scanner=mapper.line_scanner() if mappings or not plan.mappings else None,
    )
    _init(plan.source, plan.span, source.init, runtime, options, runtime.transport_properties, own)
    runtime.number = number
    return runtime


def build_sink(
    plan: SinkPlan,
    number: int,
    stream: StreamPlan,
    context: AppContext,
    worker: Worker,
    junction: StreamJunction,
    faults: FaultHandling,
    retries: RetryScheduler,
) -> SinkRuntime:
    """Build the sink with a number of a stream.

    Raises:
        SiddhiAppError: as :func:`build_source`.
    """
    about = replace(_context_of(stream, context, worker), mapper=plan.mapper.full_name)
    label = f"app '{context.name}', sink '{plan.sink.full_name}' of stream '{stream.id}'"
    if plan.on_error is SinkErrorAction.STORE and not faults.has_store:
        logger.error(
            "%s: on.error = 'STORE' has no effect without an error store: call manager.set_error_store(...)", label
        )
    options = _holder(plan.sink, plan.options, about)
    policy = _policy(plan.sink, options, plan.span)
    group: Callable[[Event], object] | None = None
    if plan.distribution is None:
        sink = _client(plan, plan.options, about)
    else:
        sink, group = _distributed(plan, plan.distribution, about, label, retries, policy)
    mapper: SinkMapper = class_of(plan.mapper)()
    _check_payload_types(
        plan.mapper, mapper.output_event_classes, plan.sink, sink.supported_input_event_classes, plan.span
    )
    payloads = {key: _template(template, about) for key, template in plan.payloads}
    mapper_options = _holder(plan.mapper, plan.mapper_options, about)

    def initialised(mapper: SinkMapper) -> SinkMapper:
        _init(plan.mapper, plan.span, mapper.init, mapper_options, payloads, about)
        return mapper

    initialised(mapper)
    if sink.writes_headers:
        sink.header = mapper.take_header()
    try:
        runtime = SinkRuntime(
            sink,
            mapper,
            label,
            OnError(plan.on_error.value),
            fault_of(junction),
            retries,
            store=lambda error, events, payload: faults.save(
                error, stream.id, events, ErrorOccurrence.STORE_ON_SINK_ERROR, payload, connector=runtime.number
            ),
            lock=context.lock,
            group=group if group is not None else _splitting(options, mapper_options),
            type_=plan.sink.full_name,
            policy=policy,
            replay_mapper=(
                None if type(mapper).snapshot is SinkMapper.snapshot else lambda: initialised(class_of(plan.mapper)())
            ),
        )
    except SiddhiAppError as error:
        raise error.located(span=plan.span) from None
    runtime.number = number
    return runtime


def _distributed(
    plan: SinkPlan,
    distribution: DistributionPlan,
    about: ConnectorContext,
    label: str,
    retries: RetryScheduler,
    policy: RetryPolicy,
) -> tuple[Sink, Callable[[Event], object] | None]:
    strategy = class_of(distribution.strategy)()
    options = _holder(distribution.strategy, distribution.options, about)
    _init(distribution.strategy, plan.span, strategy.init, distribution.destinations, options, about)
    clients = [_client(plan, own, about) for own in distribution.clients]
    sink = DistributedSink(clients, distribution.destinations, strategy, label, retries, policy)
    return sink, strategy.group if distribution.strategy.keyed else None


def _client(plan: SinkPlan, options: Sequence[OptionPlan], about: ConnectorContext) -> Sink:
    sink: Sink = class_of(plan.sink)()
    _init(plan.sink, plan.span, sink.init, _holder(plan.sink, options, about), replace(about, config=plan.config))
    return sink


def _policy(metadata: ConnectorMetadata, options: OptionHolder, span: Span | None) -> RetryPolicy:
    """Return the pauses between attempts to connect, unless a connector has options of these names of its own."""
    common = {option.name for option in metadata.common}
    if any(option.name in common for option in metadata.options):
        return RetryPolicy()
    try:
        return RetryPolicy.of(options)
    except SiddhiAppError as error:
        raise error.located(span=span) from error.__cause__


def _splitting(*holders: OptionHolder) -> Callable[[Event], object] | None:
    """Return the group of an event: the values of all dynamic options; None if there are none."""
    dynamic = [option for holder in holders for option in holder.dynamic]
    if not dynamic:
        return None
    return lambda event: tuple(str(option.value(DynamicOptions(event))) for option in dynamic)


def fault_of(junction: StreamJunction) -> Callable[[Exception, Sequence[Event]], object]:
    """Return the error handling of a stream; it is looked up at each failure."""

    def handle(error: Exception, events: Sequence[Event]) -> None:
        if junction.on_error is not None:
            junction.on_error(error, list(events))
        else:
            junction.app.handle(error, junction.id, list(events))

    return handle


def _context_of(stream: StreamPlan, context: AppContext, worker: Worker) -> ConnectorContext:
    return ConnectorContext(
        app=context.name,
        stream=stream.id,
        attributes=tuple((attribute.name, attribute.type) for attribute in stream.attributes),
        texts=tuple(partial(_text, type_code(attribute.type)) for attribute in stream.attributes),
        readers=tuple(partial(_value, type_code(attribute.type)) for attribute in stream.attributes),
        now=lambda: context.now,
        is_processing=lambda: context.lock.is_mine,
        run_in_worker=worker.submit,
        record_reader=partial(_record_reader, [type_code(attribute.type) for attribute in stream.attributes]),
        cron=_cron,
        binary_events=BinaryReader(type_code(attribute.type) for attribute in stream.attributes).events,
    )


def _cron(text: str) -> Callable[[int], int | None]:
    return parse_cron(text).next_after


def _text(code: int, value: object) -> str:
    return text_of(value, code)


def _value(code: int, text: str) -> object:
    return value_of(text, code)


def _record_reader(codes: list[int], columns: list[int], *, null: str | None, lenient: bool) -> RecordReader:
    return RecordReader(columns, codes, null, lenient)


def _holder(metadata: ConnectorMetadata, options: Iterable[OptionPlan], about: ConnectorContext) -> OptionHolder:
    return OptionHolder(
        f"{metadata.title} '{metadata.full_name}'",
        [Option(option.name, tuple(_template(template, about) for template in option.templates)) for option in options],
    )


def _template(plan: TemplatePlan, about: ConnectorContext) -> Template:
    return Template(plan.parts, about.texts, is_value=plan.is_value)


def _init(metadata: ConnectorMetadata, span: Span | None, init: Callable[..., object], *arguments: object) -> None:
    try:
        init(*arguments)
    except SiddhiAppError as error:
        raise error.located(span=span) from error.__cause__
    except Exception as error:
        raise SiddhiAppCreationError(
            f"{metadata.title} '{metadata.full_name}' failed to initialize: {type(error).__name__}: {error}",
            code="E326",
            span=span,
        ) from error


def _check_payload_types(
    producer: ConnectorMetadata,
    produced: tuple[type, ...],
    consumer: ConnectorMetadata,
    expected: tuple[type, ...],
    span: Span | None,
) -> None:
    if produced and expected and not any(issubclass(class_, base) for class_ in produced for base in expected):
        raise SiddhiAppCreationError(
            f"{consumer.title} '{consumer.full_name}' expects {_names(expected)}, "
            f"but {producer.title} '{producer.full_name}' produces {_names(produced)}",
            code="E326",
            span=span,
            hint="use another mapper: @map(type = '...')",
        )


def _names(classes: tuple[type, ...]) -> str:
    return " or ".join(class_.__name__ for class_ in classes)


def _transport_reader(type_: AttributeType) -> Callable[[object], object]:
    """Return the conversion of a transport property: a text is parsed; another value must have the attribute's type."""
    code = type_code(type_)

    def read(value: object) -> object:
        if isinstance(value, str):
            return value_of(value, code)
        if type_ is AttributeType.STRING and value is not None:
            return text_of(value, _CODE_OF_OBJECT)
        return value

    return read


_CODE_OF_OBJECT = type_code(AttributeType.OBJECT)
