"""Extensions of users on Spark's workers."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi import extension
from siddhi.errors import SparkRunError, SparkSetupError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.fragments import cut
from siddhi.spark.workers.extension_modules import import_modules, modules_of
from siddhi.spark.workers.program import write_program
from siddhi.types import AttributeType

MODULE = """
from siddhi import extension
from siddhi.types import AttributeType

@extension.function("shipped:twice", args=(AttributeType.INT,), returns=AttributeType.INT, deterministic=True)
def twice(x):
    return None if x is None else 2 * x
"""


@extension.function("here:same", args=(AttributeType.INT,), returns=AttributeType.INT, deterministic=True)
def same(x):
    return x


def test_the_modules_of_called_functions():
    assert modules_of("from S#window.length(2) select sum(i) as s, coalesce(a, b) as c insert into O;") == ()
    assert modules_of("from S select here:same(i) as s insert into O;") == (__name__,)
    app = plan(parse("define stream S (i int); from S[here:same(i) > 0] select i insert into O;"))
    (fragment,) = cut(app).fragments
    assert write_program(app, fragment, ["O"]).modules == (__name__,)


def test_functions_of_the_main_program_are_refused(monkeypatch):
    monkeypatch.setattr(same, "__module__", "__main__")
    with pytest.raises(SparkSetupError, match="function 'here:same' is defined in the main program"):
        modules_of("from S select here:same(i) as s insert into O;")


def test_a_worker_without_the_module_reports_it():
    with pytest.raises(SparkRunError, match=r"a worker can't import module 'no_such_thing' .*addPyFile"):
        import_modules(("no_such_thing",))


@pytest.mark.spark
def test_a_function_of_a_sent_module_can_be_called(spark, tmp_path, monkeypatch):
    from siddhi.spark import SparkRuntime

    (tmp_path / "shipped_extensions.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import shipped_extensions  # noqa: F401 - importing it is what makes its function known

    spark.sparkContext.addPyFile(str(tmp_path / "shipped_extensions.py"))
    app = (
        "define stream S (a string, i int); partition with (a of S) begin"
        " from S select a, shipped:twice(i) as i, count() as n insert into O; end;"
    )
    runtime = SparkRuntime(app, spark, shards=2)
    runtime.bind(
        "S", spark.createDataFrame([("x", 1, 1000), ("x", 2, 2000)], "a string, i int, at bigint"), timestamp="at"
    )
    assert sorted(map(tuple, runtime.output("O").collect())) == [("x", 2, 1), ("x", 4, 2)]
