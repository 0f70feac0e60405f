from __future__ import annotations

import pytest

from siddhi.errors import AttributeNotExistError
from siddhi.extension import Registry, SinkMapperMetadata, SinkMetadata, SourceMetadata, builtin_registry, sink
from siddhi.io import Sink
from siddhi.planner.bind.catalog import Catalog
from siddhi.planner.bind.connector_options import options_of
from siddhi.planner.explain.app import explain
from siddhi.planner.plan.connectors import SinkErrorAction, TemplatePlan
from siddhi.query_api.annotation import Annotation, Element
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType
from tests.kit.planning import planned, refused

STREAM = "define stream S (k string, v int);"


def stream_of(annotations: str):
    return planned(f"{annotations} {STREAM}").streams["S"]


def error_of(annotations: str):
    return refused(f"{annotations} {STREAM}", definitions="")


def test_a_source_has_options_and_a_mapper():
    (source,) = stream_of("@source(type='inMemory', Topic='t', @map(type='passThrough'))").sources
    assert source.source.name == "inMemory"
    assert [(option.name, option.templates) for option in source.options] == [("topic", (TemplatePlan(("t",)),))]
    assert source.mapper.name == "passThrough"


def test_the_default_mapper_is_pass_through():
    found = stream_of("@source(type='inMemory', topic='t') @sink(type='sink:log')")
    assert found.sources[0].mapper.full_name == found.sinks[0].mapper.full_name == "passThrough"
    assert found.sinks[0].on_error is SinkErrorAction.LOG


def test_several_connectors_are_in_text_order():
    found = stream_of("@sink(type='log') @source(type='inMemory') @sink(type='inMemory', topic='t', on.error='wait')")
    assert [one.sink.name for one in found.sinks] == ["log", "inMemory"]
    assert found.sinks[1].on_error is SinkErrorAction.WAIT


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("t", ("t",)),
        ("t_{{k}}", ("t_", 0)),
        ("{{v}}", (1,)),
        ("{{v}}{{k}}", (1, 0)),
        ("{k}{{k}}}", ("{k}", 0, "}")),
        ("`{{k}}x`", ("`", 0, "x`")),
        ("`k`", ("`k`",)),
        ("k", ("k",)),
        (" k ", (" k ",)),
        ("}.}", ("}.}",)),
        ("", ("",)),
    ],
)
def test_an_option_is_dynamic_only_where_a_placeholder_stands(text, parts):
    (found,) = stream_of(f"@sink(type='inMemory', topic='{text}')").sinks
    assert found.options[0].templates == (TemplatePlan(parts),)


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("k", TemplatePlan((0,), is_value=True)),
        (" k ", TemplatePlan((0,), is_value=True)),
        ("`k`", TemplatePlan(("k",))),
        ("`{{k}}x`", TemplatePlan((0, "x"))),
        ("`{{k}} x`", TemplatePlan(("`", 0, " x`"))),
        ("{{k}}", TemplatePlan((0,))),
    ],
)
def test_a_payload_of_one_attribute_is_its_value(text, plan):
    (found,) = stream_of(f"@sink(type='inMemory', topic='t', @map(type='keyvalue', @payload(x='{text}')))").sinks
    assert found.payloads == (("x", plan),)


def test_no_option_of_a_sink_takes_the_name_of_an_attribute_for_a_value():
    """Every option that can have attributes is static text where no placeholder stands, for built-in and own connectors."""
    registry = builtin_registry()
    catalog, attributes, at = Catalog(registry), (Attribute("k", AttributeType.STRING),), Annotation("sink")
    checked = 0
    for kind in (SinkMetadata, SinkMapperMetadata):
        for name in registry.names(kind):
            metadata = registry.connector(kind, name)
            for option in (one for one in metadata.options if one.name != "type"):
                (plan,) = options_of(catalog, metadata, [Element(option.name, "k")], attributes, at)
                assert plan.templates == (TemplatePlan(("k",)),), (name, option.name)
                checked += 1
    assert checked > 100


@pytest.mark.parametrize("text", ["{{ k }}", "{{K}}", "{{}}"])
def test_a_placeholder_without_attribute_is_refused(text):
    with pytest.raises(AttributeNotExistError, match="template"):
        stream_of(f"@sink(type='inMemory', topic='{text}')")


