"""Every way from an app to resources outside of it, and the policy that closes it."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from siddhi import SandboxPolicy, SiddhiManager
from siddhi.config import InMemoryConfigManager
from siddhi.errors import ExtensionError, SiddhiAppError
from siddhi.extension import Registry, builtin_registry, shared_registry, sink
from siddhi.extension.connectors import (
    ConnectorOption,
    SinkMapperMetadata,
    SinkMetadata,
    SourceMapperMetadata,
    SourceMetadata,
    StoreMetadata,
)
from siddhi.extension.metadata import ScriptLanguageMetadata
from siddhi.extension.registry import ENTRY_POINT_GROUPS
from siddhi.io import Sink
from siddhi.planner.app import plan
from siddhi.query_compiler import parse

STREAM = "define stream S (k string, v int);\n"
INPUT = "define stream I (a int);"
TABLE = "define table T (k string, v int);\n"
CONFIG = InMemoryConfigManager(
    references={
        "prod.type": "rdbms",
        "prod.url": "postgresql://db/prod",
        "prod.password": "secret",
        "mails.type": "mail",
        "mails.host": "smtp.example.com:25",
        "bare.type": "rdbms",
    }
)
OPEN_LIMITS = dict.fromkeys(
    ("max_text", "max_queries", "max_partitions", "max_events", "max_duration_ms", "max_threads")
)


class _Anything:
    """Has every method that a connector may need."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nothing may be made of it, yet '{name}' is asked for")


for _kind in (SourceMetadata, SourceMapperMetadata, SinkMetadata, SinkMapperMetadata, StoreMetadata):
    for _method in _kind.methods:
        setattr(_Anything, _method, None)


@pytest.fixture
def registry() -> Registry:
    found = Registry(shared_registry())
    host = ConnectorOption("host", place="url")
    path = ConnectorOption("path", place="file", dynamic=True)
    found.register(SourceMetadata(name="feed", options=(host, path), implementation=_Anything))
    found.register(SourceMapperMetadata(name="form", options=(path,), implementation=_Anything))
    found.register(SinkMetadata(name="mail", options=(host, ConnectorOption("to")), implementation=_Anything))
    found.register(SinkMetadata(name="disk", options=(path,), implementation=_Anything))
    found.register(
        SinkMetadata(name="web", options=(ConnectorOption("url", dynamic=True, place="url"),), implementation=_Anything)
    )
    found.register(SinkMetadata(name="silent", implementation=_Anything))
    found.register(SinkMapperMetadata(name="form", options=(path,), implementation=_Anything))
    found.register(ScriptLanguageMetadata(name="lua", implementation=_Anything))
    return found


def refusal(text: str, policy: SandboxPolicy, registry: Registry | None = None) -> SiddhiAppError:
    with pytest.raises(SiddhiAppError) as caught:
        plan(parse(text, environment=policy.environment), registry=registry, config=CONFIG, policy=policy)
    return caught.value


