"""Which changes of an app the state of a checkpoint outlives; needs no Java."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import ExtensionNotFoundError, SparkRunError
from siddhi.planner.app import plan
from siddhi.planner.distribution.fragments import Fragment
from siddhi.query_compiler import parse
from siddhi.spark.checkpoint.evolution import Fit, fitted
from siddhi.spark.checkpoint.key_ranges import Slot, slot_of
from siddhi.spark.checkpoint.manifest import Manifest, agreed
from siddhi.spark.plan.fragments import cut
from siddhi.spark.streaming.plan import plan_streaming
from siddhi.spark.testing import oracle
from siddhi.spark.workers.input_schema import Door
from siddhi.spark.workers.program import write_program
from siddhi.spark.workers.shard_range import ShardRange
from tests.spark.streaming.without_jvm import FakeStream

STREAMS = "define stream S (k string, v int); define stream T (k string, v int);"
COUNT = "@info(name = 'count') from S select k, count() as n group by k insert into Counts;"
SUM = "@info(name = 'sum') from S select k, sum(v) as total group by k insert into Sums;"
LENGTH = "@info(name = 'length') from S#window.length(2) select sum(v) as total insert into Lengths;"
OTHER = "@info(name = 'other') from S select v, count() as n group by v insert into Others;"


def slots(*queries: str, bound=("S",)) -> list[Slot]:
    planned = plan(parse("\n".join([STREAMS, *queries])))
    islands = cut(planned, streaming=True, prefer="engine", bound=bound).islands
    return [
        slot_of(planned, island, write_program(planned, island, [], shards=10), 10 * n, 10)
        for n, island in enumerate(islands)
    ]


def manifest(app: str, *queries: str) -> Manifest:
    return Manifest(app, slots(*queries), ["S"], {"S": ["ts", "1 second"]}, 10, 2, "drop")


@pytest.mark.parametrize("evolve", [False, True])
@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ("Trades", "Orders", "belongs to app 'Trades', and this is app 'Orders': give each app a folder of its own"),
        ("", "Orders", "belongs to an app without name, and this is app 'Orders'"),
        ("Trades", "", "belongs to app 'Trades', and this is an app without name"),
    ],
)
def test_a_checkpoint_is_that_of_one_app(before, now, told, evolve):
    with pytest.raises(SparkRunError, match=told):
        agreed("there", manifest(before, COUNT), manifest(now, COUNT), evolve=evolve)


def test_evolve_is_proposed_where_some_of_the_state_fits():
    before = manifest("Trades", COUNT, LENGTH)
    with pytest.raises(SparkRunError, match="The rest of its state fits: start with evolve=True"):
        agreed("there", before, manifest("Trades", COUNT, OTHER), evolve=False)
    with pytest.raises(SparkRunError, match="None of its state fits: take a new checkpoint"):
        agreed("there", before, manifest("Trades", OTHER), evolve=False)


def test_the_same_app_has_nothing_to_say():
    before = slots(COUNT, LENGTH)
    fit = fitted(before, slots(COUNT, LENGTH))
    assert (fit.slots, fit.places, fit.refused, fit.changed) == (before, [0, 1], [], [])


def test_a_new_query_joins_an_island():
    before = slots(COUNT)
    fit = fitted(before, slots(COUNT, SUM))
    assert (fit.places, fit.refused, fit.changed) == ([0], [], ["query 'sum' is new"])
    (slot,) = fit.slots
    assert slot.earlier == [before[0].fragment]
    assert len(slot.accepted) == 2


def test_a_new_island_stands_behind_the_others_whatever_its_place():
    fit = fitted(slots(COUNT, LENGTH), slots(LENGTH, COUNT, OTHER))
    assert [fit.slots[place].stateful for place in fit.places] == [["length"], ["count"], ["other"]]
    assert [fit.slots[place].first for place in fit.places] == [10, 0, 20]
    assert (fit.refused, fit.changed) == ([], ["'other' is new"])


def test_what_is_gone_leaves_its_place_for_good():
    without = fitted(slots(COUNT, LENGTH), slots(LENGTH))
    assert without.changed == ["'count' is gone, and its state is left behind"]
    assert [slot.retired for slot in without.slots] == [True, False]
    back = fitted(without.slots, slots(COUNT, LENGTH))
    assert [back.slots[place].first for place in back.places] == [20, 10]


def test_a_change_of_what_holds_state_is_refused():
    fit = fitted(slots(COUNT, LENGTH), slots(COUNT, LENGTH.replace("length(2)", "length(3)")))
    (told,) = fit.refused
    assert told.startswith("query 'length' is not what it was: ")
    assert "length(3)" in told


@pytest.mark.parametrize(
    ("queries", "told"),
    [
        ([SUM, LENGTH], "query 'sum' was added"),
        ([SUM], "query 'length' was taken away, query 'sum' was added"),
        ([LENGTH.replace("'length'", "'long'")], "query 'length' is query 'long' now"),
        (
            [LENGTH.replace("length(2)", "length(3)")],
            "query 'length' says 'from S#window.length(3)' instead of 'from S#window.length(2)'",
        ),
    ],
)
@pytest.mark.parametrize("name", ["", "@info(name = 'part') "])
def test_a_change_in_a_partition_says_which_queries_changed(name, queries, told):
    before = slots(f"{name}partition with (k of S) begin {LENGTH} end;")
    fit = fitted(before, slots(f"{name}partition with (k of S) begin {' '.join(queries)} end;"))
    what = "partition 'part'" if name else "partition with (k of S)"
    assert fit.refused == [
        f"{what} is not what it was: {told} (a partition is one element, and what it keeps is of all its queries together)"
    ]


def test_a_change_back_to_something_else_is_refused_although_it_was_gone_in_between():
    gone = fitted(slots(COUNT, SUM), slots(COUNT))
    assert (gone.refused, gone.changed) == ([], ["query 'sum' is gone, and its state is left behind"])
    again = fitted(gone.slots, slots(COUNT, SUM.replace("sum(v)", "max(v)")))
    assert any("query 'sum' is not what it was" in told for told in again.refused)


def test_what_was_gone_comes_back_under_another_name():
    gone = fitted(slots(COUNT, SUM), slots(COUNT))
    back = fitted(gone.slots, slots(COUNT, SUM))
    assert back.refused == [
        "query 'sum' was gone and comes back, which it can't as it was: it begins empty under another name (@info(name = '...'))"
    ]
    meanwhile = fitted(gone.slots, slots(COUNT, OTHER.replace("group by v", "group by k")))
    assert meanwhile.refused == []
    assert fitted(meanwhile.slots, slots(COUNT, SUM)).refused == back.refused
    renamed = fitted(gone.slots, slots(COUNT, SUM.replace("'sum'", "'total'")))
    assert (renamed.refused, renamed.changed) == ([], ["query 'total' is new"])


def test_what_was_new_may_go_again():
    more = fitted(slots(COUNT), slots(COUNT, SUM))
    less = fitted(more.slots, slots(COUNT))
    assert (less.refused, less.changed) == ([], ["query 'sum' is gone, and its state is left behind"])
    assert fitted(less.slots, slots(COUNT, SUM)).refused


def test_another_key_is_refused():
    keyed = "@info(name = 'count') from S select v, count() as n group by v insert into Counts;"
    fit = fitted(slots(COUNT), slots(keyed))
    assert fit.refused[0] == "'count': the key is S by v, and was S by k"


def test_other_labels_or_conditions_are_another_key():
    ranges = (
        "partition with (v > 0 as 'up' or v < 2 as 'low' of S) begin from S select count() as n insert into C; end;"
    )
    for other in (ranges.replace("'up'", "'high'"), ranges.replace("v > 0", "v >= 0")):
        told = fitted(slots(ranges), slots(other)).refused[0]
        assert told.startswith("'partition_0': the key is S by v ")
        assert told.endswith("and was S by v > 0 as 'up' or v < 2 as 'low'")
    assert fitted(slots(ranges), slots(ranges)).refused == []


def test_rows_of_another_form_are_refused():
    wider = STREAMS.replace("T (k string, v int)", "T (k string, v int, w int)")
    more = "@info(name = '{}') from T select k, count() as n group by k insert into `{}`;"
    before = slots(COUNT, more.format("more", "More"), bound=("S", "T"))
    planned = plan(parse(wider + COUNT + more.format("another", "Another")))
    (island,) = cut(planned, streaming=True, prefer="engine", bound=("S", "T")).islands
    now = [slot_of(planned, island, write_program(planned, island, [], shards=10), 0, 10)]
    assert fitted(before, now).refused == [
        "'count', 'another': rows that wait are of T (k string, v int), and now it is T (k string, v int, w int)"
    ]


def test_rows_of_streams_that_nothing_reads_any_more_are_left_behind():
    more = "@info(name = 'more') from T select k, count() as n group by k insert into More;"
    both, one = slots(COUNT, more, bound=("S", "T")), slots(COUNT)
    bindings = {"S": ["ts", "1 second"]}
    joined = fitted(one, both)
    assert (joined.refused, joined.changed) == ([], ["query 'more' is new"])
    first = Door.from_json(one[0].door)
    assert joined.slots[0].doors == [replace(first, label=first.name).to_json()]
    left = fitted(joined.slots, one)
    assert left.changed == ["query 'more' is gone, and its state is left behind", "rows of T that wait are left behind"]
    assert [Door.from_json(door).dropped for door in left.slots[0].doors] == [(), ("T",)]
    again = fitted(left.slots, both).slots[0]
    assert [Door.from_json(door).dropped for door in again.doors] == [(), ("T",), ()]
    names = [Door.from_json(door).name for door in (*again.doors, again.door)]
    assert len(set(names)) == 4
    with pytest.raises(SparkRunError, match=r"rows of T that wait are left behind.*start with evolve=True"):
        agreed("there", Manifest("A", both, ["S"], bindings, 10, 2, "drop"), manifest("A", COUNT), evolve=False)


def test_what_goes_to_one_shard_changes_the_key_of_what_it_reads():
    sums = COUNT + "@info(name = 'all') from Counts#window.length(2) select sum(n) as total insert into All;"
    assert fitted(slots(COUNT), slots(sums)).refused == [
        "'count', 'all': the key is none, and was S by k (in an app of its own, 'all' changes no key)"
    ]


def test_a_name_that_is_another_elements_now_is_told():
    named = "@info(name = 'count') partition with (k of S) begin from S select k, count() as n insert into Counts; end;"
    assert fitted(slots(COUNT), slots(named)).refused == [
        "query 'count' is partition 'count' now: what is new has a name of its own (@info(name = '...'))"
    ]


def test_what_left_before_that_was_kept_is_known_from_earlier_forms():
    both = fitted(slots(COUNT), slots(COUNT, SUM)).slots
    (slot,) = fitted(both, slots(SUM)).slots
    assert slot.left == [Fragment.from_json(slots(COUNT)[0].fragment).fingerprint]
    assert slot.gone == ["query 'count'"]
    data = asdict(slot)
    for name in ("left", "gone", "doors"):
        del data[name]
    assert Slot.from_json(data) == slot
    del data["earlier"][:]
    assert (Slot.from_json(data).left, Slot.from_json(data).gone) == ([], [])


def test_islands_that_become_one_are_refused():
    one = [replace(slots(COUNT)[0], stateful=["count", "length"])]
    assert fitted(slots(COUNT, LENGTH), one).refused == [
        "'count', 'length' are one island, and the state of 'count' and of 'length' is kept apart"
    ]
    assert fitted(one, slots(COUNT, LENGTH)).refused == [
        "'count' and 'length' are islands of their own, and their state is kept together"
    ]


def native_slots(*wanted: str) -> list[Slot]:
    text = """define stream S (k string, v int); define stream U (v int);
    @info(name = 'a') from S[v > 0] select v insert into A; @info(name = 'b') from S select k insert into B;
    @info(name = 'c') from U[v > 0] select v insert into C; @info(name = 'd') from A select v insert into D;
    @info(name = 'count') from S select k, count() as n group by k insert into Counts;"""
    planned = plan(parse(text))
    layout = cut(planned, streaming=True, bound={"S", "U"})
    found = plan_streaming(planned, layout, wanted, shards=10)
    both = zip(found.islands, found.programs, strict=True)
    return [slot_of(planned, island, program, 10 * n, 10) for n, (island, program) in enumerate(both)]


def test_rows_wait_where_they_did_whatever_the_sinks():
    before = native_slots("Counts", "A", "D")
    assert [slot.names for slot in before] == [["count"], ["a", "d"]]
    for wanted, names in (
        (("Counts", "A"), ["a"]),
        (("Counts", "B"), ["b"]),
        (("Counts", "A", "B", "C"), ["a", "b"]),
        (("Counts", "C", "D"), ["a", "d"]),
    ):
        now = native_slots(*wanted)
        fit = fitted(before, now)
        assert (fit.refused, fit.changed) == ([], [])
        held = fit.slots[1]
        assert (held.first, held.names, held.retired) == (10, names, False)
        assert [slot.names for slot in fit.slots[2:]] == ([["c"]] if "C" in wanted else [])
    assert fitted(before, native_slots("Counts", "C")).slots[1].retired


def test_rows_wait_for_what_they_waited_for_where_two_take_them():
    (slot,) = native_slots("A")[1:]
    one, two = replace(slot, names=["x"], first=10), replace(slot, names=["y"], first=20)
    fit = fitted([one, two], [replace(two, first=0), replace(slot, names=["z"], first=10)])
    assert fit.places == [1, 0]


def test_a_slot_survives_being_written():
    (slot,) = slots(COUNT)
    assert Slot.from_json(asdict(slot)) == slot


def evolved(before: FakeStream, app: str) -> FakeStream:
    """The stream gone on with another form of its app."""
    old = slots_of(before)
    now = FakeStream(app, bound={"S"}, shards=before.shards, grace=before.grace, forget=before.forget)
    fit = fitted(old, slots_of(now))
    assert fit.refused == []
    now.ranges = ranges(fit)
    now.handles, now.watermark, now.latest, now.found = before.handles, before.watermark, before.latest, before.found
    return now


def ranges(fit: Fit) -> list[ShardRange]:
    return [fit.slots[place].shard_range for place in fit.places]


def slots_of(stream: FakeStream) -> list[Slot]:
    both = zip(stream.layout.islands, stream.programs)
    return [
        slot_of(stream.plan, island, program, n * stream.shards, stream.shards)
        for n, (island, program) in enumerate(both)
    ]


@pytest.mark.parametrize("forget", [True, False])
def test_a_stream_goes_on_with_its_state_and_new_queries(forget):
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


def test_one_query_takes_the_place_of_another_in_two_steps():
    both = fitted(slots(COUNT), slots(COUNT, SUM))
    fit = fitted(both.slots, slots(SUM))
    assert (fit.refused, fit.changed) == ([], ["query 'count' is gone, and its state is left behind"])


REF = "define table Ref (k string, f int);"
JOINED = (
    "@info(name = 'joined') from S#window.length(2) join Ref on S.k == Ref.k select S.k, sum(v * f) as n insert into J;"
)
ALSO = JOINED.replace("'joined'", "'also'")


def test_a_table_that_is_read_only_is_nothing_in_common():
    first = slots(REF, JOINED)
    second = fitted(first, slots(REF, JOINED, ALSO))
    third = fitted(second.slots, slots(REF, ALSO))
    assert (third.refused, third.changed) == ([], ["query 'joined' is gone, and its state is left behind"])
    assert third.slots[0].left == [Fragment.from_json(first[0].fragment).fingerprint]


def test_a_table_that_is_read_only_may_go_and_come_back():
    gone = fitted(slots(REF, LENGTH, JOINED), slots(LENGTH))
    assert gone.changed == ["query 'joined' is gone, and its state is left behind"]
    back = fitted(gone.slots, slots(REF, LENGTH, ALSO))
    assert (back.refused, back.changed) == ([], ["query 'also' is new"])


def test_the_same_form_asks_nothing_of_earlier_ones(monkeypatch):
    """Extensions that an earlier one used may be there no more."""

    def missing(*_, **__):
        raise ExtensionNotFoundError("unknown function 'my:twice'")

    gone = Slot.from_json(json.loads(json.dumps(asdict(fitted(slots(COUNT, SUM), slots(COUNT)).slots[0]))))
    for module in ("siddhi.spark.checkpoint.key_ranges", "siddhi.planner.compatibility"):
        monkeypatch.setattr(f"{module}.stateful_parts", missing)
    fit = fitted([gone], slots(COUNT))
    assert (fit.refused, fit.changed, fit.slots) == ([], [], [gone])
    (told,) = fitted([gone], slots(COUNT, OTHER.replace("group by v", "group by k"))).refused
    assert told.startswith("what it was can't be told: unknown function 'my:twice'")


@pytest.mark.parametrize("forget", [True, False])
def test_shards_that_had_no_rows_meanwhile_begin_empty(forget):
    rows = [(n, "S", 10_000 + n, (f"k{n % 7}", n)) for n in range(40)]
    first = FakeStream(STREAMS + COUNT, bound={"S"}, shards=8, grace=0, forget=forget)
    first.batch(rows[:20])
    first.batch([(20, "S", 20_000, ("k0", 0))])
    was = slots_of(first)
    apps = (COUNT + SUM, SUM)
    stream, kept = first, was
    for n, app in enumerate(apps):
        now = FakeStream(STREAMS + app, bound={"S"}, shards=8, grace=0, forget=forget)
        fit = fitted(kept, slots_of(now))
        assert fit.refused == []
        kept = fit.slots
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
