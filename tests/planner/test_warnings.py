from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

import siddhi
from siddhi import SiddhiManager
from siddhi.planner.warnings import _BY_ELEMENT, advice
from siddhi.query_compiler import parse

STREAM = "define stream S (v int);"


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (
            "@async(bufer.size='8') define stream S (v int);",
            "unknown element 'bufer.size' in @async is ignored (line 1): did you mean 'buffer.size'?",
        ),
        (
            f"{STREAM}\n@info(nam='q') from S select v insert into O;",
            "unknown element 'nam' in @info is ignored (line 2): did you mean 'name'?",
        ),
        (
            "@OnError(action='log', what='x') define stream S (v int);",
            "unknown element 'what' in @OnError is ignored (line 1): the elements are action",
        ),
        (
            f"@app:statistics(reporer='console') {STREAM}",
            "unknown element 'reporer' in @app:statistics is ignored (line 1): did you mean 'reporter'?",
        ),
        (f"@app:playbck {STREAM}", "@app:playbck is unknown and ignored (line 1): did you mean '@app:playback'?"),
        (
            "@OnEror(action='log') define stream S (v int);",
            "@OnEror is unknown and ignored (line 1): did you mean '@OnError'?",
        ),
        (
            "@mine(of='mine') define stream S (v int);",
            "@mine is unknown and ignored (line 1): a stream takes @source, @sink, @async, @OnError, @temporal",
        ),
        ("@mine define window W (v int) length(2);", "@mine is unknown and ignored (line 1): a window takes none"),
        (
            "@app:enforceOrder define stream S (v int);",
            "@app:enforceOrder has no effect (line 1): events are always processed in the order of their arrival",
        ),
        (
            "@PrimaryKey('v') define stream S (v int);",
            "@PrimaryKey is ignored on a stream (line 1): it is allowed on a table",
        ),
        (
            "@payload('x') define stream S (v int);",
            "@payload is ignored on a stream (line 1): it is allowed inside @map(...)",
        ),
        (
            "@playback define stream S (v int);",
            "@playback is ignored on a stream (line 1): it is allowed on the app, as @app:playback",
        ),
        (
            "@sink(type='log', @map(type='passThrough', @payld('x'))) define stream S (v int);",
            "@payld is unknown and ignored (line 1): did you mean '@payload'?",
        ),
        (
            "@async('8') define stream S (v int);",
            "value '8' without a name in @async is ignored (line 1): name it: buffer.size or workers or batch.size.max",
        ),
        (
            f"{STREAM} partition with (v of S) begin @purge(enable='true') from S select v insert into O; end;",
            "@purge is ignored on a query (line 1): it is allowed on an aggregation or on a partition",
        ),
        (
            f"{STREAM} from S select v insert into O;\n/* {STREAM}",
            "unterminated comment: the rest of the text is not part of the app (line 2): close it with '*/'",
        ),
        (
            "@primaryKy('v') define table T (v int);",
            "@primaryKy is unknown and ignored (line 1): did you mean '@PrimaryKey'?",
        ),
        (
            f"{STREAM} partition with (v of S) begin @inf(name='q') from S select v insert into O; end;",
            "@inf is unknown and ignored (line 1): did you mean '@info'?",
        ),
        (
            f"{STREAM} from S#window.length(2) join S#window.length(2) on S.v > 3 select S.v insert into O;",
            "both sides of the join are named 'S' (line 1): 'S.' refers to the left side; use aliases: S as l join S as r",
        ),
        (
            "@store(type='rdbms')\n@cache(size='9') define table T (v int);",
            ("@cache is ignored on a table (line 2): it is allowed inside @store(...)"),
        ),
        (
            f"{STREAM} @info(name='q', max.partial.matches='9') from S select v insert into O;",
            "max.partial.matches has no effect on a query without a pattern or sequence (line 1)",
        ),
        (
            f"{STREAM}\ndefine window S (v int) length(2); from S select v insert into O;",
            (
                "window 'S' hides the stream of the same name (line 2): queries read and write the window, and no event can be sent "
                "to the stream; rename one of them"
            ),
        ),
        (
            f"{STREAM} @OnError(action='stream')\ndefine window W (v int) length(2); from S insert into W;",
            "@OnError is ignored on a window (line 1): it is allowed on a stream",
        ),
        (
            f"@OnError(action='stream') {STREAM} from !S select v insert into !S;",
            (
                "'insert into !S' writes to stream 'S' itself, as in Siddhi, and not to its fault stream (line 1): write "
                "'insert into S' if that is intended"
            ),
        ),
    ],
)
def test_code_without_effect_is_warned_about(app: str, said: str, caplog: pytest.LogCaptureFixture) -> None:
    (warning,) = advice(parse(app))
    assert re.sub(r" \(line (\d+), column \d+\)", r" (line \1)", warning) == said
    assert app.splitlines()[warning.span.line - 1][warning.span.column :].startswith(starts(warning))
    with caplog.at_level(logging.WARNING, logger="siddhi"):
        SiddhiManager().create_siddhi_app_runtime(f"@app:name('A') {app}")
    assert [re.sub(r", column \d+", "", message) for message in caplog.messages] == [f"app 'A': {said}"]


