"""Configuration managers: files and dictionaries, and their use by apps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from siddhi import SiddhiManager, extension
from siddhi.config import ConfigManager, InMemoryConfigManager, YAMLConfigManager
from siddhi.errors import ConfigError, SiddhiAppCreationError
from siddhi.io import InMemoryBroker, Sink, Source
from tests.kit.stores import App, Shelf, shelf_manager

TEXT = """
properties: {shardId: node1, aggTimeZone: Asia/Colombo, enabled: true, none: null}
extensions:
  - extension: {namespace: store, name: shelf, properties: {height: 3, dusty: false}}
  - extension: {namespace: source, name: http}
refs:
  - ref: {name: kept, type: shelf, properties: {colour: red, depth: 2.5}}
unknown: [1, 2]
"""


@pytest.fixture(params=["memory", "yaml", "file"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> ConfigManager:
    if request.param == "memory":
        return InMemoryConfigManager(
            {"store.shelf.height": "3", "store.shelf.dusty": "false"},
            {"kept.type": "shelf", "kept.colour": "red", "kept.depth": "2.5"},
            {"shardId": "node1", "aggTimeZone": "Asia/Colombo", "enabled": "true"},
        )
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    if request.param == "yaml":
        return YAMLConfigManager(TEXT)
    (tmp_path / "siddhi.yaml").write_text(TEXT, encoding="utf-8")
    return YAMLConfigManager(tmp_path / "siddhi.yaml")


@pytest.fixture
def held() -> Iterator[tuple[SiddhiManager, Shelf]]:
    with shelf_manager() as found:
        yield found


def test_references_extension_settings_and_properties_are_found(config):
    assert config.reference("kept") == {"type": "shelf", "colour": "red", "depth": "2.5"}
    assert config.reference("kep") is None
    assert config.extension_config("store", "shelf") == {"height": "3", "dusty": "false"}
    assert config.extension_config("source", "http") == {}
    assert config.extension_config("sink", "shelf") == {}
    assert config.properties() == {"shardId": "node1", "aggTimeZone": "Asia/Colombo", "enabled": "true"}


def test_an_empty_configuration_has_no_values():
    config = ConfigManager()
    assert (config.reference("a"), config.extension_config("a", "b"), config.properties()) == (None, {}, {})
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    assert YAMLConfigManager("").reference("a") is None


def test_a_store_by_reference(config, held):
    manager, shelf = held
    manager.set_config_manager(config)
    app = "define stream I (s string); @Store(ref = 'kept', COLOUR = 'blue') define table T (s string); from I insert into T;"
    started = App(manager, app)
    started.send("I", ("a",))
    assert shelf.rows == [("a",)]
    assert {key.lower(): value for key, value in shelf.options.items()} == {"colour": "blue", "depth": "2.5"}
    assert shelf.context.config == {"height": "3", "dusty": "false"}


@pytest.mark.parametrize("what", ["source", "sink"])
def test_sources_and_sinks_by_reference(what):
    seen = []

    @extension.source("probe", registry=extension.Registry())
    class ProbeSource(Source):
        def init(self, listener, options, transport_properties, context):
            seen.append((options.static("topic"), context.config))

        def connect(self):
            pass

        def pause(self):
            pass

        def resume(self):
            pass

    @extension.sink("probe", registry=extension.Registry())
    class ProbeSink(Sink):
        def init(self, options, context):
            seen.append((options.static("topic"), context.config))

        def connect(self):
            pass

        def publish(self, payload, transport_options):
            pass

    config = InMemoryConfigManager({f"{what}.probe.size": "9"}, {"p.type": "probe", "p.topic": "news"})
    with SiddhiManager() as manager:
        manager.set_config_manager(config)
        manager.set_extension("source:probe", ProbeSource)
        manager.set_extension("sink:probe", ProbeSink)
        manager.create_siddhi_app_runtime(f"@{what}(ref = 'p', @map(type = 'passThrough')) define stream S (v int);")
    assert seen == [("news", {"size": "9"})]


def test_destinations_may_be_references():
    references = {"out.type": "inMemory", "east.topic": "orders-east", "west.topic": "orders-west"}
    app = """define stream S (v int);
        @sink(ref = 'out', @map(type = 'passThrough'), @distribution(strategy = 'roundRobin',
              @destination(ref = 'east'), @destination(ref = 'west')))
        define stream Out (v int);
        from S select v insert into Out;"""
    east: list[object] = []
    west: list[object] = []
    with SiddhiManager() as manager:
        manager.set_config_manager(InMemoryConfigManager(references=references))
        InMemoryBroker.subscribe("orders-east", east.append)
        InMemoryBroker.subscribe("orders-west", west.append)
        try:
            with manager.create_siddhi_app_runtime(app) as runtime:
                for value in (1, 2, 3):
                    runtime.input_handler("S").send((value,))
        finally:
            InMemoryBroker.unsubscribe("orders-east", east.append)
            InMemoryBroker.unsubscribe("orders-west", west.append)
        assert (len(east), len(west)) == (2, 1)
        manager.set_config_manager(InMemoryConfigManager(references={"out.type": "inMemory", "east.topic": "e"}))
        with pytest.raises(SiddhiAppCreationError, match="ref 'west' is not defined in the configuration") as caught:
            manager.create_siddhi_app_runtime(app)
    assert caught.value.line == 2


@pytest.mark.parametrize("config", [None, InMemoryConfigManager()])
def test_an_unknown_reference_is_refused(config):
    with SiddhiManager() as manager:
        manager.set_config_manager(config)
        with pytest.raises(SiddhiAppCreationError, match="ref 'kept' is not defined in the configuration") as caught:
            manager.create_siddhi_app_runtime("@store(ref = 'kept') define table T (s string);")
    assert caught.value.line == 1


def test_properties_are_passed_to_the_planner():
    app = """
    define stream S (s string, ts long);
    define aggregation A from S select s, count() as n group by s aggregate by ts every days;
    """
    with SiddhiManager() as manager:
        manager.set_config_manager(InMemoryConfigManager(properties={"aggTimeZone": "Mars/Olympus"}))
        with pytest.raises(SiddhiAppCreationError, match="aggTimeZone"):
            manager.create_siddhi_app_runtime(app)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "can't be read"),
        ("- 1", "expected a map"),
        ("refs: 1", "invalid 'refs' in the configuration: expected a list"),
        ("refs: [1]", "the key 'ref'"),
        ("refs: [{ref: {type: rdbms}}]", "missing 'name' of ref"),
        ("refs: [{ref: {name: a}}]", "missing 'type' of ref 'a'"),
        ("refs: [{ref: {name: a, type: b, properties: [1]}}]", "expected a map"),
        ("refs: [{ref: {name: a, type: b, properties: {c: [1]}}}]", "expected a single value"),
        ("extensions: [{extension: {name: a}}]", "missing 'namespace' of extension"),
        ("properties: 3", "expected a map"),
        ("!!python/object/apply:os.getcwd []", "can't be read"),
    ],
)
def test_an_invalid_configuration_is_refused(text, message):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    with pytest.raises(ConfigError, match=message):
        YAMLConfigManager(text)


def test_a_missing_file_is_an_error(tmp_path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    with pytest.raises(ConfigError, match="can't be read"):
        YAMLConfigManager(tmp_path / "none.yaml")


def test_a_missing_yaml_package_is_an_error_with_a_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ConfigError, match=r"pip install 'siddhi\[yaml\]'"):
        YAMLConfigManager("")