WAYS = {
    "environment": ("from S select '${HOME}' as h insert into O;", {"environment": {"HOME"}}),
    "script": ("define function f[python] return int { return 1 };", {"scripts": {"python"}}),
    "script in capitals": ("define function f[PYTHON] return int { return 1 };", {"scripts": {"python"}}),
    "script of the host": ("define function f[lua] return int { x };", {"scripts": {"lua"}}),
    "source": ("@source(type='feed', host='h:1') define stream I (a int);", {"sources": {"feed": ("h:1",)}}),
    "source with namespace": (
        "@source(type='source:feed', host='h:1') define stream I (a int);",
        {"sources": {"feed": ("h:1",)}},
    ),
    "topic read": ("@source(type='inMemory', topic='t') define stream I (a int);", {"sources": {"inMemory": ("t",)}}),
    "sink": ("@sink(type='mail', host='h:1') define stream I (a int);", {"sinks": {"mail": ("h:1",)}}),
    "second sink": (
        "@sink(type='inMemory', topic='t') @sink(type='mail', host='h:1') define stream I (a int);",
        {"sinks": {"mail": ("h:1",), "inMemory": ("t",)}},
    ),
    "topic written": (
        "@sink(type='inMemory', topic='t{{a}}') define stream I (a int);",
        {"sinks": {"inMemory": ("t",)}},
    ),
    "destination": (
        "@sink(type='mail', @distribution(strategy='broadcast', @destination(host='h:1'), @destination(host='i:2')))"
        + INPUT,
        {"sinks": {"mail": ("h:1", "i:2")}},
    ),
    "log sink": ("@sink(type='log') define stream I (a int);", {"sinks": {"log": ("*",)}}),
    "log function": ("from S#log('x') select k insert into O;", {"sinks": {"log": ("*",)}}),
    "source mapper": (
        "@source(type='inMemory', topic='t', @map(type='form')) define stream I (a int);",
        {"sources": {"inMemory": ("t",)}, "mappers": {"form": ("*",)}},
    ),
    "sink mapper": (
        "@sink(type='inMemory', topic='t', @map(type='form')) define stream I (a int);",
        {"sinks": {"inMemory": ("t",)}, "mappers": {"form": ("*",)}},
    ),
    "store": (
        "@store(type='rdbms', url='postgresql://db/mine') " + TABLE,
        {"stores": {"rdbms": ("postgresql://db/mine",)}},
    ),
    "address of JDBC": (
        "@store(type='rdbms', jdbc.url='jdbc:sqlite:/data/x.db') " + TABLE,
        {"stores": {"rdbms": ("sqlite:///",)}, "folders": ("/data",)},
    ),
    "SQLite file": (
        "@store(type='rdbms', url='sqlite:////data/x.db') " + TABLE,
        {"stores": {"rdbms": ("sqlite:///",)}, "folders": ("/data",)},
    ),
    "store of an aggregation": (
        "@store(type='rdbms', url='postgresql://db/mine') define aggregation A from S select sum(v) as x aggregate every sec;",
        {"stores": {"rdbms": ("postgresql://db/mine",)}},
    ),
    "reference of a store": ("@store(ref='prod') " + TABLE, {"references": {"prod"}}),
    "reference of a sink": ("@sink(ref='mails', to='me') define stream I (a int);", {"references": {"mails"}}),
    "reference of a destination": (
        "@sink(type='mail', @distribution(strategy='broadcast', @destination(ref='mails'))) define stream I (a int);",
        {"references": {"mails"}, "sinks": {"mail": ()}},
    ),
    "file of a sink": (
        "@sink(type='disk', path='/data/out.csv') define stream I (a int);",
        {"sinks": {"disk": ()}, "folders": ("/data",)},
    ),
    "class of a built-in mapper": (
        "@source(type='inMemory', topic='t', @map(type='protobuf', class='os:path')) define stream I (a int);",
        {"sources": {"inMemory": ("t",)}, "mappers": {"protobuf": ("os:",)}},
    ),
    "registry of a built-in mapper": (
        "@sink(type='inMemory', topic='t', @map(type='avro', schema.registry='http://h/')) define stream I (a int);",
        {"sinks": {"inMemory": ("t",)}, "mappers": {"avro": ("http://h/",)}},
    ),
    "file of a built-in mapper": (
        "@sink(type='inMemory', topic='t', @map(type='avro', schema.file='/data/a.avsc')) define stream I (a int);",
        {"sinks": {"inMemory": ("t",)}, "folders": ("/data",)},
    ),
    "file of a mapper": (
        "@sink(type='inMemory', topic='t', @map(type='form', path='/data/x.xsd')) define stream I (a int);",
        {"sinks": {"inMemory": ("t",)}, "mappers": {"form": ()}, "folders": ("/data",)},
    ),
    "error store of a stream": ("@OnError(action='store') define stream I (a int);", {"error_store": True}),
    "error store of a sink": (
        "@sink(type='log', on.error='store') define stream I (a int);",
        {"sinks": {"log": ("*",)}, "error_store": True},
    ),
    "error store of a table": (
        "@store(ref='prod', on.error='store') " + TABLE,
        {"references": {"prod"}, "error_store": True},
    ),
    "statistics": ("@app:statistics('true') define stream I (a int);", {"statistics": {"console"}}),
    "statistics by reporter": (
        "@app:statistics(reporter='CONSOLE', interval='1') define stream I (a int);",
        {"statistics": {"console"}},
    ),
}


def _text(way: str) -> str:
    text = WAYS[way][0]
    return text if text.startswith("@app") else STREAM + text