def test_attributes_by_position_and_by_name():
    by_position = stream_of("@source(type='inMemory', @map(type='passThrough', @attributes('trp:a', 'b')))")
    by_name = stream_of("@source(type='inMemory', @map(type='passThrough', @attributes(v='b', k='trp:a')))")
    assert sorted((m.name, m.position, m.transport) for m in by_position.sources[0].mappings) == [
        ("k", 0, "a"),
        ("v", 1, None),
    ]
    assert [m.name for m in by_name.sources[0].mappings] == ["v", "k"]


def test_payload_templates_by_key():
    (found,) = stream_of("@sink(type='log', @map(type='passThrough', @payload('{{v}} of {{k}}')))").sinks
    assert found.payloads == (("", TemplatePlan((1, " of ", 0))),)


def test_one_client_serves_destinations_that_differ_in_dynamic_options():
    (found,) = stream_of(
        "@sink(type='inMemory', @distribution(strategy='roundRobin', "
        "@destination(topic='a'), @destination(topic='b{{k}}')))"
    ).sinks
    assert found.distribution is not None
    assert found.distribution.destinations == 2
    ((option,),) = found.distribution.clients
    assert option.templates == (TemplatePlan(("a",)), TemplatePlan(("b", 0)))


def test_destinations_with_different_options_have_separate_clients():
    (found,) = stream_of(
        "@sink(type='log', priority='WARN', @distribution(strategy='broadcast', "
        "@destination(prefix='a'), @destination(prefix='b', priority='INFO')))"
    ).sinks
    assert found.distribution is not None
    texts = [{o.name: o.templates[0].parts[0] for o in client} for client in found.distribution.clients]
    assert texts == [{"priority": "WARN", "prefix": "a"}, {"priority": "INFO", "prefix": "b"}]


@pytest.mark.parametrize(
    ("annotation", "code", "message", "hint"),
    [
        ("@source(topic='t')", "E315", "@source requires the element 'type'", "registered: "),
        ("@source(type='inmemory')", "E301", "unknown source 'inmemory'", "did you mean 'inMemory'?"),
        ("@source(type='jms')", "E301", "unknown source 'jms'", "docs/connectors.md shows how to write a source"),
        ("@sink(type='a:b:c')", "E315", "invalid name 'a:b:c' of a sink", "write name or namespace:name"),
        ("@sink(type='inMemory')", "E326", "sink 'inMemory' requires the option 'topic'", "the topic to publish to"),
        ("@sink(type='inMemory', topic='{{z}}')", "E203", "unknown attribute 'z'", ""),
        ("@sink(type='log', prefix='{{k}}')", "E326", "option 'prefix' of sink 'log' can't contain attributes", ""),
        (
            "@source(type='inMemory', topic='{{k}}')",
            "E326",
            "option 'topic' of source 'inMemory' can't contain attributes",
            "",
        ),
        ("@sink(type='inMemory', topic='t', topic='u')", "E315", "duplicate option 'topic' of sink 'inMemory'", ""),
        ("@sink(type='log', 'x')", "E315", "option value 'x' of sink 'log' has no name", ""),
        (
            "@sink(type='log', on.error='AGAIN')",
            "E315",
            "invalid 'on.error' of @sink: 'AGAIN'",
            "use one of LOG, WAIT, RETRY, STREAM, STORE",
        ),
        ("@sink(type='log', @map(x='y'))", "E315", "@map requires the element 'type'", "registered: avro, binary, "),
        ("@sink(type='log', @map(type='jason'))", "E301", "unknown sink mapper 'jason'", "did you mean 'json'?"),
        (
            "@sink(type='log', @map(type='passThrough', @payload('a', 'b')))",
            "E315",
            "@payload takes one value without a name, or values that all have names",
            "",
        ),
        ("@source(type='inMemory', @map(type='passThrough', @attributes('a')))", "E315", "has 1 elements", ""),
        (
            "@source(type='inMemory', @map(type='passThrough', @attributes(k='a')))",
            "E315",
            "@attributes does not map v",
            "",
        ),
        ("@source(type='inMemory', @map(type='passThrough', @attributes(k='a', 'b')))", "E315", "mixes", ""),
        ("@source(type='inMemory', @map(type='passThrough', @attributes(k='a', z='b')))", "E315", "'z'", ""),
        (
            "@sink(type='log', @distribution(@destination(prefix='a')))",
            "E315",
            "@distribution requires the element 'strategy'",
            "",
        ),
        ("@sink(type='log', @distribution(strategy='nope', @destination(prefix='a')))", "E301", "'nope'", "roundRobin"),
        ("@sink(type='log', @distribution(strategy='broadcast'))", "E315", "no @destination", ""),
        (
            "@sink(type='log', @distribution(strategy='partitioned', @destination(prefix='a')))",
            "E326",
            "distribution strategy 'partitioned' requires the option 'partitionKey'",
            "",
        ),
        (
            "@sink(type='log', @distribution(strategy='partitioned', partitionKey='z', @destination(prefix='a')))",
            "E326",
            "unknown attribute 'z' in 'partitionKey'",
            "",
        ),
        (
            "@sink(type='inMemory', @distribution(strategy='broadcast', @destination(topic='a'), @destination(x='b')))",
            "E326",
            "sink 'inMemory' requires the option 'topic'",
            "",
        ),
        (
            "@source(type='inMemory', dep:port='1')",
            "E326",
            "option 'dep:port' needs a service, which source 'inMemory' does not offer",
            "",
        ),
    ],
)
def test_invalid_annotations_are_refused_with_their_location(annotation, code, message, hint):
    error = error_of(annotation)
    assert error.code == code, error
    assert message in error.message
    assert hint in (error.hint or "")