def starts(warning: str) -> str:
    """What stands at the location in a warning."""
    element = re.search(r"element '([^']*)'|'([^']*)' .*in @", warning)
    if element:
        return element[1] or f"'{element[2]}'"
    name = re.match(r"@[\w:]+", warning)
    return name[0] if name else "/*" if "comment" in warning else ""


@pytest.mark.parametrize(
    "app",
    [
        "@app:name('A') @app:description('d') @app:playback @App:Statistics('true') @async(Buffer.Size='8') define stream S (v int);",
        "@index('v') @PRIMARYKEY('v') define table T (v int);",
        f"{STREAM} @info(name='q', description='d') from S select v insert into O;",
        f"{STREAM} @info(name='q', max.partial.matches='9') from every e1=S -> e2=S select e1.v insert into O;",
        f"{STREAM} from S#window.length(2) as l join S#window.length(2) as r on l.v == r.v select l.v insert into O;",
        f"{STREAM} from S#window.length(2) as l join S#window.length(2) on l.v == S.v select l.v insert into O;",
        f"{STREAM} define stream R (v int); from S#window.length(2) join R#window.length(2) on S.v < R.v select S.v insert into O;",
    ],
)
def test_valid_code_has_no_warnings(app: str, caplog: pytest.LogCaptureFixture) -> None:
    assert advice(parse(app)) == []


TEXTS = {
    "an app": "@app:{} define stream S (v int);",
    "a stream": "@{} define stream S (v int);",
    "a table": "@{} define table T (v int);",
    "a window": "@{} define window W (v int) length(2);",
    "an aggregation": "define stream S (v int); @{} define aggregation A from S select sum(v) as t aggregate every sec;",
    "a query": "define stream S (v int); @{} from S select v insert into O;",
    "a partition": "define stream S (v int); @{} partition with (v of S) begin from S select v insert into O; end;",
}
READ = sorted({(place, known.name) for place, group in _BY_ELEMENT.items() for known in group})


@pytest.mark.parametrize("place", TEXTS)
@pytest.mark.parametrize("name", sorted({name for _, name in READ} | {"map", "payload", "cache", "doc", "dist"}))
def test_unused_annotations_are_warned_about(place: str, name: str) -> None:
    told = advice(parse(TEXTS[place].format(name)))
    assert len(told) == ((place, name) not in READ)


def test_annotations_that_are_read_are_known_to_the_warnings() -> None:
    """A new annotation must be added there; otherwise a warning says that it has no effect."""
    planner = Path(siddhi.__file__).parent / "planner"
    calls = re.compile(r'\b(?:only|_read)\(\s*[\w.]+, "(\w+)"')
    read = {name for file in planner.rglob("*.py") for name in calls.findall(file.read_text(encoding="utf-8"))}
    refused = {"persistedAggregation"}  # as is @PrimaryKey of an aggregation
    inside = {nested.name for group in _BY_ELEMENT.values() for known in group for nested in known.inside}
    known = {name for _, name in READ} | inside | {"attributes", "payload"}
    assert len(read) > 10
    assert read - known - refused - {"enforceOrder"} == set()


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (
            f"{STREAM} define stream T (v int); from S join T select S.v insert into Out;",
            "the join has no condition: every event joins all that the other side holds (line 1): add one: on S.a == T.b",
        ),
        (
            f"{STREAM} from S#window.length(0) select v insert into Out;",
            "window length() of size 0 holds no event (line 1): give it a length or a time above 0",
        ),
        (
            f"{STREAM} from S#window.timeLength(1 sec, 0) select v insert into Out;",
            "window timeLength() of size 0 holds no event (line 1): give it a length or a time above 0",
        ),
        (
            f"{STREAM} from S select v insert into S;",
            "each event of 'S' comes back to it and is processed again, without end (line 1): "  # noqa: ISC004
            "filter the events that go on, or insert into another stream",
        ),
    ],
)
def test_queries_that_do_nothing_sensible_are_reported(app: str, said: str) -> None:
    assert [re.sub(r", column \d+\)", ")", warning) for warning in advice(parse(app))] == [said]


@pytest.mark.parametrize(
    "app",
    [
        f"{STREAM} from S[v < 9] select v + 1 as v insert into S;",
        f"{STREAM} from S select v insert into T; from T[v > 1] select v insert into S;",
        f"{STREAM} from S#window.length(1) select v insert into Out;",
        f"{STREAM} define table T (v int); from S join T select S.v insert into Out;",
        f"{STREAM} define trigger T at every 1 sec; from T join S#window.length(9) select S.v insert into Out;",
        f"{STREAM} define stream T (v int); from S unidirectional join T#window.length(1) select S.v insert into Out;",
        f"{STREAM} from S select v insert expired events into S;",
    ],
)
def test_sensible_queries_are_not_reported(app: str) -> None:
    assert advice(parse(app)) == []


def test_a_loop_over_several_queries_is_reported_at_each() -> None:
    app = f"{STREAM} from S select v insert into T; from T select v insert into S; from T[v > 1] select v insert into Out;"
    assert len(advice(parse(app))) == 2