@pytest.mark.parametrize("way", WAYS)
def test_each_resource_is_refused_until_the_policy_allows_it(way: str, registry: Registry) -> None:
    opening: Any = WAYS[way][1]
    error = refusal(_text(way), SandboxPolicy(), registry)
    assert error.code == ("E330" if "script" in way else "E340")
    assert error.line == (1 if "statistics" in way else 2)
    assert error.column is not None
    assert error.hint
    # Nothing of what opens it can be left out.
    for field in opening:
        assert refusal(_text(way), SandboxPolicy(**{**opening, field: type(opening[field])()}), registry)
    policy = SandboxPolicy(**opening)
    plan(parse(_text(way), environment=policy.environment), registry=registry, config=CONFIG, policy=policy)
    plan(parse(_text(way)), registry=registry, config=CONFIG)


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        # The password of the configuration goes to the place of the configuration only.
        (
            "@store(ref='prod', url='postgresql://evil/x') " + TABLE,
            {"references": {"prod"}, "stores": {"rdbms": ("*",)}},
        ),
        ("@store(ref='prod', type='rdbms') " + TABLE, {"references": {"prod"}, "stores": {"rdbms": ("*",)}}),
        ("@store(ref='bare', url='postgresql://evil/x') " + TABLE, {"references": {"bare"}}),
        ("@sink(ref='mails', HOST='evil:25') define stream I (a int);", {"references": {"mails"}}),
        # A store that is given no place takes a file in the working directory.
        ("@store(ref='bare') " + TABLE, {"references": {"bare"}, "stores": {"rdbms": ("*",)}}),
        ("@store(type='rdbms') " + TABLE, {"stores": {"rdbms": ("*",)}}),
        ("@store(type='rdbms', url='sqlite:///x.db') " + TABLE, {"stores": {"rdbms": ("*",)}, "folders": ("/data",)}),
        ("@store(type='rdbms', url='`sqlite:///x.db`') " + TABLE, {"stores": {"rdbms": ("*",)}, "folders": ("/data",)}),
        # Topics of others, also those that events name.
        ("@source(type='inMemory') define stream I (a int);", {"sources": {"inMemory": ("t",)}}),
        ("@sink(type='inMemory', topic='{{a}}') define stream I (a int);", {"sinks": {"inMemory": ("t",)}}),
        ("@sink(type='inMemory', topic='other') define stream I (a int);", {"sinks": {"inMemory": ("t",)}}),
        ("@sink(type='web', url='https://h/{{a}}') define stream I (a string);", {"sinks": {"web": ("https://h/",)}}),
        (
            "@sink(type='disk', path='/data/{{a}}') define stream I (a string);",
            {"sinks": {"disk": ()}, "folders": ("/data",)},
        ),
        # The first destination is allowed, the second is not.
        (
            "@sink(type='mail', @distribution(strategy='broadcast', @destination(host='h:1'), @destination(host='evil:2')))"
            + INPUT,
            {"sinks": {"mail": ("h:1",)}},
        ),
        # A proxy is a location; so is the identifier of a source whose requests others answer.
        (
            "@sink(type='http', publisher.url='http://h/', proxy.host='evil', @map(type='json')) " + INPUT,
            {"sinks": {"http": ("http://h/",)}},
        ),
        (
            "@sink(type='http-service-response', source.id='other', message.id='{{a}}', @map(type='json')) " + INPUT,
            {"sinks": {"http-service-response": ("mine-",)}},
        ),
        # A topic or a file does not say which server: the default one is not allowed.
        ("@sink(type='redis-stream', stream='t') " + INPUT, {"sinks": {"redis-stream": ("redis://h", "t")}}),
        ("@source(type='tcp', context='t') " + INPUT, {"sources": {"tcp": ("127.0.0.1", "t")}}),
        # Options that the extension does not declare may say where.
        ("@sink(type='mail', host='h:1', proxy='evil:2') define stream I (a int);", {"sinks": {"mail": ("h:1",)}}),
        ("@sink(type='silent', url='evil:2') define stream I (a int);", {"sinks": {"silent": ("h:1",)}}),
        # A class outside of the allowed modules.
        (
            "@source(type='inMemory', topic='t', @map(type='protobuf', class='os:path')) define stream I (a int);",
            {"sources": {"inMemory": ("t",)}, "mappers": {"protobuf": ("trades_pb2:",)}},
        ),
        # A type is allowed in its kind only.
        ("@sink(type='inMemory', topic='t') define stream I (a int);", {"sources": {"inMemory": ("*",)}}),
    ],
)
def test_a_partly_allowed_resource_is_refused(text: str, opening: dict[str, Any], registry: Registry) -> None:
    assert refusal(STREAM + text, SandboxPolicy(**opening), registry).code == "E340"


