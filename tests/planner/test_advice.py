from __future__ import annotations

import logging

import pytest

from siddhi import SiddhiManager
from siddhi.planner.advice import advice
from siddhi.query_compiler import parse

STREAM = "define stream S (v int);"


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (
            "@async(bufer.size='8') define stream S (v int);",
            "@async has no element 'bufer.size', it is ignored (line 1): did you mean 'buffer.size'?",
        ),
        (
            f"{STREAM}\n@info(nam='q') from S select v insert into O;",
            "@info has no element 'nam', it is ignored (line 2): did you mean 'name'?",
        ),
        (
            "@OnError(action='log', what='x') define stream S (v int);",
            "@OnError has no element 'what', it is ignored (line 1): it takes action",
        ),
        (
            f"@app:statistics(reporer='console') {STREAM}",
            "@app:statistics has no element 'reporer', it is ignored (line 1): did you mean 'reporter'?",
        ),
        (f"@app:playbck {STREAM}", "@app:playbck is unknown and ignored (line 1): did you mean '@app:playback'?"),
        (
            "@OnEror(action='log') define stream S (v int);",
            "@OnEror is unknown and ignored (line 1): did you mean '@OnError'?",
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
            "both sides of a join are called 'S' (line 1): 'S.' means the left one; name them: S as l join S as r",
        ),
        (
            "@store(type='rdbms')\n@cache(size='9') define table T (v int);",
            (
                "@cache in front of a definition is ignored (line 2): it stands inside of @store, as in "
                "@store(type = '...', @cache(size = '...'))"
            ),
        ),
        (
            f"{STREAM} @info(name='q', max.partial.matches='9') from S select v insert into O;",
            "max.partial.matches says nothing of a query without a pattern or sequence (line 1)",
        ),
        (
            f"{STREAM}\ndefine window S (v int) length(2); from S select v insert into O;",
            (
                "window 'S' hides the stream of that name (line 2): queries read and fill the window, and nothing can be sent "
                "to the stream; rename one of them"
            ),
        ),
        (
            f"{STREAM} @OnError(action='stream')\ndefine window W (v int) length(2); from S insert into W;",
            "@OnError on a window is ignored (line 1): streams have it, such as one that a query fills from the window",
        ),
        (
            f"@OnError(action='stream') {STREAM} from !S select v insert into !S;",
            (
                "'insert into !S' writes to stream 'S' itself, as in Siddhi, and not to its fault stream (line 1): write "
                "'insert into S' where that is meant"
            ),
        ),
    ],
)
def test_what_has_no_effect_is_told(app: str, said: str, caplog: pytest.LogCaptureFixture) -> None:
    assert advice(parse(app)) == [said]
    with caplog.at_level(logging.WARNING, logger="siddhi"):
        SiddhiManager().create_siddhi_app_runtime(f"@app:name('A') {app}")
    assert caplog.messages == [f"app 'A': {said}"]


@pytest.mark.parametrize(
    "app",
    [
        "@app:name('A') @app:description('d') @app:playback @App:Statistics('true') @async(Buffer.Size='8') define stream S (v int);",
        "@mine(of='mine') @config(x='y') define stream S (v int);",
        "@index('v') @PRIMARYKEY('v') define table T (v int);",
        f"{STREAM} @info(name='q', description='d') @dist(parallel='3') from S select v insert into O;",
        f"{STREAM} @info(name='q', max.partial.matches='9') from every e1=S -> e2=S select e1.v insert into O;",
        f"{STREAM} from S#window.length(2) as l join S#window.length(2) as r on l.v == r.v select l.v insert into O;",
        f"{STREAM} from S#window.length(2) as l join S#window.length(2) on l.v == S.v select l.v insert into O;",
        f"{STREAM} define stream R (v int); from S#window.length(2) join R#window.length(2) select S.v insert into O;",
    ],
)
def test_what_is_well_or_somebody_elses_is_not(app: str, caplog: pytest.LogCaptureFixture) -> None:
    assert advice(parse(app)) == []
