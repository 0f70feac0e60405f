"""eventStart() and eventEnd(): where they can be read, and what needs a row before its end is known."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse

S = "@temporal define stream S (id int); define stream C (id int);"
Q = f"{S} from S select id, eventEnd() as e insert into O;"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{Q} from O#window.length(2) select id insert into P;", "a classical query reads stream 'O'"),
        (f"{Q} from O[e > 2] select id insert into P;", "query 'query_2' reads stream 'O'"),
        (f"{Q} from S#temporal:antiJoin(O, id == O.id) select id insert into P;", "query 'query_2' reads stream 'O'"),
        (
            f"{Q} partition with (id of O) begin from O select id insert into P; end;",
            "partition 'partition_0' reads stream",
        ),
        (f"{S} @temporal(model = 'edge') define stream O (id int, e long); {Q[len(S) :]}", "of model 'edge'"),
        (f"{S} @temporal(order = 'start') define stream O (id int, e long); {Q[len(S) :]}", "in order of start"),
        (
            f"{S} @sink(type = 'inMemory', topic = 't') @temporal define stream O (id int, e long); {Q[len(S) :]}",
            "a sink of stream 'O' passes it",
        ),
        (
            f"{S} partition with (id of S) begin from S select id, eventEnd() as e insert into #O; end;",
            "an inner stream of a partition",
        ),
        (f"{S} from S#window.snapshot() select eventEnd() as e insert into O;", r"eventEnd\(\) can be read"),
        (f"{S} from S as l join S as r select eventEnd() as e insert into O;", r"eventEnd\(\) can be read"),
        (
            f"{S} from S#window.snapshot() select count() as c having eventEnd() > 3 insert into O;",
            r"eventEnd\(\) can be",
        ),
        (f"{S} from S as l join S as r select l.id having eventEnd() > 3 insert into O;", r"eventEnd\(\) can be read"),
        (
            f"{S} from S select id having eventEnd() > 3 insert into O; from O select id insert into P;",
            "'query_2' reads",
        ),
        (
            f"{S} from S#window.snapshot() select id having eventStart() > 3 order by id limit 5 insert into O;",
            r"'eventStart\(\)' is known when",
        ),
        (
            f"{S} from S#temporal:antiJoin(S, id == S.id and eventEnd() > 3) select id insert into O;",
            "condition of clip",
        ),
        (f"{S} from S#temporal:clip(S, id == S.id and eventStart() > 3) select id insert into O;", "condition of clip"),
        (f"{S} from C select eventStart() as e insert into O;", r"eventStart\(\) belongs to queries on temporal"),
        (f"{S} from S#window.length(2) select eventEnd(3) as e insert into O;", r"does not accept \(int\)"),
        ("define stream C (id int); from C select eventStart() as e insert into O;", "unknown function"),
    ],
)
def test_what_can_not_be_is_refused_with_place_and_hint(text: str, message: str) -> None:
    with pytest.raises(SiddhiAppError, match=message) as caught:
        plan(parse(text))
    assert caught.value.line == 1
    assert caught.value.hint or caught.value.code == "E301"


def test_a_classical_query_that_reads_ends_is_warned_of() -> None:
    (warning,) = plan(parse(f"{S} from S#window.length(2) select eventEnd() as e insert into O;")).warnings
    assert warning.message.startswith("eventEnd() is null in a classical query")


def test_queries_inside_others_know_whether_they_read_lifetimes() -> None:
    inner = "from S#window.length(2) select eventStart() as at return"
    plan(parse(f"{S} from ({inner}) select at insert into O;"))
    with pytest.raises(SiddhiAppError, match="this one reads none"):
        plan(parse(f"{S} from ({inner}) select eventStart() as at insert into O;"))