def test_a_star_in_the_policy_allows_all_connector_types(registry: Registry) -> None:
    """Types of connectors lead outside, and are named in the policy nevertheless; ``"*"`` names all of them."""

    @sink("everywhere", options=(ConnectorOption("host", place="url"),))
    class Everywhere(Sink):
        """Goes anywhere."""

        def init(self, options, context):
            self.options = options

        def connect(self):
            self.connected = True

        def publish(self, payload, options):
            self.published = payload

    text = "@sink(type='everywhere', host='h') @source(type='feed', host='x:1') define stream I (a int);"
    policy = SandboxPolicy(sinks={"*": ("*",)}, sources={"*": ("*",)})
    found = plan(parse(text), registry=registry, policy=policy)
    assert found.streams["I"].sinks[0].sink.implementation is Everywhere


def test_an_app_name_must_have_a_prefix_of_the_policy() -> None:
    policy = SandboxPolicy(app_names=("tenant-7-",))
    error = refusal(f"@app:name('payments')\n{STREAM}", policy)
    assert (error.code, error.line, error.column) == ("E340", 1, 0)
    assert plan(parse(f"@app:name('tenant-7-a')\n{STREAM}"), policy=policy).name == "tenant-7-a"
    assert plan(parse(STREAM), policy=policy).name


def test_the_existence_of_an_environment_variable_is_not_revealed() -> None:
    messages = {
        str(refusal(f"@app:name('${{{name}}}') {STREAM}", SandboxPolicy())).replace(name, "X")
        for name in ("HOME", "OMEH")
    }
    assert len(messages) == 1


def test_an_error_shows_no_password() -> None:
    text = "@store(type='rdbms', url='postgresql://u:hidden@evil/x') " + TABLE
    assert "hidden" not in refusal(text, SandboxPolicy(stores={"rdbms": ("postgresql://db/",)})).message