def test_a_mapping_of_an_unknown_attribute_is_ignored_with_a_warning():
    found = planned(f"@source(type='inMemory', @map(type='json', @attributes(k='a', v='b', vv='c'))) {STREAM}")
    (warning,) = found.warnings
    assert warning.startswith("@attributes: stream 'S' has no attribute 'vv' (line 1, column ")
    ((source,),) = (stream.sources for stream in found.streams.values() if stream.sources)
    assert [mapping.name for mapping in source.mappings] == ["k", "v"]


def test_an_unknown_option_is_warned_about_and_passed_to_the_sink():
    found = planned(f"@sink(type='log', prefx='a') {STREAM}")
    assert [option.name for option in found.streams["S"].sinks[0].options] == ["prefx"]
    assert found.warnings == ("unknown option 'prefx' of sink 'log' (line 1, column 18): did you mean 'prefix'?",)


def test_options_of_a_built_in_mapper_without_options_are_warned_about():
    (warning,) = planned(f"@sink(type='log', @map(type='passThrough', json='a')) {STREAM}").warnings
    assert warning == "unknown option 'json' of sink mapper 'passThrough' (line 1, column 43): it has no options"


def test_sinks_of_users_are_found_in_their_registry():
    registry = Registry(builtin_registry())

    @sink("test:mail", registry=registry)
    class Mail(Sink):
        """Mails."""

        def init(self, options, context):
            self.options = options

        def connect(self):
            self.connected = True

        def publish(self, payload, options):
            self.published = payload

    found = planned(f"@sink(type='test:mail', anything='x') {STREAM}", registry)
    assert found.streams["S"].sinks[0].sink.implementation is Mail
    assert found.warnings == ()


def test_a_batch_whose_rows_leave_the_app_is_processed_by_row():
    found = planned(f"define stream A (k string, v int); @sink(type='log') {STREAM} from A select k, v insert into S;")
    assert {batch.stream: batch.reason for batch in found.batches} == {
        "A": "stream 'S' has a sink",
        "S": "stream 'S' has a sink",
    }


def test_explain_shows_connectors():
    text = explain(
        planned(
            "@source(type='inMemory') @sink(type='log', on.error='wait', "
            f"@distribution(strategy='broadcast', @destination(prefix='a'), @destination(prefix='b'))) {STREAM}"
        )
    )
    assert "source inMemory by passThrough; sink log by passThrough, broadcast, on error WAIT]" in text


def test_a_missing_package_is_named_with_its_extra():
    registry = Registry(builtin_registry())
    registry.register(
        SourceMetadata(
            name="far", builtin="far", location="far.FarSource", packages=("siddhi", "no_such_package"), extra="far"
        )
    )
    error = refused(f"@source(type='far') {STREAM}", definitions="", registry=registry)
    assert (error.code, error.hint) == ("E301", "pip install 'siddhi[far]'")
    assert "source 'far' requires the package 'no_such_package', which is not installed" in str(error)
    assert error.span is not None
