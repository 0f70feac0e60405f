"""Changes of an app that the state of a checkpoint supports; needs no Java."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import ExtensionNotFoundError, SparkRunError
from siddhi.planner.app import plan
from siddhi.planner.distribution.sub_app import SubApp
from siddhi.query_compiler import parse
from siddhi.spark.checkpoint.evolution import RangeAssignment, assign_key_ranges
from siddhi.spark.checkpoint.key_ranges import KeyRange, key_range_of
from siddhi.spark.checkpoint.manifest import Manifest, updated_manifest
from siddhi.spark.plan.fragments import cut
from siddhi.spark.streaming.plan import plan_streaming
from siddhi.spark.testing import oracle
from siddhi.spark.workers.input_schema import InputSchema
from siddhi.spark.workers.program import write_program
from siddhi.spark.workers.shard_range import ShardRange
from tests.spark.streaming.without_jvm import FakeStream

STREAMS = "define stream S (k string, v int); define stream T (k string, v int);"
COUNT = "@info(name = 'count') from S select k, count() as n group by k insert into Counts;"
SUM = "@info(name = 'sum') from S select k, sum(v) as total group by k insert into Sums;"
LENGTH = "@info(name = 'length') from S#window.length(2) select sum(v) as total insert into Lengths;"
OTHER = "@info(name = 'other') from S select v, count() as n group by v insert into Others;"


def key_ranges(*queries: str, bound=("S",)) -> list[KeyRange]:
    planned = plan(parse("\n".join([STREAMS, *queries])))
    fragments = cut(planned, streaming=True, prefer="engine", bound=bound).fragments
    return [
        key_range_of(planned, fragment, write_program(planned, fragment, [], shards=10), 10 * n, 10)
        for n, fragment in enumerate(fragments)
    ]


def manifest(app: str, *queries: str) -> Manifest:
    return Manifest(app, key_ranges(*queries), ["S"], {"S": ["ts", "1 second"]}, 10, 2, "drop", "")


@pytest.mark.parametrize("evolve", [False, True])
@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ("Trades", "Orders", "belongs to app 'Trades', and this is app 'Orders': use a folder per app"),
        ("", "Orders", "belongs to an app without name, and this is app 'Orders'"),
        ("Trades", "", "belongs to app 'Trades', and this is an app without name"),
    ],
)
def test_a_checkpoint_belongs_to_one_app(before, now, told, evolve):
    with pytest.raises(SparkRunError, match=told):
        updated_manifest("there", manifest(before, COUNT), manifest(now, COUNT), evolve=evolve)


def test_evolve_is_suggested_if_part_of_the_state_fits():
    before = manifest("Trades", COUNT, LENGTH)
    with pytest.raises(SparkRunError, match="The rest of the state fits: start with evolve=True"):
        updated_manifest("there", before, manifest("Trades", COUNT, OTHER), evolve=False)
    with pytest.raises(SparkRunError, match="None of the state fits: start a new checkpoint"):
        updated_manifest("there", before, manifest("Trades", OTHER), evolve=False)


def test_the_same_app_has_no_changes():
    before = key_ranges(COUNT, LENGTH)
    fit = assign_key_ranges(before, key_ranges(COUNT, LENGTH))
    assert (fit.key_ranges, fit.indexes, fit.refused, fit.changed) == (before, [0, 1], [], [])


def test_a_new_query_is_added_to_a_fragment():
    before = key_ranges(COUNT)
    fit = assign_key_ranges(before, key_ranges(COUNT, SUM))
    assert (fit.indexes, fit.refused, fit.changed) == ([0], [], ["query 'sum' is new"])
    (key_range,) = fit.key_ranges
    assert key_range.earlier == [before[0].sub_app]
    assert len(key_range.shard_range.accepted) == 2


def test_a_new_fragment_is_after_the_others_wherever_it_is_in_the_text():
    fit = assign_key_ranges(key_ranges(COUNT, LENGTH), key_ranges(LENGTH, COUNT, OTHER))
    assert [fit.key_ranges[index].stateful for index in fit.indexes] == [["length"], ["count"], ["other"]]
    assert [fit.key_ranges[index].first for index in fit.indexes] == [10, 0, 20]
    assert (fit.refused, fit.changed) == ([], ["'other' is new"])


def test_the_id_of_a_removed_fragment_is_never_reused():
    without = assign_key_ranges(key_ranges(COUNT, LENGTH), key_ranges(LENGTH))
    assert without.changed == ["'count' was removed, its state is discarded"]
    assert [key_range.retired for key_range in without.key_ranges] == [True, False]
    back = assign_key_ranges(without.key_ranges, key_ranges(COUNT, LENGTH))
    assert [back.key_ranges[index].first for index in back.indexes] == [20, 10]


def test_a_change_of_an_element_with_state_is_refused():
    fit = assign_key_ranges(key_ranges(COUNT, LENGTH), key_ranges(COUNT, LENGTH.replace("length(2)", "length(3)")))
    (told,) = fit.refused
    assert told.startswith("query 'length' is not what it was: ")
    assert "length(3)" in told


@pytest.mark.parametrize(
    ("queries", "told"),
    [
        ([SUM, LENGTH], "query 'sum' was added"),
        ([SUM], "query 'length' was removed, query 'sum' was added"),
        ([LENGTH.replace("'length'", "'long'")], "query 'length' was removed, query 'long' was added"),
        (
            [LENGTH.replace("length(2)", "length(3)")],
            "query 'length' has 'from S#window.length(3)' instead of 'from S#window.length(2)'",
        ),
    ],
)
@pytest.mark.parametrize("name", ["", "@info(name = 'part') "])
def test_a_change_in_a_partition_names_the_changed_queries(name, queries, told):
    before = key_ranges(f"{name}partition with (k of S) begin {LENGTH} end;")
    fit = assign_key_ranges(before, key_ranges(f"{name}partition with (k of S) begin {' '.join(queries)} end;"))
    what = "partition 'part'" if name else "partition with (k of S)"
    assert fit.refused == [f"{what} changed: {told} (a partition is one element: its queries share its state)"]


def test_a_removed_element_cannot_return_with_another_form():
    gone = assign_key_ranges(key_ranges(COUNT, SUM), key_ranges(COUNT))
    assert (gone.refused, gone.changed) == ([], ["query 'sum' was removed, its state is discarded"])
    again = assign_key_ranges(gone.key_ranges, key_ranges(COUNT, SUM.replace("sum(v)", "max(v)")))
    assert any("query 'sum' is not what it was" in told for told in again.refused)


def test_a_removed_element_can_return_with_another_name():
    gone = assign_key_ranges(key_ranges(COUNT, SUM), key_ranges(COUNT))
    back = assign_key_ranges(gone.key_ranges, key_ranges(COUNT, SUM))
    assert back.refused == [
        "query 'sum' was removed and can't return under its name: use another name for the new element (@info(name = '...'))"
    ]
    meanwhile = assign_key_ranges(gone.key_ranges, key_ranges(COUNT, OTHER.replace("group by v", "group by k")))
    assert meanwhile.refused == []
    assert assign_key_ranges(meanwhile.key_ranges, key_ranges(COUNT, SUM)).refused == back.refused
    renamed = assign_key_ranges(gone.key_ranges, key_ranges(COUNT, SUM.replace("'sum'", "'total'")))
    assert (renamed.refused, renamed.changed) == ([], ["query 'total' is new"])


def test_a_new_element_can_be_removed_again():
    more = assign_key_ranges(key_ranges(COUNT), key_ranges(COUNT, SUM))
    less = assign_key_ranges(more.key_ranges, key_ranges(COUNT))
    assert (less.refused, less.changed) == ([], ["query 'sum' was removed, its state is discarded"])
    assert assign_key_ranges(less.key_ranges, key_ranges(COUNT, SUM)).refused


def test_a_changed_key_is_refused():
    keyed = "@info(name = 'count') from S select v, count() as n group by v insert into Counts;"
    fit = assign_key_ranges(key_ranges(COUNT), key_ranges(keyed))
    assert fit.refused[0] == "'count': the key is S by v, and was S by k"


def test_changed_labels_or_conditions_are_a_changed_key():
    ranges = (
        "partition with (v > 0 as 'up' or v < 2 as 'low' of S) begin from S select count() as n insert into C; end;"
    )
    for other in (ranges.replace("'up'", "'high'"), ranges.replace("v > 0", "v >= 0")):
        told = assign_key_ranges(key_ranges(ranges), key_ranges(other)).refused[0]
        assert told.startswith("'partition_0': the key is S by v ")
        assert told.endswith("and was S by v > 0 as 'up' or v < 2 as 'low'")
    assert assign_key_ranges(key_ranges(ranges), key_ranges(ranges)).refused == []


def test_rows_with_changed_attributes_are_refused():
    wider = STREAMS.replace("T (k string, v int)", "T (k string, v int, w int)")
    more = "@info(name = '{}') from T select k, count() as n group by k insert into `{}`;"
    before = key_ranges(COUNT, more.format("more", "More"), bound=("S", "T"))
    planned = plan(parse(wider + COUNT + more.format("another", "Another")))
    (fragment,) = cut(planned, streaming=True, prefer="engine", bound=("S", "T")).fragments
    now = [key_range_of(planned, fragment, write_program(planned, fragment, [], shards=10), 0, 10)]
    assert assign_key_ranges(before, now).refused == [
        "'count', 'another': buffered rows have the schema T (k string, v int), and the stream is T (k string, v int, w int) now"
    ]


def test_rows_of_streams_that_are_no_longer_read_are_dropped():
    more = "@info(name = 'more') from T select k, count() as n group by k insert into More;"
    both, one = key_ranges(COUNT, more, bound=("S", "T")), key_ranges(COUNT)
    bindings = {"S": ["ts", "1 second"]}
    joined = assign_key_ranges(one, both)
    assert (joined.refused, joined.changed) == ([], ["query 'more' is new"])
    first = InputSchema.from_json(one[0].input_schema)
    assert joined.key_ranges[0].earlier_schemas == [replace(first, assigned_id=first.schema_id).to_json()]
    left = assign_key_ranges(joined.key_ranges, one)
    assert left.changed == ["query 'more' was removed, its state is discarded", "buffered rows of T are discarded"]
    assert [InputSchema.from_json(schema).dropped for schema in left.key_ranges[0].earlier_schemas] == [(), ("T",)]
    again = assign_key_ranges(left.key_ranges, both).key_ranges[0]
    assert [InputSchema.from_json(schema).dropped for schema in again.earlier_schemas] == [(), ("T",), ()]
    names = [InputSchema.from_json(schema).schema_id for schema in (*again.earlier_schemas, again.input_schema)]
    assert len(set(names)) == 4
    with pytest.raises(SparkRunError, match=r"buffered rows of T are discarded.*start with evolve=True"):
        updated_manifest(
            "there", Manifest("A", both, ["S"], bindings, 10, 2, "drop", ""), manifest("A", COUNT), evolve=False
        )


def test_an_element_on_one_shard_changes_the_key_of_its_inputs():
    sums = COUNT + "@info(name = 'all') from Counts#window.length(2) select sum(n) as total insert into All;"
    assert assign_key_ranges(key_ranges(COUNT), key_ranges(sums)).refused == [
        "'count', 'all': the key is none, and was S by k (move 'all' to an app of its own)"
    ]


def test_a_name_reused_for_another_element_is_reported():
    named = "@info(name = 'count') partition with (k of S) begin from S select k, count() as n insert into Counts; end;"
    assert assign_key_ranges(key_ranges(COUNT), key_ranges(named)).refused == [
        "query 'count' is partition 'count' now: use another name for the new element (@info(name = '...'))"
    ]


def test_merged_fragments_are_refused():
    one = [replace(key_ranges(COUNT)[0], stateful=["count", "length"])]
    assert assign_key_ranges(key_ranges(COUNT, LENGTH), one).refused == [
        "'count', 'length' run in one fragment now, and 'count' and 'length' have separate state"
    ]
    assert assign_key_ranges(one, key_ranges(COUNT, LENGTH)).refused == [
        "'count' and 'length' run in separate fragments now, and their state is stored together"
    ]


def catalyst_key_ranges(*wanted: str) -> list[KeyRange]:
    text = """define stream S (k string, v int); define stream U (v int);
    @info(name = 'a') from S[v > 0] select v insert into A; @info(name = 'b') from S select k insert into B;
    @info(name = 'c') from U[v > 0] select v insert into C; @info(name = 'd') from A select v insert into D;
    @info(name = 'count') from S select k, count() as n group by k insert into Counts;"""
    planned = plan(parse(text))
    layout = cut(planned, streaming=True, bound={"S", "U"})
    found = plan_streaming(planned, layout, wanted, shards=10)
    both = zip(found.fragments, found.programs, strict=True)
    return [key_range_of(planned, fragment, program, 10 * n, 10) for n, (fragment, program) in enumerate(both)]


def test_rows_are_buffered_at_the_same_fragment_for_any_sinks():
    before = catalyst_key_ranges("Counts", "A", "D")
    assert [key_range.names for key_range in before] == [["count"], ["a", "d"]]
    for wanted, names in (
        (("Counts", "A"), ["a"]),
        (("Counts", "B"), ["b"]),
        (("Counts", "A", "B", "C"), ["a", "b"]),
        (("Counts", "C", "D"), ["a", "d"]),
    ):
        now = catalyst_key_ranges(*wanted)
        fit = assign_key_ranges(before, now)
        assert (fit.refused, fit.changed) == ([], [])
        held = fit.key_ranges[1]
        assert (held.first, held.names, held.retired) == (10, names, False)
        assert [key_range.names for key_range in fit.key_ranges[2:]] == ([["c"]] if "C" in wanted else [])
    assert assign_key_ranges(before, catalyst_key_ranges("Counts", "C")).key_ranges[1].retired


def test_rows_are_buffered_for_the_same_delay_if_two_fragments_read_them():
    (key_range,) = catalyst_key_ranges("A")[1:]
    one, two = replace(key_range, names=["x"], first=10), replace(key_range, names=["y"], first=20)
    fit = assign_key_ranges([one, two], [replace(two, first=0), replace(key_range, names=["z"], first=10)])
    assert fit.indexes == [1, 0]


def test_a_key_range_is_restored_from_its_text():
    (key_range,) = key_ranges(COUNT)
    assert KeyRange.from_json(key_range.to_json()) == key_range


def evolved(before: FakeStream, app: str) -> FakeStream:
    """The stream gone on with another form of its app."""
    old = key_ranges_of(before)
    now = FakeStream(app, bound={"S"}, shards=before.shards, grace=before.grace, forget=before.forget)
    fit = assign_key_ranges(old, key_ranges_of(now))
    assert fit.refused == []
    now.ranges = ranges(fit)
    now.handles, now.watermark, now.latest, now.found = before.handles, before.watermark, before.latest, before.found
    return now


def ranges(fit: RangeAssignment) -> list[ShardRange]:
    return [fit.key_ranges[index].shard_range for index in fit.indexes]


def key_ranges_of(stream: FakeStream) -> list[KeyRange]:
    both = zip(stream.layout.fragments, stream.programs)
    return [
        key_range_of(stream.plan, fragment, program, n * stream.shards, stream.shards)
        for n, (fragment, program) in enumerate(both)
    ]


@pytest.mark.parametrize("forget", [True, False])
def test_a_stream_continues_with_its_state_and_new_queries(forget):
    rows = [(n, "S", 10_000 + n, (f"k{n % 7}", n)) for n in range(60)]
    first = FakeStream(STREAMS + LENGTH + COUNT, bound={"S"}, shards=3, grace=5, forget=forget)
    for start in (0, 15):
        first.batch(rows[start : start + 15])
    second = evolved(first, STREAMS + COUNT + SUM)
    for start in (30, 45):
        second.batch(rows[start : start + 15])
    second.finish()
    whole = oracle(STREAMS + COUNT, [row[1:] for row in rows], ["Counts"])["Counts"]
    assert sorted(second.found["Counts"]) == sorted(whole)
    # 5 ms were held back when the new query came, and it saw them.
    later = oracle(STREAMS + SUM, [row[1:] for row in rows[24:]], ["Sums"])["Sums"]
    assert sorted(second.found["Sums"]) == sorted(later)
    retired = [handle for shard, handle in second.handles.items() if shard < 3]
    assert retired
    for handle in retired:
        assert [value.held for value in handle.values.values()] == [None, None]
        assert not any((handle.maps["engine"].held, handle.maps["pending"].held, handle.timers))


def test_one_query_replaces_another_in_two_steps():
    both = assign_key_ranges(key_ranges(COUNT), key_ranges(COUNT, SUM))
    fit = assign_key_ranges(both.key_ranges, key_ranges(SUM))
    assert (fit.refused, fit.changed) == ([], ["query 'count' was removed, its state is discarded"])


REF = "define table Ref (k string, f int);"
JOINED = (
    "@info(name = 'joined') from S#window.length(2) join Ref on S.k == Ref.k select S.k, sum(v * f) as n insert into J;"
)
ALSO = JOINED.replace("'joined'", "'also'")


def test_a_read_only_table_is_not_shared_state():
    first = key_ranges(REF, JOINED)
    second = assign_key_ranges(first, key_ranges(REF, JOINED, ALSO))
    third = assign_key_ranges(second.key_ranges, key_ranges(REF, ALSO))
    assert (third.refused, third.changed) == ([], ["query 'joined' was removed, its state is discarded"])
    assert third.key_ranges[0].left == [SubApp.from_json(first[0].sub_app).fingerprint]


def test_a_read_only_table_can_be_removed_and_added():
    gone = assign_key_ranges(key_ranges(REF, LENGTH, JOINED), key_ranges(LENGTH))
    assert gone.changed == ["query 'joined' was removed, its state is discarded"]
    back = assign_key_ranges(gone.key_ranges, key_ranges(REF, LENGTH, ALSO))
    assert (back.refused, back.changed) == ([], ["query 'also' is new"])


def test_the_same_app_does_not_load_earlier_extensions(monkeypatch):
    """Extensions that an earlier one used may be there no more."""

    def missing(*_, **__):
        raise ExtensionNotFoundError("unknown function 'my:twice'")

    gone = KeyRange.from_json(
        json.loads(json.dumps(assign_key_ranges(key_ranges(COUNT, SUM), key_ranges(COUNT)).key_ranges[0].to_json()))
    )
    for module in ("siddhi.spark.checkpoint.key_ranges", "siddhi.planner.compatibility"):
        monkeypatch.setattr(f"{module}.stateful_parts", missing)
    fit = assign_key_ranges([gone], key_ranges(COUNT))
    assert (fit.refused, fit.changed, fit.key_ranges) == ([], [], [gone])
    (told,) = assign_key_ranges([gone], key_ranges(COUNT, OTHER.replace("group by v", "group by k"))).refused
    assert told.startswith("the earlier form of the app can't be planned: unknown function 'my:twice'")


@pytest.mark.parametrize("forget", [True, False])
def test_shards_without_rows_in_between_start_empty(forget):
    rows = [(n, "S", 10_000 + n, (f"k{n % 7}", n)) for n in range(40)]
    first = FakeStream(STREAMS + COUNT, bound={"S"}, shards=8, grace=0, forget=forget)
    first.batch(rows[:20])
    first.batch([(20, "S", 20_000, ("k0", 0))])
    was = key_ranges_of(first)
    apps = (COUNT + SUM, SUM)
    stream, kept = first, was
    for n, app in enumerate(apps):
        now = FakeStream(STREAMS + app, bound={"S"}, shards=8, grace=0, forget=forget)
        fit = assign_key_ranges(kept, key_ranges_of(now))
        assert fit.refused == []
        kept = fit.key_ranges
        now.ranges = ranges(fit)
        now.handles, now.watermark, now.latest, now.found = (
            stream.handles, stream.watermark, stream.latest, stream.found,
        )  # fmt: skip
        now.batch([(21 + n, "S", 21_000 + n, ("k0", 1))])  # the other keys rest
        stream = now
    stream.batch([(30 + n, "S", 30_000 + n, (f"k{n}", 5)) for n in range(7)])
    stream.finish()
    last = [row for row in stream.found["Sums"] if row[0] >= 30_000]
    assert {key: total for _, key, total in last} == {f"k{n}": 5 if n else 7 for n in range(7)}