def test_forbidding_scripts_forbids_nothing_else() -> None:
    manager = SiddhiManager(allow_scripts=False)
    manager.set_config_manager(CONFIG)
    manager.create_siddhi_app_runtime(
        "@sink(type='log') define stream I (a int); from I#window.length(1000000) select a insert into O;"
    )
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime("define function f[python] return int { return 1 };" + STREAM)
    assert caught.value.code == "E330"


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("from S select k insert into A; from S select k insert into B;", {"max_queries": 1}),
        ("from (from S select k return) select k insert into A;", {"max_queries": 1}),
        (
            "partition with (k of S) begin from S select k insert into A; from S select v insert into B; end;",
            {"max_queries": 1},
        ),
        ("define aggregation A from S select sum(v) as x aggregate every sec;", {"max_queries": 0}),
        ("partition with (k of S) begin from S select k insert into A; end;", {"max_partitions": 0}),
        ("from S#window.length(11) select k insert into A;", {"max_events": 10}),
        ("from S#window.lengthBatch(11) select k insert into A;", {"max_events": 10}),
        ("from S#window.batch(11) select k insert into A;", {"max_events": 10}),
        ("from S#window.sort(11, v) select k insert into A;", {"max_events": 10}),
        ("from S#window.frequent(11) select k insert into A;", {"max_events": 10}),
        ("from S#window.timeLength(1 sec, 11) select k insert into A;", {"max_events": 10}),
        ("define window W (k string) length(11);", {"max_events": 10}),
        (
            "from S#window.length(11) join S#window.length(1) as r on S.v == r.v select S.k insert into A;",
            {"max_events": 10},
        ),
        ("from S#window.time(11) select k insert into A;", {"max_duration_ms": 10}),
        ("from S#window.timeBatch(11) select k insert into A;", {"max_duration_ms": 10}),
        ("from S#window.timeLength(1 sec, 1) select k insert into A;", {"max_duration_ms": 10}),
        ("from S#window.delay(11) select k insert into A;", {"max_duration_ms": 10}),
        ("from S#window.session(11) select k insert into A;", {"max_duration_ms": 10}),
        ("from S#window.session(11, k, 11) select k insert into A;", {"max_duration_ms": 10}),
        (
            "define stream X (t long); from X#window.externalTime(t, 11) select t insert into A;",
            {"max_duration_ms": 10},
        ),
        (
            "define stream X (t long); from X#window.externalTimeBatch(t, 1, 0, 11) select t insert into A;",
            {"max_duration_ms": 10},
        ),
        ("from e=S<2:11> -> S select 1 as x insert into A;", {"max_events": 10}),
        ("from every e=S -> f=S within 11 milliseconds select 1 as x insert into A;", {"max_duration_ms": 10}),
        ("from every e=S, f=S within 11 milliseconds select 1 as x insert into A;", {"max_duration_ms": 10}),
        ("from every e=S -> not S for 11 milliseconds select 1 as x insert into A;", {"max_duration_ms": 10}),
        ("@info(max.partial.matches='11') from every e=S -> f=S select 1 as x insert into A;", {"max_events": 10}),
        ("from S select k output last every 11 events insert into A;", {"max_events": 10}),
        ("from S select k output last every 11 milliseconds insert into A;", {"max_duration_ms": 10}),
        ("from S select k output snapshot every 11 milliseconds insert into A;", {"max_duration_ms": 10}),
        ("@async(buffer.size='16') define stream X (a int);", {"max_events": 10}),
        ("@async(buffer.size='16') define stream X (a int);", {"max_threads": 0}),
        (
            "@async(workers='2') define stream X (a int); @async(workers='2') define stream Y (a int);",
            {"max_threads": 3},
        ),
        ("@store(ref='prod', @cache(size='11')) @primaryKey('k') " + TABLE, {"max_events": 10}),
    ],
)
def test_a_value_above_a_limit_is_refused_with_its_location(text: str, limits: dict[str, int]) -> None:
    policy = replace(SandboxPolicy.trusted(), **limits)
    error = refusal(STREAM + text, policy)
    assert (error.code, error.line) == ("E341", 2)
    assert next(iter(limits)) in (error.hint or "")
    more = {
        field: 10_000 if limit == 10 and field == "max_duration_ms" else limit + 10 for field, limit in limits.items()
    }
    plan(parse(STREAM + text), config=CONFIG, policy=replace(policy, **more))
    plan(parse(STREAM + text), config=CONFIG)


@pytest.mark.parametrize(
    "text", ["from e=S<2:> -> S select 1 as x insert into A;", "from e=S+, S select 1 as x insert into A;"]
)
def test_unbounded_state_is_above_every_limit(text: str) -> None:
    error = refusal(STREAM + text, replace(SandboxPolicy.trusted(), max_events=10**15))
    assert (error.code, error.line) == ("E341", 2)
    assert "unlimited" in error.message


def test_a_limit_of_partial_matches_of_the_app_satisfies_the_policy() -> None:
    pattern = "from every e=S -> f=S select 1 as x insert into A;"
    policy = replace(SandboxPolicy.trusted(), max_events=10)
    (query,) = plan(parse(STREAM + pattern), policy=policy).executions
    assert query.input.max_partial_matches == 10  # type: ignore[union-attr]
    (query,) = plan(parse(f"@app:partialMatches(max='9') {STREAM}{pattern}"), policy=policy).executions
    assert query.input.max_partial_matches == 9  # type: ignore[union-attr]
    assert refusal(f"@app:partialMatches(max='11') {STREAM}{pattern}", policy).code == "E341"


def test_a_closed_policy_without_limits_checks_locations(tmp_path: Path) -> None:
    policy = SandboxPolicy(stores={"rdbms": ("sqlite:///",)}, folders=(tmp_path,), **OPEN_LIMITS)  # type: ignore[arg-type]
    plan(parse(f"@store(type='rdbms', url='sqlite:///{tmp_path}/x.db') {TABLE}"), policy=policy)
    assert refusal(f"@store(type='rdbms', url='sqlite:///{tmp_path}/../x.db') {TABLE}", policy).code == "E340"


