"""Relations of paths: by components, with links and patterns."""

from __future__ import annotations

from itertools import takewhile

import pytest

pytest.importorskip("pyspark")

from hypothesis import given
from hypothesis import strategies as st

from siddhi.spark.sources.locations import relation

NAMES = st.lists(st.sampled_from(["a", "b", "a b", "[c]", "d.csv"]), max_size=4)


@pytest.mark.parametrize(
    ("folder", "other", "lies"),
    [
        ("/data/in", "/data/in/", "is"),
        ("/data/in", "file:///data/in", "is"),
        ("file:/data/x/../in", "/data/in", "is"),
        ("/data/in/out", "/data/in", "lies within"),
        ("/data", "/data/in/f.parquet", "contains"),
        ("/data/input", "/data/in", None),
        ("/data/in", "/data/input", None),
        ("/data/out.csv", "/data/*.csv", "is"),
        ("/data/out", "/data/*.csv", None),
        ("/data", "/data/*.csv", "contains"),
        ("/data/2024/in/out", "/data/*/in", "lies within"),
        ("/data/b", "/data/{a,b}", "is"),
        ("/data/c", "/data/{a,b}", None),
        ("/data/b/y", "/data/{a/x,b/{y,z}}", "is"),
        ("/data/[a]", "/data/[a]", "is"),
        ("/data/{a,b}", "/data/{a,b}", "is"),
        ("/data/b", "/data/[^a]", "is"),
        ("/data/a", "/data/[^a]", None),
        ("s3://bucket/in/out", "s3a://bucket//in/", "lies within"),
        ("s3://bucket/in", "s3://other/in", None),
        ("hdfs://host/data", "/data", None),
        ("hdfs:/data", "hdfs:///data", "is"),
    ],
)
def test_relations_of_paths(folder, other, lies):
    assert relation(folder, other) == lies


def test_links_and_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "in")
    monkeypatch.chdir(tmp_path)
    assert relation("in", str(tmp_path / "in")) == "is"
    assert relation(f"{tmp_path}/link/out", "in") == "lies within"
    assert relation("link", f"{tmp_path}/in/*.csv") == "contains"


@given(NAMES, NAMES, st.sampled_from(["/", "hdfs://host/"]))
def test_paths_are_compared_by_components(one, two, root):
    shared = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(one, two, strict=False)))
    want = None
    if shared == min(len(one), len(two)):
        want = "is" if len(one) == len(two) else "contains" if shared == len(one) else "lies within"
    assert relation(root + "/".join(one), root + "/".join(two)) == want
