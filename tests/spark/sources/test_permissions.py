"""The sandbox policy of an app on Spark: its sources and sinks, and everything else that its text may use."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi import SandboxPolicy
from siddhi.errors import SiddhiAppCreationError, SiddhiAppError, SparkRunError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.fragments import cut
from siddhi.spark.sources.annotations import connectors_of, foreign_of
from siddhi.spark.sources.permissions import refuse_connectors
from siddhi.spark.workers.program import write_program
from siddhi.spark.workers.shard import Shard

STREAM = " define stream S (k string, ts long);\n"


def source(options: str, map_: str = "@map(type = 'parquet')") -> str:
    return f"@source({options}, timestamp = 'ts', {map_})" + STREAM


def sink(options: str, map_: str = ", @map(type = 'json')") -> str:
    return (
        f"define stream I (k string, ts long);\n@sink({options}{map_})" + STREAM + "from I select k, ts insert into S;"
    )


def check(text: str, policy: SandboxPolicy) -> None:
    model = parse(text)
    refuse_connectors(policy, connectors_of(model), foreign_of(model), model)


def file(uri: str, more: str = "") -> str:
    return source(f"type = 'file', file.uri = '{uri}'{more}")


FILES = SandboxPolicy(sources={"file": ("s3a://ours/in",)}, sinks={"file": ()}, folders=("/data/in",))
KAFKA = SandboxPolicy(sources={"kafka": ("one:9092", "two:9092", "trades-")}, sinks={"kafka": ("one:9092", "alerts-")})


def kafka(servers: str, topic: str, more: str = "") -> str:
    return source(f"type = 'kafka', bootstrap.servers = '{servers}', topic = '{topic}'{more}", "@map(type = 'json')")


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        (file("/data/in"), FILES),
        (file("/data/in/2024/*/[ab]?.parquet"), FILES),
        (file("file:///data/in/a"), FILES),
        (file("s3a://ours/in/2024"), FILES),
        (file("/data/in", ", recursiveFileLookup = 'true', maxFilesPerTrigger = '3'"), FILES),
        (file("/etc/passwd"), SandboxPolicy(sources={"file": ()}, folders=("*",))),
        (file("har:///x", ", fs.x = 'y'"), SandboxPolicy.trusted()),
        (sink("type = 'file', file.uri = '/data/in/out'"), FILES),
        (sink("type = 'log'", ""), SandboxPolicy(sinks={"log": ("*",)})),
        (kafka("one:9092", "trades-eu"), KAFKA),
        (kafka("one:9092, two:9092", "trades-eu,trades-us"), KAFKA),
        (kafka("three:9092", "other"), SandboxPolicy(sources={"kafka": ("*",)})),
        (source("type = 'rate'", "@map(type = 'json')"), SandboxPolicy(sources={"rate": ()})),
        (source("type = 'http', receiver.url = 'http://x'"), SandboxPolicy(sources={"http": ()})),
        ("@source(type = 'inMemory', topic = 'x')" + STREAM, SandboxPolicy()),
    ],
)
def test_what_the_policy_allows_passes(text: str, policy: SandboxPolicy) -> None:
    check(text, policy)


@pytest.mark.parametrize(
    ("text", "policy", "message"),
    [
        (file("/data/in"), SandboxPolicy(), "source 'file' is not allowed"),
        (sink("type = 'log'", ""), SandboxPolicy(), "sink 'log' is not allowed"),
        (source("type = 'rate'", "@map(type = 'json')"), SandboxPolicy(), "source 'rate' is not allowed"),
        (source("type = 'http', receiver.url = 'http://x'"), SandboxPolicy(), "source 'http' is not allowed"),
        (file("/data/other"), FILES, "the file in 'file.uri' of the file source of 'S'"),
        (file("/data/input"), FILES, "the file in"),
        (file("data/in/a"), FILES, "the file in"),
        (file("/data/in/../other"), FILES, "the file in"),
        (file("/data/in/*/../../other"), FILES, "the file in"),
        (file("/data/in/{../../other,a}"), FILES, "the file in"),
        (file("/{etc,data/in}/a"), FILES, "the file in"),
        (file("/data/*/a"), FILES, "the file in"),
        (file("/data/in/\\.\\./other"), FILES, "the file in"),
        (file("file:/data/in/%2e%2e/other"), FILES, "the file in"),
        (file("file://host/data/in"), FILES, "the file in"),
        (file("FILE:/etc/passwd"), FILES, "the file in"),
        (file("s3a://ours/inside"), FILES, "the location in 'file.uri'"),
        (file("s3a://theirs/in"), FILES, "the location in"),
        (file("s3a://ours/in/../../theirs"), FILES, "the location in"),
        (file("har:///data/in/a.har"), FILES, "the file system 'har'"),
        (file("/data/in", ", cleanSource = 'delete'"), FILES, "option 'cleanSource' of the file source"),
        (file("/data/in", ", basePath = '/etc'"), FILES, "option 'basePath'"),
        (file("/data/in", ", FS.s3a.endpoint = 'http://evil'"), FILES, "option 'FS.s3a.endpoint'"),
        (sink("type = 'file', file.uri = '/etc/out'"), FILES, "the file in 'file.uri' of the file sink"),
        (kafka("three:9092", "trades-eu"), KAFKA, "a server in 'bootstrap.servers'"),
        (kafka("one:9092,three:9092", "trades-eu"), KAFKA, "a server in"),
        (kafka("one:9092", "trades-eu,secrets"), KAFKA, "a topic in 'topic'"),
        (
            kafka("one:9092", "trades-eu", ", kafka.bootstrap.servers = 'evil:1'"),
            KAFKA,
            "option 'kafka.bootstrap.servers'",
        ),
        (kafka("one:9092", "trades-eu", ", kafka.sasl.jaas.config = 'x'"), KAFKA, "option 'kafka.sasl.jaas.config'"),
    ],
)
def test_what_the_policy_does_not_allow_is_refused(text: str, policy: SandboxPolicy, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError) as caught:
        check(text, policy)
    assert caught.value.code == "E340"
    assert message in str(caught.value)
    assert caught.value.line is not None


def test_links_out_of_a_folder_are_followed(tmp_path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to("/etc")
    policy = SandboxPolicy(sources={"file": ()}, folders=(tmp_path / "in",))
    check(file(f"{tmp_path}/in/a"), policy)
    with pytest.raises(SiddhiAppCreationError, match="the file in"):
        check(file(f"{tmp_path}/in/link/passwd"), policy)


def test_the_limits_of_a_policy_apply_in_the_engines_of_workers() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    text = "define stream S (k string); from S select k, count() as n group by k insert into O;"
    planned = plan(parse(text), policy=SandboxPolicy(max_keys=2))
    (fragment,) = cut(planned, prefer="engine").fragments
    assert fragment.is_single, "keys are counted together"
    shard = Shard(write_program(planned, fragment, ["O"]))
    shard.open(0, 0)
    with pytest.raises(SparkRunError, match=r"SandboxPolicy\(max_keys=2\) allows no more"):
        shard.send(pyarrow.record_batch({"k": ["a", "b", "c"]}), pyarrow.array([1, 2, 3], pyarrow.int64()))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("define function f[python] return int { return 1 }; define stream S (v int);", "E330"),
        ("@source(type = 'file', file.uri = '/etc', timestamp = 'ts', @map(type = 'csv'))" + STREAM, "E340"),
        ("@sink(type = 'log')" + STREAM, "E340"),
        ("@store(type = 'rdbms', url = 'sqlite:////tmp/x.db') define table T (v int);", "E340"),
        ("define stream S (v int); from S#window.length(1000000) select v insert into O;", "E341"),
        ("define stream S (v int); from S#log('x') select v insert into O;", "E340"),
        ("define stream S (v int); from S select '${HOME}' as home insert into O;", ""),
        ("define stream S (v int);" + " " * 200_000, "E341"),
    ],
)
def test_the_text_of_an_app_is_checked_before_spark_opens_anything(spark, text: str, code: str) -> None:
    from siddhi.spark import SparkRuntime

    with pytest.raises(SiddhiAppError) as caught:
        SparkRuntime(text, spark, policy=SandboxPolicy())
    assert (caught.value.code or "").startswith(code)


@pytest.mark.spark
def test_an_app_runs_under_its_policy(spark, tmp_path) -> None:
    from siddhi.spark import SparkRuntime

    spark.createDataFrame([("a", 1), ("b", 2), ("a", 3)], "k string, ts bigint").write.parquet(f"{tmp_path}/in")
    text = file(f"{tmp_path}/in") + "from S select k, count() as n group by k insert into O;"
    policy = SandboxPolicy(sources={"file": ()}, folders=(tmp_path,))
    with pytest.warns(UserWarning, match="one shard"):
        runtime = SparkRuntime(text, spark, policy=policy)
    assert sorted(map(tuple, runtime.output("O").collect())) == [("a", 1), ("a", 2), ("b", 1)]
    with pytest.raises(TypeError, match=r"expected a siddhi\.SandboxPolicy"):
        SparkRuntime(text, spark, policy={"sources": {}})  # type: ignore[arg-type]