KINDS = {
    "siddhi.functions": "from S select offered:f(v) as x insert into O;",
    "siddhi.aggregators": "from S select offered:f(v) as x insert into O;",
    "siddhi.incremental_aggregators": "define aggregation A from S select offered:f(v) as x aggregate every sec;",
    "siddhi.stream_functions": "from S#offered:f(v) select k insert into O;",
    "siddhi.stream_processors": "from S#offered:f(v) select k insert into O;",
    "siddhi.windows": "from S#window.offered:f(v) select k insert into O;",
    "siddhi.script_languages": "define function f[offered] return int { x };",
    "siddhi.sources": "@source(type='offered:f') define stream I (a int);",
    "siddhi.source_mappers": "@source(type='inMemory', topic='t', @map(type='offered:f')) define stream I (a int);",
    "siddhi.sinks": "@sink(type='offered:f') define stream I (a int);",
    "siddhi.sink_mappers": "@sink(type='inMemory', topic='t', @map(type='offered:f')) define stream I (a int);",
    "siddhi.distribution_strategies": "@sink(type='inMemory', @distribution(strategy='offered:f', @destination(topic='t')))"
    " define stream I (a int);",
    "siddhi.stores": "@store(type='offered:f') " + TABLE,
}


@pytest.mark.parametrize("group", ENTRY_POINT_GROUPS.values())
def test_installed_packages_are_not_loaded(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing a module runs it."""
    loaded: list[str] = []
    offered = [EntryPoint("offered", "nowhere", group)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [o for o in offered if o.group == group])
    monkeypatch.setattr(EntryPoint, "load", lambda self: loaded.append(self.group))
    policy = SandboxPolicy(
        scripts={"*"},
        sources={"*": ("*",)},
        sinks={"*": ("*",)},
        mappers={"*": ("*",)},
        stores={"*": ("*",)},
        folders=("*",),
    )
    with pytest.raises(SiddhiAppError) as caught:
        plan(parse(STREAM + KINDS[group]), registry=Registry(builtin_registry(), entry_points=True), policy=policy)
    assert loaded == []
    assert (caught.value.code, caught.value.line) == ("E340", 2)
    assert "extensions={'offered" in (caught.value.hint or "")
    with pytest.raises(ExtensionError):  # the loaded object is not an extension
        plan(parse(STREAM + KINDS[group]), registry=Registry(builtin_registry(), entry_points=True))
    assert loaded == [group]


def test_built_in_location_options_are_declared_as_locations() -> None:
    says_where = re.compile(
        r"(ur[li]|topic|path|file|folder|dir|host|server|address|queue|place|proxy|registry|(source|sink)\.id)",
        re.IGNORECASE,
    )
    says_how = re.compile(
        r"(pattern|interval|timeout|options|hostname|verification\.enabled|server\.id|waiting\.time|protocol|size|redirects"
        r"|offsets\.map|username|password|(durable|exclusive|autodelete)\.enabled)$"
    )
    without_effect = re.compile(r"refused|^has no effect")
    # within an allowed server, bucket or folder
    of_a_message = {("email", "address"), ("s3", "object.path"), ("fileeventlistener", "file.name.list")}
    for kind in (SourceMetadata, SinkMetadata, SourceMapperMetadata, SinkMapperMetadata, StoreMetadata):
        for metadata in builtin_registry().all(kind):
            for option in metadata.options:
                if (metadata.full_name, option.name) in of_a_message or without_effect.search(option.description):
                    continue
                is_where = says_where.search(option.name) and not says_how.search(option.name)
                assert option.place is not None or not is_where, f"{metadata.full_name}: {option.name}"


def test_a_secret_is_refused_until_its_place_is_allowed(registry: Registry, tmp_path: Path) -> None:
    option = ConnectorOption("token", secret=True)
    registry.register(SinkMetadata(name="vault", builtin="vault", location="vault.Vault", options=(option,)))
    kinds = {"sinks": {"vault": ("*",)}}
    for place, opening in ((f"file:{tmp_path}/a", {"folders": (tmp_path,)}), ("env:TOKEN", {"environment": {"TOKEN"}})):
        text = f"@sink(type='vault', token='{place}') define stream S (a int);"
        assert refusal(text, SandboxPolicy(**kinds), registry).code == "E340"
        plan(parse(text), registry=registry, policy=SandboxPolicy(**kinds, **opening))
