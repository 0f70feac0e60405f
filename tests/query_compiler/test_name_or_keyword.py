"""Every keyword at every position of a name parses like the same name in back quotes."""

from __future__ import annotations

import pytest

from siddhi.query_compiler import parse_on_demand_query, parse_query
from siddhi.query_compiler.keywords import KEYWORDS

VALUES = {"true", "false"}  # bare, they are values wherever a value makes sense

QUERIES = [
    "from {0} select {0} insert into {0}",
    "from {0} insert into {0}",
    "from {0} update T on a == 1",
    "from {0}[{0} > 1]#{0}({0})#window.{0}(1)[{0}] insert into #{0}",
    "from {0}#window.{0}(1) as {0} unidirectional join {0} as {0} on {0}.{0} == {0}.{0} select {0}.{0} as {0} insert into !{0}",
    "from {0} join {0} on {0}.{0} == {0}.{0} within {0}, {0} per {0} select {0}.{0} as {0} insert into {0}",
    "from {0} left outer join {0} select * insert into {0}",
    "from not {0} for 1 sec -> {0} select 1 as a insert into O",
    "from {0} and not {0} select 1 as a insert into O",
    "from {0} or not {0} for 1 sec select 1 as a insert into O",
    "from every {0} -> {0} select 1 as a insert into O",
    "from every {0}={0}[{0} > 1]<2> -> {0} select {0}[0].{0} as a insert into O",
    "from every ({0} -> {0}) -> {0} select {0}[last].{0} as a, {0}[last - 1].{0} as b insert into O",
    "from every {0}, {0}+, {0} select 1 as a insert into O",
    "from S select a, {0}.{0} group by {0}, {0}.a having {0} > 1 order by {0} desc, {0} limit 1 insert into O",
    "from S select {0} + {0} * {0} as {0}, -1 - {0} as x, {0} % 2 as y insert into O",
    "from S select f({0}, {0}, {0}.{0}) as x, {0}:{0}() as y insert into O",
    "from S[{0} is null or not {0} is null or not ({0}) or {0}() is null] insert into O",
    "from S[{0} in {0} and {0}] insert into O",
    "from S update {0} set {0}.{0} = {0}, {0} = {0} + 1 on {0} == {0}",
    "from S update or insert into {0} for all events set {0}.{0} = {0} on {0}.{0} is null",
    "from S delete {0} for expired events on {0} == 1",
]
STORE_QUERIES = [
    "from {0} as {0} on {0}.{0} == {0} select {0} order by {0}",
    "from {0} within {0} per {0}",
    "select {0} as {0} update {0} set {0} = {0} on {0}",
    "select 1 as {0} insert into {0}",
    "delete {0} on {0} == 1",
]


@pytest.mark.parametrize(
    ("parser", "template"),
    [*((parse_query, text) for text in QUERIES), *((parse_on_demand_query, text) for text in STORE_QUERIES)],
    ids=[*QUERIES, *STORE_QUERIES],
)
def test_a_keyword_as_a_name(parser, template):
    for word in sorted(KEYWORDS):
        bare = parser(template.format(word))
        assert word in VALUES or bare == parser(template.format(f"`{word}`")), word
