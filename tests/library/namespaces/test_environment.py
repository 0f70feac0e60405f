"""The environment of the process, and who may read it."""

from __future__ import annotations

import pytest

from siddhi import SandboxPolicy, SiddhiManager
from siddhi.config import InMemoryConfigManager
from siddhi.errors import SiddhiAppCreationError
from tests.kit.functions import executors, value
from tests.kit.running import running

APP = "define stream S (k string); from S select env:getEnvironmentProperty({}) as v insert into O;"


def test_variables_are_read_when_an_event_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    built, layout = executors("define stream S (k string);", ["env:getEnvironmentProperty(k)"])
    monkeypatch.setenv("SIDDHI_TEST", "yes")
    assert [value(built[0], layout, (key,)) for key in ("SIDDHI_TEST", "SIDDHI_NOT_SET", None)] == ["yes", None, None]


@pytest.mark.parametrize(
    ("header", "origin"),
    [("[2001:4860::8888]:80, 8.8.8.8", "2001:4860::8888"), ("127.0.0.1, 8.8.8.8:443", "8.8.8.8"), ("", None)],
)
def test_the_first_public_address_is_the_origin(header: str, origin: str | None) -> None:
    built, layout = executors("define stream S (h string);", ["env:getOriginIPFromXForwarded(h)"])
    assert value(built[0], layout, (header,)) == origin


def test_a_sandbox_allows_variables_by_name() -> None:
    manager = SiddhiManager(policy=SandboxPolicy(environment={"REGION"}))
    with manager.create_siddhi_app_runtime(APP.format("'REGION', ''")):
        pass
    for key in ("'PASSWORD'", "k"):
        with pytest.raises(SiddhiAppCreationError) as caught:
            manager.create_siddhi_app_runtime(APP.format(key))
        assert caught.value.code == "E340"
    manager.shutdown()


AGENT = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 Version/17.1 Mobile/15E148 Safari/604.1"


def test_parts_of_a_user_agent_have_names() -> None:
    pytest.importorskip("ua_parser")
    calls = [f"env:getUserAgentProperty(a, '{name}')" for name in ("browser", "os", "device")]
    built, layout = executors("define stream S (a string);", calls)
    assert [value(each, layout, (AGENT,)) for each in built] == ["Mobile Safari", "iOS", "iPhone"]
    assert [value(each, layout, ("x",)) for each in built] == [None, None, None]
    with pytest.raises(SiddhiAppCreationError, match="unknown property 'engine'"):
        executors("define stream S (a string);", ["env:getUserAgentProperty(a, 'engine')"])


CONFIG = InMemoryConfigManager(
    {"env.getYAMLProperty.limit": "5", "env.getYAMLProperty.rate": "x"}, properties={"region": "eu", "on": "True"}
)


def first_row(select: str, policy: SandboxPolicy | None = None) -> tuple[object, ...]:
    manager = SiddhiManager(policy=policy)
    manager.set_config_manager(CONFIG)
    try:
        runtime = manager.create_siddhi_app_runtime(f"define stream S (d int); from S select {select} insert into O;")
        rows: list[tuple[object, ...]] = []
        runtime.add_callback("O", lambda events: rows.extend(event.data for event in events))
        runtime.start()
        runtime.input_handler("S").send((7,))
        return rows[0]
    finally:
        manager.shutdown()


def test_properties_of_the_configuration_have_types_and_defaults() -> None:
    calls = {
        "env:getSystemProperty('region')": "eu",
        "env:getSystemProperty('nowhere')": None,
        "env:getSystemProperty('nowhere', 'x')": "x",
        "env:getYAMLProperty('region')": "eu",
        "env:getYAMLProperty('limit', 'long') + 1L": 6,
        "env:getYAMLProperty('on', 'bool')": True,
        "env:getYAMLProperty('nowhere', 'double')": None,
        "env:getYAMLProperty('nowhere', 'int', d)": 7,
    }
    selected = ", ".join(f"{call} as c{i}" for i, call in enumerate(calls))
    assert first_row(selected) == tuple(calls.values())


@pytest.mark.parametrize(
    "call", ["getYAMLProperty('rate', 'int')", "getYAMLProperty('limit', 'number')", "getYAMLProperty('a', 'int', 1L)"]
)
def test_properties_of_another_type_are_refused(call: str) -> None:
    with pytest.raises(SiddhiAppCreationError) as caught:
        first_row(f"env:{call} as p")
    assert caught.value.hint is not None


@pytest.mark.parametrize("call", ["getSystemProperty", "getYAMLProperty"])
def test_a_sandbox_allows_properties_by_name(call: str) -> None:
    assert first_row(f"env:{call}('region') as p", SandboxPolicy(environment={"region"})) == ("eu",)
    with pytest.raises(SiddhiAppCreationError, match="property 'region'") as caught:
        first_row(f"env:{call}('region') as p", SandboxPolicy())
    assert caught.value.code == "E340"


RESOURCES = """@app:name('resources') @app:playback define stream S (id int, rule int);
from S[rule == 1]#env:resourceIdentifier('rules') select id, rule insert into R;
from S[rule == 2]#env:resourceIdentifier('rules') select id, rule insert into R;
from R#window.env:resourceBatch('rules', id, 1 sec) select id, sum(rule) as total group by id insert into O;"""


@pytest.mark.parametrize("restart_after", [0, 3])
def test_a_batch_ends_with_an_event_of_each_resource(restart_after: int) -> None:
    found: list[tuple[object, ...]] = []
    state = None
    rows = [(1, 1, 1000), (2, 2, 1100), (1, 2, 1200), (3, 1, 1300), (9, 9, 2500)]
    for part in (rows[:restart_after], rows[restart_after:]):
        with running(RESOURCES) as runtime:
            if state is not None:
                runtime.restore(state)
            runtime.add_callback(
                "O", lambda events: found.extend(event.data for event in events if not event.is_expired)
            )
            for id_, rule, time in part:
                runtime.input_handler("S").send((id_, rule), timestamp=time)
            state = runtime.snapshot()
    assert found == [(1, 3), (2, 2), (3, 1)]


def test_a_group_without_resources_is_refused() -> None:
    with pytest.raises(SiddhiAppCreationError, match="no query of this app registers a resource of the group 'other'"):
        SiddhiManager().validate_siddhi_app(RESOURCES.replace("resourceBatch('rules'", "resourceBatch('other'"))
