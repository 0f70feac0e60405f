"""Apps whose timers never end."""

from __future__ import annotations

import pytest

from siddhi.planner.app import plan
from siddhi.planner.plan.endless import endless_parts
from siddhi.query_compiler.parser import parse

STREAMS = "define stream S (a string, v int); define stream R (a string, v int);"


def reasons(text: str) -> list[str]:
    return [part.reason for part in endless_parts(plan(parse(STREAMS + text)))]


@pytest.mark.parametrize(
    "text",
    [
        "define trigger T at 'start';",
        "from every not S for 1 sec and R select 1 as x insert into O;",
        "from not S for 1 sec select 1 as x insert into O;",
        "from every R -> not S for 1 sec select 1 as x insert into O;",
        "from S[v > 0] select a, v insert into S;",
        "from S#window.delay(1 sec) select a, v insert into R; from R select a, v insert into O;",
        "from S select a output last every 1 sec insert into O;",
        (
            "@purge(enable = 'true', interval = '1 sec', idle.period = '1 sec') "
            "partition with (a of S) begin from S select a, v insert into S; end;"
        ),
    ],
)
def test_apps_whose_timers_end(text: str) -> None:
    assert reasons(text) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("define trigger T at '*/5 * * * * ?';", "trigger 'T' fires periodically"),
        (
            "@info(name = 'q') from S select a output snapshot every 1 sec insert into O;",
            "query 'q' emits snapshots periodically",
        ),
        ("@info(name = 'q') from every not S for 1 sec select 1 as x insert into O;", "'q' waits for an absence"),
        (
            "@info(name = 'q') from every (not S for 1 sec or R) select 1 as x insert into O;",
            "'q' waits for an absence",
        ),
        (
            "@info(name = 'q') from S#window.delay(1 sec) select a, v insert into R; from R select a, v insert into S;",
            "'q' feeds itself with a delay",
        ),
        (
            "@info(name = 'p') partition with (a of S) begin from S#window.delay(1 sec) select a, v insert into S; end;",
            "'p' feeds itself with a delay",
        ),
        (
            (
                "define window W (a string, v int) delay(1 sec);"
                "from S select a, v insert into W; from W select a, v insert into S;"
            ),
            "'query_1' feeds itself with a delay",
        ),
    ],
)
def test_apps_whose_timers_never_end(text: str, reason: str) -> None:
    found = reasons(text)
    assert found
    assert reason in found[0]
