from __future__ import annotations

import pytest

from siddhi.errors import DuplicateDefinitionError
from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import AsyncSettings, OnErrorAction, StreamOrigin, TriggerPlan
from siddhi.query_api import (
    Attribute,
    FunctionCall,
    SiddhiApp,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    WindowDefinition,
)
from siddhi.query_api.selection import OutputEventType
from siddhi.types import AttributeType
from tests.kit.planning import planned, refused

INT, LONG = AttributeType.INT, AttributeType.LONG
X = (Attribute("x", INT),)
Y = (Attribute("y", INT),)


def stream(attributes: tuple[Attribute, ...] = X) -> StreamDefinition:
    return StreamDefinition("A", attributes)


def table(attributes: tuple[Attribute, ...] = X) -> TableDefinition:
    return TableDefinition("A", attributes)


def window(attributes: tuple[Attribute, ...] = X) -> WindowDefinition:
    return WindowDefinition("A", attributes, window=FunctionCall("batch"))


TRIGGER = TriggerDefinition("A", every_ms=5)
TRIGGERED = (Attribute("triggered_time", LONG),)


@pytest.mark.parametrize(
    "pair",
    [
        (stream(), stream(Y)),
        (stream(), table()),
        (table(), stream()),
        (table(), table(Y)),
        (table(), window()),
        (window(), table()),
        (window(), window()),
        (window(Y), stream()),
        (stream(), window(Y)),
        (TRIGGER, TRIGGER),
        (stream(), TRIGGER),
        (TRIGGER, stream()),
        (table(TRIGGERED), TRIGGER),
        (window(TRIGGERED), TRIGGER),
    ],
)
def test_an_id_is_defined_once(pair: tuple[object, object]) -> None:
    with pytest.raises(DuplicateDefinitionError):
        plan(SiddhiApp(definitions=pair))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pair",
    [
        (stream(), stream()),
        (table(), table()),
        (stream(), window()),
        (window(), stream()),
        (stream(TRIGGERED), TRIGGER),
        (TRIGGER, stream(TRIGGERED)),
    ],
)
def test_equal_definitions_may_be_repeated(pair: tuple[object, object]) -> None:
    plan(SiddhiApp(definitions=pair))  # type: ignore[arg-type]


def test_duplicate_attributes_are_refused_in_apps_built_from_objects() -> None:
    for definition in (stream((*X, *X)), table((*X, *X)), window((*X, *X))):
        with pytest.raises(Exception, match="duplicate attribute 'x' in"):
            plan(SiddhiApp(definitions=(definition,)))


def test_triggers_define_streams() -> None:
    found = planned(
        "define trigger A at every 5 sec; define trigger B at ' START '; define trigger C at '0 0 12 * * ?';"
    )
    triggers = [(t.every_ms, t.at_start, t.cron) for t in found.triggers.values()]
    assert triggers == [(5000, False, None), (None, True, None), (None, False, "0 0 12 * * ?")]
    assert all(isinstance(trigger, TriggerPlan) for trigger in found.triggers.values())
    assert found.streams["A"].origin is StreamOrigin.TRIGGER
    assert found.streams["A"].attributes == TRIGGERED
    assert refused("define trigger D at 'noon';", definitions="").code == "E323"


def test_fault_streams() -> None:
    found = planned("@OnError(action='STREAM') define stream A (x int); from !A select x, _error as e insert into O;")
    fault = found.streams["!A"]
    assert fault.origin is StreamOrigin.FAULT
    assert [(a.name, str(a.type)) for a in fault.attributes] == [("x", "int"), ("_error", "object")]
    assert found.streams["A"].on_error is OnErrorAction.STREAM
    assert "!A" not in [batch.stream for batch in found.batches]
    for action in ("log", "store"):
        text = f"@OnError(action='{action}') define stream A (x int); from !A select x insert into O;"
        assert refused(text, definitions="").code == "E312"


@pytest.mark.parametrize("elements", ["(action='wait')", "(x='log')", "", "(action='stream', ACTION='log')"])
def test_invalid_error_handling_is_refused(elements: str) -> None:
    assert refused(f"@OnError{elements} define stream A (x int);", definitions="").code in ("E315", "E206")


@pytest.mark.parametrize(
    ("elements", "settings"),
    [
        ("", AsyncSettings(1024, 1, 1024)),
        ("(buffer.size='64')", AsyncSettings(64, 1, 64)),
        ("(buffer.size='64', workers='2', batch.size.max='10')", AsyncSettings(64, 2, 10)),
    ],
)
def test_async(elements: str, settings: AsyncSettings) -> None:
    assert planned(f"@async{elements} define stream A (x int);").streams["A"].async_settings == settings


@pytest.mark.parametrize(
    "element", ["buffer.size='0'", "buffer.size='100'", "workers='0'", "batch.size.max='-1'", "workers='two'"]
)
def test_invalid_async_annotations_are_refused(element: str) -> None:
    assert refused(f"@async({element}) define stream A (x int);", definitions="").code == "E315"


def test_tables_have_keys_and_indexes() -> None:
    found = planned("@PrimaryKey('b', 'a') @Index('c') @index('a') define table T (a int, b int, c int);").tables["T"]
    assert (found.primary_key, found.indexes) == ((1, 0), (2, 0))


@pytest.mark.parametrize(
    ("annotation", "code"),
    [
        ("@PrimaryKey('z')", "E203"),
        ("@PrimaryKey", "E315"),
        ("@PrimaryKey('a', 'a')", "E206"),
        ("@PrimaryKey('a') @primarykey('b')", "E206"),
        ("@Index('z')", "E203"),
        ("@Index", "E315"),
        ("@Index('a', 'b')", "E315"),
        ("@Index('a') @Index('a')", "E206"),
        ("@IndexBy('a')", "E315"),
        ("@Store(type='nowhere')", "E301"),
    ],
)
def test_invalid_tables_are_refused(annotation: str, code: str) -> None:
    assert refused(f"{annotation} define table T (a int, b int);", definitions="").code == code


def test_named_windows() -> None:
    found = planned(
        "define window A (x int) length(2); define window B (x int, t long) externalTime(t, 1 sec) output expired events;"
    )
    assert [w.output for w in found.windows.values()] == [OutputEventType.ALL, OutputEventType.EXPIRED]
    assert refused("define window A (x int) length('x');", definitions="").code == "E303"
    assert refused("define window A (x int) nope(1);", definitions="").code == "E301"


def test_unsupported_definitions_are_refused_by_name() -> None:
    error = refused(
        "define stream A (x int); @persistedAggregation define aggregation G from A select x aggregate every sec ... day;",
        definitions="",
    )
    assert error.code == "E320"
    assert "not supported yet" in error.message
